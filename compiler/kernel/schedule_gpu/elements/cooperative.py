"""Schedule of kernels with independent loops inside of loops that go step by step: a block for each matrix.

    for batch parallel:                 a block, or several after each other
      for step:                           all of its threads
        for strip parallel:                 a warp
          for lane simd:                      a thread
        for lane simd:                      a thread

So factorizations of matrices are done: each step needs what the one before it left, and has strips that need
nothing of each other. What is outside of independent loops is computed by all threads of a block in the same
way, and one of them stores. Threads meet where one reads what another wrote, or writes what another may read.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping

from staticgraph.compiler.graph.sizes import AnySize, Size, at_most
from staticgraph.compiler.kernel.expr import Expr, Index, substitute
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.loops.dependence import accesses
from staticgraph.compiler.kernel.loops.nests import flatten
from staticgraph.compiler.kernel.schedule_gpu.function import FunctionSchedule, GpuSchedule, Grid
from staticgraph.compiler.kernel.schedule_gpu.target import WARP
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Loop,
    LoopKind,
    Stmt,
    Store,
    While,
    rewrite,
    statements,
)
from staticgraph.compiler.support.dataclass import dataclass

Body = tuple[Stmt, ...]
_MOST_THREADS = 512  # of a block: with more of them, each has few registers
_MOST_SCRATCH = 1 << 26  # bytes of all blocks: fewer of them do several items where it would be more


@dataclass(frozen=True, slots=True, eq=False)
class CooperativeSchedule(FunctionSchedule):
    """`body` for each value of `item`, each by the threads of a block; once without it.

    `buffers` of scratch memory are those of a block, or of each of its parts that is `local` to it alone.
    """

    name: str
    item: Index | None
    body: Body
    buffers: Mapping[str, Buffer]

    takes_sizes = True

    @property
    def kind(self) -> str:
        return re.sub(r"\W", "_", self.name)

    @property
    def about(self) -> str:
        """The items."""
        return f"{1 if self.item is None else self.item.extent} items, each by a block"

    @property
    def threads(self) -> int:
        return min(_MOST_THREADS, max(WARP, -(-_width(self.body) // WARP) * WARP))

    @property
    def grid(self) -> Grid:
        if self.item is None:
            return 1, 1, 1
        room = _MOST_SCRATCH // max(1, sum(self.block_bytes.values()))
        return at_most(self.item.extent, max(room, 1)), 1, 1

    @property
    def written(self) -> set[str]:
        """The buffers that it stores to."""
        return {a.buffer for a in accesses(self.body) if isinstance(a, Store)}

    @property
    def uses(self) -> set[str]:
        """The buffers that it reads or writes."""
        return {a.buffer for a in accesses(self.body)}

    @property
    def copies(self) -> dict[str, int]:
        """The scratch memory that it uses: of each buffer, how many a block has."""
        used = self.uses
        found = {n: 1 for n, b in self.buffers.items() if n in used and (b.local or b.shared)}
        for loop in statements(self.body):
            if isinstance(loop, Loop) and loop.kind is LoopKind.PARALLEL:
                parts = 1 + self.threads // part_threads(loop)  # one for what is outside of such loops
                for name in {a.buffer for a in accesses(loop.body)} & found.keys():
                    if not self.buffers[name].shared:
                        found[name] = max(found[name], parts)
        return found

    @property
    def block_bytes(self) -> dict[str, int]:
        """Bytes of the scratch memory of a block."""
        sizes = {name: math.prod(map(operator.index, self.buffers[name].shape)) for name in self.copies}
        return {
            name: count * max(sizes[name], 1) * self.buffers[name].dtype.size
            for name, count in self.copies.items()
        }

    @property
    def scratch(self) -> dict[str, AnySize]:
        """Bytes of the scratch memory of all blocks."""
        return {name: size * self.grid[0] for name, size in self.block_bytes.items()}


def cooperative(kernel: Kernel) -> GpuSchedule | None:
    """The schedule of a kernel with independent loops inside of others; None for one without."""
    kernel = flatten(kernel)
    item, body = _item(kernel)
    if not any(map(_goes_step_by_step, body)):
        return None
    made = CooperativeSchedule(kernel.name, item, body, kernel.buffers)
    return GpuSchedule((made,), tuple(made.scratch.items()))


def _is_independent(stmt: Stmt) -> bool:
    """Return True for a loop whose iterations need nothing of each other."""
    return isinstance(stmt, Loop) and stmt.kind is not LoopKind.SERIAL


def _item(kernel: Kernel) -> tuple[Index | None, Body]:
    """The independent loops around all else as one, and what is inside; no loop if there is one matrix."""
    loops: list[Index] = []
    body = kernel.body
    if not any(b.shared and b.local for b in kernel.buffers.values()):
        return None, body
    while len(body) == 1 and isinstance(loop := body[0], Loop) and loop.kind is LoopKind.PARALLEL:
        loops.append(loop.index)
        body = loop.body
    item = Index("item", math.prod(index.extent for index in loops))
    table: dict[Expr, Expr] = {}
    inner: AnySize = 1
    for index in reversed(loops):
        table[index] = (item // inner) % index.extent
        inner = inner * index.extent
    return item, rewrite(body, lambda e: simplify_index(substitute(e, table)))


def _goes_step_by_step(stmt: Stmt) -> bool:
    """Return True for a loop or branch that is not independent itself, with parallel loops inside."""
    if not isinstance(stmt, Loop | While | If) or _is_independent(stmt):
        return False
    return any(isinstance(s, Loop) and s.kind is LoopKind.PARALLEL for s in statements(stmt.body))


def _width(body: Body) -> int:
    """The number of threads that have something to do at the same time."""
    most = 1
    for stmt in body:
        if not isinstance(stmt, Loop | While | If):
            continue
        if isinstance(stmt, Loop) and _is_independent(stmt):
            extent = stmt.index.extent
            count = _MOST_THREADS if isinstance(extent, Size) else extent
            most = max(most, count * part_threads(stmt))
        else:
            most = max(most, _width(stmt.body))
    return most


def part_threads(loop: Loop) -> int:
    """Return how many threads do an iteration of an independent loop: a warp if its lanes have work."""
    inside = (s.kind for s in statements(loop.body) if isinstance(s, Loop))
    return WARP if loop.kind is LoopKind.PARALLEL and LoopKind.SIMD in inside else 1
