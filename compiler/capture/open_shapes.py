"""Open sizes of feeds: a symbol for each size that the graph leaves open, so that one program takes them all.

    x = placeholder(float32, [None, 784]);  y = placeholder(float32, [None, 10])

gives x the shape [n0, 784] and y the shape [n1, 10]. If an operation demands that n0 and n1 are equal, and in
the run at hand they are, both are called n0 from then on. That is the guard of the program: it takes no run
in which they differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.sizes import MOST, AnySize, Size, Undecided, symbol
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class OpenShapes:
    """Shapes of the feeds of a run, with symbols for open sizes."""

    shapes: tuple[tuple[AnySize, ...], ...]

    def values(self, shapes: Sequence[Sequence[int]]) -> dict[str, int] | None:
        """Return the values of the symbols in a run with feeds of these shapes; None if there are none."""
        values: dict[str, int] = {}
        for mine, given in zip(self.shapes, shapes, strict=True):
            if len(mine) != len(given):
                return None
            for size, n in zip(mine, given, strict=True):
                if not isinstance(size, Size):
                    if size != n:
                        return None
                elif n > MOST or values.setdefault(_name(size), n) != n:
                    return None
        return values

    def with_equal(self, undecided: Undecided, shapes: Sequence[Sequence[int]]) -> OpenShapes | None:
        """Return these shapes with two symbols that must be equal as one.

        None if something else was asked, or if they differ in a run with feeds of these shapes.
        """
        values = self.values(shapes)
        if values is None or undecided.equal is None or not is_pair(undecided):
            return None
        first, second = sorted(map(_name, undecided.equal), key=lambda name: int(name[1:]))
        if values[first] != values[second]:
            return None
        found = tuple(
            tuple(symbol(first) if isinstance(n, Size) and _name(n) == second else n for n in shape)
            for shape in self.shapes
        )
        return OpenShapes(found)


def open_shapes(
    feeds: Sequence[Tensor], shapes: Sequence[Sequence[int]], closed: Sequence[int] = ()
) -> OpenShapes | None:
    """Return the shapes of feeds with a symbol for each size that the graph leaves open.

    None if none is, or if a size is too large for a symbol.

    Args:
        feeds: The fed tensors.
        shapes: Their shapes in a run.
        closed: The numbers of those feeds for whose values the step is compiled.
    """
    found: list[tuple[AnySize, ...]] = []
    count = 0
    for number, (feed, given) in enumerate(zip(feeds, shapes, strict=True)):
        declared = feed.type.shape
        shape: list[AnySize] = list(given)
        if declared is not None and number not in closed and feed.dtype is not string:
            for axis, n in enumerate(declared):
                if n is None:
                    shape[axis], count = symbol(f"n{count}"), count + 1
        found.append(tuple(shape))
    made = OpenShapes(tuple(found))
    return made if count and made.values(shapes) is not None else None


def is_pair(undecided: Undecided) -> bool:
    """Return True if it was asked whether two symbols are equal, which they are in some runs."""
    return undecided.equal is not None and all(map(_is_symbol, undecided.equal))


def _is_symbol(size: AnySize) -> bool:
    if not isinstance(size, Size) or len(size.terms) != 1:
        return False
    ((monomial, factor),) = size.terms.items()
    return factor == 1 and len(monomial) == 1 and isinstance(monomial[0], str)


def _name(size: Size) -> str:
    ((monomial, _),) = size.terms.items()
    assert isinstance(monomial[0], str), size
    return monomial[0]
