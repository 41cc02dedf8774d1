"""Pipelines: what a dataset is beneath its methods, and one pass over its elements.

A `Node` is one step of a pipeline, a description that never changes. Iterating it takes a `Run`: the values
of the tensors that the pipeline depends on, and what its nodes must remember between repetitions.

An error while an element is computed is that element's alone, as in TensorFlow: programs skip a damaged
record and ask for the next one. An iterator that raises is at its end in Python, so a step yields `Failed`
in place of such an element, and the steps behind it pass that on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import field, fields
from typing import Any, Self, TypeVar

import numpy as np

from staticgraph.compiler.graph.errors import InvalidArgumentError, OpError, layout
from staticgraph.compiler.graph.provenance import Provenance, user_frame
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.state.resources import Resources
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1.data.structure import Element, is_ragged, is_tensor_array, to_tensors

T = TypeVar("T")


class Failed(tuple[Any, ...]):
    """Stand-in for an element that could not be computed: whoever asks for the element gets `error`."""

    error: OpError

    @classmethod
    def by(cls, error: OpError) -> Failed:
        """Return the stand-in for an element whose computation raised `error`."""
        made = cls()
        made.error = error
        return made


def attempt(make: Callable[..., Any], *arguments: Any) -> Any:
    """Return `make(*arguments)`, or `Failed` if that is an error of an operation."""
    try:
        return make(*arguments)
    except OpError as error:
        return Failed.by(error)


def attempts(make: Callable[[Any], Any], elements: Iterator[Any]) -> Iterator[Any]:
    """Yield `make(element)` of each element, and `Failed` for each that is or becomes so."""
    for element in elements:
        yield element if isinstance(element, Failed) else attempt(make, element)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Node:
    """One step of a pipeline, whose elements are of `structure`. `where` is the user's line that made it."""

    structure: Any
    where: Provenance | None = field(init=False)

    def __new__(cls, **_: Any) -> Self:
        made = object.__new__(cls)
        object.__setattr__(made, "where", user_frame())  # not in `__init__`, which dataclass makes
        return made

    def iterate(self, run: Run) -> Iterator[Element]:
        """A new iterator over the elements."""
        raise NotImplementedError

    def error(
        self, text: str, kind: type[OpError] = InvalidArgumentError, hint: str | None = None
    ) -> OpError:
        """Return the error to raise if an element is not as it must be. `hint`: the cure."""
        return kind(layout(text, self.where, hint=hint))


GivenDatasets = Mapping[Node, Callable[[], Iterator[Element]]]


class Run:
    """The state of one iterator. `given`: of one over a dataset that a user's function makes."""

    def __init__(
        self,
        values: Mapping[Tensor, np.ndarray],
        resources: Resources,
        given: GivenDatasets | None = None,
    ) -> None:
        self.resources = resources
        self.given = given or {}
        self.is_inner = given is not None
        self._values = values
        self._states: dict[Any, Any] = {}
        self.earlier = 0  # runs of the same dataset, if a function makes it, in earlier repetitions
        self._place: tuple[Any, ...] = ()
        self._drawing: dict[Any, list[Any]] = {}  # by owner and place

    def branch(self, number: int) -> Run:
        """Return the same run for one of several sources, as functions that draw random numbers see it."""
        made = copy(self)
        made._place = (*self._place, number)
        return made

    def passes(self, owner: Any) -> int:
        """Begin a pass over elements of which the function `owner` makes datasets: how many were before."""
        begun = self.drawing((owner, "passes"))
        before: int = begun.pop() if begun else 0
        begun.append(before + 1)
        return before

    def inside(
        self, owner: Any, passes: int, values: Mapping[Tensor, np.ndarray], given: GivenDatasets
    ) -> Run:
        """Return the run of a dataset that the function `owner` makes of an element, after some `passes`."""
        made = Run(values, self.resources, given)
        made._place, made._drawing, made.earlier = (*self._place, owner), self._drawing, passes
        return made

    def drawing(self, owner: Any) -> list[Any]:
        """Return what draws the random numbers of the function `owner`, at this place of a pipeline.

        The numbers go on in repetitions, and from one dataset that a function makes to the next. They begin
        anew where a dataset is used a second time.
        """
        return self._drawing.setdefault((owner, self._place), [])

    def value(self, parameter: Any) -> Any:
        """Return the value of a parameter of a node. The value of a tensor depends on the run."""
        return self._values[parameter] if isinstance(parameter, Tensor) else parameter

    def number(self, parameter: Any) -> int:
        return int(self.value(parameter))

    def state(self, owner: Any, make: Callable[[], T]) -> T:
        """Return the state of `owner` in this run. The first request makes it with `make()`."""
        if owner not in self._states:
            self._states[owner] = make()
        found: T = self._states[owner]
        return found


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Given(Node):
    """A dataset that is an argument of a user's function: each run tells which."""

    def iterate(self, run: Run) -> Iterator[Element]:
        return run.given[self]()


_given: ContextVar[GivenDatasets] = ContextVar("given")


@contextmanager
def giving(datasets: GivenDatasets) -> Iterator[None]:
    """Context in which operations of a user's function iterate over the datasets that it was given."""
    token = _given.set(datasets)
    try:
        yield
    finally:
        _given.reset(token)


def given_datasets() -> GivenDatasets | None:
    """Return the datasets that the function whose operations run now was given, None for none."""
    return _given.get({}) or None


def tensors_of(node: Node) -> list[Tensor]:
    """The tensors whose values a pipeline needs, each once."""
    return list(dict.fromkeys(_tensors(node)))


def _tensors(part: Any) -> Iterator[Tensor]:
    if isinstance(part, Tensor):
        yield part
    elif isinstance(part, SparseTensor) or is_ragged(part) or is_tensor_array(part):
        yield from to_tensors(part)
    elif isinstance(part, tuple | list):
        for inner in part:
            yield from _tensors(inner)
    elif isinstance(part, Node):
        for each in fields(part):
            if each.name not in ("structure", "where"):
                yield from _tensors(getattr(part, each.name))
    else:
        yield from getattr(part, "captured", ())
