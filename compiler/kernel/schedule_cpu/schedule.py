"""The CPU schedule of a kernel: the steps that choose its loops, in order, and its cut into chunks.

    kernel tanh(x: float32[4, 6], out: float32[4, 6] written):
      for i0 in 0..4:
        for i1 in 0..6:
          out[i0, i1] = tanh(x[i0, i1])

    kernel sums(x: float32[300, 100], out: float32[100] written):
      for i0 in 0..100:
        acc0: float32 = 0.0
        for k0 in 0..300:
          acc0 += x[k0, i0]
        out[i0] = acc0

become

    kernel tanh(x: float32[24], out: float32[24] written):
      for i0 in 0..24 simd:
        out[i0] = tanh(x[i0])

    kernel sums(x: float32[30000], out: float32[100] written):
      for i0 in 0..100 simd:
        acc0: float32 = 0.0
        for k0 in 0..300:
          acc0 += x[k0 * 100 + i0]
        out[i0] = acc0

Sums along the rows of the same array keep `i0` serial and run `k0` in lanes, each with a partial result.
The steps are

    flatten      a position becomes one offset: buffers have at most one axis
    interchange  of loops with nothing between them, the one that runs along memory goes innermost
    merge        two loops with nothing between them become one where one variable can write all offsets
    groups       sums of groups of neighbouring columns are added up from sums of columns
    fuse         loops side by side become one where no iteration needs another one
    vectorize    the loop of every nest whose lanes save the most becomes SIMD, by counting operations
    jam          rows that load the same elements are done together

A scheduled kernel is then cut into phases of chunks, which may run at the same time.

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

A kernel that is little work stays one phase of one chunk. For others, `parallelize.py` makes parallel loops,
and puts them in order.
"""

from __future__ import annotations

from staticgraph.compiler.graph.sizes import MANY, AnySize
from staticgraph.compiler.kernel.cost import is_for_several, nanoseconds, picoseconds
from staticgraph.compiler.kernel.loops.dependence import accesses
from staticgraph.compiler.kernel.loops.fusion import fuse_loops
from staticgraph.compiler.kernel.loops.nests import flatten, interchange, merge
from staticgraph.compiler.kernel.schedule_cpu.vectorize import vectorize
from staticgraph.compiler.kernel.stmt import Kernel, Loop, PhaseCall, Update, opens, statements, whole
from staticgraph.compiler.stages import report
from staticgraph.compiler.support.dataclass import dataclass, replace

_WIDE = 64  # bytes of vectors that wait for the second-level cache and not for their loads: none is saved


def schedule(kernel: Kernel, vector_bytes: int) -> Kernel:
    """`kernel`, as `place` or a builder made it, for a CPU with vectors of `vector_bytes`.

    Only loops whose iterations are independent, or steps of reductions, change; all others stay as they are.
    """
    made = report("flatten", kernel, flatten(kernel))
    made = report("interchange", made, replace(made, body=interchange(made.body, made.buffers)))
    made = report("merge", made, replace(made, body=merge(made.body)))
    kinds: list[type] = []
    for stmt in made.body:  # most kernels have no loop in a loop
        if isinstance(stmt, Loop) and Loop in map(type, stmt.body):
            kinds += map(type, statements((stmt,)))
    if Update in kinds and kinds.count(Loop) > 2:
        from staticgraph.compiler.kernel.schedule_cpu.column_groups import by_column_groups

        made = report("column_groups", made, by_column_groups(made, vector_bytes))
    made = report("fuse_loops", made, fuse_loops(made))
    made = report("vectorize", made, vectorize(made, vector_bytes))
    before = made
    if vector_bytes < _WIDE:
        from staticgraph.compiler.kernel.schedule_cpu.unroll_and_jam import jam

        made = replace(made, body=jam(made.body, made.buffers))
    return report("unroll_and_jam", before, made)


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
        from staticgraph.compiler.kernel.schedule_cpu.parallelize import Splitter  # small kernels have one

        phases, calls = Splitter(kernel, vector_bytes).split()
        return Chunked(phases, cost, time, calls)
    return Chunked((replace(kernel, body=tuple(map(whole, kernel.body))),), cost, time)


def _passes_on(kernel: Kernel) -> bool:
    """Return True if one statement leaves something for another in the kernel's own scratch memory."""
    users = [{a.buffer for a in accesses((stmt,))} & kernel.locals.keys() for stmt in kernel.body]
    return sum(map(len, users)) > len(set().union(*users))
