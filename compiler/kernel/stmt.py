"""Statements and kernels: loops over scalar expressions.

A `Kernel` is all that a code generator sees. `Reduce` may appear in the stored values of a freshly built
kernel; after `place` there is none, only loops that update locals.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeVar

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import AnySize, Size, product
from staticgraph.compiler.kernel.expr import Expr, Index, Local, Scalar
from staticgraph.compiler.machine import ALIGNMENT
from staticgraph.compiler.support.dataclass import dataclass, replace


class LoopKind(Enum):
    """Permitted execution of the iterations of a loop."""

    SERIAL = "serial"  # one after the other
    SIMD = "simd"  # in vector lanes: iterations are independent, or only combine into reduction locals
    PARALLEL = "parallel"  # independent of each other: may be split among threads or GPU blocks


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the iterations of a loop: about one `count`-th of them, in whole multiples of `unit`.

    `part` is the number of the part. The last one takes what is left over. There are at least `count` units,
    unless the extent of the loop is open: then some parts may be empty.
    """

    part: Expr
    count: AnySize
    unit: int = 1

    def bounds(self, part: int, extent: int) -> tuple[int, int]:
        """The first iteration of a part, and the one after its last. The number of parts must be known.

        >>> share = Share(Index("chunk", 3), 3, 16)
        >>> [share.bounds(part, 100) for part in range(3)]
        [(0, 32), (32, 64), (64, 100)]
        """
        units, count = extent // self.unit, operator.index(self.count)
        first, after = (p * units // count * self.unit for p in (part, part + 1))
        return first, extent if part == count - 1 else after


@dataclass(frozen=True, slots=True)
class Span:
    """The iterations of a loop from `start` to the one before `stop`: numbers that are known as it begins.

    Iterations that the loop does not have are left out. There is none if `stop` is not after `start`. The two
    read no buffer.
    """

    start: Expr
    stop: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """`body` for every value of `index`, or for those that are in a share or a span."""

    index: Index
    body: tuple[Stmt, ...]
    kind: LoopKind = LoopKind.SERIAL
    share: Share | Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """Define `local`, visible in the rest of the enclosing body and in loops inside it."""

    local: Local
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """Give `local`, defined by an enclosing `Let`, a new value.

    `combine` names the combiner when this is a step of a reduction, `local = combine(local, rest)`: then the
    iterations of a SIMD loop may each keep a partial result. None: an ordinary assignment.
    """

    local: Local
    value: Expr
    combine: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Write one element of a buffer."""

    buffer: str
    at: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """Repeat `body` while `condition` holds; it is tested before each round."""

    condition: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """`body` where `condition` holds."""

    condition: Expr
    body: tuple[Stmt, ...]


Stmt = Loop | Let | Update | Store | While | If


def padded(size: int) -> int:
    """`size` bytes rounded up to the alignment of buffers."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array that a kernel reads or writes: row-major. Sizes in `shape` may be open, of scratch memory not.

    A `local` one is scratch memory of the kernel, no argument: every part of the kernel that runs on its own
    has one for itself, and what it holds is unknown at first. A `shared` one is scratch memory that all parts
    of a kernel have in common. One that is both is that of a part, and of all loops in it: if a GPU divides
    the part among threads, they have it in common. An `unaligned` one may begin anywhere, as an array that is
    fed does; it is only said of the operands of products.
    """

    dtype: DType
    shape: tuple[AnySize, ...]
    written: bool = False
    local: bool = False
    shared: bool = False
    unaligned: bool = False

    @property
    def size(self) -> AnySize:
        """Number of elements."""
        return product(self.shape)

    @property
    def strides(self) -> tuple[AnySize, ...]:
        """Elements between neighbours along each axis."""
        out: list[AnySize] = []
        step: AnySize = 1
        for extent in reversed(self.shape):
            out.append(step)
            step *= extent
        return tuple(reversed(out))


class Form:
    """Description of a body's result, for code generators with a better way than its loops: see `form`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Loops over named buffers. Those that are not scratch memory are the arguments of the compiled function,
    in order.

    A buffer that is read and written is written only at the positions that the same iteration has read,
    unless the body is serial: only then may an argument alias another.

    `form`: what the body computes, for those who have a better way. It says nothing that the body does not.
    """

    name: str
    buffers: dict[str, Buffer]
    body: tuple[Stmt, ...]
    form: Form | None = None

    @property
    def arguments(self) -> dict[str, Buffer]:
        """The buffers that a caller gives."""
        return {name: b for name, b in self.buffers.items() if not (b.local or b.shared)}

    @property
    def locals(self) -> dict[str, Buffer]:
        """The buffers that live only while the kernel runs."""
        return {name: b for name, b in self.buffers.items() if b.local}

    @property
    def shared(self) -> dict[str, Buffer]:
        """The buffers that live as long and that all parts of the kernel have in common."""
        return {name: b for name, b in self.buffers.items() if b.shared and not b.local}

    @property
    def chunks(self) -> AnySize:
        """Number of calls of the function that do the work: the iterations of a parallel loop around it."""
        match self.body:
            case (Loop(index, _, LoopKind.PARALLEL),):
                return index.extent
        return 1


@dataclass(frozen=True, slots=True)
class PhaseCall:
    """Place of a phase: here its chunks from `first` on are done, so many of them."""

    phase: int
    first: int
    chunks: AnySize


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that `stmt` itself evaluates, without those of statements inside it."""
    if isinstance(stmt, (Let, Update)):  # a `match` asks for more
        return (stmt.value,)
    if isinstance(stmt, Store):
        return (*stmt.at, stmt.value)
    if isinstance(stmt, (While, If)):
        return (stmt.condition,)
    if isinstance(stmt, Loop) and isinstance(stmt.share, Span):
        return (stmt.share.start, stmt.share.stop)
    return ()


def inner(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly inside `stmt`."""
    return stmt.body if isinstance(stmt, (Loop, While, If)) else ()


def statements(body: tuple[Stmt, ...]) -> list[Stmt]:
    """Every statement of `body`, those inside others included, in the order of the text."""
    if _WITH_BODY.isdisjoint(map(type, body)):  # in C: this is asked all the time
        return [*body]
    found: list[Stmt] = []
    left = [*body[::-1]]
    while left:
        stmt = left.pop()
        found.append(stmt)
        if stmt.__class__ in _WITH_BODY:
            left += stmt.body[::-1]  # type: ignore[union-attr]
    return found


_WITH_BODY = {Loop, While, If}


_S = TypeVar("_S", bound=Stmt)


def opens(body: tuple[Stmt, ...]) -> bool:
    """Return True if a loop has an open extent."""
    return Size in [type(s.index.extent) for s in statements(body) if isinstance(s, Loop)]


def whole(stmt: _S) -> _S:
    """`stmt`, done in one chunk though its iterations may be independent."""
    if isinstance(stmt, Loop) and stmt.kind is LoopKind.PARALLEL:
        return replace(stmt, kind=LoopKind.SERIAL)
    return stmt


def updated(body: tuple[Stmt, ...]) -> set[Local]:
    """Return the locals that `body` gives new values."""
    return {s.local for s in statements(body) if isinstance(s, Update)}


def updates_of_outer(body: tuple[Stmt, ...]) -> list[Update]:
    """Return the updates in `body` of locals that are defined outside it."""
    every = statements(body)
    updates = [s for s in every if isinstance(s, Update)]
    own = {s.local for s in every if isinstance(s, Let)} if updates else ()
    return [s for s in updates if s.local not in own]


def structure(stmt: Stmt) -> tuple[object, ...]:
    """Return the content of `stmt` as a hashable value, equal for statements that are written alike.

    Expressions are interned and can stand for themselves. Each statement is an object of its own.
    """
    match stmt:
        case Loop(index, body, kind, share):
            return (Loop, index, kind, share, *map(structure, body))
        case Update(local, value, combine):
            return (Update, local, value, combine)
        case Let(local, value):
            return (Let, local, value)
        case Store(buffer, at, value):
            return (Store, buffer, at, value)
        case While(condition, body) | If(condition, body):
            return (type(stmt), condition, *map(structure, body))


def _changed(share: Share | Span | None, change: Callable[[Expr], Expr]) -> Share | Span | None:
    match share:
        case Share():
            return replace(share, part=change(share.part))
        case Span(start, stop):
            return Span(change(start), change(stop))
    return None


def rewrite(body: tuple[Stmt, ...], change: Callable[[Expr], Expr]) -> tuple[Stmt, ...]:
    """`body` with every expression `e` of every statement replaced by `change(e)`.

    A step of a reduction stays one: its two operands are changed each by itself.
    """

    def rewritten(stmt: Stmt) -> Stmt:
        match stmt:
            case Loop(index, inside, kind, share):
                return Loop(index, rewrite(inside, change), kind, _changed(share, change))
            case Update(local, Scalar(op, args, dtype), combine) if combine is not None:
                return Update(local, Scalar(op, tuple(map(change, args)), dtype), combine)
            case Let(local, value):
                return Let(local, change(value))
            case Update(local, value, combine):
                return Update(local, change(value), combine)
            case Store(buffer, at, value):
                return Store(buffer, tuple(map(change, at)), change(value))
            case While() | If():
                return replace(stmt, condition=change(stmt.condition), body=rewrite(stmt.body, change))

    return tuple(map(rewritten, body))


def with_buffers(body: tuple[Stmt, ...], names: Mapping[str, str]) -> tuple[Stmt, ...]:
    """`body` with stores to other buffers."""

    def renamed(stmt: Stmt) -> Stmt:
        match stmt:
            case Store(buffer, at, value):
                return Store(names.get(buffer, buffer), at, value)
            case Loop() | While() | If():
                return replace(stmt, body=with_buffers(stmt.body, names))
        return stmt

    return tuple(map(renamed, body))
