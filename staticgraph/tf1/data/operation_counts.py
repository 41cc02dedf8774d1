"""Numbers of operations that TensorFlow makes for datasets, on which default seeds depend.

Here a dataset is no operation of the graph. TensorFlow has one for each step of a pipeline, and a constant
for each of its parameters that is not a tensor.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor

ONE_SHOT_ITERATOR = INITIALIZABLE_ITERATOR = ITERATOR_OF_STRUCTURE = 2  # with the string that names it
PARALLEL_READS = 5  # files that are read beside each other
OPTIMIZED = 3  # an initializable iterator begins with an optimization and a model of its dataset
NAMES_COUNTED = 6  # for a buffer that holds all of them

SHUFFLED_AND_REPEATED = 8  # beyond a repetition: the seeds, the second of which is compared with 0
_SHUFFLED = 3  # the operation and two seeds, after the size of the buffer
_OF_ROWS = 8  # options of a file of columns, without the defaults of these
INTERLEAVED_IN_PARALLEL = 3  # beyond a step that interleaves: options of buffers
_SHUFFLED_BY_SEED = 10  # the second seed is compared with 0

_OPERATIONS = {  # of a step all of whose parameters are Python's
    "Batched": 3, "Cached": 2, "CachedInFile": 2, "Concatenated": 1, "Counter": 4, "Directed": 1,
    "Filtered": 1, "FixedLength": 4, "FlatMapped": 1, "Generated": 3, "GroupReduced": 1, "Grouped": 1,
    "Interleaved": 3,
    "Lines": 4, "Mapped": 1, "Matching": 15, "PaddedBatched": 3, "ParallelMapped": 2, "Prefetched": 2,
    "Range": 4, "Records": 4, "Repeat": 2, "Shard": 3, "Skip": 2, "SparseBatched": 3, "Take": 2,
    "Unbatched": 2, "Unfailing": 1, "Windowed": 5, "Zipped": 1,
}  # fmt: skip


def count_operations(node: Any) -> None:
    """Count the operations of a new step of a pipeline."""
    kind = type(node).__name__
    if kind in ("Tensors", "Slices"):
        count_parameters(None, *node.values)
    elif kind in ("Shuffled", "Numbers"):
        seeded = node.seeds != (0, 0)
        # A step that repeats was counted before it was made one with the repetition.
        repeats = kind == "Shuffled" and node.count != 1
        number = _OPERATIONS["Repeat"] if repeats else _SHUFFLED_BY_SEED if seeded else _SHUFFLED
        count_more(get_default_graph(), number)
    elif kind in _OPERATIONS:
        given = [getattr(node, name, None) for name in ("count", "size", "index", "start", "stop", "step")]
        tensors = sum(isinstance(value, Tensor) for value in given)
        columns = 2 * len(node.shapes) if kind == "PaddedBatched" else 0  # a shape and a padding for each
        count_more(get_default_graph(), _OPERATIONS[kind] + columns - tensors)
    elif kind == "Rows":
        count_more(get_default_graph(), _OF_ROWS + len(node.types))


def count_parameters(*values: Any) -> None:
    """Count the constants that TensorFlow makes of parameters of a step."""
    count_more(get_default_graph(), sum(not isinstance(value, Tensor) for value in values))
