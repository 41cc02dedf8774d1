"""Ragged tensors, whose rows differ in length, with TensorFlow 1's names: `sg.ragged`."""

from staticgraph.compiler.support.lazy_names import export_names, load
from staticgraph.domains.ragged.construction import constant as constant
from staticgraph.domains.ragged.construction import constant_value as constant_value
from staticgraph.domains.ragged.construction import placeholder as placeholder
from staticgraph.domains.ragged.construction import range as range
from staticgraph.domains.ragged.functions import boolean_mask as boolean_mask
from staticgraph.domains.ragged.functions import map_flat_values as map_flat_values
from staticgraph.domains.ragged.functions import stack as stack
from staticgraph.domains.ragged.functions import stack_dynamic_partitions as stack_dynamic_partitions
from staticgraph.domains.ragged.partitions import row_splits_to_segment_ids as row_splits_to_segment_ids
from staticgraph.domains.ragged.partitions import segment_ids_to_row_splits as segment_ids_to_row_splits
from staticgraph.domains.ragged.tensor import RaggedTensor as RaggedTensor
from staticgraph.domains.ragged.values import RaggedTensorValue as RaggedTensorValue

load("staticgraph.domains.ragged.items")  # these register the forms of functions
load("staticgraph.domains.ragged.reductions")
export_names(__name__)
