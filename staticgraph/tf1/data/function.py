"""Users' functions of the elements of a dataset: recorded once, compiled, and called for each element.

What a function records is no part of the user's graph. Tensors of the graph that it uses are *captured*: they
have one value for a whole run of the pipeline, that of the moment when its iterator was initialised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.building.framework import check_takes
from staticgraph.building.inputs import placeholder
from staticgraph.compiler.capture.segments import is_host
from staticgraph.compiler.graph.errors import InvalidArgumentError, OutOfRangeError, misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.recording.op_count import uncounted
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor, with_inner
from staticgraph.compiler.support.dataclass import cached_property
from staticgraph.runtime.session import Session
from staticgraph.tf1.data.pipeline import Given, GivenDatasets, Node, Run, giving, tensors_of
from staticgraph.tf1.data.portable import is_portable
from staticgraph.tf1.data.structure import (
    Component,
    Element,
    Nested,
    as_element,
    as_tensors,
    from_tensors,
    leaves,
    map_leaves,
    structure_of,
    tensor_types,
    to_tensors,
)

if TYPE_CHECKING:
    from staticgraph.runtime.host_ops.host_program import HostProgram

Call = Callable[..., list[Any]]


class Function:
    """A user's function, recorded for elements of the structures in `params`.

    `structure` is that of what it returns; where it returns a dataset, `dataset` is its pipeline. `wrap`
    makes the object that the function gets in place of a dataset, `unwrap` finds the pipeline in one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        params: Any,
        wrap: Callable[[Node], Any],
        unwrap: Callable[[Any], Node | None],
        spread: bool = True,
    ) -> None:
        if not callable(function):
            raise misuse(TypeError, f"{function!r} is not a function")
        self._graph = get_default_graph()
        self._params: list[Tensor] = []
        self._given: list[Node | None] = []  # of each leaf of the params: what stands for a dataset
        self.dataset: Node | None = None
        with uncounted(self._graph), self._graph.aside():  # TensorFlow has a graph for each function
            start = self._graph.version
            given = map_leaves(lambda part: self._parameter(part, wrap), params)
            args = given if spread and type(given) is tuple else (given,)
            check_takes("the function of a dataset", function, *args)
            made = function(*args)
            self.dataset = unwrap(made)
            if self.dataset is None:
                made = as_tensors(tuple(made) if type(made) is list else made)
                self.structure = structure_of(made)
                self._results = [t for leaf in leaves(made) for t in to_tensors(leaf)]
            else:
                self.structure = self.dataset.structure
                self._results = tensors_of(self.dataset)
            self._operations = operations = list(self._graph.recorded[start:])
        self.parts = leaves(params)
        self.made = leaves(self.structure)
        self.captured = _captured(operations, self._results)
        self._draws = any(_is_seeded(op) for op in operations)
        self._idle: list[tuple[Session, Call]] = []
        _check(operations)

    def _parameter(self, part: Component, wrap: Callable[[Node], Any]) -> Any:
        if isinstance(part, Nested):
            stand_in = Given(structure=part.structure)
            self._given.append(stand_in)
            return wrap(stand_in)
        self._given.append(None)
        made = [placeholder(type.dtype, type.shape, name="arg") for type in tensor_types(part)]
        self._params += made
        return from_tensors(part, iter(made))

    @property
    def is_ordered(self) -> bool:
        """True if calls must not run concurrently.

        A call that draws from a seeded stream of random numbers influences the next call.
        """
        return self._draws

    @property
    def has_python(self) -> bool:
        """True if a call has operations that run in Python, so that threads help little."""
        return any(is_host(op) for op in self._operations if op.definition.name != "constant")

    @cached_property
    def is_portable(self) -> bool:
        """True if a call in another process does the same, because the function uses no state of this one."""
        if self.dataset is not None or any(isinstance(part, Nested) for part in self.parts):
            return False
        return all(map(_is_portable, with_inner(self._operations)))

    def operation(self, name: str) -> Operation | None:
        """The operation of that name in the function."""
        return next((op for op in self._operations if op.name == name), None)

    def bind(self, run: Run, alone: bool = False) -> Callable[[Element], Element]:
        """The function of an element's values. Several threads may call it.

        `alone`: with sessions of its own, whose random numbers nobody else draws.
        """
        computed = self._bound(run, alone)
        if all(isinstance(part, TensorType) for part in self.made):
            return lambda element: tuple(computed(element))
        return lambda element: as_element(self.made, computed(element))

    def bind_dataset(self, run: Run) -> Callable[[Element], Iterator[Element]]:
        """The function of an element's values that returns an iterator over the dataset for it."""
        assert self.dataset is not None
        dataset, results = self.dataset, self._results
        computed = self._bound(run) if results else None
        passes = run.passes(self)

        def call(element: Element) -> Iterator[Element]:
            known = {} if computed is None else dict(zip(results, computed(element), strict=True))
            return dataset.iterate(run.inside(self, passes, known, self._datasets(run, element)))

        return call

    def _datasets(self, run: Run, element: Element) -> GivenDatasets:
        """The datasets that a call is given: those of an element, and those of the functions around."""
        pairs = zip(self._given, element, strict=True)
        return {**run.given, **{stand_in: value for stand_in, value in pairs if stand_in is not None}}

    def _bound(self, run: Run, alone: bool = False) -> Callable[[Element], list[np.ndarray]]:
        """The values of the results as a function of an element's values."""
        captured = [run.value(t) for t in self.captured]
        arguments = self._arguments
        if (program := self._host_program) is not None:
            return lambda element: program([*arguments(element), *captured])
        idle = [] if alone else run.drawing(self) if self._draws else self._idle
        has_datasets = bool(run.given) or any(stand_in is not None for stand_in in self._given)

        def computed(element: Element) -> list[np.ndarray]:
            if not has_datasets:
                return self._computed(idle, run, [*arguments(element), *captured])
            with giving(self._datasets(run, element)):
                return self._computed(idle, run, [*arguments(element), *captured])

        return computed

    @cached_property
    def _arguments(self) -> Callable[[Element], Iterable[Any]]:
        """The arrays of an element's tensors, those of datasets left out."""
        if all(isinstance(part, TensorType) for part in self.parts):
            return lambda element: element

        def arguments(element: Element) -> list[Any]:
            pairs = zip(self._given, element, strict=True)
            return [array for stand_in, value in pairs if stand_in is None for array in to_tensors(value)]

        return arguments

    @cached_property
    def _host_program(self) -> HostProgram | None:
        """The program that computes the results if only Python does that, else None."""
        from staticgraph.runtime.host_ops.host_program import host_program  # few functions are of host ops

        return host_program(self._results, self._feeds) if self.has_python else None

    @property
    def _feeds(self) -> list[Tensor]:
        return [*self._params, *self.captured]

    def _computed(
        self, idle: list[tuple[Session, Call]], run: Run, arguments: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """The values of the results. Threads that are here at once use a session each."""
        try:
            session, call = idle.pop()
        except IndexError:
            session, call = self._new_call()
        own = session.variables.resources
        try:
            session.variables.resources = run.resources  # tables and queues are those of the user's session
            made = call(*arguments)
            return [t.type.dtype.round(value) for t, value in zip(self._results, made, strict=True)]
        except OutOfRangeError as error:  # which would look like the end of the dataset
            raise InvalidArgumentError(error.message, error.op) from error
        finally:
            session.variables.resources = own  # which the session closes when it ends
            idle.append((session, call))

    def _new_call(self) -> tuple[Session, Call]:
        session = Session(graph=self._graph)
        return session, session.make_callable(self._results, self._feeds)


def _captured(operations: Sequence[Operation], results: Sequence[Tensor]) -> list[Tensor]:
    """The tensors from outside that operations or results depend on, but for constants."""
    inside = set(operations)
    used = [t for op in operations for t in op.all_inputs] + list(results)
    outside = dict.fromkeys(t for t in used if t.op not in inside)
    return [t for t in outside if t.op.definition.name != "constant"]


def _is_seeded(op: Operation) -> bool:
    return op.definition.effect is Effect.RANDOM and bool(op.attrs.get("seed") or op.attrs.get("seed2"))


def _is_portable(op: Operation) -> bool:
    if op.definition.name == "py_func":
        return is_portable(op.attrs["func"])
    return op.definition.effect is not Effect.HOST


def _check(operations: Sequence[Operation]) -> None:
    for op in operations:
        if op.definition.effect is Effect.WRITE or op.definition.name == "variable":
            text = f"{op.name} ({op.type}): a function of a dataset cannot make or change variables"
            raise misuse(ValueError, text, "do it in the graph, with what get_next() returns", where=op.where)


def scalar_type(function: Function, what: str) -> TensorType:
    """The type of the one scalar that a function must return."""
    found = function.structure
    if not isinstance(found, TensorType) or found.shape not in (None, ()):
        raise misuse(ValueError, f"{what} must return a scalar, it returns {found}")
    return found
