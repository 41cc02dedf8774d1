"""Kernels that differ in sizes alone: what they have in common, as one kernel of open sizes.

    for i in 0..256:                for i in 0..1024:              for i in 0..a:
      for c in 0..32:                 for c in 0..96:                for c in 0..64*b + 32:
        y[i, c] = x[i, c] * s[c]        y[i, c] = x[i, c] * s[c]       y[i, c] = x[i, c] * s[c]

The right kernel is the left one for a = 256, b = 0, and the middle one for a = 1024, b = 1. Sizes that vary
keep what all of them have in common: the least one, and what divides their differences. So code for the right
kernel knows that it needs no mask for the last columns, and how much scratch memory is enough.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import BOUNDED, AnySize, Size, made, symbol
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Extent,
    Index,
    Lookup,
    Reduce,
    ScalarParameter,
    number,
    transform,
    walk,
)
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Store
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.support.dataclass import dataclass, replace

Column = tuple[int, ...]  # a number as each of several kernels has it


@dataclass(frozen=True, slots=True)
class Form:
    """A kernel without its sizes, and these sizes in a fixed order. Open ones are the numbers in them."""

    key: Hashable
    numbers: tuple[int, ...]


def form_of(work: Loops) -> Form:
    """Return what `work` is apart from its sizes, and the sizes.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> from staticgraph.compiler.kernel.expr import Load
    >>> from staticgraph.compiler.kernel.stmt import Buffer
    >>> def copy(n):
    ...     i = Index("i", n)
    ...     buffers = (("x", Buffer(float32, (n,))), ("y", Buffer(float32, (n,), written=True)))
    ...     return Loops((Nest((i,), (Store("y", (i,), Load("x", (i,), float32)),)),), buffers)
    >>> form_of(copy(3)).key == form_of(copy(4)).key, form_of(copy(4)).numbers
    (True, (4, 4, 4, 4, 4))
    """
    reader = _Reader()
    reader.loops(work)
    return Form(tuple(reader.key), tuple(reader.numbers))


def generalized(work: Loops, columns: Sequence[Column]) -> tuple[Loops, list[dict[str, int]]]:
    """Return the kernel of which several are cases, and what its symbols are in each case.

    Args:
        work: One of these kernels.
        columns: Each of its numbers in the order of `Form.numbers`, as all kernels have it.
    """
    symbols = _Symbols(len(columns[0]))
    distinct = dict.fromkeys(column for column in columns if len({*column}) > 1)
    for column in sorted(distinct, key=lambda column: max(map(abs, column))):  # factors before products
        symbols.add(column)
    following = iter(columns)

    def size(old: AnySize) -> AnySize:
        if not isinstance(old, Size):
            return symbols.sizes.get(column := next(following), column[0])
        total: Any = 0
        for monomial in old.terms:
            column = next(following)
            factor = symbols.sizes.get(column, column[0])
            total = total + factor * (made({monomial: 1}) if monomial else 1)
        return total

    return _Writer(size).loops(work), symbols.cases


class _Symbols:
    """The sizes that stand for columns of numbers, and the values of their symbols in each case."""

    def __init__(self, count: int) -> None:
        self.sizes: dict[Column, AnySize] = {}
        self.cases: list[dict[str, int]] = [{} for _ in range(count)]

    def add(self, column: Column) -> None:
        """Let a column be a size: of those that are there already, if it can be."""
        found = self._multiple(column) or self._product(column)
        self.sizes[column] = self._new(column) if found is None else found

    def _multiple(self, column: Column) -> AnySize | None:
        for known, size in self.sizes.items():
            if len(apart := {a - b for a, b in zip(column, known, strict=True)}) == 1:
                return size + apart.pop()
            if len(both := {a + b for a, b in zip(column, known, strict=True)}) == 1:
                return both.pop() - size
            if (factor := _factor(column, known)) is not None:
                return size * factor
        return None

    def _product(self, column: Column) -> AnySize | None:
        for count in (2, 3):
            for some in itertools.combinations_with_replacement(self.sizes.items(), count):
                products = tuple(map(math.prod, zip(*[known for known, _ in some], strict=True)))
                if (factor := _factor(column, products)) is not None:
                    return math.prod([size for _, size in some]) * factor
        return None

    def _new(self, column: Column) -> AnySize:
        least = min(column)
        unit = math.gcd(*(value - least for value in column))
        most = (max(column) - least) // unit
        part = bounded_symbol(len(self.cases[0]), most)
        for case, value in zip(self.cases, column, strict=True):
            case[repr(part)] = (value - least) // unit
        return part * unit + least


def _factor(column: Column, known: Column) -> int | None:
    """Return the whole number by which all of `known` are multiplied to give `column`."""
    if not known[0] or column[0] % known[0]:
        return None
    factor = column[0] // known[0]
    return factor if all(a == factor * b for a, b in zip(column, known, strict=True)) else None


class _Reader:
    """Reads kernels: all but sizes goes into `key`, sizes into `numbers`."""

    def __init__(self) -> None:
        self.key: list[Hashable] = []
        self.numbers: list[int] = []

    def loops(self, work: Loops) -> None:
        self.key += (len(work.rows), len(work.buffers), len(work.nests), len(work.sums))
        for row in work.rows:
            self.index(row)
        for name, b in work.buffers:
            self.key += (name, b.dtype.name, len(b.shape), b.written, b.local, b.shared)
            for size in b.shape:
                self.size(size)
        for nest in (*work.nests, *work.sums):
            self.key += (len(nest.domain), len(nest.stores))
            for index in nest.domain:
                self.index(index)
            for store in nest.stores:
                self.key += (store.buffer, len(store.at))
                for expr in (*store.at, store.value):
                    self.expr(expr)

    def size(self, size: AnySize) -> None:
        if isinstance(size, Size):
            self.key.append(tuple(size.terms))
            self.numbers += size.terms.values()
        else:
            self.numbers.append(size)

    def index(self, index: Index) -> None:
        self.key.append(index.name)
        self.size(index.extent)

    def expr(self, root: Expr) -> None:
        nodes = walk(root)
        places = {node: place for place, node in enumerate(nodes)}
        for node in nodes:
            self.key.append(type(node).__name__)
            match node:
                case Index():
                    self.index(node)
                case Extent(size):
                    self.size(size)
                case Const() if _is_size(node):
                    self.size(node.value)
                case Reduce(axes, combine):
                    self.key += (combine, len(axes), places[node.children[0]])
                    for axis in axes:
                        self.index(axis)
                case _:
                    self.key += (node.dtype.name, *map(places.__getitem__, node.children))
                    self.key += [_known(getattr(node, name)) for name in node.__match_args__]
                    self.key.append(node.table if isinstance(node, Lookup) else None)


def _is_size(node: Const) -> bool:
    """Return True for a constant that index arithmetic may have: a whole number."""
    return node.dtype is int64 and not isinstance(node, ScalarParameter)


def _known(field: Any) -> Hashable:
    """A field of an expression; those that hold others are told by their places."""
    return None if isinstance(field, Expr | tuple) else (type(field), repr(field))


class _Writer:
    """Writes a kernel with other sizes, which `size` gives in the order in which a reader meets them."""

    def __init__(self, size: Callable[[AnySize], AnySize]) -> None:
        self.size = size

    def loops(self, work: Loops) -> Loops:
        rows = tuple(map(self.index, work.rows))
        buffers = tuple((n, replace(b, shape=tuple(map(self.size, b.shape)))) for n, b in work.buffers)
        nests = tuple(map(self.nest, work.nests))
        return Loops(nests, buffers, rows, tuple(map(self.nest, work.sums)))

    def nest(self, nest: Nest) -> Nest:
        domain = tuple(map(self.index, nest.domain))
        return Nest(domain, tuple(map(self.store, nest.stores)))

    def store(self, store: Store) -> Store:
        at = tuple(map(self.expr, store.at))
        return Store(store.buffer, at, self.expr(store.value))

    def index(self, index: Index) -> Index:
        return Index(index.name, self.size(index.extent))

    def expr(self, root: Expr) -> Expr:
        return transform(root, self._node)

    def _node(self, node: Expr) -> Expr:
        match node:
            case Index():
                return self.index(node)
            case Extent(size):
                return number(self.size(size), int64)
            case Const() if _is_size(node):
                return number(self.size(node.value), int64)
            case Reduce(axes, combine, value):
                return Reduce(tuple(map(self.index, axes)), combine, value)
        return node


def bounded_symbol(number: int, most: int) -> Any:
    """Return a size of 0 to `most`. Its name tells the bound, so that code for another one is another one.

    >>> from staticgraph.compiler.graph.sizes import bounds
    >>> bounds(bounded_symbol(0, 9) * 16 + 32)
    (32, 176)
    """
    return symbol(f"{BOUNDED}{number}_{most}")
