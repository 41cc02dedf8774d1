"""Horovod's names (`horovod.tensorflow`), for scripts that `python -m staticgraph run` runs.

Horovod connected the processes of TensorFlow 1. Its functions are those of `staticgraph.distribute`, and
processes are started by mpiexec or `staticgraph launch`, as they were by mpirun or horovodrun.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph import distribute
from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.distribute.buckets import rows_of_all
from staticgraph.distribute.world import (
    is_initialized,
    local_rank,
    local_size,
    rank,
    shutdown,
    size,
)
from staticgraph.tf1.training.hooks import SessionRunHook
from staticgraph.train.optimizers.optimizer import Optimizer

__all__ = [
    "Average",
    "BroadcastGlobalVariablesHook",
    "Compression",
    "DistributedOptimizer",
    "Max",
    "Min",
    "Sum",
    "allgather",
    "allreduce",
    "broadcast",
    "broadcast_global_variables",
    "broadcast_variables",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "mpi_threads_supported",
    "rank",
    "shutdown",
    "size",
]

Average, Sum, Min, Max = "mean", "sum", "min", "max"


class Compression:
    """Ways to send gradients. They are always sent as they are."""

    none = "none"
    fp16 = "fp16"


def init(comm: Any = None) -> None:
    """Connect the processes. `comm` is without effect: all that were started together take part."""
    distribute.init()


def mpi_threads_supported() -> bool:
    """Return True: MPI is asked for support of threads."""
    return True


def allreduce(
    tensor: Any,
    average: bool | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    op: str | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    name: str | None = None,
) -> Any:
    """Combine a tensor of all processes: by default, its mean. Rows of `IndexedSlices` are gathered.

    Args:
        tensor: A tensor or IndexedSlices.
        average: True for the mean, False for the sum; instead of `op`.
        device_dense: Without effect.
        device_sparse: Without effect.
        compression: Without effect.
        op: `Average`, `Sum`, `Min` or `Max`.
        prescale_factor: A factor before.
        postscale_factor: A factor afterwards.
        name: A name of the operation.
    """
    how = op if op is not None else Sum if average is False else Average
    if isinstance(tensor, IndexedSlices):
        return rows_of_all(tensor, how)
    given = tensor if prescale_factor == 1.0 else tensor * prescale_factor
    made = distribute.all_reduce(given, how, name=name)
    return made if postscale_factor == 1.0 else made * postscale_factor


def allgather(tensor: Any, name: str | None = None) -> Tensor:
    """Concatenate a tensor of all processes along its first axis."""
    return distribute.all_gather(tensor, name=name)


def broadcast(tensor: Any, root_rank: int, name: str | None = None) -> Tensor:
    """Give each process the tensor of the process `root_rank`."""
    return distribute.broadcast(tensor, root_rank, name=name)


def broadcast_variables(variables: Sequence[Any], root_rank: int) -> Operation:
    """An operation that gives variables the values that they have in the process `root_rank`."""
    return distribute.broadcast_variables(variables, root_rank)


def broadcast_global_variables(root_rank: int) -> Operation:
    """An operation that gives all variables the values that they have in the process `root_rank`."""
    return distribute.broadcast_variables(None, root_rank)


class BroadcastGlobalVariablesHook(SessionRunHook):
    """Hook that gives all variables the values of one process when there is a new session.

    Args:
        root_rank: The rank of that process.
        device: Without effect.
    """

    def __init__(self, root_rank: int, device: str = "") -> None:
        self.root_rank, self.device = root_rank, device
        self.bcast_op: Operation | None = None

    def begin(self) -> None:
        """Make the operation."""
        self.bcast_op = broadcast_global_variables(self.root_rank)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run the operation."""
        session.run(self.bcast_op)


def DistributedOptimizer(
    optimizer: Optimizer,
    name: str | None = None,
    use_locking: bool = False,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    backward_passes_per_step: int = 1,
    op: str = Average,
) -> distribute.Optimizer:
    """Return an optimizer that applies the mean or sum of the gradients of all processes.

    Args:
        optimizer: An optimizer of `tf.train`.
        name: Without effect: operations have the names of the optimizer.
        use_locking: Without effect.
        device_dense: Without effect.
        device_sparse: Without effect.
        compression: Without effect.
        sparse_as_dense: Without effect: sparse gradients are sent as rows.
        backward_passes_per_step: 1. UnimplementedError for more.
        op: `Average` or `Sum`.
    """
    if backward_passes_per_step != 1:
        text = f"backward_passes_per_step={backward_passes_per_step}: gradients are sent in each step"
        raise misuse(UnimplementedError, text, "feed larger batches")
    return distribute.Optimizer(optimizer, op=op)
