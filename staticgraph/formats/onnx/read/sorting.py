"""Operators that order values."""

from __future__ import annotations

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, permuted


@operator("TopK")
def _top_k(node: Node, x: Tensor, k: Tensor | None = None) -> tuple[Tensor, Tensor]:
    count = node.required("k") if k is None else node.ints(k, "k")[0]
    rank, axis = node.rank(x), node.axis(node.get("axis", -1), x)
    swap = list(range(rank))
    swap[axis], swap[-1] = swap[-1], swap[axis]
    rows = permuted(x, swap)
    if node.get("largest", 1):
        values, places = ops.top_k(rows, k=count, sorted=True)
    else:
        _, places = ops.top_k(_reversed(rows), k=count, sorted=True)
        values = ops.gather(rows, places, axis=rank - 1, batch_dims=rank - 1)
    return permuted(values, swap), cast(permuted(places, swap), int64)


def _reversed(x: Tensor) -> Tensor:
    """Numbers in the opposite order: for integers their complement, which has no overflow."""
    return ops.invert(x) if x.dtype.is_integer else -x
