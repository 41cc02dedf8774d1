"""Properties of a GPU, and of what it is asked for, that code generation depends on; limits of all GPUs."""

from __future__ import annotations

from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.machine import H200, GpuMachine
from staticgraph.compiler.support.dataclass import dataclass

# Limits that all GPUs of CUDA have in common since compute capability 7.5: from the table "Technical
# Specifications per Compute Capability" of the CUDA C++ Programming Guide.
WARP = 32  # threads that run together
REGISTERS = 65536  # of a multiprocessor, of 32 bits
BLOCKS = 16  # that a multiprocessor has room for, at least
SHARED_BYTES = 48 << 10  # that a block has without being asked
BANK_BYTES = 128  # that shared memory reads or writes at a time: 32 banks of 4 bytes
ARGUMENT_BYTES = 4096  # of a function
VECTOR_BYTES = 16  # that a thread reads or writes in one instruction
SECTOR_BYTES = 32  # that memory gives at a time

# The usual size of a block, and what is best kept below.
THREADS = 256  # of a block, if nothing else decides: eight warps, of which eight blocks fill a multiprocessor
MOST_BLOCKS = (1 << 16) - 1  # side by side in the second and the third direction of a grid
MOST_POSITIONS = 1 << 30  # in buffers of functions with open sizes, which count them as `int`


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
