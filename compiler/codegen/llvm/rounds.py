"""Phases of a region that follow each other again and again, as those of the rounds of an iteration do.

They differ in the numbers of their first chunks alone, which grow evenly. So the function of a region has
them once, and finds the round in the number of the phase.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.abi import BufferRef, KernelCall, PhaseWork, RegionSegment, Work
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.support.dataclass import dataclass

_FEW = 4  # rounds: fewer are written one after the other
_LONGEST = 12  # phases of a round


@dataclass(frozen=True, slots=True)
class Rounds:
    """`count` times `period` phases, from the phase `start` on.

    `steps` has how much the number of the first chunk of a call grows from round to round, by the id of the
    call in the first round.
    """

    start: int
    period: int
    count: int
    steps: dict[int, int]

    @property
    def stop(self) -> int:
        """The phase after the last one."""
        return self.start + self.period * self.count

    @property
    def repeats(self) -> range:
        """The phases of all rounds but the first one."""
        return range(self.start + self.period, self.stop)


def rounds_of(region: RegionSegment) -> list[Rounds]:
    """Return the phases of a region that are repeated."""
    phases, found, start = region.phases, list[Rounds](), 0
    codes = [_code(parts) for parts in phases]
    while start + 2 * _FEW <= len(phases):
        made = None
        for period in range(2, min(_LONGEST, (len(phases) - start) // _FEW) + 1):
            made = _from(region, start, period) if codes[start] is codes[start + period] else None
            if made is not None:
                found.append(made)
                break
        start = start + 1 if made is None else made.stop
    return found


def _from(region: RegionSegment, start: int, period: int) -> Rounds | None:
    """The rounds of so many phases that begin with one."""
    steps: dict[int, int] = {}
    count = 1
    while start + period * (count + 1) <= len(region.phases):
        if not all(
            _is_repeated(region, n, n + period * count, count, steps) for n in range(start, start + period)
        ):
            break
        count += 1
    return Rounds(start, period, count, steps) if count >= _FEW else None


def _is_repeated(region: RegionSegment, first: int, other: int, count: int, steps: dict[int, int]) -> bool:
    """Return True if a phase is another one, `count` rounds later. `steps`: see `Rounds`."""
    ours, theirs = region.phases[first], region.phases[other]
    if len(ours) != len(theirs) or not all(map(_alike_parts, ours, theirs)):
        return False
    small, later = region.small(first), region.small(other)
    if (small is None) != (later is None) or (
        small is not None and later is not None and not same(small, later)
    ):
        return False
    for a, b in zip(_calls(ours), _calls(theirs), strict=True):
        grown = b.phase.first - a.phase.first
        if grown % count or steps.setdefault(id(a), grown // count) * count != grown:
            return False
    return True


def _code(parts: Sequence[PhaseWork]) -> object:
    """The function that a phase calls first."""
    work = parts[0].work[0]
    return work.phase.code if isinstance(work, KernelCall) else work


def _calls(parts: Sequence[PhaseWork]) -> list[KernelCall]:
    return [work for part in parts for work in part.work if isinstance(work, KernelCall)]


def _alike_parts(a: PhaseWork, b: PhaseWork) -> bool:
    return a.chunks == b.chunks and len(a.work) == len(b.work) and all(map(_alike, a.work, b.work))


def _alike(a: Work, b: Work) -> bool:
    """Return True if two calls differ in nothing but the numbers of their first chunks."""
    return (
        isinstance(a, KernelCall)
        and isinstance(b, KernelCall)
        and a.phase.code is b.phase.code
        and a.times is b.times is None
        and a.commits == b.commits
        and same(a.phase.chunks, b.phase.chunks)
        and len(a.sizes) == len(b.sizes)
        and all(map(same, a.sizes, b.sizes))
        and all(map(_is_same_place, (*a.args, a.shared), (*b.args, b.shared)))
    )


def _is_same_place(a: BufferRef, b: BufferRef) -> bool:
    return a.slot == b.slot and same(a.offset, b.offset)
