"""Horovod's names for models of Keras (`horovod.keras`, `horovod.tensorflow.keras`)."""

from __future__ import annotations

from staticgraph.building.signatures import adapted
from staticgraph.tf1 import horovod
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

DistributedOptimizer = adapted(
    horovod.DistributedOptimizer,
    "optimizer name device_dense device_sparse compression sparse_as_dense op",
)
