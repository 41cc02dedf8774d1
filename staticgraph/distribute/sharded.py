"""Gradients of the shards of a batch, one after the other, and their sum along a fixed tree.

    for each shard of this process:  gradients of the loss of its rows, by the same code
    add those of this process along the tree;  exchange;  add those of all along the tree

A barrier stands around what a shard computes, and after each gradient: what is beyond differs with the number
of processes, and no kernel reaches across. The model is copied into the body of a loop, in which the rows of
one shard stand for the batch, each random operation draws from a stream of its step and shard, and what would
be assigned by the statistics of a batch is a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from staticgraph.arrays.array_ops import shape
from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import GraphKeys, control_dependencies, name_scope
from staticgraph.building.inputs import constant, identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.errors import ShapeError, UnimplementedError, misuse
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.graph.tensor import Operation, Tensor, ancestors, with_inner
from staticgraph.control_flow.loops import while_loop
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.distribute.buckets import in_buckets
from staticgraph.distribute.collectives import all_gather, all_to_all, broadcast
from staticgraph.distribute.model_copy import ModelCopy, data_of
from staticgraph.distribute.shards import added, local_shards, subtrees
from staticgraph.distribute.world import size

_ASSIGNED: dict[str, Callable[..., Tensor]] = {
    "assign": ops.assign,
    "assign_add": ops.assign_add,
    "assign_sub": ops.assign_sub,
}
_SEEDS = (1 << 62) - 1

Pairs = list[tuple[Any, Any]]


class Sharded:
    """A loss whose batch is cut into shards.

    Args:
        loss: The loss of a batch.
        shards: The number of shards of the batch of all processes.
        data: The tensors to cut, along their first axis; by default all with an axis that are fed or read.
        op: "mean" or "sum" of what shards give.
        bucket_bytes: Gradients are sent in parts of about so many bytes.

    Attributes:
        mean_loss: The mean loss of the batch of all processes, once `gradients` was called.
    """

    def __init__(self, loss: Tensor, shards: int, data: Any, op: str, bucket_bytes: int) -> None:
        self._loss, self._shards, self._bucket_bytes = loss, shards, bucket_bytes
        self._subtrees = subtrees(shards, size())
        self._local = local_shards(shards)
        self._data = _data(loss, data)
        self._scale = 1.0 / shards if op == "mean" else 1.0
        self._statistics = self._assignments()
        self.mean_loss: Tensor | None = None

    def gradients(self, compute: Callable[[Tensor], Pairs]) -> Pairs:
        """Return the gradients of the batch of all processes. `compute` makes pairs for a loss."""
        with self._loss.graph.attempt() as forget:
            pairs = compute(self._loss)  # to know their kinds
            forget()
        with name_scope("shards"):
            rows = self._loop(compute, pairs)
            found: list[Any] = []
            dense: list[tuple[int, Tensor, float]] = []
            for gradient, _ in pairs:
                if isinstance(gradient, IndexedSlices):
                    found.append(self._slices(rows.pop(0), rows.pop(0), gradient))
                else:
                    dense += [] if gradient is None else [(len(found), rows.pop(0), self._scale)]
                    found.append(None)
            dense += [(len(found) + n, each, 1.0 / self._shards) for n, each in enumerate(rows)]
            found += [None for _ in rows]
            totals = in_buckets([self._sum_here(each) for _, each, _ in dense], self._bucket_bytes, self._sum)
            for (at, _, scale), total in zip(dense, totals, strict=True):
                found[at] = ops.barrier(total * scale)
            mean_loss, *statistics = found[len(pairs) :]
            self.mean_loss = identity(mean_loss, name="loss")
        self._assign(statistics)
        return [(gradient, variable) for gradient, (_, variable) in zip(found, pairs, strict=False)]

    @contextmanager
    def without_local_statistics(self) -> Iterator[None]:
        """Context without control dependencies on assignments by the statistics of this process."""
        graph = self._loss.graph
        kept = [c for c in graph.control_inputs if self._statistics.keys().isdisjoint(ancestors([c]))]
        if len(kept) == len(graph.control_inputs):
            yield
            return
        with control_dependencies(None), control_dependencies(kept):
            yield

    # Shard after shard

    def _loop(self, compute: Callable[[Tensor], Pairs], pairs: Pairs) -> list[Tensor]:
        """Return what the shards of this process give: for each tensor, a row for each shard."""
        count, roots = len(self._local), [self._loss, *(op.tensors[1] for op in self._statistics)]
        cut = [_cut(t, count) for t in self._data]
        keys = dict(_keys(with_inner(ancestors([t.op for t in roots]))))
        numbers = constant(self._local, dtype=int64)
        is_open = all(t.type.shape is None or t.type.shape[0] is None for t in self._data)
        kinds = [kind for gradient, variable in pairs for kind in _kinds(gradient, variable)]
        kinds += [(t.dtype, t.type.shape if is_open else None) for t in roots]
        arrays = [TensorArray(dtype, size=count, element_shape=known) for dtype, known in kinds]
        # The number of rounds is not known: a loop with one round has the code of any other.
        rounds = ops.barrier(constant(count))

        def one(index: Tensor, *arrays: TensorArray) -> tuple[Any, ...]:
            rows = [ops.barrier(ops.gather(t, index, axis=1)) for t in cut]
            turn = ops.gather(numbers, index, axis=0)
            values = dict(zip(self._data, rows, strict=True))
            copy = ModelCopy(values, lambda op, turn: ops.stack([keys[op], turn], axis=0), turn, is_open)
            loss, *statistics = copy.of(roots)
            made = [part for gradient, _ in compute(loss) for part in _parts(gradient)]
            made += [loss, *statistics]
            written = [a.write(index, ops.barrier(m)) for a, m in zip(arrays, made, strict=True)]
            return (index + 1, *written)

        found = while_loop(lambda index, *_: index < rounds, one, [constant(0), *arrays], back_prop=False)
        return [array.stack() for array in found[1:]]

    # Sums

    def _sum_here(self, rows: Tensor) -> Tensor:
        """The sum of the shards of this process, along the tree."""
        count = len(self._local)
        while count > 1:
            count //= 2
            rows = rows[:count] + rows[count:]
        return rows[0]

    def _sum(self, here: Tensor) -> Tensor:
        """The sum of what all processes have of a vector, each of which adds a part of it."""
        workers = size()
        if workers == 1:
            return here
        count = here.type.size if here.type.is_static else shape(here)[0]
        each = (count + workers - 1) // workers
        padded = ops.pad(here, paddings=[[0, each * workers - count]]) if count != each * workers else here
        pieces = ops.reshape(all_to_all(padded), shape=[workers, each])
        parts = {subtree: pieces[n] for n, subtree in enumerate(self._subtrees)}
        whole = all_gather(added(parts, lambda a, b: a + b))
        return whole if count == each * workers else whole[:count]

    def _slices(self, values: Tensor, indices: Tensor, like: IndexedSlices) -> IndexedSlices:
        """The rows of all shards, in the order of shards."""
        values, indices = (self._of_all(each) for each in (values, indices))
        return IndexedSlices(ops.barrier(values * self._scale), ops.barrier(indices), like.dense_shape)

    def _of_all(self, rows: Tensor) -> Tensor:
        """Concatenate the rows of all shards. Each process sends as many as the one with most shards."""
        counts = [self._shards // step for _, step in self._subtrees]
        lacking = max(counts) - len(self._local)
        if lacking:
            rows = ops.concat([rows, *[ops.zeros_like(rows[:1])] * lacking], axis=0)
        places = {
            first + n * step: worker * max(counts) + n
            for worker, (first, step) in enumerate(self._subtrees)
            for n in range(self._shards // step)
        }
        order = constant([places[shard] for shard in range(self._shards)])
        ordered = ops.gather(all_gather(rows), order, axis=0)
        sizes = shape(ordered)
        flat = ops.reshape(ordered, shape=ops.concat([[-1], sizes[2:]], axis=0))
        if rows.type.shape is not None:
            flat.set_shape([None, *rows.type.shape[2:]])
        return flat

    # Statistics of batches

    def _assignments(self) -> dict[Operation, None]:
        """The assignments in the collection UPDATE_OPS that depend on the batch."""
        data = set(self._data)
        found: dict[Operation, None] = {}
        for update in self._loss.graph.get_collection(GraphKeys.UPDATE_OPS):
            for op in ancestors([getattr(update, "op", update)]):
                if op.definition.effect is Effect.WRITE and (used := set(data_of([op]))) & data:
                    if not used <= data:
                        continue  # of another loss
                    if op.definition.name not in _ASSIGNED:
                        text = f"{op.name} ({op.type}) cannot be done with the mean of all shards"
                        raise misuse(UnimplementedError, text, made=[("it", op.where)])
                    found[op] = None
        return dict(sorted(found.items(), key=lambda item: item[0].id))

    def _assign(self, means: list[Tensor]) -> None:
        """Have the means of all shards assigned, instead of what this process computes."""
        listed = self._loss.graph.get_collection_ref(GraphKeys.UPDATE_OPS)
        local = self._statistics.keys()
        listed[:] = [u for u in listed if local.isdisjoint(ancestors([getattr(u, "op", u)]))]
        for op, mean in zip(self._statistics, means, strict=True):
            listed.append(_ASSIGNED[op.definition.name](op.tensors[0], mean).op)


def _data(loss: Tensor, given: Any) -> list[Tensor]:
    """The tensors whose rows are cut into shards."""
    found = data_of([loss.op])
    if given is not None:
        chosen = list(given) if isinstance(given, list | tuple) else [given]
        if missing := [t for t in chosen if t not in found]:
            text = f"data: the loss does not depend on {missing[0].name} as on something fed or read"
            raise misuse(ValueError, text, made=[("it", missing[0].op.where)])
        return chosen
    if not found:
        hint = "the loss must depend on a placeholder or on an iterator of a dataset"
        raise misuse(ValueError, "shards: there is no batch to cut", hint)
    if any(t.type.shape is None for t in found) or len({t.type.shape[0] for t in found}) > 1:  # type: ignore[index]
        told = ", ".join(f"{t.name} {t.type}" for t in found)
        text = f"shards: it is not clear which of these has a batch as its first axis: {told}"
        raise misuse(ShapeError, text, "name them: Optimizer(..., shards=8, data=[x, y])")
    return found


def _cut(tensor: Tensor, count: int) -> Tensor:
    """A tensor with two axes instead of its first: row, and shard of this process."""
    known = tensor.type.shape
    if known is not None and known[0] is not None:
        if known[0] % count:
            text = f"{tensor.name} has {known[0]} rows, which cannot be cut into {count} shards of equal size"
            raise misuse(ShapeError, text, made=[("it", tensor.op.where)])
        if None not in known:
            return ops.reshape(tensor, shape=[known[0] // count, count, *known[1:]])
    made = ops.reshape(tensor, shape=ops.concat([[-1, count], shape(tensor)[1:]], axis=0))
    if known is not None:
        made.set_shape([None if known[0] is None else known[0] // count, count, *known[1:]])
    return made


def _keys(operations: Iterable[Operation]) -> Iterator[tuple[Operation, Tensor]]:
    """For each random operation, a number that is new in each step, and the same in all processes."""
    for op in sorted(operations, key=lambda op: op.id):
        if op.definition.effect is Effect.RANDOM:
            seeds = {"seed": op.attrs["seed"], "seed2": op.attrs["seed2"]}
            key = ops.random_uniform_int(constant(0, int64), constant(_SEEDS, int64), shape=(), **seeds)
            yield op, key if any(seeds.values()) else broadcast(key)


def _parts(gradient: Any) -> list[Tensor]:
    """The tensors of a gradient."""
    if isinstance(gradient, IndexedSlices):
        return [gradient.values, gradient.indices]
    return [] if gradient is None else [gradient]


def _kinds(gradient: Any, variable: Any) -> list[tuple[DType, Shape | None]]:
    """The dtype and the shape of each tensor of a gradient."""
    parts = _parts(gradient)
    if isinstance(gradient, IndexedSlices):
        return [(t.dtype, None) for t in parts]
    return [(t.dtype, variable.type.shape if hasattr(variable, "type") else t.type.shape) for t in parts]
