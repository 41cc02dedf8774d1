"""Strategies: how training is spread over devices. Here it is one replica of the model on one machine.

What a program says about several replicas keeps its meaning: each function is called once, and what is summed
over all replicas is what the one has. `mirrored.py` has several replicas in a process, `workers.py` one in
each of several processes.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from staticgraph.building.framework import colocate_with
from staticgraph.building.inputs import group, identity
from staticgraph.compiler.graph.errors import misuse
from staticgraph.mathematics.reductions import reduce_mean, reduce_sum
from staticgraph.state.replicas import is_last_loss_a_sum
from staticgraph.tf1 import data


class ReduceOp(enum.Enum):
    """The ways to combine the values of all replicas into one."""

    SUM = "SUM"
    MEAN = "MEAN"


class InputContext(NamedTuple):
    """Part of the input that a function makes: the only one, number 0."""

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The part of a batch that each replica gets. ValueError if it is no whole number."""
        if global_batch_size % self.num_replicas_in_sync:
            text = f"a batch of {global_batch_size} cannot be split evenly by {self.num_replicas_in_sync}"
            raise misuse(ValueError, text)
        return global_batch_size // self.num_replicas_in_sync


class ReplicaContext:
    """Context of a replica. A function that a strategy calls can query it."""

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: Any = 0) -> None:
        self.strategy = strategy
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = 1

    def merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """`merge_fn(strategy, *args, **kwargs)`, called once for all replicas."""
        with entered(Place(self.strategy, None)):
            return merge_fn(self.strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """The values of all replicas as one, which is `value`."""
        return value

    def __enter__(self) -> None:
        self._open = entered(Place(self.strategy, self))
        self._open.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)


class Place(NamedTuple):
    """Place of the program: the scope of a strategy, and the replica inside a function that it calls."""

    strategy: Strategy
    replica: ReplicaContext | None


_place: ContextVar[Place | None] = ContextVar("distribute_place", default=None)


@contextmanager
def entered(place: Place) -> Iterator[Strategy]:
    """Be in a place of a strategy."""
    token = _place.set(place)
    try:
        yield place.strategy
    finally:
        _place.reset(token)


class Strategy:
    """One replica of a model, on this machine.

    >>> import staticgraph as sg
    >>> strategy = sg.distribute.MirroredStrategy()
    >>> with strategy.scope():
    ...     total = strategy.reduce(sg.distribute.ReduceOp.SUM, sg.constant([1.0, 2.0]), axis=0)
    >>> with sg.Session() as sess:
    ...     strategy.num_replicas_in_sync, float(sess.run(total))
    (1, 3.0)
    """

    num_replicas_in_sync = 1
    steps_per_run = 1
    num_processes = 1
    is_first = True  # the process that reports
    has_copies = False  # several replicas in this process
    is_averaging = False  # if the losses of replicas are scaled, so that the sum of gradients is their mean
    is_scaled = False  # if the last loss was scaled

    @property
    def extended(self) -> Strategy:
        """The methods for those who write libraries, which are here too."""
        return self

    def replica(self) -> ReplicaContext:
        """The context of the only replica."""
        return ReplicaContext(self)

    def scope(self) -> Any:
        """A context in which this is the strategy of the program."""
        return entered(Place(self, None))

    @contextmanager
    def averaging(self) -> Iterator[None]:
        """Context in which gradients of replicas are averaged, as an Estimator does."""
        self.is_averaging, self.is_scaled = True, False
        try:
            yield
        finally:
            self.is_averaging = False

    def scaled(self, loss: Any) -> Any:
        """Return the loss of which an optimizer takes gradients: those of all replicas are added.

        In an Estimator, it is scaled to give their mean, unless the last loss is a sum over the batch.
        """
        self.is_scaled = self.is_averaging and not is_last_loss_a_sum(loss.graph)
        return loss * (1.0 / self.num_replicas_in_sync) if self.is_scaled else loss

    def reported(self, loss: Any) -> Any:
        """Return the loss of all replicas, to be told: the mean if it was scaled, else the sum."""
        return self.reduce(ReduceOp.MEAN if self.is_scaled else ReduceOp.SUM, loss)

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """The result of `fn(*args, **kwargs)` for each replica, which is one."""
        with self.replica():
            return fn(*args, **(kwargs or {}))

    run = experimental_run_v2
    call_for_each_replica = experimental_run_v2

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """The result of `fn` for the next element of an iterator, or for nothing."""
        return self.experimental_run_v2(fn, () if input_iterator is None else (input_iterator.get_next(),))

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """The values of all replicas as one, reduced along `axis` too where one is given."""
        if axis is None:
            return identity(value)
        is_sum = reduce_op in (ReduceOp.SUM, "SUM", "sum")
        return (reduce_sum if is_sum else reduce_mean)(value, axis)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas on this machine."""
        return (value,)

    def unwrap(self, value: Any) -> list[Any]:
        """`experimental_local_results` under its older name."""
        return [value]

    def group(self, value: Any, name: str | None = None) -> Any:
        """An operation that runs those of all replicas."""
        return group(value, name=name)

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """An iterator over a dataset, which `initialize()` sets to its beginning."""
        iterator = dataset.make_initializable_iterator()
        iterator.initialize = lambda: iterator.initializer
        return iterator

    def make_input_fn_iterator(
        self, input_fn: Callable[[InputContext], Any], replication_mode: Any = None
    ) -> Any:
        """An iterator over the dataset that `input_fn(context)` makes."""
        return self.make_dataset_iterator(input_fn(self.input_context()))

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """The part of each batch for this machine, which is all of it."""
        return dataset

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any]
    ) -> Any:
        """The dataset that `dataset_fn(context)` makes."""
        return dataset_fn(self.input_context())

    def input_context(self) -> InputContext:
        """Part of the input that a function of this process makes, such as that of an Estimator."""
        return InputContext(1, 0, self.num_replicas_in_sync)

    def own_part(self, x: Any, y: Any, sample_weight: Any, batch_size: int | None) -> tuple[Any, ...]:
        """The part of this process of what `Model.fit` is given, which is all of it."""
        return x, y, sample_weight, batch_size

    def of_all(self, logs: Mapping[str, float]) -> Mapping[str, float]:
        """The metrics of an epoch of `Model.fit` in all processes, which are those of this one."""
        return logs

    def own_batches(self, dataset: Any) -> Any:
        """The batches of an Estimator's dataset that are for this process, which are all."""
        return dataset

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """A dataset of the elements of arrays."""
        return data.Dataset.from_tensor_slices(numpy_input)

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """`fn(var, *args, **kwargs)` for each copy of a variable, of which there is one."""
        return fn(var, *args, **(kwargs or {}))

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """The values of all replicas as one, on other devices."""
        return value

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Sequence[Any]) -> list[Any]:
        """`reduce_to` for several values."""
        return [value for value, _ in value_destination_pairs]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """A copy on each device."""
        return tensor

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return identity(v)

    def value_container(self, value: Any) -> Any:
        """Return the container of a value: the value itself."""
        return value

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """A context in which variables are made beside another one."""
        return colocate_with(colocate_with_variable)

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Take over the settings of a cluster; there are none to take over."""

    def update_config_proto(self, config_proto: Any) -> Any:
        """The settings of sessions with this strategy."""
        return config_proto


class OneDeviceStrategy(Strategy):
    """All on one device."""

    def __init__(self, device: str) -> None:
        self.worker_devices = self.parameter_devices = (device,)


_default = OneDeviceStrategy("/cpu:0")
_only_replica = ReplicaContext(_default)


def get_strategy() -> Strategy:
    """The strategy of the open scope, or that of a program without any."""
    place = _place.get()
    return _default if place is None else place.strategy


def has_strategy() -> bool:
    """Return True if the scope of a strategy is open."""
    return get_strategy() is not _default


def get_replica_context() -> ReplicaContext | None:
    """The replica that a strategy calls a function for; None in its scope outside of such a function."""
    place = _place.get()
    return _only_replica if place is None else place.replica


def in_cross_replica_context() -> bool:
    """Return True in the scope of a strategy, outside of the functions that it calls."""
    return get_replica_context() is None
