"""The code of one kernel for a processor: that of a product where it is one, loops otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from staticgraph.compiler import split_kernel, stages
from staticgraph.compiler.codegen import abi
from staticgraph.compiler.codegen.llvm import kernel as llvm
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.kernel.lower_reductions import sum_of_products
from staticgraph.compiler.kernel.schedule_cpu.vectorize import align
from staticgraph.compiler.kernel.stmt import Kernel, Loop, LoopKind, Stmt
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.support.dataclass import replace

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.gemm.choice import Choice
    from staticgraph.compiler.kernel.contraction import Contraction

Search = Callable[["Contraction", CpuTarget], "Choice"]


def generate(work: Loops | Kernel, target: CpuTarget, search: Search | None = None) -> abi.KernelCode:
    """The code of `work`, in one or several phases. `search` is asked how a product is done best."""
    if isinstance(work, Loops):
        product = product_of(work)
        if product is not None:
            from staticgraph.compiler.codegen.gemm import gemm as contraction
            from staticgraph.compiler.codegen.gemm.choice import NO_CHOICE

            stages.report("product", work, product)
            choice = NO_CHOICE if search is None or product.sizes else search(product, target)
            return stages.report("print_gemm", product, contraction.emit(product, target, choice))
    split = split_kernel.split(work, target.vector_bytes)
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


def product_of(work: Loops) -> Contraction | None:
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
