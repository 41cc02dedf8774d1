"""Operands in shared memory: text that brings their elements there, and reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.kernel.contraction import Limit
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Values
from staticgraph.compiler.kernel.schedule_gpu.products.operand import OperandTile
from staticgraph.compiler.kernel.schedule_gpu.products.shape import Shape
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
class Operand(OperandTile, ABC):
    """Text for an operand: what is the same however threads bring it to shared memory."""

    @property
    def kind(self) -> str:
        """The type of elements in shared memory."""
        return register_type(self.contraction.dtype)

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
        return f"{self.name}_kept + stage * {self.elements} + ({line}) * {self.pitch} + {at}"

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
