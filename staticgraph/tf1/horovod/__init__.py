"""Horovod's names (`horovod.tensorflow`), for scripts that `python -m staticgraph run` runs.

Horovod connected the processes of TensorFlow 1. Its functions are those of `staticgraph.distribute`, and
processes are started by mpiexec or `staticgraph launch`, as they were by mpirun or horovodrun.
"""

from __future__ import annotations

from inspect import Parameter
from typing import Any

from staticgraph import distribute
from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.conversion import convert_to_tensor
from staticgraph.building.framework import name_scope
from staticgraph.building.signatures import adapted, with_defaults
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.distribute.buckets import rows_of_all
from staticgraph.distribute.rows import gather_rows
from staticgraph.distribute.world import (
    is_initialized,
    local_rank,
    local_size,
    rank,
    shutdown,
    size,
)
from staticgraph.tf1.horovod.keras_optimizer import of_all_processes
from staticgraph.tf1.keras.optimizers.base import Optimizer as KerasOptimizer
from staticgraph.tf1.training.sync_replicas import BroadcastHook

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
    "gloo_built",
    "gloo_enabled",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
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
    """Concatenate a tensor of all processes along the first axis, in the order of their ranks.

    Args:
        tensor: A tensor. Its first size may be another one in each process; then `distribute.all_gather`,
            which wants the same, is faster.
        name: A name of the operation.
    """
    given = convert_to_tensor(tensor)
    if size() == 1:
        return distribute.all_gather(given, name=name)
    with name_scope(name, "allgather"):
        return gather_rows([given])[0]


broadcast = adapted(distribute.broadcast, "tensor=x root_rank=root name", root_rank=Parameter.empty)
broadcast_variables = adapted(
    distribute.broadcast_variables,
    "variables root_rank=root",
    variables=Parameter.empty,
    root_rank=Parameter.empty,
)
broadcast_global_variables = adapted(
    distribute.broadcast_variables,
    "root_rank=root",
    "broadcast_global_variables",
    root_rank=Parameter.empty,
)


class BroadcastGlobalVariablesHook(BroadcastHook):
    """Hook that gives all variables the values of one process when there is a new session."""

    __init__ = with_defaults(BroadcastHook, root_rank=Parameter.empty)


def DistributedOptimizer(
    optimizer: Any,
    name: str | None = None,
    use_locking: bool = False,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    backward_passes_per_step: int = 1,
    op: str = Average,
) -> Any:
    """Return an optimizer that applies the mean or sum of the gradients of all processes.

    Args:
        optimizer: An optimizer of `tf.train` or of Keras.
        name: Without effect: operations have the names of the optimizer.
        use_locking: Without effect.
        device_dense: Without effect.
        device_sparse: Without effect.
        compression: Without effect.
        sparse_as_dense: If True, send sparse gradients as dense ones, else as rows.
        backward_passes_per_step: 1. UnimplementedError for more.
        op: `Average` or `Sum`.
    """
    if backward_passes_per_step != 1:
        text = f"backward_passes_per_step={backward_passes_per_step}: gradients are sent in each step"
        raise misuse(UnimplementedError, text, "feed larger batches")
    if isinstance(optimizer, KerasOptimizer):
        return of_all_processes(optimizer, op)
    return (_DenseOptimizer if sparse_as_dense else distribute.Optimizer)(optimizer, op=op)


class _DenseOptimizer(distribute.Optimizer):
    """An optimizer that sends sparse gradients as dense ones."""

    def _exchanged(self, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        return super()._exchanged([(convert_to_tensor(g) if g is not None else g, v) for g, v in pairs])


def mpi_built() -> bool:
    """Return True: MPI connects the processes."""
    return True


def gloo_built() -> bool:
    """Return False: there is no Gloo."""
    return False


def nccl_built() -> bool:
    """Return True: GPUs exchange by NCCL if CuPy has it."""
    return True


mpi_enabled, gloo_enabled = mpi_built, gloo_built
