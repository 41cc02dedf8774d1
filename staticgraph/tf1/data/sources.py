"""Sources of elements: values, ranges, and Python generators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, OpError, UnknownError, layout
from staticgraph.compiler.graph.shapes import TensorShape, TensorType
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.random_numbers.integers import RandomNumbers
from staticgraph.tf1.data.pipeline import Node, Run, attempt
from staticgraph.tf1.data.slices import slice_count, slices_of
from staticgraph.tf1.data.structure import (
    Component,
    Element,
    component,
    fits,
    from_tensors,
    leaves,
    map_leaves,
    rows,
    to_tensors,
)

_NUMBER = TensorType(int64, ())


def _value(run: Run, value: Any) -> Any:
    """The value of an array, a tensor, or of what consists of several tensors."""
    parts = [run.value(tensor) for tensor in to_tensors(value)]
    return from_tensors(component(value), iter(parts))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tensors(Node):
    """One element: all the values."""

    values: tuple[Any, ...]

    def iterate(self, run: Run) -> Iterator[Element]:
        yield tuple(_value(run, value) for value in self.values)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Slices(Node):
    """The slices of the values along their first axis."""

    values: tuple[Any, ...]

    def iterate(self, run: Run) -> Iterator[Element]:
        self.count(run)
        yield from zip(*(slices_of(_value(run, value)) for value in self.values), strict=True)

    def count(self, run: Run) -> int:
        """Return the number of slices. InvalidArgumentError if the values have different numbers."""
        values = [_value(run, value) for value in self.values]
        sizes = [slice_count(value) for value in values]
        if len(set(sizes)) > 1:
            raise self.error(f"the values have {', '.join(map(str, sizes))} slices: all must have as many")
        return sizes[0]

    def arrays(self, run: Run) -> list[np.ndarray] | None:
        """The values, where all are arrays."""
        values = [_value(run, value) for value in self.values]
        return values if all(isinstance(value, np.ndarray) for value in values) else None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Range(Node):
    """Integers from `start`, while they are below `stop`, or above it where `step` is negative."""

    start: Any
    stop: Any
    step: Any
    structure: Any = _NUMBER

    def iterate(self, run: Run) -> Iterator[Element]:
        start, stop, step = (run.number(n) for n in (self.start, self.stop, self.step))
        if step == 0:
            raise self.error("the step of a range must not be zero")
        return ((np.asarray(i, np.int64),) for i in range(start, stop, step))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Counter(Node):
    """Numbers from `start` without an end."""

    start: Any
    step: Any

    def iterate(self, run: Run) -> Iterator[Element]:
        value, step = (self.structure.dtype.round(run.value(n)) for n in (self.start, self.step))
        while True:
            yield (np.asarray(value),)
            value = value + step


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Numbers(Node):
    """Random 32-bit numbers without an end."""

    seeds: tuple[Any, Any]
    structure: Any = _NUMBER

    def iterate(self, run: Run) -> Iterator[Element]:
        numbers = RandomNumbers(run.number(self.seeds[0]), run.number(self.seeds[1]))
        while True:
            yield (np.asarray(numbers.next(), np.int64),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Generated(Node):
    """Elements that a Python function yields, which is called with the values of `arguments`."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def iterate(self, run: Run) -> Iterator[Element]:
        parts = leaves(self.structure)
        given = [run.value(a)[()] for a in self.arguments]  # NumPy numbers, and bytes, for what has no axes
        items = iter(self._guarded(lambda: iter(self.function(*given))))
        while True:
            item = self._guarded(lambda: next(items, _END))
            if item is _END:
                return
            yield attempt(self._element, parts, item)

    def _element(self, parts: list[Component], item: Any) -> Element:
        return tuple(map(self._converted, parts, self._leaves(item)))

    def _guarded(self, call: Callable[[], Any]) -> Any:
        """The result of the user's code. What it raises is told as an error of this run."""
        try:
            return call()
        except OpError:
            raise
        except Exception as error:
            wrong = isinstance(error, TypeError | ValueError)
            kind = InvalidArgumentError if wrong else UnknownError
            text = f"the generator failed: {type(error).__name__}: {error}"
            raise kind(layout(text, self.where)) from error

    def _leaves(self, item: Any) -> list[Any]:
        try:
            return [value for _, value in rows(self.structure, item)]
        except (TypeError, ValueError):
            text = "`generator` yielded an element that did not match the expected structure."
            expected = map_leaves(lambda part: _TypeName(f"tf.{part.dtype}"), self.structure)
            told = f"The expected structure was {expected}, but the yielded element was {item!r}."
            raise self.error(
                f"{text}\n{told}", hint="convert what it yields, or change output_types"
            ) from None

    def _converted(self, part: Component, value: Any) -> np.ndarray:
        """A yielded value as an array of the declared type, to which only numbers that fit are converted."""
        assert isinstance(part, TensorType)
        try:
            given = np.asarray(value)
            if part.dtype is not string and given.dtype.kind in "USO":
                raise TypeError
            array = part.dtype.round(value)
        except (TypeError, ValueError, OverflowError):
            text = "`generator` yielded an element that could not be converted to the expected type."
            told = f"The expected type was {part.dtype}, but the yielded element was {value!r}."
            raise self.error(
                f"{text}\n{told}", hint="convert what it yields, or change output_types"
            ) from None
        if not fits(part.shape, array):
            shapes = TensorShape(array.shape), TensorShape(part.shape)
            text = "`generator` yielded an element of shape {} where an element of shape {} was expected."
            hint = "None in output_shapes stands for a size that varies, as in [None]"
            raise self.error(text.format(*shapes), hint=hint)
        return array.copy() if array is value else array


class _TypeName(str):
    """Name of an element type that shows without quotes in a structure."""

    __slots__ = ()
    __repr__ = str.__str__


_END = object()
