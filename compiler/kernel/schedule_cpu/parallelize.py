"""A scheduled kernel in phases of chunks, which may run at the same time.

    kernel mean(x: float32[100000], out: float32[] written):
      acc0: float32 = 0.0
      for k0 in 0..100000 simd:
        acc0 += x[k0]
      out[] = acc0 * 1e-05

becomes two kernels, the second of which begins when the first is done,

    kernel mean(x: float32[100000], out: float32[] written):
      shared sums0: float32[4]
      for chunk in 0..4 parallel:
        acc0: float32 = 0.0
        for k0 in 0..100000 part chunk of 4 simd:
          acc0 += x[k0]
        sums0[chunk] = acc0

    kernel mean(x: float32[100000], out: float32[] written):
      shared sums0: float32[4]
      acc0: float32 = 0.0
      for c in 0..4:
        acc0 += sums0[c]
      out[] = acc0 * 1e-05

A kernel that is little work stays one phase of one chunk. For others, `share_out.py` makes parallel loops,
and `phases.py` puts them in order.
"""

from __future__ import annotations

from staticgraph.compiler.graph.sizes import MANY, AnySize
from staticgraph.compiler.kernel.cost import is_for_several, nanoseconds, picoseconds
from staticgraph.compiler.kernel.loops.dependence import accesses
from staticgraph.compiler.kernel.stmt import Kernel, PhaseCall, opens, whole
from staticgraph.compiler.support.dataclass import dataclass, replace


@dataclass(frozen=True, slots=True)
class Chunked:
    """A kernel as phases, and about how long all of it takes on one core, in nanoseconds.

    `calls` is the order in which they are done; None: each once. `time` is the cost in picoseconds, with open
    sizes as such.
    """

    phases: tuple[Kernel, ...]
    cost: float
    time: AnySize
    calls: tuple[PhaseCall, ...] | None = None


def chunked(kernel: Kernel, vector_bytes: int) -> Chunked:
    """`kernel`, flat and scheduled, in phases that have the same buffers, scratch memory included."""
    cost = nanoseconds(kernel.body, kernel.buffers, vector_bytes, MANY)
    is_open = opens(kernel.body)
    time = picoseconds(kernel.body, kernel.buffers, vector_bytes) if is_open else round(1000 * cost)
    if (is_open or is_for_several(cost)) and not _passes_on(kernel):
        from staticgraph.compiler.kernel.schedule_cpu.phases import Splitter  # small kernels have one

        phases, calls = Splitter(kernel, vector_bytes).split()
        return Chunked(phases, cost, time, calls)
    return Chunked((replace(kernel, body=tuple(map(whole, kernel.body))),), cost, time)


def _passes_on(kernel: Kernel) -> bool:
    """Return True if one statement leaves something for another in the kernel's own scratch memory."""
    users = [{a.buffer for a in accesses((stmt,))} & kernel.locals.keys() for stmt in kernel.body]
    return sum(map(len, users)) > len(set().union(*users))
