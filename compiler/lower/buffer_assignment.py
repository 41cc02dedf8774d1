"""Buffer assignment: the offsets in the arena of values that live only during a run; and how much memory a
step takes, which is known before it first runs.

A buffer is reused as soon as nothing reads it any more.
"""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from staticgraph.compiler.fusion.group import Group
from staticgraph.compiler.graph.errors import ResourceExhaustedError, layout
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Size
from staticgraph.compiler.kernel.stmt import ALIGNMENT, padded
from staticgraph.compiler.lower.program import OpenPlace, Program, Workspace
from staticgraph.compiler.support.dataclass import dataclass

Key = TypeVar("Key", bound=Hashable)
Lifetime = tuple[int, int, int]  # size in bytes, the instruction that writes it, the last that reads it

# What has memory: a value, or a loop, a branch or scratch memory of a kernel while it runs.
Stored = Value | Group | tuple[Group, Workspace]
Version = tuple[Stored, int]  # what it is, and the place in the order of the kernel that writes it

_WASTE = 1.25  # times the bytes of a buffer of open size that it may take
CAREFUL = 2000  # buffers: for more, the better way to place them would take too long


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A kernel in its place in the order: what it reads and writes, and whether it may run again."""

    group: Group
    reads: tuple[Value, ...]
    writes: tuple[Stored, ...]
    again: bool


def lifetimes(items: Sequence[Candidate], sizes: Mapping[Stored, int]) -> dict[Version, Lifetime]:
    """The lifetimes of the values in `sizes`; those that are computed again have several."""
    born: dict[Stored, int] = {}
    last: dict[Version, int] = {}
    for i, item in enumerate(items):
        for value in item.reads:
            if value in born:
                last[value, born[value]] = i
        for stored in item.writes:
            if stored in sizes:
                born[stored] = last[stored, i] = i
    return {(value, first): (sizes[value], first, end) for (value, first), end in last.items()}


def plan_arena(lifetimes: Mapping[Key, Lifetime]) -> tuple[dict[Key, int], int]:
    """Byte offsets, and the size of the arena.

    `lifetimes`: for each buffer its size in bytes, the instruction that writes it and the last one that
    reads it. No arena is smaller than what lives at the fullest moment, and most are no larger.

    >>> plan_arena({"a": (64, 0, 1), "b": (64, 1, 2), "c": (64, 2, 3)})
    ({'a': 0, 'b': 64, 'c': 0}, 128)
    """
    offsets, size = _by_birth(lifetimes)
    if len(lifetimes) <= CAREFUL and size > fullest(lifetimes)[1]:
        better, less = _by_size(lifetimes)
        if less < size:
            return better, less
    return offsets, size


def plan_open(
    lifetimes: Mapping[Key, tuple[AnySize, int, int]],
) -> tuple[dict[Key, int | OpenPlace], AnySize]:
    """Places of buffers of which some have open sizes, and the size of the arena.

    Buffers whose sizes are multiples of one unit, such as the rows of a batch, share memory among themselves:
    what does not overlap for one value of the unit does not for any.

    >>> from staticgraph.compiler.graph.sizes import symbol
    >>> rows = symbol("rows")
    >>> places, size = plan_open({"a": (64 * rows, 0, 1), "b": (128 * rows, 1, 2), "c": (4, 2, 3)})
    >>> places["b"].offset, places["c"], size
    (64*rows + 64, 0, 192*rows + 64)
    """
    units: dict[AnySize, dict[Key, Lifetime]] = {1: {}}
    for key, (size, born, last) in lifetimes.items():
        unit, count = _in_units(size)
        units.setdefault(unit, {})[key] = count, born, last
    closed = units.pop(1)
    known, end = plan_arena(closed)
    places: dict[Key, int | OpenPlace] = {**known}
    base: AnySize = end
    for unit, lives in units.items():
        offsets, end = plan_arena(lives)
        for key, start in offsets.items():
            places[key] = OpenPlace(base, unit, start, start + _room(lives[key][0]))
        base += unit * end
    return places, base


def _in_units(size: AnySize) -> tuple[AnySize, int]:
    """A size as a number of units: the polynomial without the common factor of its coefficients.

    If whole cache lines for each unit would take much more, as for a vector of single numbers, a unit stands
    for as many of them as fill whole lines.
    """
    if not isinstance(size, Size):
        return 1, size
    count = math.gcd(*size.terms.values())
    unit: AnySize = size // count
    if padded(count) > _WASTE * count:
        several = ALIGNMENT // math.gcd(count, ALIGNMENT)
        return -(-unit // several), count * several
    return unit, count


def fullest(lifetimes: Mapping[Key, Lifetime]) -> tuple[int, int]:
    """The instruction at which most bytes live, the first of several, and how many.

    >>> fullest({"a": (64, 0, 1), "b": (64, 1, 2), "c": (64, 2, 3)})
    (1, 128)
    """
    changes: dict[int, int] = {}
    for size, born, last in lifetimes.values():
        changes[born] = changes.get(born, 0) + _room(size)
        changes[last + 1] = changes.get(last + 1, 0) - _room(size)
    live, at, most = 0, 0, 0
    for time in sorted(changes):
        live += changes[time]
        if live > most:
            at, most = time, live
    return at, most


def _room(size: int) -> int:
    """The bytes of the arena that a buffer takes: empty ones have a place of their own too."""
    return padded(max(size, 1))


def _by_birth(lifetimes: Mapping[Key, Lifetime]) -> tuple[dict[Key, int], int]:
    """Buffers in order of birth, each in the smallest free gap that holds it. Fast."""
    offsets: dict[Key, int] = {}
    free = _Free()
    dying: list[tuple[int, int, int]] = []  # last use, offset, size
    for key, (size, born, last) in sorted(lifetimes.items(), key=lambda item: item[1][1]):
        while dying and dying[0][0] < born:
            _, offset, length = heapq.heappop(dying)
            free.give(offset, length)
        offsets[key] = free.take(_room(size))
        heapq.heappush(dying, (last, offsets[key], _room(size)))
    return offsets, free.end


def _by_size(lifetimes: Mapping[Key, Lifetime]) -> tuple[dict[Key, int], int]:
    """Large buffers first, of equal ones those that live longest, each in the lowest gap among the buffers
    that live at the same time.
    """
    offsets: dict[Key, int] = {}
    placed = np.zeros((len(lifetimes), 4), np.int64)  # start, stop, born, last
    most = 0
    largest_first = sorted(lifetimes.items(), key=lambda item: (-item[1][0], item[1][1] - item[1][2]))
    for count, (key, (size, born, last)) in enumerate(largest_first):
        others = placed[:count]
        others = others[(others[:, 2] <= last) & (others[:, 3] >= born)]
        start, room = 0, _room(size)
        for low, high in others[np.argsort(others[:, 0]), :2].tolist():
            if low - start >= room:
                break
            if high > start:
                start = high
        offsets[key] = start
        placed[count] = start, start + room, born, last
        most = max(most, start + room)
    return offsets, most


class _Free:
    """The gaps of an arena that grows at its end."""

    def __init__(self) -> None:
        self.end = 0
        self._starts: list[int] = []  # of the gaps, ascending
        self._sizes: dict[int, int] = {}
        self._by_size: list[tuple[int, int]] = []

    def take(self, size: int) -> int:
        at = bisect.bisect_left(self._by_size, (size, -1))
        if at < len(self._by_size):
            length, start = self._by_size[at]
            self._remove(start)
            if length > size:
                self._insert(start + size, length - size)
            return start
        if self._starts and self._starts[-1] + self._sizes[self._starts[-1]] == self.end:
            start = self._starts[-1]  # the last gap, made longer
            self._remove(start)
        else:
            start = self.end
        self.end = start + size
        return start

    def give(self, start: int, size: int) -> None:
        at = bisect.bisect_left(self._starts, start)
        if at < len(self._starts) and self._starts[at] == start + size:
            size += self._sizes[self._starts[at]]
            self._remove(self._starts[at])
        if at > 0 and self._starts[at - 1] + self._sizes[self._starts[at - 1]] == start:
            start, size = self._starts[at - 1], size + self._sizes[self._starts[at - 1]]
            self._remove(start)
        self._insert(start, size)

    def _insert(self, start: int, size: int) -> None:
        bisect.insort(self._starts, start)
        bisect.insort(self._by_size, (size, start))
        self._sizes[start] = size

    def _remove(self, start: int) -> None:
        size = self._sizes.pop(start)
        self._starts.pop(bisect.bisect_left(self._starts, start))
        self._by_size.pop(bisect.bisect_left(self._by_size, (size, start)))


ADDRESSABLE = 1 << 47  # bytes: more than that no processor can address
_SHOWN = 8  # values listed


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes that a step holds while it runs. `fullest` are the values in the arena when most of it is in use.

    Printed, it is a table; `peak` is the sum.

    >>> print(MemoryUse(4096, 0, 1536, 0, 0, 4, 0, ()))
    5.5 KB at most
       4.0 KB  arena: values that live only during a run
       1.5 KB  feeds
          4 B  fetches
    """

    arena: int
    constants: int
    feeds: int
    variables: int
    new_values: int  # of variables that cannot be overwritten while they are read
    fetches: int
    scratch: int  # of kernels; with threads, each has some more
    fullest: tuple[Value, ...]

    @property
    def peak(self) -> int:
        """Sum of all parts."""
        parts = (self.arena, self.constants, self.feeds, self.variables, self.new_values, self.fetches)
        return sum(parts) + self.scratch

    @property
    def largest(self) -> tuple[Value, ...]:
        """`fullest`, the largest first."""
        return tuple(sorted(self.fullest, key=lambda v: (-bytes_of(v.type), v.node.serial)))

    def __str__(self) -> str:
        rows = {
            "arena: values that live only during a run": self.arena,
            "constants": self.constants,
            "feeds": self.feeds,
            "variables": self.variables,
            "new values of variables, beside the old ones": self.new_values,
            "fetches": self.fetches,
            "scratch memory of kernels": self.scratch,
        }
        lines = [f"{size_text(self.peak)} at most"]
        lines += [f"{size_text(size):>9}  {what}" for what, size in rows.items() if size]
        if self.fullest:
            lines.append("the largest in the arena when it is fullest:")
            lines += [f"{size_text(bytes_of(v.type)):>9}  {described(v)}" for v in self.largest[:_SHOWN]]
        return "\n".join(lines)


def memory_use(program: Program, feeds: int, scratch: int) -> MemoryUse:
    """Return the memory use of `program`. The first `feeds` of its arguments are fed."""
    fetches, values = program.results[: program.fetches], program.results[program.fetches :]
    return MemoryUse(
        program.arena,
        len(program.constants),
        _total(program.arguments[:feeds]),
        _total(program.arguments[feeds:]),
        _total(values) - _total(program.arguments[a] for a in program.in_place),
        _total(fetches),
        scratch,
        program.fullest,
    )


def does_not_fit(use: MemoryUse, limit: int | None = None) -> ResourceExhaustedError:
    """Return the error for a step that needs more than there is.

    Args:
        use: What the step needs.
        limit: The bytes that the session allows; None if it is the system that has no more.
    """
    has = ", which is more than the system gives" if limit is None else f" and may have {size_text(limit)}"
    cure = "run it on a smaller batch" if limit is None else _SMALLER
    text = layout(
        f"the step needs {size_text(use.peak)} of memory{has}",
        user_frame(),
        [(f"{v.type} of {v.op.name}", v.node.where) for v in use.largest[:3]],
        hint=f"{cure}:\n{use}",
    )
    return ResourceExhaustedError(text)


_SMALLER = "run it on a smaller batch, or raise the memory_limit of the session"


def bytes_of(type: TensorType) -> int:
    """The size of a value of this type."""
    return type.size * type.dtype.size


def _total(types: Iterable[TensorType]) -> int:
    return sum(map(bytes_of, types))


def described(value: Value) -> str:
    """A value as a message names it: `float32[64, 24] of relu, net.py:12`."""
    where = value.node.where
    return f"{value.type} of {value.op.name}" + (f", {where.short}" if where is not None else "")


def size_text(size: int) -> str:
    """A number of bytes to read: `1.5 KB`."""
    amount, unit = float(size), "B"
    for unit in ("B", "KB", "MB", "GB", "TB", "PB", "EB"):
        if amount < 1000 or unit == "EB":
            break
        amount /= 1024
    if unit == "B":
        return f"{size} B"
    return f"{amount:.1f} {unit}" if amount < 1e6 else f"{amount:.1e} {unit}"
