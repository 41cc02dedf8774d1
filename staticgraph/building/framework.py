"""The graph in use, its scopes and its collections."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

from staticgraph.compiler.graph.checks.arguments import list_of
from staticgraph.compiler.graph.errors import RuleError, counted, misuse, shown
from staticgraph.compiler.graph.graph import (
    Graph,
    get_default_graph,
    reset_default_graph,
    session_stack,
)
from staticgraph.compiler.graph.opdef import recording
from staticgraph.compiler.graph.recording.op_count import default_seed

__all__ = [
    "Graph",
    "GraphKeys",
    "add_to_collection",
    "add_to_collections",
    "colocate_with",
    "container",
    "control_dependencies",
    "device",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "get_seed",
    "init_scope",
    "name_scope",
    "op_scope",
    "reset_default_graph",
    "set_random_seed",
]

_DEFAULT_GRAPH_SEED = 87654321  # TF1's: only an operation's seed is given


class GraphKeys:
    """The names of the collections that the library itself fills or reads."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    LOSSES = "losses"
    REGULARIZATION_LOSSES = "regularization_losses"
    UPDATE_OPS = "update_ops"
    TRAIN_OP = "train_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    SUMMARIES = "summaries"
    SUMMARY_OP = "summary_op"
    SAVERS = "savers"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


def get_default_session() -> Any:
    """The innermost session of `with session:` in this thread, or None."""
    stack = session_stack()
    return stack[-1] if stack else None


# Scopes


class name_scope:
    """Context that prefixes the names of new operations; `as` gives the prefix.

    `name_scope(name, default_name, values)` is the form for functions: `name` is what the caller gave,
    `default_name` serves where that is None, and `values` are the tensors whose graph is used.

    >>> import staticgraph as sg
    >>> with sg.name_scope("layer") as scope:
    ...     x = sg.constant(1.0, name="x")
    >>> scope, x.name
    ('layer/', 'layer/x:0')
    """

    def __init__(
        self, name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None
    ) -> None:
        if not (isinstance(name, str) or name is None):
            raise misuse(
                TypeError, f"name_scope(name): the name of a scope is a string, not {type(name).__name__}"
            )
        if name is None and default_name is None and values is not None:
            raise misuse(ValueError, "name_scope(None, None, values): give a name or a default_name")
        self._name = default_name if name is None else name
        self._values = list_of(values, "values") if values is not None else []
        self._open: list[AbstractContextManager[Any]] = []

    @property
    def name(self) -> str | None:
        return self._name

    def __enter__(self) -> str:
        graph = graph_of(self._values)
        names, default = graph.name_scope(self._name), recording(graph)
        scope = names.__enter__()
        default.__enter__()
        self._open = [names, default]
        return scope

    def __exit__(self, kind: Any = None, error: BaseException | None = None, trace: Any = None) -> None:
        while self._open:
            self._open.pop().__exit__(None, None, None)
        if error is not None:
            _tell_user(error, sys._getframe(1))


def _tell_user(error: BaseException, frame: FrameType) -> None:
    from staticgraph.compiler.graph.boundary import tell_user  # few calls fail

    tell_user(error, frame)


def op_scope(values: Iterable[Any], name: str | None, default_name: str | None = None) -> name_scope:
    """`name_scope` with the arguments of the first TensorFlow releases."""
    return name_scope(name, default_name, values)


def graph_of(values: Iterable[Any]) -> Graph:
    """The graph of the first tensor among `values`, else the default graph."""
    for value in values:
        if isinstance(value, list | tuple) and value:
            value = value[0]
        graph = getattr(value, "graph", None)
        if isinstance(graph, Graph):
            return graph
    return get_default_graph()


def device(device_name_or_function: str | Callable[..., str] | None) -> AbstractContextManager[None]:
    """Context that asks for a device, such as `/gpu:0`, for new operations.

    >>> with sg.device("/gpu:0"):
    ...     x = sg.constant(1.0)
    >>> x.device
    '/device:GPU:0'
    """
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Sequence[Any] | None) -> AbstractContextManager[None]:
    """Context in which new operations run after `control_inputs`, operations or tensors.

    None forgets the dependencies of outer contexts.

    >>> import staticgraph as sg
    >>> first = sg.no_op(name="first")
    >>> with sg.control_dependencies([first]):
    ...     second = sg.no_op(name="second")
    >>> [op.name for op in second.control_inputs]
    ['first']
    """
    return get_default_graph().control_dependencies(control_inputs)


@contextmanager
def init_scope() -> Iterator[None]:
    """Context for making variables: its operations depend on no control inputs of outer contexts, and are
    outside of all loops and branches.
    """
    with get_default_graph().inside(None):
        yield


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Context that places new operations with `op`. A session runs on one device, so it changes nothing."""
    return get_default_graph().colocate_with(op, ignore_existing)


@contextmanager
def container(container_name: str) -> Iterator[None]:
    """Context that names a resource container. Sessions have one of their own each, so it changes nothing."""
    yield


# Collections


def add_to_collection(name: str, value: Any) -> None:
    """Append `value` to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Append `value` to each of several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """A copy of a collection of the default graph; with
    `scope`, what has a name that begins like this regex.

    >>> sg.add_to_collection("layers", sg.constant(1.0, name="first"))
    >>> sg.get_collection("layers")
    [<sg.Tensor 'first:0' shape=() dtype=float32>]
    """
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    """A collection of the default graph itself, not a copy."""
    return get_default_graph().get_collection_ref(key)


# Random seeds


def set_random_seed(seed: int | None) -> None:
    """Set the seed of the default graph, from which operations without one of their own derive theirs.

    >>> sg.set_random_seed(7)
    >>> x = sg.random_uniform([2])
    >>> bool((sg.Session().run(x) == sg.Session().run(x)).all())  # each session begins the stream anew
    True
    """
    get_default_graph().seed = _whole(seed)


def _whole(seed: Any) -> int | None:
    """Return a seed as a number. TypeError for what is none."""
    if seed is None or (isinstance(seed, float) and seed.is_integer()):
        return None if seed is None else int(seed)
    try:
        return operator.index(seed)
    except TypeError:
        text = f"seed is {shown(seed)}, and must be a whole number or None"
    raise misuse(TypeError, text)


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds that a random operation made now would get; (None, None) where it is not reproducible.

    As in TF1, a graph seed alone gives each operation the number of operations before it as its second seed.
    """
    graph, op_seed = get_default_graph(), _whole(op_seed)
    if graph.seed is None and op_seed is None:
        return None, None
    first = _DEFAULT_GRAPH_SEED if graph.seed is None else graph.seed
    second = default_seed(graph) if op_seed is None else op_seed
    limit = 2**31 - 1
    seeds = first % limit, second % limit
    return (0, limit) if seeds == (0, 0) else seeds  # (0, 0) would mean: not reproducible


# Errors


def check_takes(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """TypeError unless `function`, which is one of the user's, can be called with these arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # one of C's does not tell
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        text = f"{what} is called with {counted(len(args) + len(kwargs), 'argument')}: {error}"
        name = getattr(function, "__name__", type(function).__name__)
        raise misuse(TypeError, text, f"it is defined as {name}{signature}") from None


class checked:
    """Context that turns a violated `require` into the user's error about `call`, with the user's line."""

    def __init__(self, call: str) -> None:
        self.call = call

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, RuleError):
            raise misuse(error.kind, f"{self.call}: {error.what}", error.hint) from None
        if error is not None:
            _tell_user(error, sys._getframe(1))
