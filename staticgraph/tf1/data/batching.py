"""Several elements as one, and the reverse: batch, padded batch, window, unbatch."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from staticgraph.compiler.graph.errors import DataLossError
from staticgraph.compiler.graph.shapes import Shape, TensorType, shape_text
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.data.mapping import Mapped
from staticgraph.tf1.data.pipeline import Failed, Node, Run, attempts
from staticgraph.tf1.data.selecting import numbers_of, rows_of
from staticgraph.tf1.data.slices import slice_count, slices_of, stacked_ragged, stacked_sparse
from staticgraph.tf1.data.structure import Component, Element, Ragged, Sparse, leaves
from staticgraph.tf1.data.threads import ParallelMapped

T = TypeVar("T")


def groups_of(node: Node, run: Run, elements: Iterator[T], parameter: Any, drop: Any) -> Iterator[list[T]]:
    """Yield lists of as many elements as `parameter` says. The last one may be shorter, unless `drop`."""
    size = run.number(parameter)
    if size <= 0:
        raise node.error(f"batch_size is {size}, it must be above zero")
    group: list[T] = []
    while more := list(itertools.islice(elements, size - len(group))):
        if Failed in map(type, more):  # as in TensorFlow, what was read for this batch is lost
            failed = [at for at, each in enumerate(more) if isinstance(each, Failed)]
            yield from (more[at] for at in failed)  # type: ignore[misc]
            group, more = [], more[failed[-1] + 1 :]
        group += more
        if len(group) == size:
            yield group
            group = []
    if group and not run.value(drop):
        yield group


def _whole(elements: Iterator[Element], size: int) -> Iterator[Element]:
    """Yield the elements; of each `size` of them that one failed of, only that one.

    TensorFlow makes one step of `map` and `batch`, whose batches have their elements however these fare.
    """
    while group := list(itertools.islice(elements, size)):
        failed = next((each for each in group if isinstance(each, Failed)), None)
        yield from group if failed is None else [failed]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Batched(Node):
    """`size` elements stacked; the last ones may be fewer, unless these are dropped."""

    source: Node
    size: Any
    drop_remainder: Any

    def iterate(self, run: Run) -> Iterator[Element]:
        arrays = rows_of(self.source, run)
        if arrays is not None:  # all elements of a batch are copied at once
            numbers = numbers_of(self.source, run)
            for rows in groups_of(self, run, numbers, self.size, self.drop_remainder):
                yield tuple(array.take(rows, axis=0) for array in arrays)
            return
        parts = leaves(self.source.structure)
        elements = self.source.iterate(run)
        if isinstance(self.source, Mapped | ParallelMapped):
            elements = _whole(elements, max(1, run.number(self.size)))
        groups = groups_of(self, run, elements, self.size, self.drop_remainder)

        def stacked(group: list[Element]) -> Element:
            columns = zip(*group, strict=True)
            return tuple(map(self._stacked, itertools.count(), parts, columns))

        yield from attempts(stacked, groups)

    def _stacked(self, number: int, part: Component, column: tuple[Any, ...]) -> Any:
        if isinstance(part, Sparse):
            return stacked_sparse(column)
        if isinstance(part, Ragged):
            return stacked_ragged(column, part.splits.numpy)
        try:
            return np.stack(column)
        except ValueError:
            first = column[0].shape
            other = next(at for at, array in enumerate(column) if array.shape != first)
            text = (
                f"Cannot batch tensors with different shapes in component {number}. First element had shape "
                f"{shape_text(first)} and element {other} had shape {shape_text(column[other].shape)}."
            )
            hint = "padded_batch makes them equal with zeros; images are resized in a map before"
            raise self.error(text, hint=hint) from None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PaddedBatched(Node):
    """Stacks of elements that are padded at their ends; see `Dataset.padded_batch`.

    Attributes:
        size: The number of elements.
        shapes: A shape for each component, in which open sizes are the largest of the batch.
        padding: A value for each component.
    """

    source: Node
    size: Any
    shapes: tuple[Any, ...]
    padding: tuple[Any, ...]
    drop_remainder: Any

    def iterate(self, run: Run) -> Iterator[Element]:
        shapes = [run.value(shape) for shape in self.shapes]
        shapes = [tuple(None if n is None or n < 0 else int(n) for n in shape) for shape in shapes]
        padding = [run.value(value) for value in self.padding]
        groups = groups_of(self, run, self.source.iterate(run), self.size, self.drop_remainder)

        def padded(group: list[Element]) -> Element:
            return tuple(map(self._padded, zip(*group, strict=True), shapes, padding))

        return attempts(padded, groups)

    def _padded(self, column: tuple[np.ndarray, ...], shape: Shape, padding: Any) -> np.ndarray:
        for array in column:
            if array.ndim != len(shape):
                text = (
                    f"an element of shape {shape_text(array.shape)} cannot be padded to {shape_text(shape)}"
                )
                raise self.error(f"{text}: it has another number of axes")
        largest = np.max([array.shape for array in column], axis=0, initial=0)
        sizes = tuple(int(most) if n is None else n for n, most in zip(shape, largest, strict=True))
        out = np.full((len(column), *sizes), padding, column[0].dtype)
        for row, array in enumerate(column):
            if any(n > room for n, room in zip(array.shape, sizes, strict=True)):
                text = f"an element of shape {shape_text(array.shape)} is larger than padded_shapes allow"
                raise self.error(f"{text}, {shape_text(shape)}", DataLossError)
            place: Any = (row, *(slice(n) for n in array.shape), ...)  # a view, also of one string
            out[place] = array
        return out


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Unbatched(Node):
    """The slices of each element along its first axis, as elements of their own."""

    source: Node

    def iterate(self, run: Run) -> Iterator[Element]:
        for element in self.source.iterate(run):
            if isinstance(element, Failed):
                yield element
                continue
            sizes = {slice_count(value) for value in element}
            if len(sizes) > 1:
                raise self.error(f"the components have {sorted(sizes)} slices: all must have as many")
            yield from zip(*map(slices_of, element), strict=True)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Windowed(Node):
    """Datasets of `size` elements each, `stride` apart; each begins `shift` after the one before."""

    source: Node
    size: Any
    shift: Any
    stride: Any
    drop_remainder: Any

    def iterate(self, run: Run) -> Iterator[Element]:
        size, shift, stride = (run.number(n) for n in (self.size, self.shift, self.stride))
        if min(size, shift, stride) <= 0:
            raise self.error(f"size {size}, shift {shift} and stride {stride} must be above zero")
        drop = bool(run.value(self.drop_remainder))
        elements = self.source.iterate(run)
        ahead: deque[Element] = deque()
        span = (size - 1) * stride + 1
        while True:
            ahead.extend(itertools.islice(elements, span - len(ahead)))
            window = list(itertools.islice(ahead, 0, None, stride))
            if not window or (drop and len(window) < size):
                return
            failed = next((each for each in window if isinstance(each, Failed)), None)
            columns = tuple(_Column(window, i) for i in range(len(window[0])))
            yield columns if failed is None else failed
            for _ in range(min(shift, len(ahead))):
                ahead.popleft()
            if shift > span:
                next(itertools.islice(elements, shift - span - 1, None), None)


@dataclass(frozen=True, slots=True)
class _Column:
    """One component of the elements of a window; a call begins to go through them."""

    window: list[Element]
    index: int

    def __call__(self) -> Iterator[Element]:
        return ((element[self.index],) for element in self.window)


def padding_of(part: TensorType) -> Any:
    """Return the padding of a component if the user gives none: zero, or the empty string."""
    return part.dtype.round(b"" if part.dtype.kind == "string" else 0)
