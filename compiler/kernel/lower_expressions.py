"""Lowering of expressions: reductions become loops, and functions become formulas.

Every `Reduce` gets an accumulator in the outermost loop that binds its reads.

That rule alone fuses a softmax into three loops per row. Each row of `out[i0, i1] = e / sum(e)` with
`e = exp(x[i0, i1] - max(x[i0, k]))` becomes

    for i0 in 0..4:
      acc0: float32 = -inf
      for k0 in 0..6:
        acc0 max= x[i0, k0]
      acc1: float32 = 0.0
      for k1 in 0..6:
        acc1 += exp(x[i0, k1] - acc0)
      for i1 in 0..6:
        out[i0, i1] = exp(x[i0, i1] - acc0) / acc1

Besides,

* reductions of the same extents share a loop where neither needs the other (the sums of x and of x*x);
* a scalar that reads fewer loops than surround it is computed in a `Let` outside those that it does not read;
* a result that reads fewer loops than the others is stored outside those that it does not read;
* loops that reductions read go outside those that they do not: column sums are not repeated for every row.

A loop of an open extent may turn out to be empty. What is computed outside of it all the same loads nothing
but elements that exist: positions are proven by the loops that they read, see `in_bounds`.

Functions become formulas, for targets that have no form of their own. The one exception is sin, cos and tan
of huge arguments: these keep the primitive, behind a select, so that a code generator can skip it while no
argument is huge. `Approximation.far` has its formula.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

from staticgraph.compiler.graph.dtypes import bfloat16, float16, float32, float64, int64
from staticgraph.compiler.graph.sizes import estimate, same
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Index,
    Load,
    Local,
    Reduce,
    Scalar,
    free_indices,
    identity,
    rebuild,
    substitute,
    walk,
)
from staticgraph.compiler.kernel.expr import rebuild as _rebuild
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.primitives.instructions import CONVERSIONS, Approximation, cast
from staticgraph.compiler.kernel.scalar import primitive_of, read
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Let, Loop, Stmt, Store, Update, expressions
from staticgraph.compiler.support.dataclass import dataclass, replace

Bound = frozenset[Index]
Task = Store | Update
T = TypeVar("T", bound=Task)
_RING = ("add", "sub", "mul", "neg")


@dataclass(frozen=True, slots=True)
class Nest:
    """`stores` for every point of `domain`, which lists the loops, outermost first."""

    domain: tuple[Index, ...]
    stores: tuple[Store, ...]

    def renamed(self, prefix: str) -> Nest:
        """The nest over indices that are named by a prefix, without loops of one iteration."""
        names = (f"{prefix}{n}" for n in itertools.count())
        own: dict[Expr, Expr] = {
            i: Const(0, int64) if same(i.extent, 1) else Index(next(names), i.extent) for i in self.domain
        }
        stores = (
            Store(s.buffer, tuple(substitute(a, own) for a in s.at), substitute(s.value, own))
            for s in self.stores
        )
        return Nest(tuple(i for i in own.values() if isinstance(i, Index)), tuple(stores))


def place(
    name: str, buffers: dict[str, Buffer], domain: tuple[Index, ...], stores: tuple[Store, ...]
) -> Kernel:
    """The kernel that performs `stores` for every point of `domain`, with a loop per reduction.

    `domain` lists the loops, outermost first; `stores` may contain `Reduce`, and write several buffers. All
    values of one point are computed before any of them is stored. A store that does not read the inner loops
    is done once, outside them, even if they are empty.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> from staticgraph.compiler.kernel.printer import kernel_text
    >>> i, j = Index("i0", 4), Index("j", 6)
    >>> total = Reduce((j,), "add", Load("x", (i, j), float32))
    >>> buffers = {"x": Buffer(float32, (4, 6)), "out": Buffer(float32, (4,), written=True)}
    >>> print(kernel_text(place("row_sum", buffers, (i,), (Store("out", (i,), total),))), end="")
    kernel row_sum(x: float32[4, 6], out: float32[4] written):
      for i0 in 0..4:
        acc0: float32 = 0.0
        for k0 in 0..6:
          acc0 += x[i0, k0]
        out[i0] = acc0
    """
    return Kernel(name, buffers, Placer().nest(Nest(domain, stores)))


class _Canonical:
    """Renames the loops of reductions, so that the name says only how deep a reduction is nested.

    Reductions that differ only in such names become one expression, and no name is ever bound twice in nested
    loops: a reduction's loops have greater numbers than those of the reductions in its value.
    """

    def __init__(self, domain: tuple[Index, ...], stores: tuple[Store, ...]) -> None:
        taken = {i.name for i in domain}
        for node in walk(*(e for s in stores for e in expressions(s))):
            if isinstance(node, Index):
                taken.add(node.name)
            elif isinstance(node, Reduce):
                taken |= {a.name for a in node.axes}
        self.prefix = next(
            p for p in _prefixes() if not any(n.startswith(p) and n[len(p) :].isdigit() for n in taken)
        )
        self.done: dict[Expr, Expr] = {}
        self.depth: dict[Expr, int] = {}

    def __call__(self, expr: Expr) -> Expr:
        for node in walk(expr):
            if node in self.done:
                continue
            children = tuple(map(self.done.__getitem__, node.children))
            depth = max(map(self.depth.__getitem__, node.children), default=0)
            new = node if children == node.children else _rebuild(node, children)
            if isinstance(new, Reduce):
                old = [a for a in new.axes if not same(a.extent, 1)]
                axes = tuple(Index(f"{self.prefix}{n}", a.extent) for n, a in enumerate(old, depth))
                value = substitute(new.value, dict(zip(old, axes, strict=True)))
                new = Reduce(axes, new.combine, value) if axes else value
                depth += len(axes)
            self.done[node], self.depth[node] = new, depth
        return simplify_index(self.done[expr])


def sum_of_products(stores: Sequence[Store]) -> Reduce | None:
    """Return the only sum in stored values, if it is one of products of two floating numbers, else None.

    Matrix products and convolutions are such sums: `contraction.py` tells which of them are.
    """
    found = [e for e in walk(*(s.value for s in stores)) if isinstance(e, Reduce)]
    match found:
        case [Reduce(_, "add", Scalar("mul"), dtype=dtype) as total] if dtype in (float32, float64):
            return total
    return None


def _prefixes() -> Iterable[str]:
    return ("k" + "_" * n for n in itertools.count())


def _reads_outermost(domain: list[Index], tasks: Sequence[Task]) -> list[Index]:
    """`domain` with the loops first that most iterations of reductions read; otherwise in the given order."""
    if len(domain) < 2:
        return domain
    weight = dict.fromkeys(domain, 0)
    for node in _below(tasks):
        if isinstance(node, Reduce):
            for index in free_indices(node) & weight.keys():
                weight[index] += math.prod(estimate(a.extent) for a in node.axes)
    return sorted(domain, key=lambda i: -weight[i])


class Placer:
    """Turns nests into statements, with names for their locals that are the only ones in a kernel."""

    def __init__(self) -> None:
        self.written: dict[str, int] = {}
        self.accumulators = itertools.count()
        self.lets = itertools.count()

    def nest(self, nest: Nest, open: tuple[Index, ...] = ()) -> tuple[Stmt, ...]:
        """Statements that do all of `nest` inside the loops `open`."""
        canonical = _Canonical(nest.domain, nest.stores)
        tasks = [Store(s.buffer, tuple(canonical(a) for a in s.at), canonical(s.value)) for s in nest.stores]
        self.written = {s.buffer: sum(t.buffer == s.buffer for t in tasks) for s in tasks}
        inner = [i for i in nest.domain if not same(i.extent, 1) and i not in open]
        loops = _reads_outermost(inner, tasks)
        return self.scope(tuple(loops), frozenset(open), tasks)

    def scope(self, loops: tuple[Index, ...], bound: Bound, tasks: Sequence[Task]) -> tuple[Stmt, ...]:
        """Statements that do `tasks` where `bound` have values and `loops` are still to be opened."""
        if empty := frozenset(i for i in loops if same(i.extent, 0)):
            # What an empty loop would do must not be begun outside of it: its positions lie in no buffer.
            tasks = [t for t in tasks if isinstance(t, Store) and not _reads(t) & empty]
            loops = tuple(i for i in loops if i not in empty)
        body: list[Stmt] = []
        known: dict[Expr, Expr] = {}
        for group in _groups(tasks, bound):
            axes = max((r.axes for r in group), key=lambda axes: _number(axes[0]))
            steps: list[Update] = []
            for reduce in group:
                accumulator = Local(f"acc{next(self.accumulators)}", reduce.dtype)
                value = substitute(reduce.value, known | dict(zip(reduce.axes, axes, strict=True)))
                steps.append(Update(accumulator, read(reduce.combine, accumulator, value), reduce.combine))
            lets = self.hoist(axes, bound, steps, body)
            steps = [_replaced(s, lets) for s in steps]
            body += [Let(s.local, identity(r.combine, r.dtype)) for s, r in zip(steps, group, strict=True)]
            if inside := self.scope(axes[1:], bound | {axes[0]}, steps):
                body.append(Loop(axes[0], inside))
            known |= {r: s.local for s, r in zip(steps, group, strict=True)}
        tasks = [_replaced(t, known) for t in tasks]
        inner = [t for t in tasks if loops and not (isinstance(t, Store) and _reads(t) <= bound)]
        here = [t for t in tasks if t not in inner]
        lets = self.hoist(loops, bound, inner, body)
        here = self.shared([_replaced(t, lets) for t in here], body)
        here = [self.safe(t, len(tasks) > 1, body) for t in here]
        inner = [_replaced(t, lets) for t in inner]
        if inner:
            body.append(Loop(loops[0], self.scope(loops[1:], bound | {loops[0]}, inner)))
        return (*body, *here)

    def shared(self, tasks: list[Task], body: list[Stmt]) -> list[Task]:
        """`tasks`, with what several of them need computed already in `body`."""
        if len(tasks) < 2:
            return tasks
        users: dict[Expr, int] = {}
        for task in tasks:
            for node in walk(task.value):
                users[node] = users.get(node, 0) + 1
        common = {e for e, n in users.items() if n > 1 and isinstance(e, Scalar) and e.dtype is not int64}
        within = {c for t in tasks for e in walk(t.value) if e in common for c in e.children}
        within -= {c for t in tasks for e in walk(t.value) if e not in common for c in e.children}
        lets: dict[Expr, Expr] = {}
        for node in walk(*(t.value for t in tasks)):
            if node in common - within:
                lets[node] = self.let(substitute(node, lets), body)
        return [_replaced(t, lets) for t in tasks]

    def safe(self, task: Task, others: bool, body: list[Stmt]) -> Task:
        """`task`, with its value computed already in `body` if another store could change what it reads."""
        if isinstance(task, Update) or not others:
            return task
        reads = {e.buffer for e in walk(task.value) if isinstance(e, Load)} & self.written.keys()
        if not reads or (reads <= {task.buffer} and self.written[task.buffer] == 1):
            return task
        return replace(task, value=self.let(task.value, body))

    def let(self, value: Expr, body: list[Stmt]) -> Local:
        local = Local(f"t{next(self.lets)}", value.dtype)
        body.append(Let(local, value))
        return local

    def hoist(
        self, loops: tuple[Index, ...], bound: Bound, tasks: Sequence[Task], body: list[Stmt]
    ) -> dict[Expr, Expr]:
        """Computes in `body` what `tasks` need and `loops` around them do not change; the locals for it."""
        lets: dict[Expr, Expr] = {}
        if tasks and not any(same(i.extent, 0) for i in loops) and (found := _invariant(tasks, bound)):
            for node in _below(tasks):
                if node in found:
                    lets[node] = self.let(substitute(node, lets), body)
        return lets


def _below(tasks: Sequence[Task]) -> list[Expr]:
    """Every expression in `tasks`, each once, arguments before users."""
    return walk(*[e for t in tasks for e in expressions(t)])


def _invariant(tasks: Sequence[Task], bound: Bound) -> set[Expr]:
    """The largest scalars below `tasks` that read only `bound`.

    Index arithmetic stays where it is, the code generator knows what to do with it; only what it loads moves.
    """
    changing = {t.local for t in tasks if isinstance(t, Update)}
    found: set[Expr] = set()
    stack = [(t.value, False) for t in tasks] + [
        (a, True) for t in tasks if isinstance(t, Store) for a in t.at
    ]
    seen = set(stack)
    while stack:
        node, is_index = stack.pop()
        if isinstance(node, Scalar) and free_indices(node) <= bound and _worth(node, is_index, changing):
            found.add(node)
            continue
        for child in node.children:
            step = (child, is_index or isinstance(node, Load))
            if step not in seen:
                seen.add(step)
                stack.append(step)
    return found


def _worth(node: Scalar, is_index: bool, changing: set[Local]) -> bool:
    below = walk(node)
    if any(isinstance(e, Reduce) or e in changing for e in below):
        return False
    if is_index or node.dtype is int64:
        return any(isinstance(e, Load) for e in below) and not (is_index and node.op in _RING)
    return True


def _groups(tasks: Sequence[Task], bound: Bound) -> list[list[Reduce]]:
    """The reductions that belong into this scope, those that share a loop together, in order of need."""
    groups: list[list[Reduce]] = []
    group_of: dict[Expr, int] = {}
    for reduce in _below(tasks):
        if isinstance(reduce, Reduce) and free_indices(reduce) <= bound:
            first = 1 + max((group_of[e] for e in walk(reduce.value) if e in group_of), default=-1)
            alike = (g for g in range(first, len(groups)) if _same_extents(groups[g][0], reduce))
            chosen = next(alike, len(groups))
            if chosen == len(groups):
                groups.append([])
            groups[chosen].append(reduce)
            group_of[reduce] = chosen
    return groups


def _same_extents(a: Reduce, b: Reduce) -> bool:
    if len(a.axes) != len(b.axes):
        return False
    return all(same(x.extent, y.extent) for x, y in zip(a.axes, b.axes, strict=True))


def _number(index: Index) -> int:
    return int(index.name.lstrip("k_"))


def _reads(task: Task) -> Bound:
    return frozenset().union(*map(free_indices, expressions(task)))


def _replaced(task: T, table: dict[Expr, Expr]) -> T:
    if not table:
        return task
    if isinstance(task, Store):
        at = tuple(substitute(a, table) for a in task.at)
        return replace(task, at=at, value=substitute(task.value, table))
    return replace(task, value=substitute(task.value, table))


def approximation_of(op: str) -> Approximation | None:
    """Return the formulas of a function of floating numbers; None for other primitives."""
    return None if op in CONVERSIONS else primitive_of(op).approximation


def approximate(expr: Expr, fast_math: bool = False, numbers: int = 0) -> Expr:
    """`expr` with every function that has a formula replaced by the formula.

    `numbers`: how many of float32 one instruction picks from, 8 or 16. Then tanh, erf and Bessel functions of
    float32 are looked up, and take a third to three quarters of the time. 0: there is no such instruction.

    `fast_math`: tanh and erf of float32 have an error of up to 6 units in the last place instead of 2 and
    take about half as long. An erf that is looked up takes no longer, and is left as it is.

    >>> from staticgraph.compiler.kernel import scalar
    >>> from staticgraph.compiler.kernel.expr import Local
    >>> x = Local("x", float32)
    >>> approximate(scalar.sqrt(x)) is scalar.sqrt(x)
    True
    >>> any(isinstance(e, Scalar) and e.op == "exp" for e in walk(approximate(scalar.exp(x))))
    False
    """
    done: dict[Expr, Expr] = {}
    for node in walk(expr):
        children = tuple(map(done.__getitem__, node.children))
        same = node if children == node.children else rebuild(node, children)
        if isinstance(same, Scalar) and same.dtype.is_floating and approximation_of(same.op):
            same = _formula(same, fast_math, numbers)
        done[node] = same
    return done[expr]


def _formula(node: Scalar, fast_math: bool, numbers: int) -> Expr:
    from staticgraph.compiler.kernel.approximate.width import DOUBLE, WIDTHS  # of graphs with functions

    dtype, form = node.dtype, approximation_of(node.op)
    assert form is not None
    if dtype is float16 or dtype is bfloat16:  # computed in float32, and rounded once
        wide = Scalar(node.op, tuple(cast(x, float32) for x in node.args), float32)
        return cast(_formula(wide, fast_math, numbers), dtype)
    if dtype is float32 and form.fast and fast_math and not (form.table_is_fastest and numbers):
        return form.fast(WIDTHS[dtype], *node.args)
    if dtype is float32 and form.table and numbers:
        return form.table(WIDTHS[dtype], *node.args, numbers=numbers)
    if dtype is float32 and form.in_float64:
        formula = form.single or form.formula
        return cast(formula(DOUBLE, *(cast(x, float64) for x in node.args)), float32)
    return form.formula(WIDTHS[dtype], *node.args)
