"""The code of one kernel for a processor: that of a product where it is one, loops otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from staticgraph.compiler import stages
from staticgraph.compiler.codegen import abi
from staticgraph.compiler.codegen.llvm import kernel as llvm
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.kernel.lower_reductions import Placer, sum_of_products
from staticgraph.compiler.kernel.schedule_cpu.parallelize import chunked
from staticgraph.compiler.kernel.schedule_cpu.schedule import schedule
from staticgraph.compiler.kernel.schedule_cpu.vectorize import align
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, LoopKind, Stmt
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.support.dataclass import replace

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.gemm.choice import Choice
    from staticgraph.compiler.kernel.contraction import Contraction

Search = Callable[["Contraction", CpuTarget], "Choice"]


def generate(work: Loops | Kernel, target: CpuTarget, search: Search | None = None) -> abi.KernelCode:
    """The code of `work`, in one or several phases. `search` is asked how a product is done best."""
    if isinstance(work, Loops):
        buffers = dict(work.buffers)
        product = _product(work)
        if product is not None:
            from staticgraph.compiler.codegen.gemm import gemm as contraction
            from staticgraph.compiler.codegen.gemm.choice import NO_CHOICE

            stages.report("product", work, product)
            choice = NO_CHOICE if search is None or product.sizes else search(product, target)
            return stages.report("print_gemm", product, contraction.emit(product, target, choice))
        work = stages.report("row_schedule", work, _placed(work, buffers))
    if work.form is not None:
        from staticgraph.compiler.lower.routine_forms import with_copies  # few kernels have a form

        work = with_copies(work)
    scheduled = schedule(work, target.vector_bytes)
    split = chunked(scheduled, target.vector_bytes)
    stages.report("parallelize", (scheduled,), split.phases)
    width = target.vector_bytes
    begun = split.phases
    if any(_has_loops_in_lanes(p.body) for p in begun):
        from staticgraph.compiler.kernel.schedule_cpu.accumulators import split_accumulators

        begun = tuple(replace(p, body=split_accumulators(p.body, p.buffers, width)) for p in begun)
    stages.report("accumulators", split.phases, begun)
    phases = tuple(replace(p, body=align(p.body, p.buffers, width)) for p in begun)
    stages.report("peel", begun, phases)
    code = llvm.emit_phases(phases, target, cost=split.cost, time=split.time, calls=split.calls)
    return stages.report("print_llvm", phases, code)


def _placed(work: Loops, buffers: dict[str, Buffer]) -> Kernel:
    """Return nests over elements as loops."""
    if not work.rows:
        placer = Placer()
        return Kernel("loops", buffers, tuple([s for nest in work.nests for s in placer.nest(nest)]))
    from staticgraph.compiler.kernel.schedule_cpu.row_schedule import place_rows

    return place_rows("loops", buffers, work.rows, work.nests, work.sums)


def _product(work: Loops) -> Contraction | None:
    """Return a kernel as a product, if it is one. What many graphs have none of must not delay them."""
    if work.rows or sum_of_products(work.nests[0].stores) is None:
        return None
    from staticgraph.compiler.kernel.contraction import analyse

    return analyse(work.nests[0].domain, work.nests[0].stores, dict(work.buffers))


def _has_loops_in_lanes(body: tuple[Stmt, ...], inside: bool = False) -> bool:
    """Return True if a loop is in a vector loop, as in sums of columns."""
    for stmt in body:
        if isinstance(stmt, Loop):
            if inside or _has_loops_in_lanes(stmt.body, stmt.kind is LoopKind.SIMD):
                return True
    return False
