"""Truth values: comparisons and questions about numbers, logic, and choosing between tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, BOOLEAN, FLOATING, REAL
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OPS, OpDef, method, ops, scope
from staticgraph.compiler.graph.shapes import TensorType, merge, shape_text
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.kinds import composite, elementwise, predicate, sizes
from staticgraph.compiler.ops.samples import Sample, real, reals, truth


@predicate(
    tf="Equal", numpy=np.equal, dtypes=ANY, strings=True, primitive="eq", commutes=True, samples=reals(),
)
def equal(x: Any, y: Any) -> Any:
    """Return x == y, element by element. NaN equals nothing.

    >>> sg.Session().run(sg.equal([1, 2, 3], [1, 5, 3]))
    array([ True, False,  True])
    """
    return scalar.eq(x, y)


@predicate(
    tf="NotEqual", numpy=np.not_equal, dtypes=ANY, strings=True, primitive="ne", commutes=True,
    samples=reals(),
)
def not_equal(x: Any, y: Any) -> Any:
    """Return x != y, element by element.

    >>> sg.Session().run(sg.not_equal([1, 2, 3], [1, 5, 3]))
    array([False,  True, False])
    """
    return scalar.ne(x, y)


@method("lt")
@predicate(tf="Less", numpy=np.less, dtypes=REAL, primitive="lt", samples=reals())
def less(x: Any, y: Any) -> Any:
    """Return x < y, element by element.

    >>> sg.Session().run(sg.less([1, 2, 3], 2))
    array([ True, False, False])
    """
    return scalar.lt(x, y)


@method("le")
@predicate(tf="LessEqual", numpy=np.less_equal, dtypes=REAL, primitive="le", samples=reals())
def less_equal(x: Any, y: Any) -> Any:
    """Return x <= y, element by element.

    >>> sg.Session().run(sg.less_equal([1, 2, 3], 2))
    array([ True,  True, False])
    """
    return scalar.le(x, y)


@method("gt")
@predicate(tf="Greater", numpy=np.greater, dtypes=REAL, primitive="gt", samples=reals())
def greater(x: Any, y: Any) -> Any:
    """Return x > y, element by element.

    >>> sg.Session().run(sg.greater([1, 2, 3], 2))
    array([False, False,  True])
    """
    return scalar.gt(x, y)


@method("ge")
@predicate(tf="GreaterEqual", numpy=np.greater_equal, dtypes=REAL, primitive="ge", samples=reals())
def greater_equal(x: Any, y: Any) -> Any:
    """Return x >= y, element by element.

    >>> sg.Session().run(sg.greater_equal([1, 2, 3], 2))
    array([False,  True,  True])
    """
    return scalar.ge(x, y)


@predicate(tf="IsNan", numpy=np.isnan, dtypes=FLOATING, samples=reals())
def is_nan(x: Any) -> Any:
    """Test each element for NaN.

    >>> sg.Session().run(sg.is_nan([1.0, np.nan, np.inf]))
    array([False,  True, False])
    """
    return scalar.ne(x, x)


@predicate(tf="IsInf", numpy=np.isinf, dtypes=FLOATING, samples=reals())
def is_inf(x: Any) -> Any:
    """Test each element for infinity, of either sign.

    >>> sg.Session().run(sg.is_inf([1.0, np.nan, -np.inf]))
    array([False, False,  True])
    """
    return scalar.eq(scalar.abs(x), math.inf)


@predicate(tf="IsFinite", numpy=np.isfinite, dtypes=FLOATING, samples=reals())
def is_finite(x: Any) -> Any:
    """Test if each element is finite: neither infinite nor NaN.

    >>> sg.Session().run(sg.is_finite([1.0, np.nan, np.inf]))
    array([ True, False, False])
    """
    return scalar.lt(scalar.abs(x), math.inf)


@predicate(tf="LogicalAnd", numpy=np.logical_and, dtypes=BOOLEAN, commutes=True, samples=reals())
def logical_and(x: Any, y: Any) -> Any:
    """Logical AND of x and y, element by element.

    >>> sg.Session().run(sg.logical_and([True, True], [True, False]))
    array([ True, False])
    """
    return x & y


@predicate(tf="LogicalOr", numpy=np.logical_or, dtypes=BOOLEAN, commutes=True, samples=reals())
def logical_or(x: Any, y: Any) -> Any:
    """Logical OR of x and y, element by element.

    >>> sg.Session().run(sg.logical_or([True, False], [False, False]))
    array([ True, False])
    """
    return x | y


@predicate(tf="LogicalNot", numpy=np.logical_not, dtypes=BOOLEAN, samples=reals())
def logical_not(x: Any) -> Any:
    """Logical NOT of x, element by element.

    >>> sg.Session().run(sg.logical_not([True, False]))
    array([False,  True])
    """
    return ~x


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Any:
    """Logical exclusive OR of x and y, element by element.

    >>> sg.logical_xor([True, False], [True, True]).name
    'LogicalXor:0'
    """
    either = logical_or(x, y)
    return logical_and(either, logical_not(logical_and(x, y)), name=name)


@elementwise(
    tf="SelectV2", numpy=lambda condition, x, y: np.where(condition, x, y), vars={"condition": "bool"},
    dtypes=ANY, strings=True, primitive="select", differentiable=(1, 2), samples=reals(),
    grad=lambda g, out, condition, x, y: (None, ops.select(condition, g, 0), ops.select(condition, 0, g)),
    elements_of=(1, 2), cheap=True,
)
def select(condition: Any, x: Any, y: Any) -> Any:
    """x where `condition` holds and y elsewhere, element by element. All three broadcast."""
    return scalar.select(condition, x, y)


def _select_rows_type(condition: TensorType, x: TensorType, y: TensorType) -> TensorType:
    shape = merge(x.shape, y.shape, "the two choices must have one shape:")
    if condition.rank in (None, 0) or shape is None:
        return TensorType(x.dtype, shape)
    if condition.rank == 1 and len(shape) != 1:
        sizes = f"condition {shape_text(condition.shape)}, choices {shape_text(shape)}"
        require(len(shape) > 0, f"the condition has more axes than the choices: {sizes}")
        merge(condition.shape, shape[:1], "a vector of conditions chooses among rows:")
        return TensorType(x.dtype, shape)
    return TensorType(x.dtype, merge(condition.shape, shape, "condition and choices must have one shape:"))


def _per_row(condition: Any, x: Any) -> tuple[int, ...]:
    """The shape in which the condition broadcasts to x: its axes come first."""
    return tuple(condition.shape) + (1,) * (len(x.shape) - len(condition.shape))


def _open_per_row(condition: Any, x: Any) -> Any:
    """`_per_row`, as a tensor if sizes are unknown."""
    shape, more = sizes(condition), x.type.rank - condition.type.rank
    return shape + (1,) * more if isinstance(shape, tuple) else ops.concat([shape, [1] * more], axis=0)


def _select_rows_grad(g: Any, out: Any, condition: Any, x: Any, y: Any) -> tuple[Any, ...]:
    condition = ops.reshape(condition, shape=_open_per_row(condition, x))
    return None, select(condition, g, 0), select(condition, 0, g)


_ROW_SAMPLES = [
    Sample(truth(3, 4), real(3, 4), real(3, 4)),
    Sample(truth(3), real(3, 4, 2), real(3, 4, 2)),
    Sample(truth(), real(2, 3), real(2, 3)),
    Sample(truth(5), real(5), real(5)),
    Sample(truth(0), real(0, 2), real(0, 2)),
]


@composite(
    tf="Select", type=_select_rows_type, vars={"condition": "bool"}, dtypes=ANY, strings=True,
    differentiable=(1, 2),
    numpy=lambda condition, x, y: np.where(condition.reshape(_per_row(condition, x)), x, y),
    grad=_select_rows_grad, grad_takes=(), samples=_ROW_SAMPLES, elements_of=(1, 2),
)
def select_rows(condition: Any, x: Any, y: Any) -> Any:
    """x where `condition` holds and y elsewhere.

    x and y have one shape. The condition has it too, or is a vector that chooses among rows, or a single one.
    """
    return ops.select(ops.reshape(condition, shape=_per_row(condition, x)), x, y)


def _is_bool(x: Any, y: Any) -> bool:
    tensor = x if hasattr(x, "dtype") else y
    return getattr(tensor.dtype, "is_bool", False)


def _operator(name: str, of_truths: OpDef) -> None:
    @method(name)
    def apply(x: Any, y: Any) -> Any:
        return (of_truths if _is_bool(x, y) else OPS[f"bitwise_{name}"])(x, y, name=name)


_operator("and", logical_and)
_operator("or", logical_or)


@method("xor")
def _xor(x: Any, y: Any) -> Any:
    if not _is_bool(x, y):
        return ops.bitwise_xor(x, y, name="xor")
    with scope("xor", x, y) as name:
        return logical_xor(x, y, name=name)


@method("invert")
def _invert(x: Any) -> Any:
    return logical_not(x) if _is_bool(x, x) else ops.invert(x)
