"""Code of several kernels of a step at once, so that those which differ in sizes share it.

    y = x * s for 256 x 32, 1024 x 96 and 64 x 160     ->  one function, called with three pairs of sizes

`kernel_codes.py` says when, and why products go another way. For loops, `size_rules.py` says which sizes may
vary without a change of bits, and `lower/size_classes.py` makes the kernel that has them open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from staticgraph.compiler import stages
from staticgraph.compiler.codegen import abi
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.generate import adds_in_chunks
from staticgraph.compiler.graph.open_sizes import replaced
from staticgraph.compiler.graph.size_atoms import Atom
from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.compiler.graph.sizes import MANY, AnySize, estimate
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.lower.kernel_dedup import FEW
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.lower.size_classes import Form, form_of, generalized
from staticgraph.compiler.size_rules import may_vary
from staticgraph.compiler.support.dataclass import replace

Emit = Callable[[Loops], abi.KernelCode]


def shared(works: Sequence[Loops], target: CpuTarget, emit: Emit) -> Iterator[tuple[Loops, abi.KernelCode]]:
    """Generate the code of kernels that others may share.

    Args:
        works: Different kernels. Those that differ in sizes alone are looked for among them.
        target: The processor.
        emit: Makes the code of a kernel, with open sizes or without.

    Yields:
        Kernels and their code. Those that share none are left out.
    """
    classes: dict[Hashable, list[tuple[Loops, Form]]] = {}
    for work in works:
        if may_vary(work, target.vector_bytes):
            form, rows = form_of(work), repr(work.rows[0].extent) if work.sums else ""  # which are in blocks
            classes.setdefault((rows, form.key), []).append((work, form))
    for members in classes.values():
        while len(members) >= FEW and not _adds_in_rows((largest := max(members, key=_columns))[0], target):
            members.remove(largest)
        if len(members) >= FEW:
            yield from _as_one(members, emit)


def shared_products(
    products: Sequence[tuple[Loops, Contraction]], target: CpuTarget
) -> Iterator[tuple[Loops, abi.KernelCode]]:
    """Generate the code of products, which those that are done alike share.

    Args:
        products: Different kernels, and what they compute.
        target: The processor.

    Yields:
        Kernels and their code, as soon as it is there. Those that ask for an open size are left out.
    """
    from staticgraph.compiler.codegen.gemm.share_text import emit_together  # for steps of many products

    for n, code in emit_together([product for _, product in products], target):
        stages.report("product", *products[n])
        stages.report("print_gemm", products[n][1], code)
        yield products[n][0], code


def _as_one(members: Sequence[tuple[Loops, Form]], emit: Emit) -> Iterator[tuple[Loops, abi.KernelCode]]:
    """The code of kernels of one form; none if it asks for a size."""
    columns = [*zip(*(form.numbers for _, form in members), strict=True)]
    if any(min(map(abs, column)) <= 1 for column in columns if len({*column}) > 1):
        return  # a loop over one element is no loop
    whole, cases = generalized(members[0][0], columns)
    stages.report("size_classes", tuple(work for work, _ in members), whole)
    try:
        code = emit(whole)
    except Undecided:
        return
    for (work, _), case in zip(members, cases, strict=True):
        yield work, bound(code, case)


def bound(code: abi.KernelCode, values: Mapping[str, int]) -> abi.KernelCode:
    """Return the code of a kernel with values for some of the sizes that it takes."""
    factors: dict[Atom, AnySize] = {}  # the sizes of one kernel have most of them in common
    time = replaced(code.time, values, factors)
    return replace(
        code,
        phases=tuple(replace(p, chunks=replaced(p.chunks, values, factors)) for p in code.phases),
        cost=estimate(time, MANY) / 1000,
        time=time,
        sizes=tuple(replaced(size, values, factors) for size in code.sizes),
    )


def _columns(member: tuple[Loops, Form]) -> int:
    """Return the number of sums of columns."""
    return sum(estimate(math.prod(i.extent for i in nest.domain)) for nest in member[0].sums)


def _adds_in_rows(work: Loops, target: CpuTarget) -> bool:
    """Return True unless chunks of a kernel have sums of their own, as they do if there are many columns.

    How many such chunks there are depends on how long the sums take, and so on sizes.
    """
    return not work.sums or not adds_in_chunks(work, target.vector_bytes)
