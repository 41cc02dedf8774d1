"""Horovod's names for models of Keras (`horovod.keras`, `horovod.tensorflow.keras`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.distribute.buckets import of_all
from staticgraph.tf1.horovod import (
    Average,
    Compression,
    Sum,
    allgather,
    allreduce,
    broadcast,
    broadcast_global_variables,
    callbacks,
    init,
    is_initialized,
    local_rank,
    local_size,
    mpi_threads_supported,
    rank,
    shutdown,
    size,
)
from staticgraph.tf1.keras.optimizers import NativeOptimizer
from staticgraph.tf1.keras.optimizers.base import Optimizer

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
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "mpi_threads_supported",
    "rank",
    "shutdown",
    "size",
]


class _OfAll:
    """Part of the class of an optimizer that applies the gradients of all processes."""

    how = "mean"

    def get_gradients(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        found = super().get_gradients(loss, params)  # type: ignore[misc]
        return [gradient for gradient, _ in of_all(list(zip(found, params, strict=True)), self.how)]

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None
    ) -> Operation:
        made: Operation = super().apply_gradients(of_all(list(grads_and_vars), self.how), name)  # type: ignore[misc]
        return made


def DistributedOptimizer(
    optimizer: Any,
    name: str | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    op: str = Average,
) -> Any:
    """Return an optimizer of Keras that applies the mean or sum of the gradients of all processes.

    Args:
        optimizer: An optimizer of `tf.keras`.
        name: Without effect: operations have the names of the optimizer.
        device_dense: Without effect.
        device_sparse: Without effect.
        compression: Without effect.
        sparse_as_dense: Without effect: sparse gradients are sent as rows.
        op: `Average` or `Sum`.

    Raises:
        TypeError: `optimizer` is no optimizer of Keras.
    """
    if not isinstance(optimizer, Optimizer) or isinstance(optimizer, NativeOptimizer):
        hint = "horovod.tensorflow.DistributedOptimizer takes those of tf.train"
        raise misuse(TypeError, f"{shown(optimizer)} is no optimizer of keras.optimizers", hint)
    kind = type(optimizer)
    made: Any = type(
        kind.__name__, (_OfAll, kind), {"how": op, "__doc__": kind.__doc__, "__module__": kind.__module__}
    )
    return made.from_config(optimizer.get_config())
