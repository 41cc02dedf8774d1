"""A short name for what a kernel says, the same in every process: the key of what a disk keeps about it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from enum import Enum
from typing import Any

from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Extent,
    Index,
    Load,
    Local,
    Reduce,
    Scalar,
    ScalarParameter,
    walk,
)
from staticgraph.compiler.kernel.stmt import Buffer, Share, Span


def digest(*parts: object) -> str:
    """A hash of nested tuples of expressions, buffers, names and numbers. TypeError for anything else.

    >>> i = Index("i", 8)
    >>> digest(("store", i + 1)) == digest(("store", i + 1)), digest(i + 1) == digest(i + 2)
    (True, False)
    """
    speller = _Speller()
    for part in parts:
        speller.spell(part)
    return hashlib.blake2b("\n".join(speller.words).encode(), digest_size=16).hexdigest()


class _Speller:
    """Writes parts as words that tell them apart. Each expression is written once, and is a number after."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.numbers: dict[Expr, int] = {}

    def spell(self, part: object) -> None:
        if isinstance(part, (tuple, list)):
            self.words.append(f"({len(part)}")
            for item in part:
                if item.__class__ in _WORDS:  # as most are, with expressions
                    self.words.append(repr(item))
                else:
                    self.spell(item)
            return
        if isinstance(part, Expr):
            if part not in self.numbers:
                self.define(part)
            self.words.append(f"e{self.numbers[part]}")
            return
        match part:
            case Share(expr, count, unit):
                self.spell(("share", expr, count, unit))
            case Span(start, stop):
                self.spell(("span", start, stop))
            case Buffer(dtype, shape, written, local, shared, unaligned):
                self.words.append(f"{dtype.name}{shape}{written:d}{local:d}{shared:d}{unaligned:d}")
            case Enum():
                self.words.append(str(part))
            case Size():
                self.words.append(f"size {part!r}")
            case type():
                self.words.append(part.__name__)
            case str() | int() | float() | None:
                self.words.append(repr(part))
            case _:
                raise TypeError(f"{type(part).__name__} has no digest")

    def define(self, root: Expr) -> None:
        numbers = self.numbers
        for expr in walk(root):
            if expr not in numbers:
                numbers[expr] = len(numbers)
                if (head := _HEADS.get(type(expr))) is None:
                    raise TypeError(f"{type(expr).__name__} has no digest")
                self.words.append(f"{head(expr)} {expr.dtype.name} {[numbers[c] for c in expr.children]}")


_WORDS = {str, int, float, bool, type(None)}

# By the class of an expression, a text that distinguishes it from others of the same dtype and children.
_HEADS: dict[type[Expr], Callable[[Any], str]] = {
    ScalarParameter: lambda expr: f"parameter {expr.buffer!r}",
    Const: lambda expr: f"const {expr.value!r}",
    Index: lambda expr: f"index {expr.name!r} {expr.extent!r}",
    Extent: lambda expr: f"extent {expr.size!r}",
    Local: lambda expr: f"local {expr.name!r}",
    Load: lambda expr: f"load {expr.buffer!r}",
    Scalar: lambda expr: f"scalar {expr.op}",
    Reduce: lambda expr: f"reduce {expr.combine} {[(axis.name, axis.extent) for axis in expr.axes]}",
}
