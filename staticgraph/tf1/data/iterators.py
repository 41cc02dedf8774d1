"""Iterators: what hands the elements of a dataset to the runs of a session.

An `Iterator` belongs to the graph. Its place in the elements belongs to a session, so each session goes
through them by itself.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator as PythonIterator
from typing import Any

import numpy as np

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.capture.segments import above
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
    misuse,
)
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.recording.op_count import count_more, uncounted
from staticgraph.compiler.graph.shapes import TensorShape, TensorType, shape_text
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.support.forks import in_child, reclaim
from staticgraph.runtime.session import Session
from staticgraph.runtime.state.resources import exclusive, left_behind, resources
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1.data.operation_counts import (
    INITIALIZABLE_ITERATOR,
    ITERATOR_OF_STRUCTURE,
    ONE_SHOT_ITERATOR,
    OPTIMIZED,
)
from staticgraph.tf1.data.pipeline import Failed, Node, Run, given_datasets, tensors_of
from staticgraph.tf1.data.selecting import unjoined
from staticgraph.tf1.data.structure import (
    Component,
    Element,
    Nested,
    Sparse,
    class_of,
    declared,
    fits,
    from_tensors,
    leaves,
    map_leaves,
    tensor_types,
    to_tensors,
)


class _Position:
    """Position of an iterator in one session."""

    def __init__(self) -> None:
        self._elements: PythonIterator[Element] | None = None
        self._lock = threading.RLock()  # for as long as an element takes
        in_child(self._forked)

    def start(self, node: Node, run: Run) -> None:
        """Go to the beginning of a dataset."""
        elements = node.iterate(run)
        with exclusive(self._lock):
            self._elements = elements

    def next(self, parts: list[Component]) -> list[np.ndarray]:
        """The values of the next element's tensors."""
        with exclusive(self._lock):
            if self._elements is None:
                text = "GetNext() failed because the iterator has not been initialized."
                raise FailedPreconditionError(text, hint="run iterator.initializer first")
            element = next(self._elements, None)
        if element is None:
            hint = "repeat() begins anew; except sg.errors.OutOfRangeError ends a loop over the elements"
            raise OutOfRangeError("End of sequence", hint=hint)
        if isinstance(element, Failed):
            raise element.error
        return flat_values(parts, element)

    def shut(self) -> None:
        self._elements = None

    def _forked(self) -> None:
        if reclaim(self._lock):
            self._elements = _lost()


def _lost() -> PythonIterator[Element]:
    """Iterator of a forked process, if another thread of the parent was inside it."""
    raise left_behind("the elements that a thread was computing")
    yield


class _Handles:
    """The iterators of a session by their handles."""

    def __init__(self) -> None:
        self.iterators: dict[bytes, Iterator] = {}

    def shut(self) -> None:
        self.iterators.clear()


class _Owner:
    """Owner of the handles of the iterators of a session."""


_HANDLES = _Owner()
_numbers = itertools.count()


def flat_values(parts: list[Component], element: Element) -> list[np.ndarray]:
    """The values of an element's tensors. InvalidArgumentError if one is not of the declared shape."""
    values = []
    for part, value in zip(parts, element, strict=True):
        if isinstance(part, TensorType) and not fits(part.shape, value):
            text = f"the element has shape {shape_text(value.shape)}, the iterator {shape_text(part.shape)}"
            raise InvalidArgumentError(text)
        values += to_tensors(value)
    return values


class _Types:
    """The components of an iterator's elements, and their tensors' types."""

    def __init__(self, structure: Any) -> None:
        self.parts = leaves(structure)
        self.types = tuple(type for part in self.parts for type in tensor_types(part))


@host(tf="MakeIterator", type=lambda *c, iterator, node: (), stateful=True, vars={"tensors": "*"})
def make_iterator(*tensors: Any, iterator: Iterator, node: Node) -> Any:
    """Sets an iterator to the beginning of a dataset, whose last step is `node`."""
    values = dict(zip(tensors_of(node), (t.copy() for t in tensors), strict=True))
    iterator.position().start(node, Run(values, resources()))
    return ()


@host(tf="IteratorGetNext", type=lambda iterator, types: types.types, stateful=True)
def iterator_get_next(*, iterator: Iterator, types: _Types) -> Any:
    """The next element of an iterator, which has these `types`."""
    return tuple(iterator.position().next(types.parts))


@host(tf="IteratorToStringHandle", type=lambda iterator: TensorType(string, ()), stateful=True)
def iterator_to_string_handle(*, iterator: Iterator) -> Any:
    """A string that names an iterator, in the session that computed it."""
    name = iterator.handle_name
    resources().of(_HANDLES, _Handles).iterators[name] = iterator
    return name


@host(
    tf="IteratorGetNext",
    type=lambda handle, types: types.types,
    stateful=True,
    vars={"handle": "string"},
    name="handle_get_next",
)
def handle_get_next(handle: Any, *, types: _Types) -> Any:
    """The next element of the iterator that a string names, which has these `types`."""
    found = resources().of(_HANDLES, _Handles).iterators.get(handle[()])
    if found is None:
        raise InvalidArgumentError(f"{handle[()]!r} is not what string_handle() gave in this session")
    if [t.dtype for t in found.element_types.types] != [t.dtype for t in types.types]:
        raise InvalidArgumentError("the iterator of this handle has elements of other types")
    return tuple(found.position().next(types.parts))


class Iterator:
    """Goes through the elements of a dataset. Datasets make iterators, and so do the functions below.

    `output_types`, `output_shapes` and `output_classes` tell what the elements are.
    """

    def __init__(self, structure: Any, dataset: Node | None = None, initial: Node | None = None) -> None:
        self.structure = structure
        self.element_types = _Types(structure)
        self._graph = get_default_graph()
        self._dataset = dataset  # of an iterator that needs no initializer
        self._initializer: Operation | None = None if initial is None else self._initialize(initial)
        self._handle: Tensor | None = None  # of an iterator that each run tells
        self.handle_name = f"iterator {next(_numbers)}".encode()
        if any(isinstance(part, Nested) for part in self.element_types.parts):
            text = "elements that are datasets cannot be handed out"
            raise misuse(TypeError, text, "flat_map them: windows.flat_map(lambda w: w.batch(3))")

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """An iterator of no dataset in particular: `make_initializer` sets it to the beginning of one.

        >>> import staticgraph as sg
        >>> iterator = sg.data.Iterator.from_structure(sg.int64, [])
        >>> begin = iterator.make_initializer(sg.data.Dataset.range(5))
        >>> value = iterator.get_next()
        >>> with sg.Session() as sess:
        ...     sess.run(begin)
        ...     [int(sess.run(value)) for _ in range(2)]
        [0, 1]
        """
        count_more(get_default_graph(), ITERATOR_OF_STRUCTURE)
        return Iterator(_with_classes(declared(output_types, output_shapes), output_classes))

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """The iterator that each run tells, by feeding the value of its `string_handle()`."""
        count_more(get_default_graph(), ITERATOR_OF_STRUCTURE)
        made = Iterator(_with_classes(declared(output_types, output_shapes), output_classes))
        made._handle = convert_to_tensor(string_handle, dtype=string)
        return made

    @property
    def initializer(self) -> Operation:
        """The operation that sets the iterator to the beginning of its dataset.

        ValueError if it needs none, or `make_initializer` makes it.
        """
        if self._initializer is None:
            text = "Iterator does not have an initializer."
            cure = None if self._dataset or self._handle is not None else "use make_initializer(dataset)"
            raise misuse(ValueError, text, cure)
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """The operation that sets this iterator to the beginning of `dataset`. TypeError for others."""
        node = dataset.node
        map_leaves(_check_fits, self.structure, node.structure)
        return self._initialize(unjoined(node), name)  # TensorFlow does not optimize such a pipeline

    def _initialize(self, node: Node, name: str | None = None) -> Operation:
        made: Operation = make_iterator(tensors_of(node), iterator=self, node=node, name=name)
        return made

    def get_next(self, name: str | None = None) -> Any:
        """The next element, another one in each run; OutOfRangeError at the end.

        Use one `get_next()` for a whole graph: each call makes an operation that takes an element.
        """
        with self._graph.as_default():
            if self._handle is not None:
                made = handle_get_next(self._handle, types=self.element_types, name=name)
            else:
                made = iterator_get_next(iterator=self, types=self.element_types, name=name)
        tensors = iter(made if isinstance(made, tuple) else (made,))
        return map_leaves(lambda part: from_tensors(part, tensors), self.structure)

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string whose value in a session names this iterator for `from_string_handle`."""
        if self._handle is not None:
            return self._handle
        with uncounted(self._graph):  # TensorFlow's is there from the beginning
            made: Tensor = iterator_to_string_handle(iterator=self, name=name)
        return made

    @property
    def output_types(self) -> Any:
        return output_types(self.structure)

    @property
    def output_shapes(self) -> Any:
        return output_shapes(self.structure)

    @property
    def output_classes(self) -> Any:
        return output_classes(self.structure)

    def position(self) -> _Position:
        """Return the position of the iterator in the current session."""
        return resources().of(self, self._begin)

    def _begin(self) -> _Position:
        made = _Position()
        if self._dataset is not None:
            tensors = tensors_of(self._dataset)
            values = Session(graph=self._graph).run(tensors) if tensors else []
            arrays = (t.dtype.round(value) for t, value in zip(tensors, values, strict=True))
            made.start(self._dataset, Run(dict(zip(tensors, arrays, strict=True)), resources()))
        return made


@host(
    tf="DatasetToSingleElement",
    type=lambda *c, node, types: types.types,
    stateful=True,
    vars={"tensors": "*"},
)
def single_element(*tensors: Any, node: Node, types: _Types) -> Any:
    """The one element, of these `types`, of the dataset whose last step is `node`."""
    values = dict(zip(tensors_of(node), tensors, strict=True))
    elements = node.iterate(Run(values, resources(), given_datasets()))
    element = next(elements, None)
    if element is None:
        raise InvalidArgumentError("Dataset was empty.")
    if isinstance(element, Failed):
        raise element.error
    if next(elements, None) is not None:
        raise InvalidArgumentError("Dataset had more than one element.")
    return tuple(flat_values(types.parts, element))


def only_element(node: Node) -> Any:
    """The one element of a dataset, as tensors."""
    made = single_element(tensors_of(node), node=node, types=_Types(node.structure))
    tensors = iter(made if isinstance(made, tuple) else (made,))
    return map_leaves(lambda part: from_tensors(part, tensors), node.structure)


def one_shot(node: Node) -> Iterator:
    """An iterator that starts by itself. ValueError if the dataset depends on feeds or variables."""
    for op in above([t.op for t in tensors_of(node)], frozenset()):
        if op.definition.effect in (Effect.SOURCE, Effect.READ, Effect.HOST):
            text = f"the dataset depends on {op.name} ({op.type}), which a one-shot iterator cannot know"
            hint = "use make_initializable_iterator(), and run iterator.initializer"
            raise misuse(ValueError, text, hint, made=[(op.name, op.where)])
    count_more(get_default_graph(), ONE_SHOT_ITERATOR)
    return Iterator(node.structure, node)


def initializable(node: Node) -> Iterator:
    """An iterator whose `initializer` sets it to the beginning."""
    count_more(get_default_graph(), OPTIMIZED + INITIALIZABLE_ITERATOR)
    return Iterator(node.structure, initial=node)


def _check_fits(mine: Component, other: Component) -> None:
    if mine == other:
        return
    both = isinstance(mine, TensorType) and isinstance(other, TensorType)
    if both and mine.dtype is other.dtype and _is_within(other.shape, mine.shape):  # type: ignore[union-attr]
        return
    raise misuse(TypeError, f"the iterator has elements {mine}, the dataset {other}")


def _is_within(inner: Any, outer: Any) -> bool:
    """Return True if `outer` describes all shapes that `inner` describes."""
    if outer is None:
        return True
    return (
        inner is not None
        and len(inner) == len(outer)
        and all(n in (None, m) for m, n in zip(inner, outer, strict=True))
    )


def _with_classes(structure: Any, classes: Any) -> Any:
    if classes is None:
        return structure
    return map_leaves(
        lambda part, kind: Sparse(part.dtype, part.shape) if kind is SparseTensor else part,
        structure,
        classes,
    )


def output_types(structure: Any) -> Any:
    """The element types of a structure's components; those of a dataset nested."""
    return map_leaves(lambda p: output_types(p.structure) if isinstance(p, Nested) else p.dtype, structure)


def output_shapes(structure: Any) -> Any:
    """The static shapes of a structure's components."""
    return map_leaves(
        lambda p: output_shapes(p.structure) if isinstance(p, Nested) else TensorShape(p.shape), structure
    )


def output_classes(structure: Any) -> Any:
    """The classes of a structure's components, such as `Tensor` or `SparseTensor`."""
    return map_leaves(class_of, structure)


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The element types, nested as the elements are."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The static shapes, nested as the elements are."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes, such as `Tensor` or `SparseTensor`, nested as the elements are."""
    return dataset_or_iterator.output_classes


def make_one_shot_iterator(dataset: Any) -> Iterator:
    """`dataset.make_one_shot_iterator()`."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """`dataset.make_initializable_iterator()`."""
    return dataset.make_initializable_iterator(shared_name)
