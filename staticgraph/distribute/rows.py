"""Rows of all processes, which may have different numbers of them.

The numbers are exchanged first, by a step of their own: sizes of the next one depend on them.

    process 0: a b c    process 1: d      each sends three:  a b c, d - -     which are kept:  a b c d
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.arrays.array_ops import concat, shape
from staticgraph.arrays.creation import range, zeros
from staticgraph.arrays.indexing import gather
from staticgraph.arrays.sorting import cumsum, searchsorted
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.distribute.collectives import all_gather
from staticgraph.mathematics.reductions import reduce_max, reduce_sum


def gather_rows(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Concatenate tensors of all processes along their first axis, in the order of ranks.

    Args:
        tensors: Tensors with the same number of rows, which may be another one in each process.
    """
    rows = shape(tensors[0])[:1]
    counts = all_gather(rows)
    longest, ends = reduce_max(counts), cumsum(counts)
    at = range(reduce_sum(counts))
    worker = searchsorted(ends, at, side="right")
    places = at + worker * longest - gather(ends - counts, worker)

    def of_all(tensor: Tensor) -> Tensor:
        lacking = zeros(concat([longest - rows, shape(tensor)[1:]], 0), tensor.dtype)
        return gather(all_gather(concat([tensor, lacking], 0)), places)

    return [of_all(tensor) for tensor in tensors]
