"""Ragged tensors, whose rows differ in length, with TensorFlow 1's names: `sg.ragged`."""

from staticgraph.compiler.support.lazy_names import lazy_names, load

load("staticgraph.domains.ragged.items")  # these register the forms of functions
load("staticgraph.domains.ragged.reductions")

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.domains.ragged.construction": "constant constant_value placeholder range",
        "staticgraph.domains.ragged.functions": "boolean_mask map_flat_values stack stack_dynamic_partitions",
        "staticgraph.domains.ragged.partitions": "row_splits_to_segment_ids segment_ids_to_row_splits",
        "staticgraph.domains.ragged.tensor": "RaggedTensor",
        "staticgraph.domains.ragged.values": "RaggedTensorValue",
    },
)
