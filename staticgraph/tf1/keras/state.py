"""State of Keras in a graph, and the session in which its variables live.

Models run in the default session, or in one that is made on first use. A variable that Keras made gets its
initial value when a session is requested, so no program has to run an initializer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from staticgraph.building.framework import (
    get_default_graph,
    get_default_session,
    name_scope,
    reset_default_graph,
)
from staticgraph.building.inputs import constant, placeholder_with_default
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import extension
from staticgraph.runtime.session import Session
from staticgraph.state.layer import forget_layers
from staticgraph.state.variable_lists import variables_initializer


class _GraphState:
    """State of Keras that belongs to one graph."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}  # how many objects were named after each word
        self.phase: Any = None  # the learning phase: 0 or 1 where it was set, else a placeholder
        self.placeholder: Tensor | None = None
        self.variables: list[Any] = []
        self.histories: dict[Tensor, Any] = {}  # which call of a layer made a tensor
        self.masks: dict[Tensor, Tensor] = {}
        self.iterated: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # what models made of datasets
        self.results: dict[Tensor, Any] = {}  # metrics by the tensors that calling them gave
        self.session: Session | None = None  # of programs that open none
        self.checked: WeakKeyDictionary[Session, int] = WeakKeyDictionary()  # variables known to have values


_manual = [False]


def _state(graph: Graph | None = None) -> _GraphState:
    """The state lives as an attribute of the graph, and goes with it."""
    held = vars(get_default_graph() if graph is None else graph)
    if "keras" not in held:
        held["keras"] = _GraphState()
    return held["keras"]


# Names


def get_uid(prefix: str = "") -> int:
    """Count a request for `prefix`, and return the number of requests in the default graph so far."""
    counts = _state().counts
    counts[prefix] = counts.get(prefix, 0) + 1
    return counts[prefix]


def reset_uids() -> None:
    """Begin to count names anew, also those of layers."""
    forget_layers()
    _state().counts.clear()


# What layers note of tensors


def histories(graph: Graph) -> dict[Tensor, Any]:
    """Table from a tensor to the call of the layer that made it."""
    return _state(graph).histories


def masks(graph: Graph) -> dict[Tensor, Tensor]:
    """The masks of tensors that have one: false where a time step does not count."""
    return _state(graph).masks


def iterated(graph: Graph) -> WeakKeyDictionary[Any, Any]:
    """Return what models made of datasets: their initializers and next elements."""
    return _state(graph).iterated


def results(graph: Graph) -> dict[Tensor, Any]:
    """Return the metrics of a graph by the tensors that calling them gave."""
    return _state(graph).results


# Training or not


def learning_phase() -> Any:
    """Return the learning phase, which is true if layers train.

    The phase is a bool tensor, false unless it is fed, or it is 0 or 1 if that was set.
    """
    state = _state()
    if state.phase is not None:
        return state.phase
    if state.placeholder is None:
        graph = get_default_graph()
        with graph.control_dependencies(None), name_scope(None):
            default = constant(False, bool_, name="keras_learning_phase/input")
            state.placeholder = placeholder_with_default(default, [], name="keras_learning_phase")
    return state.placeholder


def phase_placeholder(graph: Graph) -> Tensor | None:
    """The learning phase where it has to be fed."""
    state = _state(graph)
    return state.placeholder if state.phase is None else None


def set_learning_phase(value: Any) -> None:
    """Make layers that are called from now on train (1) or not (0). ValueError for another number."""
    if value not in (0, 1):
        raise misuse(ValueError, f"the learning phase is {value!r}, it must be 0 or 1")
    _state().phase = int(value)


@contextmanager
def learning_phase_scope(value: Any) -> Iterator[None]:
    """Context of `set_learning_phase(value)`."""
    state = _state()
    before = state.phase
    set_learning_phase(value)
    try:
        yield
    finally:
        state.phase = before


# The session


def get_session(op_input_list: Sequence[Any] = ()) -> Session:
    """The default session, or the one of Keras, in which all of its variables have values.

    Keras has a session for each graph, which goes with it.
    """
    session = get_default_session()
    if session is None:
        graph = get_default_graph()
        session = _state(graph).session
        if session is None:
            session = _state(graph).session = Session(graph=graph)
    if not _manual[0]:
        initialize(session)
    return session


@extension("keras_session")
def keras_session() -> Session:
    """Return the session that programs without one use: see `get_session`."""
    return get_session()


def set_session(session: Session) -> None:
    """Run the models of its graph in `session` wherever there is no default session."""
    _state(session.graph).session = session


def clear_session() -> None:
    """Begin anew: an empty default graph, no session, names counted from one."""
    session = _state().session
    reset_default_graph()
    if session is not None:
        session.close()


def manual_variable_initialization(value: bool) -> None:
    """Choose who initialises the variables of models: the program if `value` is true, else `get_session`."""
    _manual[0] = bool(value)


def track(*variables: Any) -> None:
    """Give these variables their initial values when a session is asked for."""
    for variable in variables:
        state = _state(variable.graph)
        if all(variable is not known for known in state.variables):
            state.variables.append(variable)


def initialize(session: Session) -> None:
    """Give values to those variables of the session's graph that have none."""
    state = _state(session.graph)
    known = state.checked.get(session, 0)
    if known == len(state.variables):
        return
    with session.held() as store:
        missing = [v for v in state.variables[known:] if v.op not in store]
    if missing:
        with session.graph.as_default(), session.graph.control_dependencies(None):
            session.run(variables_initializer(missing))
    state.checked[session] = len(state.variables)


# Values


def get_value(x: Any) -> Any:
    """The value of a variable or tensor in the session, as an array."""
    return batch_get_value([x])[0]


def batch_get_value(tensors: Sequence[Any]) -> list[Any]:
    """The values of several variables as of one moment."""
    if not tensors:
        return []
    session = get_session()
    if not all(hasattr(t, "handle") for t in tensors):
        return list(session.run(list(tensors)))
    with session.held() as store:
        return [store.read(t.op) for t in tensors]


def set_value(x: Any, value: Any) -> None:
    """Set a variable in the session."""
    batch_set_value([(x, value)])


def batch_set_value(tuples: Sequence[tuple[Any, Any]]) -> None:
    """Set several variables, all of them or none. ValueError if a value has another shape."""
    if not tuples:
        return
    arrays = []
    for variable, value in tuples:
        array = np.asarray(value)
        if not variable.shape.is_compatible_with(array.shape):
            raise misuse(
                ValueError, f"{variable.name} has shape {variable.shape}, the value {list(array.shape)}"
            )
        arrays.append(array.astype(variable.dtype.numpy, copy=False))
    with get_session().held() as store:
        for (variable, _), array in zip(tuples, arrays, strict=True):
            store.write(variable.op, array)
