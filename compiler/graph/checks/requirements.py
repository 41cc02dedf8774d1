"""Requirements: what an op demands of the numbers that it is given, such as an index that there is.

An op states them as `requires=`, a function of its inputs and attributes that gives truth values, each made
by one of the ops in `ops/requirements.py`:

    requires=lambda params, indices: [ops.in_range(indices, low=0, high=params.shape[0], ...)]

A step computes these values beside the op, on every device, and a run in which one is False changes nothing.
The NumPy meaning of the op raises. Both read the same statement, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np

from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import as_dtype, string
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.opdef import recording

Requires = Callable[..., Sequence[Value]]


def verified(requires: Requires, meaning: Callable[..., Any]) -> Callable[..., Any]:
    """Return `meaning`, a function of arrays and attributes, preceded by a look at what the op requires.

    Args:
        requires: The requirements of the op.
        meaning: Its NumPy meaning, which gives some result for any input.

    Returns:
        A function with the arguments and results of `meaning`. It raises InvalidArgumentError if a
        requirement is False.
    """

    @wraps(meaning)
    def function(*arrays: Any, **attrs: Any) -> Any:
        verify(requires, [np.asarray(a) for a in arrays], attrs)
        return meaning(*arrays, **attrs)

    return function


def verify(requires: Requires, arrays: Sequence[np.ndarray], attrs: Mapping[str, Any]) -> None:
    """Raise InvalidArgumentError for the first requirement that `arrays` and `attrs` do not meet."""
    from staticgraph.compiler.graph.interpret import interpret  # what compiled steps do without

    build = Builder()
    params = [build.parameter(str(n), _dtype(a), a.shape) for n, a in enumerate(arrays)]
    with recording(build):
        required = requires(*params, **attrs)
    given = dict(zip(params, arrays, strict=True))
    for value in required:
        inputs = interpret(Function(tuple(params), value.node.inputs), given)
        if text := violation(value, inputs):
            raise InvalidArgumentError(text)


def violation(value: Value, inputs: Sequence[np.ndarray]) -> str | None:
    """Return what does not hold of a requirement with these inputs; None if it is met."""
    definition, attrs = value.node.op, value.node.attrs
    if definition.violation is None:  # a constant: it was computed when it was made, and is True
        return None
    assert definition.reference is not None, definition
    return None if definition.reference(*inputs, **attrs) else definition.violation(*inputs, **attrs)


def _dtype(array: np.ndarray) -> Any:
    return string if array.dtype == object else as_dtype(array.dtype)
