"""Requirements: what an op demands of the numbers that it is given, such as an index that there is.

An op states them as `requires=`, a function of its inputs and attributes that gives truth values, each made
by one of the ops in `ops/requirements.py`. `index_in` and others make the functions that several ops need:

    requires=index_in("gather", "indices", 1, lambda params, indices: params.shape[0])

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
from staticgraph.compiler.graph.opdef import ops, recording
from staticgraph.compiler.graph.sizes import AnySize, Size

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


def _whole(size: Any) -> AnySize:
    return size if isinstance(size, Size) else int(size)


def index_in(of: str, operand: str, position: int, high: Callable[..., int], low: int | None = 0) -> Any:
    """Return the requirement that the elements of an input are in [low, high).

    Args:
        of: The op that requires it.
        operand: The name of the input.
        position: Which input of the op that is.
        high: A function of the inputs and attributes of the op that gives the limit.
        low: The least index; None if all below `high` may be.
    """

    def requires(*values: Any, **attrs: Any) -> list[Any]:
        limit = _whole(high(*values, **attrs))
        return [ops.in_range(values[position], low=low, high=limit, of=of, operand=operand)]

    return requires


def coordinates_in(of: str, operand: str, position: int, shape: Callable[..., Any]) -> Any:
    """Return the requirement that the last axis of an input holds coordinates within `shape`, a function of
    the inputs and attributes of the op.
    """

    def requires(*values: Any, **attrs: Any) -> list[Any]:
        at = values[position]
        sizes = tuple(_whole(n) for n in shape(*values, **attrs)[: at.shape[-1]])
        return [ops.coordinates_in_range(at, sizes=sizes, of=of, operand=operand)] if sizes else []

    return requires


def divisor(of: str) -> Any:
    """Return the requirement that the second of two inputs is not 0, if they are integers."""

    def requires(x: Any, y: Any) -> list[Any]:
        return [ops.nonzero(y, of=of, operand="y")] if y.dtype.is_integer else []

    return requires


def exponent(of: str) -> Any:
    """Return the requirement that the second of two inputs is not negative, if they are integers."""

    def requires(x: Any, y: Any) -> list[Any]:
        signed = y.dtype.is_integer and not y.dtype.is_unsigned
        return [ops.in_range(y, low=0, high=None, of=of, operand="y")] if signed else []

    return requires
