"""Limits of this machine: multiply-adds in registers, a triad from memory and from the last cache,
and how soon a thread sees what another one has written.

The loops are written as LLVM IR with the machine's widest vectors and compiled by llvmlite, so no compiler is
needed and nothing of this project is measured with itself. Each thread works on its own share.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import llvmlite.binding as llvm
import numpy as np

from benchmarks.workloads import Cost
from staticgraph.applications.cli.machine import cores

ROUNDS = 20
ACCUMULATORS = 12  # enough to hide the latency of two multiply-adds per cycle, and no more than AVX2 can hold
MEMORY, CACHE = 384 << 20, 6 << 20  # bytes that a triad goes through
FILL = 32 << 20
LINE = 128  # bytes; processors load cache lines in pairs
_SECONDS = frozenset({"fill_fresh", "fill_reused", "hand_over"})  # limits of which the least is the best


@dataclass(frozen=True, slots=True)
class Machine:
    """Limits of a machine with some number of threads: per second, or in seconds."""

    flops: float
    memory: float  # bytes
    cache: float  # bytes
    sgemm: float  # flops of NumPy's product of two 1024 x 1024 matrices
    fill_fresh: float  # seconds to fill 32 MiB that the system has to hand out first
    fill_reused: float
    vector_bits: int = 0  # 0: not recorded
    hand_over: float = 0.0  # seconds from one thread to another; 0: there is one, or it was not recorded

    def best(self, other: Machine) -> Machine:
        """The better of two measurements, limit by limit."""
        pairs = {name: (value, getattr(other, name)) for name, value in asdict(self).items()}
        return Machine(**{name: (min if name in _SECONDS else max)(pair) for name, pair in pairs.items()})

    def floor(self, cost: Cost) -> tuple[float, str]:
        """The least time for a step, in seconds, and what sets it."""
        times = {
            "arithmetic": cost.flops / self.flops,
            "memory": cost.memory / self.memory,
            "cache": cost.cache / self.cache,
        }
        bound = max(times, key=lambda name: times[name])
        return times[bound], bound


def measure(threads: int) -> Machine:
    """The limits of this machine; takes some seconds."""
    width, code = compiled()
    with ThreadPoolExecutor(threads) as pool:

        def together(work: Callable[[int], None]) -> float:
            return best(lambda: list(pool.map(work, range(threads))))

        flops = multiply_adds(width, code, 4_000_000, threads, together)
        memory = triad(code.triad_streaming, MEMORY, 1, threads, together)
        cache = triad(code.triad, CACHE, 256, threads, together)
        turn = hand_over(code, 20_000, threads, together)
    fresh = best(lambda: np.frombuffer(mmap.mmap(-1, FILL), np.float32).fill(1))
    kept = np.ones(FILL // 4, np.float32)
    reused = best(lambda: kept.fill(1))
    return Machine(flops, memory, cache, sgemm(), fresh, reused, 32 * width, turn)


def best(work: Callable[[], object]) -> float:
    """The shortest of some runs, in seconds."""
    shortest = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def multiply_adds(
    width: int,
    code: Functions,
    repeats: int,
    threads: int,
    together: Callable[[Callable[[int], None]], float],
) -> float:
    """Floating-point operations per second in registers."""
    sinks = [np.empty(width, np.float32) for _ in range(threads)]
    seconds = together(lambda n: code.fma(repeats, sinks[n].ctypes.data))
    return 2.0 * width * ACCUMULATORS * repeats * threads / seconds


def triad(
    function: Callable[..., None],
    size: int,
    repeats: int,
    threads: int,
    together: Callable[[Callable[[int], None]], float],
) -> float:
    """Bytes per second of a[i] = b[i] + s * c[i] over three arrays of `size` bytes together."""
    count = size // 12 // threads // 64 * 64
    memory = np.ones(3 * count * threads + 64, np.float32)
    start = memory.ctypes.data + -memory.ctypes.data % 64

    def share(number: int) -> None:
        a, b, c = (start + 4 * count * (3 * number + array) for array in range(3))
        function(repeats, count, a, b, c)

    return 12.0 * count * threads * repeats / together(share)


def hand_over(
    code: Functions, turns: int, threads: int, together: Callable[[Callable[[int], None]], float]
) -> float:
    """Seconds from one thread to another: two of them take turns, and a word says whose it is."""
    _, usable = cores()
    if min(threads, usable) == 1:
        return 0.0
    word = np.zeros(2 * LINE, np.uint8)
    place = word.ctypes.data + -word.ctypes.data % LINE
    return together(lambda n: code.turns(turns, n, place) if n < 2 else None) / (2 * turns)


def sgemm(size: int = 1024) -> float:
    """Flops of NumPy's matrix product, for comparison: no floor is made from it."""
    a, b, c = (np.ones((size, size), np.float32) for _ in range(3))
    return 2 * size**3 / best(lambda: np.matmul(a, b, out=c))


@dataclass(frozen=True)
class Functions:
    """Machine code, and the engine that keeps it."""

    engine: llvm.ExecutionEngine
    fma: Callable[..., None]
    triad: Callable[..., None]
    triad_streaming: Callable[..., None]
    turns: Callable[..., None]


def compiled() -> tuple[int, Functions]:
    """Floats per vector, and the loops."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    width = 16 if features.get("avx512f") else 8 if features.get("avx2") else 4
    texts = [
        fma_text(width),
        triad_text("triad", width, ""),
        triad_text("streaming", width, ", !nontemporal !0"),
        TURNS,
    ]
    declared = (
        f"declare <{width} x float> @llvm.fma.v{width}f32" + f"({', '.join([f'<{width} x float>'] * 3)})"
    )
    module = llvm.parse_assembly("\n".join([*texts, declared, "!0 = !{i32 1}"]))
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=2
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()

    def function(name: str, pointers: int, numbers: int) -> Callable[..., None]:
        types = [ctypes.c_int64] * numbers + [ctypes.c_void_p] * pointers
        return ctypes.CFUNCTYPE(None, *types)(engine.get_function_address(name))

    return width, Functions(
        engine,
        function("fma", 1, 1),
        function("triad", 3, 2),
        function("streaming", 3, 2),
        function("turns", 1, 2),
    )


def splat(value: str, width: int) -> str:
    """A vector of equal numbers."""
    return f"<{', '.join([f'float {value}'] * width)}>"


def fma_text(width: int) -> str:
    """`fma(i64 repeats, ptr sink)`: independent chains x = x * m + a that stay in registers."""
    vector, numbers = f"<{width} x float>", range(ACCUMULATORS)
    m, a = splat("0x3FEFF7CEE0000000", width), splat("0x3F1A36E2E0000000", width)  # 0.999, 0.0001
    lines = ["define void @fma(i64 %repeats, ptr %sink) {\nentry:\n  br label %loop\nloop:"]
    lines.append("  %i = phi i64 [0, %entry], [%next, %loop]")
    lines += [f"  %x{n} = phi {vector} [{splat(f'{n}.0', width)}, %entry], [%y{n}, %loop]" for n in numbers]
    call = f"call {vector} @llvm.fma.v{width}f32"
    lines += [f"  %y{n} = {call}({vector} %x{n}, {vector} {m}, {vector} {a})" for n in numbers]
    lines.append("  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %repeats")
    lines.append("  br i1 %more, label %loop, label %done\ndone:")
    lines += [f"  store volatile {vector} %y{n}, ptr %sink, align 4" for n in numbers]
    return "\n".join([*lines, "  ret void\n}"])


def triad_text(name: str, width: int, hint: str) -> str:
    """`name(i64 repeats, i64 count, ptr a, ptr b, ptr c)`: a = b + 3 * c over aligned arrays."""
    vector = f"<{width} x float>"
    return f"""
define void @{name}(i64 %repeats, i64 %count, ptr %a, ptr %b, ptr %c) {{
entry:
  br label %again
again:
  %r = phi i64 [0, %entry], [%r1, %end]
  br label %loop
loop:
  %i = phi i64 [0, %again], [%i1, %loop]
  %pa = getelementptr float, ptr %a, i64 %i
  %pb = getelementptr float, ptr %b, i64 %i
  %pc = getelementptr float, ptr %c, i64 %i
  %vb = load {vector}, ptr %pb, align 64
  %vc = load {vector}, ptr %pc, align 64
  %va = call {vector} @llvm.fma.v{width}f32({vector} %vc, {vector} {splat("3.0", width)}, {vector} %vb)
  store {vector} %va, ptr %pa, align 64{hint}
  %i1 = add i64 %i, {width}
  %more = icmp ult i64 %i1, %count
  br i1 %more, label %loop, label %end
end:
  %r1 = add i64 %r, 1
  %over = icmp ult i64 %r1, %repeats
  br i1 %over, label %again, label %done
done:
  ret void
}}"""


# A thread waits until the word is its number, 0 or 1, and makes it the other one's.
TURNS = """
define void @turns(i64 %turns, i64 %mine, ptr %word) {
entry:
  %other = sub i64 1, %mine
  br label %look
look:
  %n = phi i64 [0, %entry], [%n, %look], [%n1, %pass]
  %whose = load atomic i64, ptr %word acquire, align 8
  %is.mine = icmp eq i64 %whose, %mine
  br i1 %is.mine, label %pass, label %look
pass:
  store atomic i64 %other, ptr %word release, align 8
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, %turns
  br i1 %more, label %look, label %done
done:
  ret void
}"""
