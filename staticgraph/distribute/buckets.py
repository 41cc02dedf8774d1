"""Buckets: tensors that travel together, as one vector. Small ones would cost a message each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from staticgraph.arrays.array_ops import shape
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.tensor import Tensor

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
