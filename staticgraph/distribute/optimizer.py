"""`Optimizer`: any optimizer, by the gradients of all processes.

Gradients are summed in buckets: the first ones travel while others are computed, and small ones travel
together. What each process computes with the sums is the same, so variables stay equal in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.distribute import sharded_state
from staticgraph.distribute.buckets import BUCKET, of_all
from staticgraph.distribute.sharded import Sharded
from staticgraph.distribute.shards import check_processors, subtrees
from staticgraph.distribute.world import size
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.optimizer import Optimizer as BaseOptimizer
from staticgraph.train.optimizers.optimizer import exchanging


class Optimizer(BaseOptimizer):
    """An optimizer that applies the mean of the gradients of all processes.

    The batch of a step is that of all processes together. Before the first step, variables get the values
    that they have in process 0. With one process, it is the optimizer that it is given.

    Args:
        optimizer: An optimizer of `staticgraph.train`.
        op: "mean" for the gradient of the mean of the losses, or "sum" for that of their sum.
        bucket_bytes: Gradients are sent in parts of about so many bytes.
        shards: Cut the batch of all processes into so many parts, a power of two, and add their gradients in
            an order that does not depend on who computes them: any number of processes makes the same bits.
            See docs/distribute.md. None, the default, leaves sums to MPI.
        shard_state: Divide the state of the optimizer, such as Adam's averages, among the processes: each has
            and updates a part, and all have all variables after each step. `sg.distribute.Saver` saves it.
        data: With `shards`, the tensors whose rows are the batch; by default all with an axis that are fed
            or read from a dataset.

    Raises:
        TypeError: `optimizer` is no optimizer of `staticgraph.train`.
        ValueError: `op` or `bucket_bytes` is none, or `shards` is no power of two or too few.

    >>> import staticgraph as sg
    >>> w = sg.Variable(3.0)
    >>> step = sg.distribute.Optimizer(sg.train.GradientDescentOptimizer(0.1)).minimize(w * w)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(step)
    ...     print(f"{sess.run(w):.1f}")
    2.4
    """

    def __init__(
        self,
        optimizer: BaseOptimizer,
        op: str = "mean",
        bucket_bytes: int = BUCKET,
        shards: int | None = None,
        shard_state: bool = False,
        data: Any = None,
    ) -> None:
        if not isinstance(optimizer, BaseOptimizer):
            hint = "for example Optimizer(sg.train.AdamOptimizer(1e-3))"
            raise misuse(TypeError, f"{shown(optimizer)} is no optimizer of staticgraph.train", hint)
        if op not in ("mean", "sum"):
            raise misuse(ValueError, f"op is {op!r}, and must be 'mean' or 'sum'")
        if isinstance(bucket_bytes, bool) or not isinstance(bucket_bytes, int) or bucket_bytes < 1:
            text = f"bucket_bytes is {shown(bucket_bytes)}, and must be a number of bytes, at least 1"
            raise misuse(ValueError, text)
        super().__init__(False, optimizer.get_name())
        self._inner, self._op, self._bucket_bytes = optimizer, op, bucket_bytes
        self._workers, self._shards, self._data = size(), shards, data
        self._reduce: str | None = None  # what is still to be done with gradients that are to be applied
        self._is_divided = shard_state and self._workers > 1
        self._mean_loss: Tensor | None = None
        if shards is not None:
            subtrees(shards, self._workers)  # or an error
            check_processors()

    @property
    def loss(self) -> Tensor:
        """The mean loss of all shards of a step, with the same bits for any number of processes."""
        if self._mean_loss is None:
            raise misuse(
                ValueError, "there is no loss of all shards", "minimize one, with Optimizer(..., shards=8)"
            )
        return self._mean_loss

    def minimize(self, loss: Any, *args: Any, **kwargs: Any) -> Operation:
        """An operation that takes a training step. See `train.Optimizer.minimize`."""
        if self._shards is None and self._is_divided:
            with self._of_this_process():
                return super().minimize(loss, *args, **kwargs)
        if self._shards is None:
            return super().minimize(loss, *args, **kwargs)
        with self._sharded(loss).without_local_statistics():
            return super().minimize(loss, *args, **kwargs)

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Variable]]:
        """Return the gradients of all processes. See `train.Optimizer.compute_gradients`."""
        if self._shards is not None:
            sharded = self._sharded(loss)
            pairs = sharded.gradients(lambda loss: self._inner.compute_gradients(loss, *args, **kwargs))
            self._mean_loss = sharded.mean_loss
            return pairs
        pairs = self._inner.compute_gradients(loss, *args, **kwargs)
        if self._reduce is not None:
            return pairs
        return self._exchanged(pairs)

    def _exchanged(self, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        return of_all(pairs, self._op, self._bucket_bytes)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """An operation that changes each variable by its gradient, as the inner optimizer does."""
        with exchanging(None):  # they are those of all already
            if self._is_divided:
                pairs = list(grads_and_vars)
                return sharded_state.apply(self._inner, pairs, self._reduce, global_step, name)
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

    @contextmanager
    def _of_this_process(self) -> Iterator[None]:
        """Context in which gradients are those of this process until they are applied."""
        self._reduce = self._op
        try:
            yield
        finally:
            self._reduce = None

    def _sharded(self, loss: Any) -> Sharded:
        assert self._shards is not None
        return Sharded(convert_to_tensor(loss), self._shards, self._data, self._op, self._bucket_bytes)
