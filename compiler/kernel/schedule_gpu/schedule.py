"""Functions of a kernel: those of products, rows, columns, whole arrays, or of single elements.

What none of them takes as it is goes through memory: each reduction becomes a kernel of its own, whose result
the next one reads. A kernel whose loops are given, as those of routines are, is spread over threads as it is,
unless it says what they compute, and there is a better way.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from staticgraph.compiler.graph.dtypes import int8
from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.compiler.graph.sizes import MANY, AnySize, Size, estimate, is_open, same
from staticgraph.compiler.kernel.contraction import Contraction, analyse
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Reduce, free_indices, substitute, walk
from staticgraph.compiler.kernel.form import Pieces, Unproven
from staticgraph.compiler.kernel.lower_expressions import Nest, place
from staticgraph.compiler.kernel.schedule_gpu.attention.attention import attention
from staticgraph.compiler.kernel.schedule_gpu.elements.cooperative import cooperative
from staticgraph.compiler.kernel.schedule_gpu.elements.loops import statements
from staticgraph.compiler.kernel.schedule_gpu.elements.pointwise import pointwise
from staticgraph.compiler.kernel.schedule_gpu.function import GpuSchedule, joined
from staticgraph.compiler.kernel.schedule_gpu.products.contraction import by_library, open_product, own
from staticgraph.compiler.kernel.schedule_gpu.products.convolved import convolved
from staticgraph.compiler.kernel.schedule_gpu.rows.by_row import by_row
from staticgraph.compiler.kernel.schedule_gpu.rows.inlined import Inlined
from staticgraph.compiler.kernel.schedule_gpu.rows.separate import merged, separate
from staticgraph.compiler.kernel.schedule_gpu.scans.forms import by_form
from staticgraph.compiler.kernel.schedule_gpu.sums import Sums, schedule_sums, sums_of
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Store, expressions
from staticgraph.compiler.machine import GpuMachine

_LONG = 8192  # numbers to be added up that are worth several blocks

Buffers = Mapping[str, Buffer]
_DEFAULT = GpuTarget()


def schedule_kernel(kernel: Kernel, target: GpuTarget = _DEFAULT) -> GpuSchedule:
    """The schedule of a kernel whose loops are given, and perhaps what they compute."""
    if isinstance(kernel.form, Unproven):
        raise Undecided(f"how {kernel.name} is done best")
    if isinstance(kernel.form, Pieces):
        return _pieces(kernel.form, kernel.buffers, target)
    return by_form(kernel, target.machine) or cooperative(kernel) or statements(kernel, target.machine)


def schedule(
    nests: Sequence[Nest],
    buffers: Buffers,
    rows: Sequence[Index],
    sums: Sequence[Nest],
    target: GpuTarget = _DEFAULT,
) -> GpuSchedule:
    """The schedule of `nests`, done one after the other for each point of `rows`, and of `sums` over them."""
    if not rows:
        return _nests((*nests, *sums), buffers, target)
    if fused := attention(nests, buffers, rows, sums, target.precision, target.machine):
        return fused
    inlined = Inlined.of(nests, buffers, rows, sums)
    if found := by_row(inlined.nests, inlined.buffers, rows, inlined.sums, target.machine):
        first, ends, more = found
        return joined([first, _nests(merged(ends), more, target)])
    apart = separate(inlined.nests, inlined.buffers, rows, inlined.sums)
    reduces = any(_reductions(nest) for nest in apart.nests)
    if sums and reduces and (found := by_row(apart.nests, apart.buffers, rows, (), target.machine)):
        return joined([found[0], _nests(merged(apart.sums), apart.buffers, target)], apart.scratch)
    return joined([_nests(merged((*apart.nests, *apart.sums)), apart.buffers, target)], apart.scratch)


def _nests(nests: Sequence[Nest], buffers: Buffers, target: GpuTarget) -> GpuSchedule:
    """Nests one after the other."""
    if not any(_reductions(nest) for nest in nests):
        return GpuSchedule(tuple(pointwise(nests, buffers, target.machine)))
    return joined([_nest(nest, buffers, target) for nest in nests])


def _pieces(form: Pieces, buffers: Buffers, target: GpuTarget) -> GpuSchedule:
    """Pieces in any order: those without reductions together, and each of the others by itself.

    Each has scratch memory of its own, so that they may run side by side.
    """
    nests = [Nest(*piece) for piece in zip(form.domains, form.stores, strict=True)]
    plain = [nest for nest in nests if not _reductions(nest)]
    made = [GpuSchedule(tuple(pointwise(plain, buffers, target.machine)))] if plain else []
    taken = dict(buffers)
    for nest in filter(_reductions, nests):
        made.append(_nest(nest, taken, target))
        taken |= dict.fromkeys((name for name, _ in made[-1].scratch), Buffer(int8, ()))
    return joined(made)


def _nest(nest: Nest, buffers: Buffers, target: GpuTarget) -> GpuSchedule:
    if not _reductions(nest):
        return GpuSchedule(tuple(pointwise([nest], buffers, target.machine)))
    if any(same(i.extent, 0) for i in (*nest.domain, *(a for e in _reductions(nest) for a in e.axes))):
        return _as_written(nest, buffers, target.machine)
    product = analyse(nest.domain, nest.stores, buffers)
    if product is not None and _reuses(product):
        loops = (product.rows, product.lanes, *product.outer, *product.k)
        if is_open([i.extent for i in loops if i is not None]):
            return open_product(product, target)
        work = by_library(product, target)
        work = work or convolved(nest, buffers, target)
        return work or own(product, target.precision, target.machine)
    if sums := sums_of(nest, buffers):
        return _sums(sums, nest, target.machine)
    if found := by_row([nest], buffers, (), (), target.machine):
        return found[0]
    return _in_stages(nest, buffers, target) or _as_written(nest, buffers, target.machine)


def _as_written(nest: Nest, buffers: Buffers, machine: GpuMachine) -> GpuSchedule:
    return statements(place("loops", dict(buffers), nest.domain, nest.stores), machine)


def _reuses(product: Contraction) -> bool:
    """True if elements take part in several sums; otherwise only the time to read them counts."""
    places = [i for i in (product.rows, product.lanes, *product.outer) if i is not None]
    return any(not product.a.step(i) or not product.b.step(i) for i in places)


def _sums(sums: Sums, nest: Nest, machine: GpuMachine) -> GpuSchedule:
    few = estimate(sums.count, MANY) < machine.few_blocks and estimate(sums.height, MANY) >= _LONG
    known = not isinstance(sums.height, Size)
    if known and sums.is_along and not few and (found := by_row([nest], sums.buffers, (), (), machine)):
        return found[0]
    return schedule_sums(sums, machine)


def _in_stages(nest: Nest, buffers: Buffers, target: GpuTarget) -> GpuSchedule | None:
    """The reductions of a nest, each as a kernel, inner ones first, then the rest of it.

    None if one depends on more than the loops of the nest.
    """
    stores, buffers = nest.stores, dict(buffers)
    made: list[GpuSchedule] = []
    scratch: list[tuple[str, AnySize]] = []
    names = (name for n in itertools.count() if (name := f"stage{n}") not in buffers)
    while ready := _innermost(Nest(nest.domain, stores)):
        if all(s.value in ready and _differs(s.value, nest) for s in stores):
            return None
        if made and sums_of(Nest(nest.domain, stores), buffers):
            break
        table: dict[Expr, Expr] = {}
        nests: list[Nest] = []
        for reduce in ready:
            free = free_indices(reduce)
            at = tuple(i for i in nest.domain if i in free)
            if not free <= set(at):
                return None
            name, dtype = next(names), reduce.dtype
            buffers[name] = Buffer(dtype, tuple(i.extent for i in at), written=True)
            scratch.append((name, buffers[name].size * dtype.size))
            nests.append(Nest(at, (Store(name, at, reduce),)))
            table[reduce] = Load(name, at, dtype)
        made.append(_nests(merged(nests), buffers, target))
        stores = tuple(
            Store(s.buffer, tuple(substitute(a, table) for a in s.at), substitute(s.value, table))
            for s in stores
        )
    return joined([*made, _nest(Nest(nest.domain, stores), buffers, target)], scratch)


def _differs(reduce: Expr, nest: Nest) -> bool:
    """True if each point of a nest has a reduction of its own; else one is repeated, as by a broadcast."""
    free = free_indices(reduce)
    return all(i in free or same(i.extent, 1) for i in nest.domain)


def _reductions(nest: Nest) -> list[Reduce]:
    return [e for e in walk(*(x for s in nest.stores for x in expressions(s))) if isinstance(e, Reduce)]


def _innermost(nest: Nest) -> list[Reduce]:
    """The reductions of a nest without others in them."""
    return [e for e in _reductions(nest) if not any(isinstance(x, Reduce) for x in walk(e.value))]
