"""`tf.contrib.framework`: values for variables, and variables by patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """Return an operation that assigns variables, and the feeds that it needs.

    Args:
        var_names_to_values: Arrays by the names of global variables, with as many elements as these.

    Returns:
        The operation, and a dictionary to feed.

    Raises:
        ValueError: There is no variable of a name.

    >>> import staticgraph as sg
    >>> weights = sg.get_variable("weights", [2])
    >>> assign, feeds = assign_from_values({"weights": np.array([3.0, 4.0])})
    >>> with sg.Session() as sess:
    ...     _ = sess.run(assign, feeds)
    ...     sess.run(weights).tolist()
    [3.0, 4.0]
    """
    variables = {variable.op.name: variable for variable in sg.global_variables()}
    feeds, assigns = {}, []
    for name, value in var_names_to_values.items():
        if name not in variables:
            raise misuse(ValueError, f"assign_from_values: there is no variable {name!r}")
        variable = variables[name]
        fed = sg.placeholder(variable.dtype.base_dtype, variable.shape, name=f"placeholder/{name}")
        assigns.append(sg.assign(variable, fed))
        feeds[fed] = np.reshape(value, variable.shape.as_list())
    return sg.group(*assigns), feeds


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """`assign_from_values` as a function of a session, such as the `init_fn` of slim."""
    assign, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assign, feeds)


def filter_variables(
    var_list: Iterable[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """Variables by regular expressions of their names.

    Args:
        var_list: The variables.
        include_patterns: One of these must match; None for all variables.
        exclude_patterns: None of these may match.
        reg_search: Match anywhere in the name; if False, at its beginning.
    """
    match = re.search if reg_search else re.match

    def matches(variable: Any, patterns: Sequence[str]) -> bool:
        return any(match(pattern, variable.name) for pattern in patterns)

    included = [v for v in var_list if include_patterns is None or matches(v, include_patterns)]
    return [v for v in included if not matches(v, exclude_patterns or ())]


def get_variable_full_name(var: Any) -> str:
    """The name under which a checkpoint has a variable."""
    return str(var.op.name)


def global_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Any:
    """A variable that is part of checkpoints and is not trained."""
    return sg.Variable(initial_value, trainable=False, validate_shape=validate_shape, name=name)


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    """Set a variable to zeros; the output is its new value."""
    return sg.assign(ref, sg.zeros(ref.shape, ref.dtype.base_dtype), name=name)


def assert_or_get_global_step(graph: Any = None, global_step_tensor: Any = None) -> Any:
    """The global step of a graph, or the given one, which must be a scalar integer."""
    if global_step_tensor is None:
        return sg.train.get_global_step(graph)
    sg.train.assert_global_step(global_step_tensor)
    return global_step_tensor
