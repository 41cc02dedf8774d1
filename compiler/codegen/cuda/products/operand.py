"""Tiles of an operand in shared memory, each for some steps of the sum.

An element of an operand lies wherever the steps of its indices lead, so convolutions are products too.
Elements of a window beyond an edge are 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.codegen.cuda.products.axes import Axis, Values, in_packs, is_wide
from staticgraph.compiler.codegen.cuda.products.shape import Shape
from staticgraph.compiler.kernel.contraction import Access, Contraction, Limit
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.support.dataclass import dataclass


class Side(Protocol):
    """An operand in shared memory, `name` in the text, with elements of `size` bytes: what the threads that
    multiply need to know of it.
    """

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def extent(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def is_turned(self) -> bool: ...
    def kept(self, across: str, along: str) -> str: ...
    def element(self, across: str, along: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Operand(ABC):
    """One operand, by `name`, and its tiles of `extent` rows or columns: what is the same however threads
    bring them to shared memory.
    """

    contraction: Contraction
    shape: Shape
    name: str
    access: Access
    axis: Axis  # rows or columns
    sum: Axis
    extent: int
    limits: tuple[Limit, ...] = ()

    @property
    def kind(self) -> str:
        """The type of elements in shared memory."""
        return register_type(self.contraction.dtype)

    @property
    def size(self) -> int:
        """Bytes of an element in shared memory."""
        return self.contraction.dtype.size

    @property
    def is_turned(self) -> bool:
        """True if a line in shared memory is a row or column, with all elements of a step.

        Tensor cores prefer this if threads read along the sum. Otherwise, a line holds the elements of all
        rows or columns for one product.
        """
        return self.shape.tensor and self._along_sum

    @property
    def _pitch(self) -> int:
        """Elements from a line in shared memory to the next, so that they lie in different banks."""
        if self.is_turned:
            return self.shape.depth + 4
        return self.extent + (8 if self.shape.tensor else self._most)

    @property
    def elements(self) -> int:
        """Of a tile in shared memory, which has room for several."""
        return self._pitch * (self.extent if self.is_turned else self.shape.depth)

    @property
    def _most(self) -> int:
        """Elements of 16 bytes."""
        return 16 // self.size

    @property
    def _along_sum(self) -> bool:
        """True if neighbouring threads read neighbouring elements along the sum."""
        last, k = self.axis.last, self.sum.last
        if last is None or k is None:
            return last is None
        here, there = abs(self.access.step(last)), abs(self.access.step(k))
        return 0 < there < here

    def _width(self, fastest: Index | None, most: int) -> int:
        """Elements of a pack along the fastest index, of which a tile has `most`."""
        width = min(self._most, most)
        return width if in_packs(self.access, fastest, width, self.limits) else 1

    @property
    def _wide(self) -> bool:
        """True if positions need 64 bits."""
        return is_wide(self.contraction, self.access)

    def _edge(self, limit: Limit, values: Values) -> str:
        """The text of how far from the start of an edge the first of the sum is."""
        if limit.place is None:
            return str(limit.offset)
        return f"{limit.offset} + {({**values, **self.axis.values})[limit.place]} * {limit.place_step}"

    def kept(self, across: str, along: str) -> str:
        """The text of the address of an element in shared memory, by its row or column and by its place in
        the step. In the text, `stage` says in which of the tiles.
        """
        line, at = (across, along) if self.is_turned else (along, across)
        return f"{self.name}_kept + stage * {self.elements} + ({line}) * {self._pitch} + {at}"

    def element(self, across: str, along: str) -> str:
        """The text of an element in shared memory."""
        return f"*({self.kept(across, along)})"

    @abstractmethod
    def start(self, first: str, values: Values) -> list[str]:
        """Return statements that compute what all steps share: starts of packs, distances from edges.

        `first` is the first row or column of the tile.
        """

    @abstractmethod
    def fetch(self, last: str) -> list[str]:
        """Ask for the elements of the step that begins at `from`, of a sum that ends at `last`. They are on
        their way to a `stage` of shared memory.
        """

    @abstractmethod
    def keep(self) -> list[str]:
        """Put what has been asked for into the `stage`, where it does not get there by itself."""
