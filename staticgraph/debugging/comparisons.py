"""Assertions about the elements of tensors: `assert_equal`, `assert_less`, `assert_positive` and their like.

All of them give an operation that fails with InvalidArgumentError, whose text begins with `message` and shows
`data`: by default what was compared, the first `summarize` elements of each tensor. Where both sides are
constants, the error comes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.building.framework import graph_of, name_scope
from staticgraph.building.inputs import convert_to_tensor, no_op
from staticgraph.building.sizes import get_static_value
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bfloat16
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.static_value import is_told
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.control_flow.assertions import Assert, check
from staticgraph.mathematics.reductions import reduce_all

Data = Sequence[Any] | None


def assert_equal(
    x: Any,
    y: Any,
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless `x == y` for all elements. Shapes broadcast, dtypes must be equal.

    >>> x = sg.placeholder(sg.int32, [None])
    >>> with sg.control_dependencies([sg.assert_equal(sg.size(x), 3)]):
    ...     y = x * 2
    >>> with sg.Session() as sess:
    ...     sess.run(y, {x: [1, 2, 3]})
    array([2, 4, 6], dtype=int32)
    """
    if x is y:
        with name_scope(name, "assert_equal", [x, y]):
            return no_op()
    return _compare("assert_equal", "==", ops.equal, x, y, data, summarize, message, name)


def _compare(
    what: str,
    sign: str,
    holds: Any,
    x: Any,
    y: Any,
    data: Data,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> Operation:
    """The assertion that `holds(x, y)`; where `y` is None it stands for zero."""
    with graph_of([x, y]).as_default(), name_scope(name, what, [x, y]):
        x = convert_to_tensor(x, name="x")
        if y is None:
            count_more(x.graph, 0 if message else 2)  # TensorFlow shows an empty message
            y, other, shown = convert_to_tensor(0, dtype=x.dtype), "0", _shown(x=x)
        else:
            y = convert_to_tensor(y, name="y")
            other, shown = "y", _shown(x=x, y=y)
        made = reduce_all(holds(x, y))
        values = [get_static_value(each) if is_told(each) else None for each in (x, y)]
        assert holds.reference is not None
        known = None if any(v is None for v in values) else holds.reference(*values)
        if data is None:
            data = [f"Condition x {sign} {other} did not hold element-wise:", *shown]
        return check(made, known, data, summarize, message)


def _shown(**tensors: Tensor) -> list[Any]:
    return [part for name, tensor in tensors.items() for part in (f"{name} ({tensor.name}) = ", tensor)]


def _of_two(name: str, sign: str, holds: Any) -> Callable[..., Operation]:
    """The assertion of this name about two tensors."""

    def compare(
        x: Any,
        y: Any,
        data: Data = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        return _compare(compare.__name__, sign, holds, x, y, data, summarize, message, name)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"An operation that fails unless `x {sign} y` for all elements."
    return compare


assert_none_equal = _of_two("assert_none_equal", "!=", ops.not_equal)
assert_less = _of_two("assert_less", "<", ops.less)
assert_less_equal = _of_two("assert_less_equal", "<=", ops.less_equal)
assert_greater = _of_two("assert_greater", ">", ops.greater)
assert_greater_equal = _of_two("assert_greater_equal", ">=", ops.greater_equal)


def _of_signs(name: str, sign: str, holds: Any) -> Callable[..., Operation]:
    """The assertion of this name that compares a tensor with zero."""

    def compare(
        x: Any,
        data: Data = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        return _compare(compare.__name__, sign, holds, x, None, data, summarize, message, name)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"""An operation that fails unless all elements are `{sign} 0`.

    >>> sg.{name}(sg.constant([1, 0, -1]), message="sizes")
    Traceback (most recent call last):
    ...
    staticgraph.compiler.graph.errors.InvalidArgumentError: sizes
    Condition x {sign} 0 did not hold element-wise:
    ...
    """
    return compare


assert_negative = _of_signs("assert_negative", "<", ops.less)
assert_positive = _of_signs("assert_positive", ">", ops.greater)
assert_non_negative = _of_signs("assert_non_negative", ">=", ops.greater_equal)
assert_non_positive = _of_signs("assert_non_positive", "<=", ops.less_equal)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless `|x - y| < atol + rtol * |y|` for all elements.

    Both tolerances are ten times the machine epsilon of the dtype by default.
    """
    with graph_of([x, y]).as_default(), name_scope(name, "assert_near", [x, y]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, dtype=x.dtype, name="y")
        least = 10 * (2.0**-7 if x.dtype is bfloat16 else np.finfo(x.dtype.numpy).eps)
        rtol, atol = (least if tolerance is None else tolerance for tolerance in (rtol, atol))
        if data is None:
            data = [f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}", *_shown(x=x, y=y)]
        rtol = convert_to_tensor(rtol, dtype=x.dtype, name="rtol")
        atol = convert_to_tensor(atol, dtype=x.dtype, name="atol")
        condition = reduce_all(ops.less(ops.abs(x - y), atol + rtol * ops.abs(y)))
        return Assert(condition, [message, *data] if message else data, summarize=summarize)
