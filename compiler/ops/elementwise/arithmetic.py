"""Sums, products and what is made of them, on corresponding elements.

Divisions are in division.py, powers in exponential.py.
"""

from __future__ import annotations

import operator
from functools import partial, reduce
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, FLOATING, NUMERIC, REAL, SIGNED, DType
from staticgraph.compiler.graph.opdef import method, ops
from staticgraph.compiler.graph.shapes import TensorType, merge
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.kinds import elementwise, holomorphic
from staticgraph.compiler.ops.samples import Sample, real, reals


@elementwise(
    tf="Add", numpy=np.add, dtypes=NUMERIC, strings=True, primitive="add", commutes=True, samples=reals(),
    grad=lambda g, y, a, b: (g, g), interval=lambda y, a, b: (a[0] + b[0], a[1] + b[1]), cheap=True,
)
def add(x: Any, y: Any) -> Any:
    """x + y, element by element.

    >>> sg.Session().run(sg.add([1, 2], [10, 20]))
    array([11, 22], dtype=int32)
    """
    return x + y


@elementwise(
    tf="Sub", numpy=np.subtract, dtypes=NUMERIC, primitive="sub", samples=reals(),
    grad=lambda g, y, a, b: (g, -g), interval=lambda y, a, b: (a[0] - b[1], a[1] - b[0]), cheap=True,
)
def subtract(x: Any, y: Any) -> Any:
    """x - y, element by element.

    >>> sg.Session().run(sg.subtract([1, 2], [10, 20]))
    array([ -9, -18], dtype=int32)
    """
    return x - y


def _product(a: Any, b: Any) -> Any:
    """Return a product with the name that TensorFlow's derivatives give it."""
    return ops.multiply(a, b, name="Mul")


def _interval_of_product(
    y: Any, a: tuple[float, float], b: tuple[float, float]
) -> tuple[float, float]:
    ends = [m * n for m in a for n in b]
    return min(ends), max(ends)


@elementwise(
    tf="Mul", numpy=np.multiply, dtypes=NUMERIC, primitive="mul", commutes=True, samples=reals(),
    grad=holomorphic(lambda g, y, a, b: (_product(g, b), _product(g, a))),
    interval=_interval_of_product, cheap=True,
)
def multiply(x: Any, y: Any) -> Any:
    """x * y, element by element.

    >>> sg.Session().run(sg.multiply([1, 2], [10, 20]))
    array([10, 40], dtype=int32)
    """
    return x * y


@elementwise(
    tf="MulNoNan", numpy=lambda x, y: np.where(y == 0, np.zeros_like(y), x * y), dtypes=FLOATING,
    samples=reals(), grad=lambda g, y, a, b: (ops.multiply_no_nan(g, b), ops.multiply_no_nan(a, g)),
)
def multiply_no_nan(x: Any, y: Any) -> Any:
    """x * y, and 0 where y is 0 even if x is infinite or NaN."""
    return scalar.select(scalar.eq(y, 0), 0, x * y)


@elementwise(
    tf="Fma", numpy=lambda x, y, z: x * y + z, dtypes=FLOATING, primitive="fma", samples=reals(),
    grad=lambda g, y, a, b, c: (g * b, g * a, g),
)
def fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once."""
    return scalar.fma(x, y, z)


def _summands(*types: TensorType) -> DType:
    shape = types[0].shape
    for t in types[1:]:
        shape = merge(shape, t.shape, "the shapes of the summands must be equal:")
    return types[0].dtype


@elementwise(
    tf="AddN", numpy=lambda *inputs: reduce(np.add, inputs), result=_summands, dtypes=NUMERIC,
    samples=[Sample(*[real(2, 3)] * 3), Sample(real(), real()), Sample(real(5)), Sample(real(0), real(0))],
    grad=lambda g, y, *inputs: (g,) * len(inputs),
)
def add_n(*inputs: Any) -> Any:
    """The sum of a list of tensors of one shape, added from the first to the last."""
    return reduce(operator.add, inputs)


@elementwise(
    tf="Neg", numpy=np.negative, dtypes=SIGNED | COMPLEX, primitive="neg", samples=reals(),
    grad=lambda g, y, x: (-g,), cheap=True,
)
def negative(x: Any) -> Any:
    """-x, element by element.

    >>> sg.Session().run(sg.negative([1, -2]))
    array([-1,  2], dtype=int32)
    """
    return -x


@elementwise(
    tf="Abs", numpy=np.abs, dtypes=REAL, primitive="abs", samples=reals(),
    of_sizes=lambda x: x if x >= 0 else -x, grad=lambda g, y, x: (g * ops.sign(x),), cheap=True,
)
def abs_(x: Any) -> Any:
    """The absolute value of real numbers. Its gradient at 0 is 0."""
    return scalar.abs(x)


def _sign_meaning(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind != "c":
        return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)
    modulus = np.abs(x)
    return (x / np.where(modulus == 0, 1, modulus)).astype(x.dtype)


def _sign_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    if not g.dtype.is_complex:
        return (ops.zeros_like(x),)  # also if g is infinite, as that of `sign(x) * x` may be
    turn = ops.div_no_nan(ops.imag(ops.conj(y) * g), ops.complex_abs(x))  # only the direction of x counts
    return (y * ops.complex(0.0, turn),)


@elementwise(
    tf="Sign", numpy=_sign_meaning, dtypes=REAL | COMPLEX, samples=reals(), grad=_sign_grad, cheap=True,
)
def sign(x: Any) -> Any:
    """-1, 0 or 1 as x is negative, zero or positive; 0 where x is NaN.

    For complex numbers x / |x|, and 0 at 0.

    >>> sg.Session().run(sg.sign([-2.5, 0.0, 3.0]))
    array([-1.,  0.,  1.], dtype=float32)
    """
    if not x.dtype.is_complex:
        return scalar.cast(x > 0, x.dtype) - scalar.cast(x < 0, x.dtype)
    a, b = scalar.real(x), scalar.imag(x)
    larger = scalar.maximum(scalar.abs(a), scalar.abs(b))
    unit = scalar.select(scalar.eq(larger, 0), 1, larger)  # no square of it is too large or too small
    a, b = a / unit, b / unit
    modulus = scalar.sqrt(a * a + b * b)
    modulus = scalar.select(scalar.eq(modulus, 0), 1, modulus)
    return scalar.complex(a / modulus, b / modulus)


@elementwise(
    tf="Square", numpy=np.square, dtypes=NUMERIC, samples=reals(),
    grad=holomorphic(lambda g, y, x: (_product(_product(g, x), 2),)), cheap=True,
)
def square(x: Any) -> Any:
    """x * x, element by element.

    >>> sg.Session().run(sg.square([1, -2]))
    array([1, 4], dtype=int32)
    """
    return x * x


def _difference_grad(g: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    if g.dtype.is_complex:  # the result has no imaginary part
        g = ops.complex(ops.real(g), ops.zeros_like(ops.real(g)))
    half = g * (a - b) * 2
    return half, -half


@elementwise(
    tf="SquaredDifference", numpy=lambda x, y: np.conj(x - y) * (x - y), dtypes=NUMERIC, commutes=True,
    samples=reals(), grad=_difference_grad,
)
def squared_difference(x: Any, y: Any) -> Any:
    """(x - y) * (x - y), element by element; of complex numbers the square of the distance.

    >>> sg.Session().run(sg.squared_difference([1, 2], [4, 4]))
    array([9, 4], dtype=int32)
    """
    d = x - y
    if not d.dtype.is_complex:
        return d * d
    a, b = scalar.real(d), scalar.imag(d)
    return scalar.complex(a * a + b * b, 0)


def _chosen_grad(g: Any, first: Any) -> tuple[Any, Any]:
    """All of `g` to the one that was chosen; where the two are equal, to the first."""
    return ops.select(first, g, 0), ops.select(first, 0, g)


def _greater_size(x: Any, y: Any) -> Any:
    from staticgraph.compiler.graph.size_algebra import integer_ops  # few graphs compute with sizes

    return integer_ops.greater_of(x, y)


def _lesser_size(x: Any, y: Any) -> Any:
    from staticgraph.compiler.graph.size_algebra import integer_ops  # few graphs compute with sizes

    return integer_ops.lesser_of(x, y)


@elementwise(
    tf="Maximum", numpy=np.maximum, dtypes=REAL, primitive="maximum", samples=reals(), of_sizes=_greater_size,
    grad=lambda g, y, a, b: _chosen_grad(g, a >= b),
    interval=lambda y, a, b: (max(a[0], b[0]), max(a[1], b[1])), cheap=True,
)
def maximum(x: Any, y: Any) -> Any:
    """The larger of x and y; NaN where either is NaN. Where they are equal the gradient goes to x.

    >>> sg.Session().run(sg.maximum([1, 5], 3))
    array([3, 5], dtype=int32)
    """
    return scalar.maximum(x, y)


@elementwise(
    tf="Minimum", numpy=np.minimum, dtypes=REAL, primitive="minimum", samples=reals(), of_sizes=_lesser_size,
    grad=lambda g, y, a, b: _chosen_grad(g, a <= b),
    interval=lambda y, a, b: (min(a[0], b[0]), min(a[1], b[1])), cheap=True,
)
def minimum(x: Any, y: Any) -> Any:
    """The smaller of x and y; NaN where either is NaN. Where they are equal the gradient goes to x.

    >>> sg.Session().run(sg.minimum([1, 5], 3))
    array([1, 3], dtype=int32)
    """
    return scalar.minimum(x, y)


@elementwise(
    tf="Copysign", numpy=np.copysign, dtypes=FLOATING, primitive="copysign", samples=reals(),
    differentiable=(0,), grad=lambda g, y, x, s: (g * sign(x) * sign(y), None),
)
def copysign(x: Any, sign_of: Any) -> Any:
    """The absolute value of x with the sign of `sign_of`."""
    return scalar.copysign(x, sign_of)


def absolute(x: Any, name: str | None = None) -> Any:
    """The absolute value, which for complex numbers is the modulus.

    >>> sg.Session().run(sg.abs([1, -2]))
    array([1, 2], dtype=int32)
    """
    dtype = getattr(x, "dtype", None)
    if dtype.is_complex if isinstance(dtype, DType) else dtype is not None and np.iscomplexobj(x):
        return ops.complex_abs(x, name=name or "Abs")
    return abs_(x, name=name)


method("add")(partial(add, name="add"))
method("sub")(partial(subtract, name="sub"))
method("mul")(partial(multiply, name="mul"))
method("neg")(negative)
method("abs")(absolute)
