"""`Optimizer`: any optimizer, by the gradients of all processes.

Gradients are summed in buckets: the first ones travel while others are computed, and small ones travel
together. What each process computes with the sums is the same, so variables stay equal in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.distribute.collectives import all_gather, all_reduce
from staticgraph.distribute.world import size
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.optimizer import Optimizer as BaseOptimizer

__all__ = ["Optimizer"]

_BUCKET = 4 << 20  # bytes that travel together


class Optimizer(BaseOptimizer):
    """An optimizer that applies the mean of the gradients of all processes.

    The batch of a step is that of all processes together. Before the first step, variables get the values
    that they have in process 0. With one process, it is the optimizer that it is given.

    Args:
        optimizer: An optimizer of `staticgraph.train`.
        op: "mean" for the gradient of the mean of the losses, or "sum" for that of their sum.
        bucket_bytes: Gradients are sent in parts of about so many bytes.

    Raises:
        TypeError: `optimizer` is no optimizer of `staticgraph.train`.

    >>> import staticgraph as sg
    >>> w = sg.Variable(3.0)
    >>> step = sg.distribute.Optimizer(sg.train.GradientDescentOptimizer(0.1)).minimize(w * w)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(step)
    ...     print(f"{sess.run(w):.1f}")
    2.4
    """

    def __init__(self, optimizer: BaseOptimizer, op: str = "mean", bucket_bytes: int = _BUCKET) -> None:
        if not isinstance(optimizer, BaseOptimizer):
            hint = "for example Optimizer(sg.train.AdamOptimizer(1e-3))"
            raise misuse(TypeError, f"{shown(optimizer)} is no optimizer of staticgraph.train", hint)
        if op not in ("mean", "sum"):
            raise misuse(ValueError, f"op is {op!r}, and must be 'mean' or 'sum'")
        super().__init__(False, optimizer.get_name())
        self._inner, self._op, self._bucket_bytes = optimizer, op, bucket_bytes
        self._workers = size()

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Variable]]:
        """Return the gradients of all processes. See `train.Optimizer.compute_gradients`."""
        pairs = self._inner.compute_gradients(loss, *args, **kwargs)
        return pairs if self._workers == 1 else self._exchanged(pairs)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """An operation that changes each variable by its gradient, as the inner optimizer does."""
        return self._inner.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, var: Variable, name: str) -> Any:
        """The slot `name` of `var`, or None."""
        return self._inner.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of the slots, sorted."""
        return self._inner.get_slot_names()

    def variables(self) -> list[Variable]:
        """The optimizer's own variables in the default graph."""
        return self._inner.variables()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    def _exchanged(self, pairs: Sequence[tuple[Any, Variable]]) -> list[tuple[Any, Variable]]:
        """The mean or sum of each gradient over all processes."""
        made: dict[int, Any] = {}
        buckets: dict[Any, list[tuple[int, Tensor]]] = {}
        # Gradients by the variables that were made last are there first.
        for at, (gradient, _) in reversed([*enumerate(pairs)]):
            if isinstance(gradient, IndexedSlices):
                made[at] = self._rows(gradient)
            elif gradient is not None and not gradient.type.is_static:
                made[at] = all_reduce(gradient, self._op)
            elif gradient is not None:
                bucket = buckets.setdefault(gradient.dtype, [])
                bucket.append((at, gradient))
                if sum(_bytes(g) for _, g in bucket) >= self._bucket_bytes:
                    made.update(self._summed(buckets.pop(gradient.dtype)))
        for bucket in buckets.values():
            made.update(self._summed(bucket))
        return [(made.get(at), variable) for at, (_, variable) in enumerate(pairs)]

    def _summed(self, bucket: Sequence[tuple[int, Tensor]]) -> Iterable[tuple[int, Tensor]]:
        """The gradients of a bucket, which travel together."""
        if len(bucket) == 1:
            [(at, gradient)] = bucket
            yield at, all_reduce(gradient, self._op)
            return
        flat = [ops.reshape(gradient, shape=(-1,)) for _, gradient in bucket]
        total = all_reduce(ops.concat(flat, axis=0), self._op)
        start = 0
        for at, gradient in bucket:
            count = gradient.type.size
            part = total[start : start + count]
            yield at, ops.reshape(part, shape=gradient.type.static_shape)
            start += count

    def _rows(self, gradient: IndexedSlices) -> IndexedSlices:
        """The rows of all processes."""
        values, indices = all_gather(gradient.values), all_gather(gradient.indices)
        if self._op == "mean":
            values = values * (1.0 / self._workers)
        return IndexedSlices(values, indices, gradient.dense_shape)


def _bytes(x: Tensor) -> int:
    return x.type.size * x.dtype.size
