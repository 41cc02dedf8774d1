"""One kernel for a processor, from its loops to text: a product where it is one, loops otherwise.

work          loops over the elements of results, in no order
in_phases     loops in their order, vectorised, and cut into phases of chunks for threads
generate      the text of each phase; that of a product is by `codegen/gemm/`
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from staticgraph.compiler import stages
from staticgraph.compiler.codegen import abi
from staticgraph.compiler.codegen.llvm import kernel as llvm
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.kernel.expr import Load
from staticgraph.compiler.kernel.lower_expressions import Placer, sum_of_products
from staticgraph.compiler.kernel.schedule_cpu.schedule import Chunked, chunked, schedule
from staticgraph.compiler.kernel.schedule_cpu.vectorize import align
from staticgraph.compiler.kernel.stmt import Kernel, Loop, LoopKind, Stmt
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.support.dataclass import replace

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.gemm.choice import Choice
    from staticgraph.compiler.codegen.gemm.transposed_copy import TransposedCopy
    from staticgraph.compiler.kernel.contraction import Contraction

Search = Callable[["Contraction", CpuTarget], "Choice"]
# Phases that `adds_in_chunks` made, by the id of the work and the bytes of vectors: it is asked about all
# kernels that may share code before the first of them is generated.
_AHEAD: OrderedDict[tuple[int, int], tuple[Loops, Chunked]] = OrderedDict()
_MOST_AHEAD = 64


def generate(
    work: Loops | Kernel,
    target: CpuTarget,
    search: Search | None = None,
    begin: Callable[[Code], None] | None = None,
) -> abi.KernelCode:
    """The code of `work`, in one or several phases.

    `search` is asked how a product is done best. `begin` is called with each part of long code.
    """
    if isinstance(work, Loops):
        product = product_of(work)
        if product is not None:
            from staticgraph.compiler.codegen.gemm import gemm as contraction
            from staticgraph.compiler.codegen.gemm.choice import NO_CHOICE

            stages.report("product", work, product)
            choice = NO_CHOICE if search is None or product.sizes else search(product, target)
            return stages.report("print_gemm", product, contraction.emit(product, target, choice))
        copy = transposed_copy_of(work)
        if copy is not None:
            from staticgraph.compiler.codegen.gemm import transposed_copy as transposition

            return stages.report("print_gemm", work, transposition.emit(copy, target))
    split = in_phases(work, target.vector_bytes)
    width = target.vector_bytes
    begun = split.phases
    if any(_has_loops_in_lanes(p.body) for p in begun):
        from staticgraph.compiler.kernel.schedule_cpu.accumulators import split_accumulators

        begun = tuple(replace(p, body=split_accumulators(p.body, p.buffers, width)) for p in begun)
    stages.report("accumulators", split.phases, begun)
    phases = tuple(replace(p, body=align(p.body, p.buffers, width)) for p in begun)
    stages.report("peel", begun, phases)
    code = llvm.emit_phases(phases, target, cost=split.cost, time=split.time, calls=split.calls, begin=begin)
    return stages.report("print_llvm", phases, code)


def product_of(work: Loops) -> Contraction | None:
    """Return a kernel as a product, if it is one. What many graphs have none of must not delay them."""
    if work.rows or sum_of_products(work.nests[0].stores) is None:
        return None
    from staticgraph.compiler.kernel.contraction import analyse

    return analyse(work.nests[0].domain, work.nests[0].stores, dict(work.buffers))


def transposed_copy_of(work: Loops) -> TransposedCopy | None:
    """Return a kernel as a copy that changes which index runs along memory, if it is one."""
    stores = [store for nest in (*work.nests, *work.sums) for store in nest.stores]
    if work.rows or len(stores) != 1 or not isinstance(stores[0].value, Load):
        return None
    from staticgraph.compiler.codegen.gemm.transposed_copy import transposed_copy  # for few kernels

    return transposed_copy(work.nests[0].domain, stores[0], dict(work.buffers))


def in_phases(work: Loops | Kernel, vector_bytes: int) -> Chunked:
    """Return a kernel that is no product in phases, each with its loops in their order."""
    if not isinstance(work, Loops):
        return _chunked(work, vector_bytes)
    kept = _AHEAD.pop((id(work), vector_bytes), None)
    if kept is not None and kept[0] is work and stages.observation() is None:
        return kept[1]
    return _chunked(stages.report("row_schedule", work, _placed(work)), vector_bytes)


def adds_in_chunks(work: Loops, vector_bytes: int) -> bool:
    """Return True if chunks of a kernel have sums of their own. If so, `in_phases` finds the phases made."""
    with stages.unobserved():
        placed = _placed(work)
        made = _chunked(placed, vector_bytes)
    adds = made.phases[0].shared.keys() != placed.shared.keys()
    if adds:
        _AHEAD[id(work), vector_bytes] = work, made
        while len(_AHEAD) > _MOST_AHEAD:
            _AHEAD.popitem(last=False)
    return adds


def _placed(work: Loops) -> Kernel:
    """Return nests over elements as loops."""
    buffers = dict(work.buffers)
    if work.rows:
        from staticgraph.compiler.kernel.schedule_cpu.row_schedule import place_rows  # few kernels have rows

        return place_rows("loops", buffers, work.rows, work.nests, work.sums)
    return Kernel("loops", buffers, tuple(chain.from_iterable(map(Placer().nest, work.nests))))


def _chunked(kernel: Kernel, vector_bytes: int) -> Chunked:
    if kernel.form is not None:
        from staticgraph.compiler.lower.routine_forms import with_copies  # few kernels have a form

        kernel = with_copies(kernel)
    scheduled = schedule(kernel, vector_bytes)
    made = chunked(scheduled, vector_bytes)
    stages.report("parallelize", (scheduled,), made.phases)
    return made


def _has_loops_in_lanes(body: tuple[Stmt, ...], inside: bool = False) -> bool:
    """Return True if a loop is in a vector loop, as in sums of columns."""
    for stmt in body:
        if isinstance(stmt, Loop):
            if inside or _has_loops_in_lanes(stmt.body, stmt.kind is LoopKind.SIMD):
                return True
    return False
