"""Horovod's names for models of Keras (`horovod.keras`, `horovod.tensorflow.keras`): all exchange at once."""

from __future__ import annotations

from typing import Any

from staticgraph.building.inputs import constant
from staticgraph.building.signatures import adapted
from staticgraph.tf1 import horovod
from staticgraph.tf1.horovod import (
    Average,
    Compression,
    Sum,
    callbacks,
    gloo_built,
    gloo_enabled,
    init,
    is_initialized,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rank,
    shutdown,
    size,
)
from staticgraph.tf1.horovod.keras_optimizer import class_of_all
from staticgraph.tf1.keras import backend, models, optimizers

__all__ = [
    "Average",
    "Compression",
    "DistributedOptimizer",
    "Sum",
    "allgather",
    "allreduce",
    "broadcast",
    "broadcast_global_variables",
    "callbacks",
    "gloo_built",
    "gloo_enabled",
    "init",
    "is_initialized",
    "load_model",
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

DistributedOptimizer = adapted(
    horovod.DistributedOptimizer,
    "optimizer name device_dense device_sparse compression sparse_as_dense op",
)


def _now(function: Any, *args: Any) -> Any:
    """Return the value of an operation that a function makes."""
    session = backend.get_session()
    with session.graph.as_default():
        made = function(*args)
    return session.run(made)


def allreduce(value: Any, name: str | None = None, average: bool = True) -> Any:
    """Return the mean of a value of all processes, or the sum.

    Args:
        value: A number, an array or a list.
        name: A name of the operation.
        average: False for the sum.
    """
    return _now(lambda: horovod.allreduce(constant(value), average=average, name=name))


def allgather(value: Any, name: str | None = None) -> Any:
    """Return the rows of all processes.

    Args:
        value: An array or a list. Its first size may be another one in each process.
        name: A name of the operation.
    """
    return _now(lambda: horovod.allgather(constant(value), name=name))


def broadcast(value: Any, root_rank: int, name: str | None = None) -> Any:
    """Return the value that one process gives.

    Args:
        value: A number, an array or a list.
        root_rank: The rank of that process.
        name: A name of the operation.
    """
    return _now(lambda: horovod.broadcast(constant(value), root_rank, name=name))


def broadcast_global_variables(root_rank: int) -> None:
    """Give all variables of the session of Keras the values that they have in one process.

    Args:
        root_rank: The rank of that process.
    """
    _now(lambda: horovod.broadcast_global_variables(root_rank))


def load_model(
    filepath: Any,
    custom_optimizers: Any = None,
    custom_objects: dict[str, Any] | None = None,
    compression: Any = Compression.none,
) -> Any:
    """Return a model that `Model.save` has written, with an optimizer that exchanges gradients.

    Args:
        filepath: The file.
        custom_optimizers: Classes of optimizers that are not those of Keras.
        custom_objects: Other objects by their names.
        compression: Without effect.
    """
    known = [getattr(optimizers, name) for name in dir(optimizers)]
    kinds = [kind for kind in known if isinstance(kind, type) and issubclass(kind, optimizers.Optimizer)]
    wrapped = {kind.__name__: class_of_all(kind, "mean") for kind in [*kinds, *(custom_optimizers or ())]}
    return models.load_model(filepath, custom_objects={**wrapped, **(custom_objects or {})})
