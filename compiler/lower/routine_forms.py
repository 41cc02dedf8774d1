"""Forms of routines, beside the loops of their kernels: what becomes of a form when the loops change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.compiler.graph.sizes import is_open
from staticgraph.compiler.kernel.expr import Index, Load, Local, Reduce, walk
from staticgraph.compiler.kernel.form import Copies, Pieces, Scan, Selection, StagedForm, Unproven, Updates
from staticgraph.compiler.kernel.indices.in_bounds import in_bounds, stays_inside
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Buffer, Form, Kernel, Let, Loop, Stmt, Store


def bounded(work: Kernel, form: Form) -> Form | None:
    """Return the form of a kernel some of whose positions are clamped; None if it is of no use any more."""
    if isinstance(form, Pieces):
        clamped: Any = [in_bounds(stores, work.buffers) for stores in form.stores]
        return Pieces(form.domains, tuple(clamped))
    if any(is_open(b.shape) for b in work.buffers.values()):
        return Unproven(work.body, form)
    return form if is_proven(form, work.buffers) else None


def summing(nests: Sequence[Nest]) -> Pieces | None:
    """The pieces of an assembly, if some are reductions and none reads what another one stores."""
    loads = [e for nest in nests for store in nest.stores for e in walk(store.value)]
    if Reduce not in map(type, loads):
        return None
    stored = {store.buffer for nest in nests for store in nest.stores}
    if any(isinstance(e, Load) and e.buffer in stored for e in loads):
        return None
    return Pieces(tuple(nest.domain for nest in nests), tuple(nest.stores for nest in nests))


def is_proven(form: Form | tuple[Stmt, ...] | None, buffers: Mapping[str, Buffer]) -> bool:
    """Return True if every position that a form reads and writes is proven to lie in its buffer.

    So code that is made of the form needs no clamp, even where the loops of its kernel do: a place in those
    may be a count that no proof sees, and the form has no such place.
    """
    loops: tuple[Index, ...] = ()
    reads: tuple[Stmt, ...]
    match form:
        case Scan(target, at, _, item):
            loops, reads = at, (Store(target, at, item),)
        case Selection(row=row, column=column, item=item, key=key):
            loops = *row, column
            reads = Let(Local("item", item.dtype), item), Let(Local("key", key.dtype), key)
        case StagedForm(stages, scratch):
            return all(is_proven(stage, {**buffers, **scratch}) for stage in stages)
        case Updates(staged, copies=copies):
            return is_proven(staged, buffers) and (
                copies is None or is_proven(copies.body, {**buffers, **copies.scratch})
            )
        case Pieces(_, stores):
            reads = tuple(store for each in stores for store in each)
        case tuple():
            reads = form
        case _:
            return False
    for index in reversed(loops):
        reads = (Loop(index, reads),)
    return stays_inside(reads, buffers)


def without_copy(form: Form) -> Form | None:
    """Return the form of a body whose first statements are left out; None if it has no form then."""
    match form:
        case Updates(StagedForm((_, *stages), scratch), count, rows, copies):
            return Updates(StagedForm(tuple(stages), scratch), count, rows, copies)
    return None


def with_copies(work: Kernel) -> Kernel:
    """Return a kernel of updates with copies of them for few threads, if it has such."""
    match work.form:
        case Updates(StagedForm(staged), copies=Copies(body, scratch)):
            begin = staged[0] if isinstance(staged[0], tuple) else ()  # in place, there is nothing to begin
            return Kernel(work.name, {**work.buffers, **scratch}, begin + body)
    return work
