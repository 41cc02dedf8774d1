"""Tables of addresses of programs, and of those inside of loops and branches."""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.lower.program import ARENA, ARGUMENTS, CONSTANTS, Inner, Ref

Table = Sequence[int]  # the addresses of the bases of slots


def at(table: Table, ref: Ref) -> int:
    """The address of a place."""
    return table[ref.slot] + ref.offset


def inner_table(outer: Table, inner: Inner, places: Sequence[int]) -> tuple[int, ...]:
    """The table of a program inside another one; `places` are those of its arguments and results."""
    table = [0] * inner.program.slots
    table[ARENA], table[CONSTANTS] = at(outer, inner.arena), at(outer, inner.constants)
    table[ARGUMENTS : ARGUMENTS + len(places)] = places
    return tuple(table)
