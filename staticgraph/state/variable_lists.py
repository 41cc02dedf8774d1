"""The variables of a graph as lists, and the operations that initialise them or ask whether they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.building.framework import GraphKeys, get_collection
from staticgraph.building.inputs import group
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.kinds import host


def global_variables(scope: str | None = None) -> list[Any]:
    """The variables made so far, those of optimizers included;
    `scope` selects by a regex at a name's beginning.

    >>> w = sg.get_variable("w", [2])
    >>> step = sg.train.MomentumOptimizer(0.1, 0.9).minimize(sg.reduce_sum(w))
    >>> [v.name for v in sg.global_variables()]
    ['w:0', 'w/Momentum:0']
    """
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Any]:
    """`global_variables()` under its first name."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Any]:
    """The variables that belong to a session and are not saved, such as counters of metrics."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """The variables in the collection MODEL_VARIABLES."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """The variables that optimizers change.

    >>> import staticgraph as sg
    >>> w, step = sg.Variable(0.0, name="w"), sg.Variable(0, trainable=False, name="step")
    >>> [v.name for v in sg.trainable_variables()]
    ['w:0']
    """
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The variables of which an `ExponentialMovingAverage` keeps averages."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Any], name: str = "init") -> Operation:
    """An operation that gives each variable its initial value.

    >>> w = sg.Variable(3.0)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.variables_initializer([w]))
    ...     sess.run(w).item()
    3.0
    """
    return group(*(v.initializer for v in var_list), name=name)


def initialize_variables(var_list: Sequence[Any], name: str = "init") -> Operation:
    """`variables_initializer` under its first name."""
    return variables_initializer(var_list, name)


def global_variables_initializer() -> Operation:
    """An operation that initialises all variables made so far.

    >>> import staticgraph as sg
    >>> w = sg.Variable(1.0)
    >>> sg.global_variables_initializer().name
    'init'
    """
    return variables_initializer(global_variables())


def initialize_all_variables() -> Operation:
    """`global_variables_initializer` under its first name."""
    return global_variables_initializer()


def local_variables_initializer() -> Operation:
    """An operation that initialises all local variables made so far.

    >>> value, update = sg.metrics.mean([1.0, 3.0])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.local_variables_initializer())
    ...     sess.run(update).item()
    2.0
    """
    return variables_initializer(local_variables())


def initialize_local_variables() -> Operation:
    """`local_variables_initializer` under its first name."""
    return local_variables_initializer()


def is_variable_initialized(variable: Any, name: str | None = None) -> Tensor:
    """Return True if the variable has a value in the session that runs this.

    Args:
        variable: The variable, or the tensor of its operation, as `graph.get_tensor_by_name` finds it.
        name: The name of the operation.

    Returns:
        A bool tensor, one truth value.

    Raises:
        TypeError: `variable` is another tensor.
    """
    handle = variable if isinstance(variable, Tensor) else variable.handle
    if handle.op.definition.name != "variable":
        raise misuse(TypeError, f"is_variable_initialized: {handle.name} is not the tensor of a variable")
    return ops.is_variable_initialized(handle, name=name)


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """The names of those variables, of all by default, that have no value yet: a vector of strings."""
    listed = _given_or_all(var_list)
    with counted_as(get_default_graph(), 30 + len(listed)):  # the names of those for which a vector has True
        return ops.report_uninitialized([v.handle for v in listed], name=name)


@host(tf="Rank", type=lambda x: TensorType(int32, ()), name="rank_of_read")
def _rank(x: Any) -> Any:
    """The rank of a value, which is read for it even if the rank is known."""
    return np.int32(x.ndim)


def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Tensor | None:
    """The ranks of variables: a run of them is an `UninitializedError` if one of them has no value.

    Args:
        var_list: The variables; all of the graph by default.

    Returns:
        An int32 vector, or None if there are no variables.
    """
    listed = _given_or_all(var_list)
    return ops.stack([_rank(ops.read_variable(v.handle)) for v in listed]) if listed else None


def _given_or_all(var_list: Sequence[Any] | None) -> list[Any]:
    return global_variables() + local_variables() if var_list is None else list(var_list)
