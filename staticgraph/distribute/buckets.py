"""Gradients of all processes. Small ones travel together, as one vector: each would cost a message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from staticgraph.arrays.array_ops import shape
from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import name_scope
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.distribute.collectives import all_gather, all_reduce
from staticgraph.distribute.rows import gather_rows
from staticgraph.distribute.world import size

BUCKET = 4 << 20  # bytes that travel together


def in_buckets(tensors: Sequence[Tensor], limit: int, exchange: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """Return what `exchange` makes of tensors, which it is given as vectors of about `limit` bytes.

    The last tensors are the first to be sent: in a list of gradients, these are there first.
    """
    made: dict[int, Tensor] = {}
    for bucket in _buckets([*enumerate(tensors)][::-1], limit):
        flat = [ops.reshape(tensor, shape=(-1,)) for _, tensor in bucket]
        total = exchange(flat[0] if len(flat) == 1 else ops.concat(flat, axis=0))
        start = 0
        for at, tensor in bucket:
            known = tensor.type.is_static
            part = total if len(bucket) == 1 else total[start : start + tensor.type.size]
            made[at] = ops.reshape(part, shape=tensor.type.static_shape if known else shape(tensor))
            start += tensor.type.size if known else 0
    return [made[at] for at in range(len(tensors))]


def of_all(pairs: Sequence[tuple[Any, Any]], op: str = "mean", limit: int = BUCKET) -> list[tuple[Any, Any]]:
    """Return the mean or sum of each gradient over all processes, in pairs with variables."""
    if size() == 1:
        return list(pairs)
    with name_scope("exchange"):
        dense = [g for g, _ in pairs if g is not None and not isinstance(g, IndexedSlices)]
        sums = iter(in_buckets(dense, limit, lambda bucket: all_reduce(bucket, op)))
        made: list[tuple[Any, Any]] = []
        for gradient, variable in pairs:
            if isinstance(gradient, IndexedSlices):
                made.append((rows_of_all(gradient, op), variable))
            else:
                made.append((None if gradient is None else next(sums), variable))
    return made


def rows_of_all(gradient: IndexedSlices, op: str) -> IndexedSlices:
    """Return the rows of all processes, each of which may have another number of them if it is open."""
    parts = [gradient.values, gradient.indices]
    values, indices = map(all_gather, parts) if gradient.indices.type.is_static else gather_rows(parts)
    return IndexedSlices(values * (1.0 / size()) if op == "mean" else values, indices, gradient.dense_shape)


def _buckets(listed: Iterable[tuple[int, Tensor]], limit: int) -> Iterable[list[tuple[int, Tensor]]]:
    """Yield the tensors of each vector, with their places."""
    begun: dict[DType, list[tuple[int, Tensor]]] = {}
    for at, tensor in listed:
        if not tensor.type.is_static:
            yield [(at, tensor)]
            continue
        bucket = begun.setdefault(tensor.dtype, [])
        bucket.append((at, tensor))
        if sum(t.type.size * t.dtype.size for _, t in bucket) >= limit:
            yield begun.pop(tensor.dtype)
    yield from begun.values()
