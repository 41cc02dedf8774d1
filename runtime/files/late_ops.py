"""Ops of modules that nobody imports before they are needed: a file may need them first.

The package that has such modules tells how to import them; a file only chooses among these.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.opdef import OPS, OpDef

_DECLARING: list[Callable[[str], object]] = []


def declared_by(declare: Callable[[str], object]) -> None:
    """Let `declare(name)` make the op of this name known, if it is one of its own."""
    _DECLARING.append(declare)


def op_named(name: str) -> OpDef | None:
    """The op of this name, None where there is none."""
    if name not in OPS:
        for declare in _DECLARING:
            declare(name)
    return OPS.get(name)
