"""Proof that a kernel reads and writes only elements of its buffers.

Generated code checks no address, so every position is looked at before code is made of it:

    x[i - 1] in x: float32[4]              refused: i - 1 runs from -1, whatever the data are
    x[minimum(maximum(n[i], 0), 3)]        proven
    if (n[i] >= 0) & (n[i] < 4): x[n[i]]   proven, by the condition
    x[n[i] % m[i]]                         unknown: becomes x[minimum(maximum(n[i] % m[i], 0), 3)]
    x[n[i]] in x: float32[0]               unknown: becomes 0, since there is no element to read instead

A position of loop variables alone takes every value of its range: one that leaves the buffer is an error, of
a type rule that let operands of wrong sizes pass. Any other position depends on data. Its range is found by
interval analysis: conditions narrow ranges, and assignments in loops widen them until nothing changes. What
cannot be proven is clamped, so no data can lead out of a buffer.

Where sizes are open, a position must be in its buffer for all of them. It is proven by the loops alone whose
indices it has: so it may be read outside of other loops, which may turn out to be empty.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence

from staticgraph.compiler.graph.dtypes import bool_, int64
from staticgraph.compiler.graph.open_sizes import replaced
from staticgraph.compiler.graph.sizes import AnySize, Size, Undecided, proven, same
from staticgraph.compiler.graph.sizes import bounds as size_bounds
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Extent,
    Index,
    Load,
    Local,
    Reduce,
    Scalar,
    loads,
    rebuild,
    substitute,
    walk,
)
from staticgraph.compiler.kernel.indices.affine import UNKNOWN, Range, affine, linear
from staticgraph.compiler.kernel.indices.extremes import at_sizes, extremes, form_extremes, is_open, is_within
from staticgraph.compiler.kernel.indices.facts import Facts
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Let,
    Loop,
    Span,
    Stmt,
    Store,
    Update,
    While,
    statements,
    updates_of_outer,
)
from staticgraph.compiler.support.dataclass import replace

_PATIENCE = 3  # iterations of a loop that are followed before a range that grows is taken to have no end


class OutOfBoundsError(Exception):
    """A kernel would leave a buffer whatever the data are."""


class _NoElements(Exception):
    """A position that is not proven to lie in a buffer is one of a buffer without elements."""


def outside(position: Expr, extent: AnySize) -> Range | None:
    """The range of a position of loop variables alone, if it does not lie in 0..extent - 1.

    Raises:
        Undecided: if that depends on open sizes.
    """
    place = simplify_index(position)
    form = affine(place)
    if form is None or is_within(place, extent):
        return None
    if is_open(place) or isinstance(extent, Size):
        _ask(place, extent)
        return None
    return form.range


def _text(place: Expr) -> str:
    from staticgraph.compiler.kernel.printer import expression_text  # what only messages need

    return expression_text(place)


def _ask(place: Expr, extent: AnySize) -> None:
    """Ask if a position is in 0..extent - 1 at hand. Raises Undecided if it is not, or if no one answers."""
    low, high = form_extremes(linear(place))
    try:
        if low is not None and high is not None and low >= 0 and high < extent:
            return
    except Undecided:
        pass
    text = f"the position {_text(place)} in 0..{extent - 1!r}"
    raise Undecided(text, sizes=_sizes(place, extent))


def _sizes(place: Expr, extent: AnySize) -> tuple[Size, ...]:
    """The open sizes that a position and its extent depend on."""
    nodes = walk(place)
    found = [e.extent if isinstance(e, Index) else e.size for e in nodes if isinstance(e, (Index, Extent))]
    return tuple(n for n in (*found, extent) if isinstance(n, Size))


def in_bounds(
    body: tuple[Stmt, ...], buffers: Mapping[str, Buffer], loops: Sequence[Index] = ()
) -> tuple[Stmt, ...]:
    """`body` with every position that is not proven to lie in its buffer clamped; mostly `body` itself.

    `loops` are around it.

    Raises:
        OutOfBoundsError: if a position that is sure to be reached lies outside.
    """
    known = Facts()
    for index in loops:
        known = known.inside_of(index.extent)
    return _Prover(buffers).block(body, known, True)


def stays_inside(body: tuple[Stmt, ...], buffers: Mapping[str, Buffer]) -> bool:
    """Return True if every position in `body` is proven to lie in its buffer."""
    return _Prover(buffers).block(body, Facts(), False) is body


class _Prover:
    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self.buffers = buffers

    def block(self, body: tuple[Stmt, ...], known: Facts, runs: bool) -> tuple[Stmt, ...]:
        """`body` in bounds. `known` becomes what holds after it. `runs`: nothing prevents it from running."""
        made = tuple(self.statement(stmt, known, runs) for stmt in body)
        return body if all(a is b for a, b in zip(made, body, strict=True)) else made

    def statement(self, stmt: Stmt, known: Facts, runs: bool) -> Stmt:
        match stmt:
            case Loop(index, inside):
                if same(index.extent, 0):
                    return stmt
                self.settle(inside, known)
                made = self.block(inside, *self.reached(stmt, known, runs))
                return stmt if made is inside else replace(stmt, body=made)
            case While(condition, inside):
                self.settle(inside, known, condition)
                test = self.expression(condition, known, runs)
                made = self.block(inside, known.given(condition), False)
                return stmt if made is inside and test is condition else While(test, made)
            case If(condition, inside):
                test = self.expression(condition, known, runs)
                before, after = Facts(known), known.given(condition)
                made = self.block(inside, after, False)
                self.join(inside, known, before, after)
                return stmt if made is inside and test is condition else If(test, made)
            case Let(local, value):
                made_value = self.expression(value, known, runs)
                self.set(local, value, known)
                if local.dtype.is_bool or local.dtype is int64:
                    known.note({}, {local: value})
                return stmt if made_value is value else Let(local, made_value)
            case Update(local, value, combine):
                made_value = self.expression(value, known, runs)
                self.set(local, value, known)
                return stmt if made_value is value else Update(local, made_value, combine)
            case Store(name, at, value):
                places = tuple(self.expression(place, known, runs) for place in at)
                try:
                    places = self.position(name, places, known, runs)
                except _NoElements:
                    return If(Const(False, bool_), (stmt,))
                made_value = self.expression(value, known, runs)
                known.forget(value.dtype)  # maybe of the same memory
                unchanged = all(a is b for a, b in zip(places, at, strict=True))
                return stmt if unchanged and made_value is value else Store(name, places, made_value)

    def reached(self, loop: Loop, known: Facts, runs: bool) -> tuple[Facts, bool]:
        """Return what is known inside a loop, and if nothing prevents that from running."""
        match loop.share:
            case Span(start, stop):
                inside = scalar.ge(loop.index, start) & scalar.lt(loop.index, stop)
                if isinstance(loop.index.extent, Size):
                    inside = inside & scalar.lt(loop.index, Extent(loop.index.extent))
                return known.inside_of(loop.index.extent).given(inside), False
        return known.inside_of(loop.index.extent), runs

    def set(self, local: Local, value: Expr, known: Facts) -> None:
        found = known.range(value) if local.dtype.is_integer else None
        known.forget(local)
        if found is not None:
            known.note({local: found})

    def settle(self, inside: tuple[Stmt, ...], known: Facts, condition: Expr | None = None) -> None:
        """Widen what is `known` before a loop until it holds before each of its iterations."""
        changed = _changed(inside)
        stored = {s.value.dtype for s in statements(inside) if isinstance(s, Store)}
        first: dict[Expr, Range] = {local: known.range(local) for local in changed}
        known.forget(*changed, *stored)
        if not changed:
            return
        known.note(first)
        quiet = _Prover({})  # positions are looked at when ranges are known

        def after() -> dict[Expr, Range]:
            state = Facts(known) if condition is None else known.given(condition)
            quiet.block(inside, state, False)
            return {c: _union(first[c], state.range(c)) for c in changed}

        for turn in range(2 * _PATIENCE):
            found = after()
            join = _union if turn < _PATIENCE else _widened
            wider: dict[Expr, Range] = {c: join(known.ranges[c], found[c]) for c in changed}
            if all(wider[c] == known.ranges[c] for c in changed):
                break
            known.note(wider)
        else:
            known.note(dict.fromkeys(changed, UNKNOWN))
        known.note(after())  # less wide, and true before each iteration all the same

    def join(self, inside: tuple[Stmt, ...], known: Facts, before: Facts, after: Facts) -> None:
        """Put into `known` what holds after a body that may have run."""
        changed = _changed(inside)
        found: dict[Expr, Range] = {
            local: _union(before.range(local), after.range(local)) for local in changed
        }
        stored = {s.value.dtype for s in statements(inside) if isinstance(s, Store)}
        known.forget(*changed, *stored)
        known.note(found)

    def expression(self, root: Expr, known: Facts, runs: bool) -> Expr:
        """`root` with positions of loads in bounds. What an empty reduction would load is never loaded."""
        if not self.buffers or self.reads_inside(root, known, runs):
            return root
        done: dict[Expr, Expr] = {}
        for node in _evaluated(root):
            children = tuple(map(done.get, node.children, node.children))
            if isinstance(node, Load) and node.buffer in self.buffers:
                try:
                    children = self.position(node.buffer, children, known, runs)
                except _NoElements:
                    done[node] = Const(0, node.dtype)
                    continue
            if children != node.children:  # equal expressions are one object
                done[node] = rebuild(node, children)
        return done.get(root, root)

    def reads_inside(self, root: Expr, known: Facts, runs: bool) -> bool:
        """Return True if the loads of `root` are in bounds. It has no reduction, if it has any."""
        reads = loads(root)
        if reads and Reduce in map(type, walk(root)):
            return False
        try:
            for load in reads:
                made = self.position(load.buffer, load.at, known, runs)
                if made is not load.at and made != load.at:
                    return False
        except _NoElements:
            return False
        return True

    def position(self, name: str, at: tuple[Expr, ...], known: Facts, runs: bool) -> tuple[Expr, ...]:
        if name not in self.buffers:
            return at
        buffer = self.buffers[name]
        places = enumerate(zip(at, buffer.shape, strict=True))
        return tuple([self.place(name, axis, p, n, known, runs) for axis, (p, n) in places])

    def place(self, name: str, axis: int, place: Expr, extent: AnySize, known: Facts, runs: bool) -> Expr:
        if place in known.inside and same(known.inside[place], extent):
            return place
        if known.least and known.is_told(place) and _is_inside(simplify_index(place), extent, known):
            known.note_inside(place, extent)
            return place
        if is_within(place, extent) or _is_inside(simplify_index(place), extent, known):
            return place
        if runs and (found := outside(place, extent)) is not None:
            raise OutOfBoundsError(
                f"axis {axis} of {name} has the positions 0..{extent - 1}, "
                f"but {_text(place)} runs from {found[0]} to {found[1]}"
            )
        if is_open(place) or isinstance(extent, Size):
            simple = simplify_index(place)
            if runs and all(isinstance(term, (Index, Extent)) for term in linear(simple).terms):
                _ask(simple, extent)
                return place
        # An axis that may be empty has no element to read instead.
        if isinstance(extent, Size):
            is_empty, last = not (known.is_some(extent) or extent > 0), Extent(extent - 1)
        else:
            is_empty, last = extent == 0, extent - 1
        if is_empty:
            raise _NoElements
        return scalar.minimum(scalar.maximum(place, 0), last)


def _is_inside(place: Expr, extent: AnySize, known: Facts) -> bool:
    low, high = known.range(place)
    least = size_bounds(extent)[0]
    if low >= 0 and (is_open(place) or isinstance(extent, Size)) and known.is_less_by_sum(place, extent):
        return True
    if isinstance(extent, Size):
        meant = substitute(place, known.meaning)
        if low >= 0 and known.is_less(meant, extent):
            return True
        meant = known.narrowed(meant)
        most = extremes(meant)[1] if low >= 0 else None
        if is_within(meant, extent) or (most is not None and proven(operator.lt, most, extent)):
            return True
        if known.least_sizes and is_within(at_sizes(meant, known.at_hand), replaced(extent, known.at_hand)):
            return True
    if (low >= 0 and high < least) or low > high or is_within(place, extent):
        # What cannot be reached has no values.
        return True
    match place:
        case Scalar("select", (condition, a, b)):
            return _is_inside(a, extent, known.given(condition)) and _is_inside(
                b, extent, known.given(condition, False)
            )
    return False


def _evaluated(root: Expr) -> Iterator[Expr]:
    """The expressions below `root` that are evaluated, arguments before users."""
    nodes = walk(root)
    if True in [same(a.extent, 0) for e in nodes if isinstance(e, Reduce) for a in e.axes]:
        done: dict[Expr, None] = {}

        def visit(node: Expr) -> None:
            if node in done or (isinstance(node, Reduce) and any(same(a.extent, 0) for a in node.axes)):
                return
            for child in node.children:
                visit(child)
            done[node] = None

        visit(root)
        return iter(done)
    return iter(nodes)


def _changed(body: tuple[Stmt, ...]) -> list[Local]:
    """The integers that `body` assigns to, and that exist before it."""
    found = dict.fromkeys(s.local for s in updates_of_outer(body))
    return [local for local in found if local.dtype.is_integer]


def _union(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def _widened(before: Range, now: Range) -> Range:
    return (before[0] if now[0] >= before[0] else -math.inf, before[1] if now[1] <= before[1] else math.inf)
