"""Machines that code is scheduled for: a processor and a GPU, each number with its unit and its origin.

Decisions about loops, threads and tiles compare estimates that are made of these numbers. A wrong one makes
slower code, never other results. Numbers without a data sheet were tuned by hand: `tools/benchmark.py` and
`tools/measure/contraction_speed.py` on an AMD EPYC, 2 cores (docs/benchmark.md), `tools/gpu_check.py` on an
H200.
"""

from __future__ import annotations

from staticgraph.compiler.support.dataclass import dataclass, replace

ALIGNMENT = 64  # bytes that addresses of buffers are multiples of: a cache line, and the widest vector


@dataclass(frozen=True, slots=True)
class CpuMachine:
    """A core of a processor, its caches, and what it costs to share work with others.

    How wide its vectors are is in `CpuTarget`. There is one record for all processors: how a sum is cut into
    parts follows from it, and results should not depend on where a program runs.
    """

    # Time of loops. Tuned on the rows of tools/benchmark.py.
    addition_ns: float = 0.3  # of vectors, ns: about one in a cycle, as operands come from the nearest cache
    byte_ns: float = 0.03  # ns per byte of a stream from memory or to it
    copied_byte_ns: float = 0.1  # ns per byte of a copy: it is read, and its new cache line read and written
    round_ns: float = 5.0  # ns of a round of a loop between kernels that does next to nothing

    # Time of matrix products. Tuned with tools/measure/contraction_speed.py.
    flops_per_ns: float = 80.0  # multiply-adds of float32 in micro-kernels, each as two operations
    product_bytes_per_ns: float = 32.0  # of operands and results, from memory: 4 % below the stream of a loop
    packed_ns: float = 0.5  # ns per element of an operand that is packed
    turned_ns: float = 0.2  # ns per element of an operand that is transposed

    # Rates of a core over a whole step: for a limit that is rather kept too early.
    sustained_flops_per_ns: float = 50.0
    sustained_bytes_per_ns: float = 5.0

    # Memory. Sizes of Zen 3 and Zen 4 by AMD's data sheets, of which code takes what other data leaves.
    page_bytes: int = 4096  # of x86-64 and AArch64
    row_bytes: int = 256 << 10  # buffers of a row in the second-level cache, which has 512 KiB or more
    near_bytes: int = 1 << 20  # likely to be in a cache of the core's own when it is read again
    streamed_bytes: int = 12 << 20  # so large a result has left the caches when it is read: tuned

    # Time that is worth another thread, ns. Tuned on the rows of tools/benchmark.py.
    shared_ns: float = 9_000.0  # of a kernel: less is done by one thread
    chunk_ns: float = 8_000.0  # of a chunk of loops
    short_chunk_ns: float = 2_500.0  # of one where there would be few
    open_chunk_ns: float = 4_000.0  # of one of loops with open sizes
    product_chunk_ns: tuple[float, float] = (5_000.0, 50_000.0)  # of a chunk of a product: least and most
    region_ns: int = 15_000  # of all that runs between two waits for all threads
    joined_ns: float = 2_000.0  # of several small kernels in one chunk
    claimed_ns: float = 40_000.0  # of chunks that a thread claims in one go


@dataclass(frozen=True, slots=True)
class GpuMachine:
    """An NVIDIA GPU: its multiprocessors, and the time of what they do.

    The limits that all GPUs have in common are in `kernel/schedule_gpu/target.py`.
    """

    # NVIDIA's data sheets of the H200 and of compute capability 9.0 (CUDA C++ Programming Guide).
    multiprocessors: int = 132
    threads: int = 2048  # of a multiprocessor
    shared_bytes: int = 200 << 10  # of a multiprocessor: 228 KiB, and some of it for the first-level cache
    block_shared_bytes: int = 227 << 10  # that a block has at most, if its function asks for it
    issued: int = 4  # instructions per cycle of a multiprocessor: one of each of its schedulers
    tensor_products: int = 1024  # of TF32, per cycle of a multiprocessor
    cycles_per_us: float = 1800.0  # under load; 1980 at most

    # Tuned with tools/gpu_check.py.
    launch_us: float = 2.5  # microseconds of one more function, in a captured graph
    memory_wait: float = 700.0  # cycles until an operand arrives from memory
    block_ends: float = 1500.0  # cycles from the start of a block to its first step, and from the last one on
    core_bytes: float = 150.0  # per cycle, of a multiprocessor that does other things meanwhile
    bytes_per_us: float = 3.6e6  # of arrays that are written and read again; copies reach 4.3e6

    # Per microsecond, of whole functions, tuned with tools/gpu_check.py on attention.
    own_products: float = 10e6  # of float32, by functions of our own
    own_tensor_products: float = 15e6  # by those of our own that use tensor cores
    library_products: float = 21e6  # of float32, by cuBLAS
    library_rounded_products: float = 50e6  # of float32 rounded to TF32 or bfloat16
    library_short_products: float = 95e6  # of float16 and bfloat16

    @property
    def launch(self) -> float:
        """Cycles of one more function, from the end of the last block before it to its own."""
        return self.launch_us * self.cycles_per_us + self.block_ends

    @property
    def memory_bytes(self) -> float:
        """Bytes per cycle of arrays that are written and read again."""
        return self.bytes_per_us / self.cycles_per_us

    @property
    def busy_threads(self) -> int:
        """Threads that keep the GPU busy: half as many as there is room for."""
        return self.multiprocessors * self.threads // 2

    @property
    def busy_blocks(self) -> int:
        """Blocks of 256 threads that keep all multiprocessors busy while they wait for memory."""
        return 4 * self.multiprocessors

    @property
    def few_blocks(self) -> int:
        """Blocks that leave much of the GPU idle."""
        return 2 * self.multiprocessors


CPU = CpuMachine()
H200 = GpuMachine()

# KiB of shared memory that a block may ask for, by compute capability: from the table "Technical
# Specifications per Compute Capability" of the CUDA C++ Programming Guide.
_BLOCK_SHARED = {
    "75": 64,
    "80": 163,
    "86": 99,
    "87": 163,
    "89": 99,
    "90": 227,
    "100": 227,
    "103": 227,
    "120": 99,
}


def gpu_of(architecture: str) -> GpuMachine:
    """Return the numbers of a GPU of an architecture such as "sm_86", as far as code depends on them.

    >>> gpu_of("sm_86").block_shared_bytes >> 10, gpu_of("sm_90a") == H200
    (99, True)
    """
    known = _BLOCK_SHARED.get(architecture.removeprefix("sm_").rstrip("af"), 48)
    return replace(H200, block_shared_bytes=known << 10)
