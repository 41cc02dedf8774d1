"""`MultiWorkerMirroredStrategy`: one replica in each of the processes that were started together.

Optimizers exchange gradients in its scope, as TensorFlow's do. `TF_CONFIG` tells TensorFlow which processes
there are; here mpiexec does, and a `TF_CONFIG` must say the same.
"""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np

from staticgraph.building import nest
from staticgraph.building.inputs import identity
from staticgraph.compiler.graph.errors import FailedPreconditionError, UnimplementedError, misuse
from staticgraph.distribute.buckets import of_all
from staticgraph.distribute.collectives import all_reduce, broadcast
from staticgraph.distribute.host_numbers import means_of_all
from staticgraph.distribute.world import rank, size
from staticgraph.mathematics.reductions import reduce_mean, reduce_sum
from staticgraph.state import replicas
from staticgraph.tf1.data.dataset import Dataset
from staticgraph.tf1.distribute.strategy import InputContext, ReduceOp, ReplicaContext, Strategy
from staticgraph.tf1.training.cluster import ASYNCHRONOUS
from staticgraph.train.optimizers.optimizer import exchanging

_BATCH = 32  # of `Model.fit`, if it is given no other


class CollectiveCommunication(enum.Enum):
    """The ways to send, of which TensorFlow lets a program choose. Here MPI sends."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class _Worker(ReplicaContext):
    """The replica of this process."""

    def __init__(self, strategy: Strategy) -> None:
        super().__init__(strategy, rank())
        self.num_replicas_in_sync = size()

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """The sum or mean of the values of all replicas."""
        return self.strategy.reduce(reduce_op, value)

    def once(self, function: Callable[[Any], Any], value: Any, how: str) -> Any:
        """Return what `function` makes of the value of all replicas together."""
        of_all_processes = broadcast(value, 0) if how == "first" else all_reduce(value, how)
        with replicas.within(None):
            return function(of_all_processes)

    def add(self, function: Callable[[Any], Any], value: Any) -> Any:
        """Return what `function` makes of a value: this process has a variable of its own."""
        with replicas.within(None):
            return function(value)

    def read(self, value: Any) -> Any:
        """Return the sum of the values of all processes."""
        return all_reduce(value, "sum")

    def apply(self, apply: Callable[[Any], Any], pairs: Any) -> Any:
        """Return the result of `apply` for the gradients of all replicas, in pairs with variables."""
        with replicas.within(None), exchanging(partial(of_all, op="sum")):
            return apply(pairs)

    def scaled(self, loss: Any) -> Any:
        """Return the loss of which an optimizer takes gradients."""
        return self.strategy.scaled(loss)

    def twin(self) -> Any:
        """Return None: a process has its own variables."""
        return None

    def made(self, variable: Any) -> None:
        """Do nothing: no other replica is in this process."""

    def __enter__(self) -> None:
        self._scopes = ExitStack()
        if size() > 1:
            self._scopes.enter_context(replicas.within(self))
        super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._scopes.close()


class MultiWorkerMirroredStrategy(Strategy):
    """A replica of the model in each process. Gradients are exchanged, so that all replicas stay equal.

    Args:
        communication: Without effect: MPI sends.

    Raises:
        FailedPreconditionError: `TF_CONFIG` describes other processes than were started.

    >>> import staticgraph as sg
    >>> strategy = sg.distribute.experimental.MultiWorkerMirroredStrategy()
    >>> with strategy.scope():
    ...     w = sg.Variable(1.0)
    >>> strategy.num_replicas_in_sync
    1
    """

    def __init__(
        self, communication: Any = CollectiveCommunication.AUTO, cluster_resolver: Any = None
    ) -> None:
        check_cluster()
        self.num_replicas_in_sync = self.num_processes = size()
        self.worker_devices = self.parameter_devices = ("/cpu:0",)

    def replica(self) -> ReplicaContext:
        """The context of the replica of this process."""
        return _Worker(self)

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A context in which this is the strategy of the program, and optimizers exchange gradients."""
        with super().scope(), exchanging(of_all):
            yield self

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """The values of all replicas as one, reduced along `axis` too if it is given."""
        is_sum = reduce_op in (ReduceOp.SUM, "SUM", "sum")
        how = "sum" if is_sum else "mean"

        def reduced(tensor: Any) -> Any:
            one = identity(tensor) if axis is None else (reduce_sum if is_sum else reduce_mean)(tensor, axis)
            return all_reduce(one, how)

        return nest.map_structure(reduced, value)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """The values of all replicas as one."""
        return self.reduce(reduce_op, value)

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """A dataset of the rows of each batch that are for this process."""
        return dataset.map(lambda *batch: _single(nest.map_structure(lambda t: t[rank() :: size()], batch)))

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """An iterator over the rows of each batch that are for this process."""
        return super().make_dataset_iterator(self.experimental_distribute_dataset(dataset))

    @property
    def is_first(self) -> bool:  # type: ignore[override]
        """True in the process that reports."""
        return rank() == 0

    def own_part(self, x: Any, y: Any, sample_weight: Any, batch_size: int | None) -> tuple[Any, ...]:
        """The part of this process of what `Model.fit` is given: of each batch of a dataset, or of arrays.

        Raises:
            UnimplementedError: They are a generator or tensors, whose batches cannot be divided.
        """
        if isinstance(x, Dataset):
            return self.experimental_distribute_dataset(x), y, sample_weight, batch_size
        leaves = nest.flatten([part for part in (x, y, sample_weight) if part is not None])
        if not all(isinstance(leaf, np.ndarray) for leaf in leaves):
            text = (
                "fit() with several processes takes arrays or a Dataset, of which each process trains a part"
            )
            raise misuse(UnimplementedError, text, "make a Dataset of the generator")
        each = max(1, (batch_size or _BATCH) // size())
        rows = self._own_rows(len(leaves[0]), each)
        parts = [
            given if given is None else nest.map_structure(lambda array: array[rows], given)
            for given in (x, y, sample_weight)
        ]
        return (*parts, each)

    def _own_rows(self, count: int, each: int) -> np.ndarray:
        """Return which of so many rows are for this process: as many as for any other, with as many steps."""
        return np.arange(rank(), count, size())[: count // size()]

    def of_all(self, logs: Mapping[str, float]) -> Mapping[str, float]:
        """The means of the metrics of an epoch of `Model.fit` over all processes, which decide alike."""
        return means_of_all(logs)

    def input_context(self) -> InputContext:
        """Part of the input that this process makes: each makes another one."""
        return InputContext(size(), rank(), size())

    def make_input_fn_iterator(
        self, input_fn: Callable[[InputContext], Any], replication_mode: Any = None
    ) -> Any:
        """An iterator over the dataset that `input_fn(context)` makes for this process."""
        return super().make_dataset_iterator(input_fn(self.input_context()))


class ParameterServerStrategy(MultiWorkerMirroredStrategy):
    """Variables on machines of their own. With one process they are in it; several are refused.

    Raises:
        UnimplementedError: There are several processes.
    """

    def __init__(self, cluster_resolver: Any = None) -> None:
        super().__init__()
        if size() > 1:
            raise misuse(UnimplementedError, ASYNCHRONOUS, "use MultiWorkerMirroredStrategy")


def check_cluster() -> None:
    """Raise an error if the environment's `TF_CONFIG` describes other processes than were started."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    cluster, task = config.get("cluster", {}), config.get("task", {})
    tasks = workers_of(cluster)
    if not tasks or (len(tasks) == 1 and size() == 1):
        return
    told = f"TF_CONFIG describes {len(tasks)} workers"
    if len(tasks) != size():
        text = f"{told}, and {size()} processes were started together"
        hint = f"python -m staticgraph launch -n {len(tasks)} --tf-config --tensorflow program.py"
        raise misuse(FailedPreconditionError, text, hint)
    here = (task.get("type", "worker"), int(task.get("index", 0)))
    if here in tasks and tasks.index(here) != rank():
        text = (
            f"{told}, this one being number {tasks.index(here)}, and it is process {rank()} of those started"
        )
        raise misuse(FailedPreconditionError, text, "start them in the order of tasks, the chief first")


def workers_of(cluster: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the tasks of a cluster that train, the chief first."""
    jobs = [job for job in ("chief", "master", "worker") if job in cluster]
    return [(job, number) for job in jobs for number in range(len(cluster[job]))]


def _single(batch: Any) -> Any:
    return batch[0] if len(batch) == 1 else batch
