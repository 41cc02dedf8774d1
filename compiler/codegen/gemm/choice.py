"""Decisions about a contraction that may be left to a measurement instead of the estimates of its plan.

They say how the work is done and not what is added to what in which order, so the result has the same bits
whatever is chosen: how large tiles are, what is packed, how long the blocks of the sum are, and whether
panels of columns are gone through one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from staticgraph.compiler.codegen.gemm.tiles import Tiling, balanced, estimate, most_rows, panels
from staticgraph.compiler.support.dataclass import dataclass

_TILINGS = 4  # of those that are estimated to be the fastest
_DEPTHS = (128, 256, 512, 1024)  # products in a block of the sum
_MOST = {"rows": 16, "pieces": 16, "depth": 1 << 16}  # that a record may say
Change = dict[str, Any]  # numbers and truth values by the name of the decision


@dataclass(frozen=True, slots=True)
class Choice:
    """Decisions of an autotuning run; the plan decides those that are None."""

    rows: int | None = None  # of a tile, at most; with `pieces`
    pieces: int | None = None  # vectors of a panel
    pack_a: bool | None = None  # where the plan has the choice
    pack_b: bool | None = None
    depth: int | None = None  # products in a block of the sum, about
    single: bool | None = None  # panels are gone through one after the other

    def tiling(self, rows: int, columns: int, lanes: int) -> Tiling | None:
        """The tiles that were chosen for a result of this size."""
        if self.rows is None or self.pieces is None:
            return None
        return Tiling(balanced(rows, self.rows), panels(columns, lanes, self.pieces))


NO_CHOICE = Choice()


def rounds(rows: int, columns: int, depth: int, lanes: int, registers: int) -> Iterator[list[Change]]:
    """Yield what to try for one decision after the other, as changes of the best choice so far.

    >>> [len(changes) for changes in rounds(64, 100, 1000, 8, 16)]
    [4, 2, 2, 3, 2]
    """
    yield [{"rows": r, "pieces": p} for r, p in _tilings(rows, columns, depth, lanes, registers)]
    yield [{"pack_b": True}, {"pack_b": False}]
    yield [{"pack_a": True}, {"pack_a": False}]
    yield [{"depth": size} for size in _DEPTHS if size < depth]
    yield [{"single": True}, {"single": False}]


def _tilings(rows: int, columns: int, depth: int, lanes: int, registers: int) -> list[tuple[int, int]]:
    """The most rows of a tile and the vectors of a panel, those with the least estimated cycles first."""
    found: dict[Tiling, tuple[float, int, int]] = {}
    for pieces in range(1, -(-columns // lanes) + 1):
        most = most_rows(pieces, registers)
        for largest in range(most, most // 2, -1):
            tiling = Tiling(balanced(rows, largest), panels(columns, lanes, pieces))
            found.setdefault(tiling, (estimate(tiling, depth, lanes, registers), largest, pieces))
        if most < 2:
            break
    return [(largest, pieces) for _, largest, pieces in sorted(found.values())[:_TILINGS]]


def to_record(choice: Choice) -> Change:
    """Return the decisions that are not left to the plan, by name."""
    return {name: value for name, value in _fields(choice).items() if value is not None}


def from_record(record: object) -> Choice:
    """The choice that `to_record` was given. ValueError for anything else."""
    if not isinstance(record, dict) or not record.keys() <= _fields(NO_CHOICE).keys():
        raise ValueError("no choice")
    for name, value in record.items():
        most = _MOST.get(name)
        if type(value) is not (int if most else bool) or (most and not 0 < value <= most):
            raise ValueError(f"{name} is {value!r}")
    return replace(NO_CHOICE, **record)


def _fields(choice: Choice) -> Change:
    return {name: getattr(choice, name) for name in ("rows", "pieces", "pack_a", "pack_b", "depth", "single")}
