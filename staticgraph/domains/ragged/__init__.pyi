"""Ragged tensors, whose rows differ in length, with TensorFlow 1's names: `sg.ragged`. Made by tools/type_stubs.py."""

from staticgraph.domains.ragged.construction import (
    constant as constant,
    constant_value as constant_value,
    placeholder as placeholder,
    range as range,
)
from staticgraph.domains.ragged.functions import (
    boolean_mask as boolean_mask,
    map_flat_values as map_flat_values,
    stack as stack,
    stack_dynamic_partitions as stack_dynamic_partitions,
)
from staticgraph.domains.ragged.partitions import (
    row_splits_to_segment_ids as row_splits_to_segment_ids,
    segment_ids_to_row_splits as segment_ids_to_row_splits,
)
from staticgraph.domains.ragged.tensor import (
    RaggedTensor as RaggedTensor,
)
from staticgraph.domains.ragged.values import (
    RaggedTensorValue as RaggedTensorValue,
)
