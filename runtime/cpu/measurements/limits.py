"""Peak rates of a core of this machine, measured.

They are measured with multiply-adds that stay in registers, and with a sum of two arrays that fit into a
cache or do not. Each rate is the best of some short measurements. Other programs that run meanwhile lower it.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable

from staticgraph.compiler.codegen.llvm.text import NAME, function, splat, suffix, vector
from staticgraph.runtime.cpu.jit import Library, host, load
from staticgraph.runtime.profiling.times import LEVELS, Limits
from staticgraph.runtime.state.memory import aligned_bytes

_CHAINS = 12  # of multiply-adds that do not wait for each other
_ROUNDS = 200_000
_LOOKS = 5
_LEAST = 4 << 20  # bytes that are moved in one measurement


@functools.cache
def limits() -> Limits:
    """Return the peak rates of this machine, measured at the first call."""
    width = host().vector_bytes // 4
    library, fma, add = _functions(width)
    sink = aligned_bytes(4 * width)
    chains = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(library[fma])
    seconds = _best(lambda: chains(_ROUNDS, sink.ctypes.data))
    sums = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 3)(library[add])
    bandwidth = {name: _bandwidth(sums, size) for name, size in LEVELS.items()}
    return Limits(2.0 * width * _CHAINS * _ROUNDS / seconds, bandwidth)


def _bandwidth(sums: Callable[..., None], size: int) -> float:
    count = size // 12 // 64 * 64
    arrays = [aligned_bytes(4 * count) for _ in range(3)]
    for array in arrays:
        array[:] = 0
    repeats = max(1, _LEAST // size)
    places = [array.ctypes.data for array in arrays]
    return 12 * count * repeats / _best(lambda: sums(repeats, count, *places))


def _best(work: Callable[[], object]) -> float:
    shortest = float("inf")
    for _ in range(_LOOKS):
        start = time.perf_counter()
        work()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def _functions(width: int) -> tuple[Library, str, str]:
    """`void (i64 rounds, ptr sink)` and `void (i64 repeats, i64 count, ptr a, ptr b, ptr c)`: a = b + c."""
    kind, ops = vector("float", width), f"@llvm.fma.{suffix('float', width)}"
    factor, addend = splat("float", "5.000000e-01", width), splat("float", "1.000000e+00", width)
    chains = range(_CHAINS)
    phis = [f"  %x{n} = phi {kind} [ zeroinitializer, %entry ], [ %y{n}, %loop ]" for n in chains]
    steps = [f"  %y{n} = call {kind} {ops}({kind} %x{n}, {kind} {factor}, {kind} {addend})" for n in chains]
    stores = [f"  store volatile {kind} %y{n}, ptr %sink" for n in chains]
    fma = function(
        "\n".join(
            [f"define void {NAME}(i64 %rounds, ptr %sink) nounwind {{", "entry:", "  br label %loop", "loop:"]
            + ["  %i = phi i64 [ 0, %entry ], [ %next, %loop ]", *phis, *steps]
            + ["  %next = add i64 %i, 1", "  %more = icmp ult i64 %next, %rounds"]
            + ["  br i1 %more, label %loop, label %done", "done:", *stores, "  ret void", "}"]
        ),
        (f"declare {kind} {ops}({kind}, {kind}, {kind})",),
    )
    add = function(f"""\
define void {NAME}(i64 %repeats, i64 %count, ptr %a, ptr %b, ptr %c) nounwind {{
entry:
  br label %again
again:
  %turn = phi i64 [ 0, %entry ], [ %next.turn, %end ]
  br label %loop
loop:
  %i = phi i64 [ 0, %again ], [ %next, %loop ]
  %to = getelementptr float, ptr %a, i64 %i
  %one = getelementptr float, ptr %b, i64 %i
  %two = getelementptr float, ptr %c, i64 %i
  %x = load volatile {kind}, ptr %one, align 64
  %y = load volatile {kind}, ptr %two, align 64
  %sum = fadd {kind} %x, %y
  store volatile {kind} %sum, ptr %to, align 64
  %next = add i64 %i, {width}
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  %next.turn = add i64 %turn, 1
  %not.done = icmp ult i64 %next.turn, %repeats
  br i1 %not.done, label %again, label %done
done:
  ret void
}}
""")
    return load([fma, add]), fma.name, add.name
