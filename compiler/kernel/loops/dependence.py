"""Loops that may run their iterations in any order, or several at once.

The iterations of a loop are independent if none writes what another reads or writes, other than the partial
results of a reduction. For buffers this is a question about flat offsets. Split the offset of an access as

    step * index + far + near          far: what step*extent divides;  near: everything else

If every two accesses of a written buffer have the same `step`, and their near parts differ by less than
`step`, then two iterations can never meet: a difference of a whole number of `step*extent` cannot be made up
by `step * (i - j)`, which is less than that, and a difference smaller than `step` cannot be either.

Sizes may be open: then all of this must hold for all of them. If a loop `i` inside `loop` does share number
`index` of its iterations, two iterations of `loop` do different `i`, and it is enough that those never meet.
In a loop over a span that ends before `stop`, what multiples of `stop` are apart never meets.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import combinations_with_replacement

from staticgraph.compiler.graph.sizes import AnySize, Size, bounds, proven, quotient, same
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Load, loads, walk
from staticgraph.compiler.kernel.indices.affine import Affine
from staticgraph.compiler.kernel.indices.extremes import Extremes, form_extremes
from staticgraph.compiler.kernel.indices.index import offset
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Let,
    Loop,
    Share,
    Span,
    Stmt,
    Store,
    Update,
    While,
    expressions,
    inner,
    statements,
    updated,
    updates_of_outer,
)


def accesses(body: tuple[Stmt, ...]) -> list[Load | Store]:
    """Every element that `body` reads or writes; an element
    that several statements read appears several times.
    """
    found: list[Load | Store] = []
    stack = [*reversed(body)]  # not `statements`: this is asked all the time
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, Store):
            for expr in (*stmt.at, stmt.value):
                found += expr.known["loads"] if "loads" in expr.known else loads(expr)
            found.append(stmt)
        elif isinstance(stmt, (Let, Update)):
            expr = stmt.value
            found += expr.known["loads"] if "loads" in expr.known else loads(expr)
        else:
            for expr in expressions(stmt):
                found += loads(expr)
            stack += reversed(stmt.body)
    return found


def lane_locals(index: Index, body: tuple[Stmt, ...]) -> frozenset[Expr]:
    """The locals whose values differ between the iterations of a loop over `index`, when all run in step."""
    lanes: set[Expr] = {index} | updated(body)
    for stmt in statements(body):
        if isinstance(stmt, Let) and any(e in lanes for e in walk(stmt.value)):
            lanes.add(stmt.local)
    return frozenset(lanes - {index})


def reductions(loop: Loop) -> list[Update]:
    """The updates in `loop` of locals that were defined outside it."""
    return updates_of_outer(loop.body)


def obstacle(loop: Loop, buffers: dict[str, Buffer]) -> str | None:
    """Return a reason that iterations of `loop` cannot run in vector lanes, or None if they can."""
    every = statements(loop.body)
    iterative = {s for w in every if isinstance(w, While) for s in statements(w.body)}
    for stmt in every:
        match stmt:
            case While() if accesses((stmt,)):
                return "it contains a While that reads or writes memory"
            case _ if stmt in iterative:  # lanes that are ready wait for the others, with what they have
                continue
            case If():
                return "it contains an If"
            case Update(local, _, None):
                return f"the update of {local.name} is not a step of a reduction"
    return conflict(loop, buffers)


def conflict(loop: Loop, buffers: dict[str, Buffer], private: Set[str] = frozenset()) -> str | None:
    """Return a reason that iterations of `loop` cannot run at the same time, or None: then only steps of
    reductions tie them together. Each has locals of its own, and `private` buffers.
    """
    updates = reductions(loop)
    for update in updates:
        if update.combine is None:
            return f"the update of {update.local.name} is not a step of a reduction"
    if updates and (name := _read_partial(loop, updates)) is not None:
        return f"{name} is read while it is being reduced"
    touched = dict.fromkeys(accesses(loop.body))  # most are read by several statements
    written = {a.buffer for a in touched if isinstance(a, Store)}
    changing = _changing(loop, [a for a in touched if isinstance(a, Load) and a.buffer in written])
    for name in sorted(written - private):
        offsets = [offset(buffers[name], at) for at in {a.at for a in touched if a.buffer == name}]
        indices = (loop.index, *_shared_out(loop, name))
        if not any(_all_apart(index, offsets, changing) for index in indices) and not _apart_by_span(
            loop, offsets, changing
        ):
            return f"iterations may meet at one element of {name}"
    return None


def _shared_out(loop: Loop, name: str) -> Iterator[Index]:
    """The loops of which each iteration of `loop` does a share, if only these use the buffer `name`."""
    if not [s for s in loop.body if isinstance(s, Loop) and s.share is not None]:
        return  # as of nearly all loops
    match [s for s in loop.body if any(a.buffer == name for a in accesses((s,)))]:
        case [Loop(index, share=Share(part, count)) as inside]:
            if part is loop.index and same(count, loop.index.extent):
                yield index
                yield from _shared_out(inside, name)


def _all_apart(index: Index, offsets: Sequence[Affine], changing: Set[Expr]) -> bool:
    # What holds for all of them holds for each two, and is told sooner.
    return _apart(index, offsets, changing) or all(
        _apart(index, pair, changing) for pair in combinations_with_replacement(offsets, 2)
    )


def _apart_by_span(loop: Loop, forms: Sequence[Affine], changing: Set[Expr]) -> bool:
    """The same for iterations before `stop`, in forms whose differences are multiples of that."""
    match loop.share:
        case Span(Const(0), stop) if changing.isdisjoint(walk(stop)):
            first, index = forms[0], loop.index
        case _:
            return False
    for form in forms:
        if not same(form.terms.get(index, 0), 1):
            return False
        if any(t is not index and not changing.isdisjoint(walk(t)) for t in form.terms):
            return False
        difference = form + first.times(-1)
        if difference.constant or any(t is not stop for t in difference.terms):
            return False
    return True


def _read_partial(loop: Loop, updates: Sequence[Update]) -> str | None:
    """The name of a local that `updates` of `loop` reduce, and that it also reads other than to update it."""
    partial: set[Expr] = {update.local for update in updates}
    for stmt in statements(loop.body):
        for node in walk(*expressions(stmt)):
            if node in partial and not (isinstance(stmt, Update) and stmt.local is node):
                return str(getattr(node, "name", node))
    return None


def _changing(loop: Loop, elements: Iterable[Load]) -> frozenset[Expr]:
    """Return the expressions that vary among iterations of `loop`.

    These are indices and locals of the loop, and the `elements` that it reads of buffers that it writes.
    """
    found: set[Expr] = {loop.index, *elements}
    for stmt in statements(loop.body):
        match stmt:
            case Loop(index):
                found.add(index)
            case Let(local) | Update(local):
                found.add(local)
    return frozenset(found)


def _apart(index: Index, forms: Sequence[Affine], changing: Set[Expr]) -> bool:
    """Return True if each of `forms` in one iteration differs from all of them in every other iteration."""
    if isinstance(index.extent, int) and index.extent < 2:
        return True
    first, *others = forms
    step = first.terms.get(index, 0)
    if same(step, 0) or any(not same(form.terms.get(index, 0), step) for form in others):
        return False
    if any(t is not index and index in walk(t) for form in forms for t in form.terms):
        return False
    common = set(first.terms.items()).intersection(*(form.terms.items() for form in others))
    fixed = {index} | {t for t, _ in common if changing.isdisjoint(walk(t))}
    if isinstance(step, Size):
        step = -step if bounds(step)[1] <= 0 else step
    else:
        step = abs(step)
    period = step * index.extent
    if isinstance(period, Size):
        return _open_apart(forms, fixed, step, period)

    def near(form: Affine) -> Affine:
        return Affine(_undivided(form, fixed, period), form.constant % period)

    ranges = [near(form).range for form in forms]
    return max(high for _, high in ranges) - min(low for low, _ in ranges) < step


def _open_apart(forms: Sequence[Affine], fixed: Set[Expr], step: AnySize, period: Size) -> bool:
    """The same if how often the loop runs, or how far it steps, is open."""

    def near(form: Affine) -> Extremes:
        return form_extremes(Affine(_undivided(form, fixed, period), form.constant))

    ranges = list(map(near, forms))
    return all(
        most is not None and least is not None and proven(operator.lt, most - least, step)
        for _, most in ranges
        for least, _ in ranges
    )


def _undivided(form: Affine, fixed: Set[Expr], period: AnySize) -> dict[Expr, AnySize]:
    """The terms that may differ between iterations by something else than multiples of `period`."""

    def step(term: Expr, factor: AnySize) -> AnySize:
        return term.size * factor if isinstance(term, Extent) else factor

    return {t: f for t, f in form.terms.items() if t not in fixed and quotient(step(t, f), period) is None}


def begun_with_stores(loop: Loop) -> set[str]:
    """The buffers that every iteration stores to before it loads from them."""
    stored: set[str] = set()
    early: set[str] = set()  # those that are loaded where no store is sure to have come before

    def visit(body: tuple[Stmt, ...], known: set[str]) -> None:
        """Look at `body`, before which `known` have been stored, and add what it surely stores."""
        for stmt in body:
            loads = {e.buffer for e in walk(*expressions(stmt)) if isinstance(e, Load)}
            early.update(loads - known)
            if isinstance(stmt, Store):
                stored.add(stmt.buffer)
                known.add(stmt.buffer)
            visit(inner(stmt), known if isinstance(stmt, Loop) else set(known))

    visit(loop.body, set())
    return stored - early
