"""Numbers of operations of functions that are one operation, or another number of them, in TensorFlow.

Default seeds are made of these numbers (`compiler/graph/recording/op_count.py`). Most functions make as many
operations here as there; one that is composed of others says what it counts as.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def constants(*values: Any) -> int:
    """Return the number of operations that TensorFlow makes of arguments: a constant of each that is given
    and is no tensor.
    """
    return sum(
        not (value is None or isinstance(value, Tensor) or hasattr(value, "to_tensor")) for value in values
    )


def counts_as(operations: int, *inputs: str) -> Callable[[F], F]:
    """Return a decorator of a function whose operations count as `operations`, whatever they are.

    Args:
        operations: The number of operations that TensorFlow makes if all inputs are tensors.
        inputs: Names of parameters that TensorFlow makes a constant of if they are no tensors.

    >>> import staticgraph as sg
    >>> from staticgraph.building.operation_counts import counts_as
    >>> @counts_as(1, "x", "scale")
    ... def scaled(x, scale=2.0):
    ...     return x * scale + 1.0
    >>> graph = sg.get_default_graph()
    >>> before = graph._last_id
    >>> y = scaled(sg.placeholder(sg.float32, []))
    >>> graph._last_id - before  # the placeholder, the constant of the scale, and the operation itself
    3
    """

    def decorate(function: F) -> F:
        parameters = inspect.signature(function).parameters
        order = list(parameters)
        places = [(order.index(name), name, parameters[name].default) for name in inputs]

        @functools.wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            given = len(args)
            values = [args[at] if at < given else kwargs.get(name, usual) for at, name, usual in places]
            with counted_as(get_default_graph(), operations + constants(*values)):
                return function(*args, **kwargs)

        return cast(F, counted)

    return decorate
