"""A value of an ONNX graph that is being written, as ops take it.

It has the operators and attributes of a tensor, so that what defines an op in terms of others (the expansion
of a composite, the body of an elementwise op) can be applied to it: what is recorded then are ONNX nodes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import UnimplementedError
from staticgraph.compiler.graph.operators import Operators
from staticgraph.compiler.graph.shapes import Shape, TensorType
from staticgraph.compiler.support.dataclass import dataclass

Order = tuple[int, ...]


class UnknownSize(TypeError):
    """A size is asked for that depends on what is fed."""


class NoForm(UnimplementedError):
    """ONNX has nothing that does what an op does."""


class Sizing(Protocol):
    """A builder of nodes, as far as values need it."""

    def size(self, held: Held, axis: int) -> Size:
        """Return the size of a value along an axis, as a number of the ONNX graph."""


@dataclass(frozen=True, slots=True, eq=False)
class Held(Operators):
    """A tensor, and the ONNX value that holds it: under `name`, or `data` that has no name yet.

    ONNX's convolutions have channels first. What they give is kept as it is for as long as possible: in the
    ONNX value, axis i is then axis `order[i]` of the tensor.
    """

    recorder: Sizing
    type: TensorType
    name: str = ""
    label: str = ""  # what to call a constant in the file
    data: np.ndarray | None = None  # the value, where it is known
    variable: bool = False  # the value is that of a variable: it may be moved, and is not computed with
    partial: tuple[int | None, ...] | None = None  # what is known of a vector whose entries are not all known
    order: Order | None = None

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def rank(self) -> int:
        """The number of axes. TypeError if it is not known."""
        if self.type.shape is None:
            raise UnknownSize("the number of axes must be known")
        return len(self.type.shape)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes: ints, and numbers of the ONNX graph where they depend on what is fed."""
        known = self.type.shape or (None,) * self.rank
        return tuple(self.recorder.size(self, axis) if n is None else n for axis, n in enumerate(known))

    @property
    def size(self) -> Any:
        """The number of elements."""
        count: Any = 1
        for n in self.shape:
            count = n * count
        return count

    @property
    def constant(self) -> np.ndarray | None:
        """The value where it may be computed with, else None."""
        return None if self.variable else self.data

    @property
    def kept(self) -> Self:
        """The tensor that the ONNX value is if its axes are taken as they are."""
        shape = self.type.shape
        if self.order is None or shape is None:
            return self
        return replace(self, type=TensorType(self.dtype, permuted(shape, self.order)), order=None)

    def in_order(self, order: Order | None) -> Self:
        """The tensor whose axes lie in this order in the ONNX value, as `kept` takes it."""
        if order is None or order == tuple(range(len(order))) or self.type.shape is None:
            return self
        return replace(
            self, type=TensorType(self.dtype, permuted(self.type.shape, inverse(order))), order=order
        )

    def __bool__(self) -> bool:
        raise UnknownSize("it asks for sizes that are not known before the model runs")

    def __iter__(self) -> Any:
        raise UnknownSize("it asks for a length that is not known before the model runs")


class Size(Held):
    """A size that depends on what is fed. It equals nothing but itself, as far as one knows."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise UnknownSize("it compares sizes that are not known before the model runs")

    __hash__ = object.__hash__


def permuted(shape: Shape, order: Order) -> Shape:
    """The sizes of the axes in another order."""
    return tuple(shape[axis] for axis in order)


def inverse(order: Order) -> Order:
    """The order that undoes another one."""
    return tuple(int(axis) for axis in np.argsort(order))
