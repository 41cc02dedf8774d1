"""`MirroredStrategy`: replicas of a model that share variables, each with a part of the batch.

In one process, a function is called for each replica, and all are parts of one graph, on one device.
Processes that were started together are a replica each, and have a GPU each if the machine has as many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import shape
from staticgraph.arrays.casts import cast
from staticgraph.building import nest
from staticgraph.building.inputs import group, identity
from staticgraph.compiler.graph.errors import FailedPreconditionError, misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.distribute.world import launched, rank, size
from staticgraph.formats.tf.log import log
from staticgraph.mathematics.reductions import reduce_sum
from staticgraph.tf1.distribute.per_replica import PerReplica, reduced, regrouped, selected, total
from staticgraph.tf1.distribute.strategy import (
    InputContext,
    Place,
    ReduceOp,
    ReplicaContext,
    Strategy,
    entered,
)
from staticgraph.tf1.distribute.turns import Turn, Turns
from staticgraph.tf1.distribute.workers import MultiWorkerMirroredStrategy


class MirroredStrategy(Strategy):
    """A replica of the model for each of several devices. All have the same variables.

    A function that `experimental_run_v2` calls is called once for each replica. The gradients that replicas
    apply are added, as TensorFlow adds them, and variables are changed once.

    In one process, all replicas are computed by the device of the session, in one step. If several processes
    were started together, as by `python -m staticgraph launch -n 2`, each of them is a replica, with a GPU of
    its own if there are several, and gradients go from GPU to GPU by NCCL.

    Args:
        devices: The names of the devices. None, the default, is one device; all processes, if there are
            several.
        cross_device_ops: Without effect.

    Raises:
        FailedPreconditionError: Several processes were started, and there are more or fewer devices.

    >>> import staticgraph as sg
    >>> strategy = sg.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    >>> with strategy.scope():
    ...     w = sg.Variable(1.0)
    ...     number = lambda: sg.distribute.get_replica_context().replica_id_in_sync_group
    ...     each = strategy.experimental_run_v2(lambda: w * (1.0 + number()))
    ...     of_all = strategy.reduce(sg.distribute.ReduceOp.SUM, each)
    >>> with sg.Session() as sess:
    ...     sess.run(w.initializer)
    ...     strategy.num_replicas_in_sync, float(sess.run(of_all))
    (2, 3.0)
    """

    def __new__(cls, devices: Any = None, cross_device_ops: Any = None) -> MirroredStrategy:
        """Return a strategy of processes, of replicas, or of one replica."""
        if launched() > 1:
            return object.__new__(_OfProcesses)
        return object.__new__(_InProcess if len(_named(devices)) > 1 else cls)

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        self.worker_devices = self.parameter_devices = tuple(_named(devices) or ("/cpu:0",))


class _Copy(ReplicaContext):
    """Context of one of several replicas in a process."""

    def __init__(self, strategy: _InProcess, turn: Turn) -> None:
        super().__init__(strategy, turn.number)
        self.num_replicas_in_sync = strategy.num_replicas_in_sync
        self._turn = turn

    def merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """Return what `merge_fn(strategy, *args, **kwargs)` returns for this replica.

        It is called once, with the values of all replicas.
        """

        def merged(given: Sequence[Any], named: Sequence[Any]) -> Any:
            with entered(Place(self.strategy, None)):
                return merge_fn(self.strategy, *regrouped(given), **regrouped(named))

        made = self._turn.merge(merged, list(args), dict(kwargs or {}))
        return selected(made, self.replica_id_in_sync_group)

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """Return the sum or mean of the values of all replicas."""
        combine = partial(total, is_mean=_is_mean(reduce_op))
        return nest.map_structure(lambda leaf: identity(self._turn.merge(combine, leaf)), value)


class _InProcess(MirroredStrategy):
    """Several replicas in one process."""

    has_copies = True

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        super().__init__(devices, cross_device_ops)
        self.num_replicas_in_sync = count = len(self.worker_devices)
        if any("gpu" in device.lower() for device in self.worker_devices):
            log.warning(
                "One device computes the %d replicas on %s. For a process and a GPU each: "
                "python -m staticgraph launch -n %d",
                *(count, ", ".join(self.worker_devices), count),
            )

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """The results of `fn(*args, **kwargs)` for each replica."""
        turns = Turns(self.num_replicas_in_sync, self.scaled)

        def call(turn: Turn) -> Any:
            given, named = (selected(each, turn.number) for each in (list(args), dict(kwargs or {})))
            with _Copy(self, turn):
                return fn(*given, **named)

        return regrouped(turns.run([partial(call, turn) for turn in turns.turns]))

    run = experimental_run_v2
    call_for_each_replica = experimental_run_v2

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """The values of all replicas as one, reduced along `axis` too if it is given."""
        is_mean = _is_mean(reduce_op)
        if axis is None:
            return nest.map_structure(lambda leaf: reduced(leaf, is_mean), value)

        def along(leaf: Any) -> Any:
            parts = leaf.values if isinstance(leaf, PerReplica) else (leaf,)
            made = total([reduce_sum(part, axis) for part in parts], False)
            counts = [cast(shape(part)[axis], made.dtype) for part in parts]
            return made / total(counts, False) if is_mean else made

        return nest.map_structure(along, value)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """The values of all replicas as one."""
        return self.reduce(reduce_op, value)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Sequence[Any]) -> list[Any]:
        """`reduce_to` for several values."""
        return [self.reduce(reduce_op, value) for value, _ in value_destination_pairs]

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas, which are on this machine."""
        return value.values if isinstance(value, PerReplica) else (value,)

    def unwrap(self, value: Any) -> list[Any]:
        """`experimental_local_results` under its older name."""
        return list(self.experimental_local_results(value))

    def group(self, value: Any, name: str | None = None) -> Any:
        """An operation that runs those of all replicas."""
        return group(*self.experimental_local_results(value), name=name)

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """`fn(var, *args, **kwargs)` for the variable, of which all replicas have the same."""
        given, named = (selected(each, 0) for each in (list(args), dict(kwargs or {})))
        return super().update(var, fn, given, named, group)

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """An iterator that gives each replica its part of a batch."""
        return _Iterator(super().make_dataset_iterator(dataset), partial(_parts, self.num_replicas_in_sync))

    def make_input_fn_iterator(
        self, input_fn: Callable[[InputContext], Any], replication_mode: Any = None
    ) -> Any:
        """An iterator that gives each replica a batch of the dataset that `input_fn(context)` makes."""
        return self.experimental_distribute_datasets_from_function(input_fn).make_initializable_iterator()

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """A dataset of which each replica gets its part of a batch."""
        return _Dataset(dataset, partial(_parts, self.num_replicas_in_sync))

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any]
    ) -> Any:
        """A dataset of which each replica gets a batch."""
        count = self.num_replicas_in_sync
        made = dataset_fn(self.input_context())
        return _Dataset(made, lambda get_next: regrouped([get_next() for _ in range(count)]))


class _OfProcesses(MultiWorkerMirroredStrategy, MirroredStrategy):  # type: ignore[misc]
    """A replica in each process."""

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        super().__init__()
        named = _named(devices)
        if named and len(named) != size():
            text = f"MirroredStrategy has {len(named)} devices, and {size()} processes were started together"
            hint = f"launch -n {len(named)}: each process is a replica; or give no devices"
            raise misuse(FailedPreconditionError, text, hint)

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """A dataset of the part of each batch that is for this process: of those of equal size, in order."""

        def own(*batch: Any) -> Any:
            parts = _parts(size(), lambda: batch[0] if len(batch) == 1 else batch)
            return selected(parts, rank())

        return dataset.map(own)

    def _own_rows(self, count: int, each: int) -> np.ndarray:
        """Return which of so many rows are for this process: of each batch, those of a replica, in order."""
        whole = count - count % (each * size())
        last = count % (each * size()) // size()
        batches = np.arange(whole).reshape(-1, size(), each)[:, rank()].ravel()
        return np.concatenate([batches, whole + rank() * last + np.arange(last)])

    def input_context(self) -> InputContext:
        """Part of the input that this process makes, which is all of it, as in the others."""
        return InputContext(1, 0, size())

    def make_input_fn_iterator(
        self, input_fn: Callable[[InputContext], Any], replication_mode: Any = None
    ) -> Any:
        """An iterator over the batches that are for this process."""
        dataset = self.experimental_distribute_datasets_from_function(input_fn)
        return Strategy.make_dataset_iterator(self, dataset)

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any]
    ) -> Any:
        """A dataset of the batches that are for this process."""
        return self.own_batches(dataset_fn(self.input_context()))

    def own_batches(self, dataset: Any) -> Any:
        """A dataset of the batches that are for this process: each process gets one after the other."""
        return dataset.shard(size(), rank())


class _Iterator:
    """An iterator that gives a value for each replica."""

    def __init__(self, inner: Any, divide: Callable[[Callable[[], Any]], Any]) -> None:
        self._inner, self._divide = inner, divide
        self.initializer = getattr(inner, "initializer", None)

    def initialize(self) -> Any:
        """Return the operation that begins anew."""
        return self.initializer

    def get_next(self, name: str | None = None) -> Any:
        """Return the next elements."""
        return self._divide(partial(self._inner.get_next, name))


class _Dataset:
    """A dataset of which iterators give a value for each replica."""

    def __init__(self, dataset: Any, divide: Callable[[Callable[[], Any]], Any]) -> None:
        self._dataset, self._divide = dataset, divide

    def make_one_shot_iterator(self) -> _Iterator:
        """Return an iterator that needs no initialization."""
        return _Iterator(self._dataset.make_one_shot_iterator(), self._divide)

    def make_initializable_iterator(self) -> _Iterator:
        """Return an iterator that `initialize()` sets to its beginning."""
        return _Iterator(self._dataset.make_initializable_iterator(), self._divide)


def _parts(count: int, get_next: Callable[[], Any]) -> Any:
    """The rows of a batch, as equal parts for `count` replicas, in order."""

    def parts(batch: Tensor) -> PerReplica:
        rows = batch.shape[0].value if batch.shape.ndims else None
        if rows is not None and rows % count:
            text = f"a batch of {rows} cannot be split evenly by {count} replicas"
            raise misuse(ValueError, text, made=[("it", batch.op.where)])
        each = rows // count if rows is not None else (shape(batch)[0] + count - 1) // count
        return PerReplica([batch[n * each : (n + 1) * each] for n in range(count)])

    return nest.map_structure(parts, get_next())


def _named(devices: Any) -> list[str]:
    return [devices] if isinstance(devices, str) else list(devices or ())


def _is_mean(reduce_op: Any) -> bool:
    return reduce_op not in (ReduceOp.SUM, "SUM", "sum")
