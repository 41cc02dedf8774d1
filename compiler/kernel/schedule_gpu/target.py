"""Properties of a GPU, and of what it is asked for, that code generation depends on."""

from __future__ import annotations

from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.machine import H200, GpuMachine
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """A GPU, and its libraries.

    Args:
        precision: that of products of float32.
        refused: convolutions that cuDNN does not do; None: there is no cuDNN.
        machine: the numbers that decide about blocks and threads.
        cublas: True if cuBLAS does large products; else functions of our own do them.
    """

    precision: Precision = Precision.FLOAT32
    refused: frozenset[Convolution] | None = None
    machine: GpuMachine = H200
    cublas: bool = True
