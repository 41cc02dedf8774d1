"""Functions of corresponding elements, with TensorFlow 1's names.

Where an op has TensorFlow's signature it is the public function
itself, and its docstring the manual: the assignments below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.building.composites import for_composites
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.elementwise.arithmetic import absolute as abs
from staticgraph.compiler.ops.elementwise.division import div as div
from staticgraph.compiler.ops.elementwise.division import truediv
from staticgraph.compiler.ops.elementwise.logic import logical_xor as logical_xor
from staticgraph.mathematics.reductions import reduce_all, reduce_sum

acos = ops.acos
acosh = ops.acosh
add = ops.add
asin = ops.asin
asinh = ops.asinh
atan = ops.atan
atan2 = ops.atan2
atanh = ops.atanh
bessel_i0e = ops.bessel_i0e
bessel_i1e = ops.bessel_i1e
betainc = ops.betainc
ceil = ops.ceil
complex = ops.complex
cos = ops.cos
cosh = ops.cosh
digamma = ops.digamma
equal = ops.equal
erf = ops.erf
erfc = ops.erfc
exp = ops.exp
expm1 = ops.expm1
floor = ops.floor
floor_div = ops.floor_div
floormod = ops.floormod
greater = ops.greater
greater_equal = ops.greater_equal
igamma = ops.igamma
igammac = ops.igammac
is_finite = ops.is_finite
is_inf = ops.is_inf
is_nan = ops.is_nan
less = ops.less
less_equal = ops.less_equal
lgamma = ops.lgamma
log = ops.log
log1p = ops.log1p
logical_and = ops.logical_and
logical_not = ops.logical_not
logical_or = ops.logical_or
maximum = ops.maximum
minimum = ops.minimum
multiply = ops.multiply
negative = ops.negative
nextafter = ops.nextafter
not_equal = ops.not_equal
polygamma = ops.polygamma
pow = ops.pow
realdiv = ops.realdiv
reciprocal = ops.reciprocal
rint = ops.rint
rsqrt = ops.rsqrt
sign = ops.sign
sin = ops.sin
sinh = ops.sinh
sqrt = ops.sqrt
square = ops.square
squared_difference = ops.squared_difference
subtract = ops.subtract
tan = ops.tan
tanh = ops.tanh
truncatediv = ops.truncatediv
truncatemod = ops.truncatemod
xdivy = ops.xdivy
xlogy = ops.xlogy
zeta = ops.zeta
mod = ops.floormod


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded down, for integers as for floating numbers: what the operator `//` does."""
    return ops.floor_div(x, y, name=name or "floordiv")


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, what the operator `/` does: integers are converted to float64 first."""
    return truediv(x, y, name)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, and 0 where y is 0.

    >>> sg.Session().run(sg.div_no_nan([7.0, 1.0], [2.0, 0.0]))
    array([3.5, 0. ], dtype=float32)
    """
    return ops.div_no_nan(x, y, name=name or "div_no_nan")


divide_no_nan = div_no_nan


def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y, and 0 where y is 0 even if x is infinite or NaN.

    >>> sg.Session().run(sg.math.multiply_no_nan([np.inf, 2.0], [0.0, 3.0]))
    array([0., 6.], dtype=float32)
    """
    return ops.multiply_no_nan(x, y, name=name or "multiply_no_nan")


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0."""
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return ops.div_no_nan(constant(1.0, x.dtype, name="one"), x, name=scope)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A number times a tensor or `IndexedSlices`. ValueError if `scalar` is known to have axes."""
    if hasattr(x, "with_values"):
        return x.with_values(scalar_mul(scalar, x.values, name))
    x = convert_to_tensor(x)
    scalar = convert_to_tensor(scalar, x.dtype, name="scalar")
    if scalar.shape.ndims not in (None, 0):
        raise misuse(
            ValueError, f"scalar_mul needs a single number first, not a tensor of shape {scalar.shape}"
        )
    return ops.multiply(scalar, x, name=name)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one shape and dtype. ValueError if the list is empty.

    >>> import staticgraph as sg
    >>> sg.add_n([sg.ones([2]), sg.ones([2]), sg.ones([2])])
    <sg.Tensor 'AddN:0' shape=(2,) dtype=float32>
    """
    if not isinstance(inputs, list | tuple) or not inputs:
        raise misuse(ValueError, "add_n needs a list of at least one tensor")
    if len(inputs) == 1:
        only = convert_to_tensor(inputs[0])
        return ops.identity(only, name=name) if name else snapshot(only)
    return ops.add_n(list(inputs), name=name)


def accumulate_n(
    inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """The sum of a list of tensors, as `add_n`. `shape` and `tensor_dtype` are checked against the sum's."""
    if len(inputs) == 1 and name is None:
        total = snapshot(convert_to_tensor(inputs[0]))
    else:
        total = add_n(inputs, name or "AccumulateNV2")
    if tensor_dtype is not None and total.dtype is not as_dtype(tensor_dtype):
        raise misuse(
            TypeError, f"the tensors are {total.dtype}, and tensor_dtype is {as_dtype(tensor_dtype)}"
        )
    if shape is not None:
        total.shape.assert_is_compatible_with(shape)
    return total


def round(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number; halves go to the even one. Integers stay as they are.

    >>> sg.Session().run(sg.round([0.5, 1.5, 2.6]))
    array([0., 2., 3.], dtype=float32)
    """
    x = convert_to_tensor(x, name="x")
    return snapshot(x) if x.dtype.is_integer else ops.round(x, name=name)


@for_composites
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Tensor:
    """`t` with elements below `clip_value_min` and above `clip_value_max` replaced by these.

    The two ends are numbers, or tensors that broadcast to the shape of `t`. ValueError if they do not.

    >>> import staticgraph as sg
    >>> sg.clip_by_value([-3.0, 0.5, 7.0], 0.0, 1.0).name
    'clip_by_value:0'
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = convert_to_tensor(t, name="t")
        clipped = ops.maximum(ops.minimum(values, clip_value_max), clip_value_min, name=scope)
        values.shape.assert_is_compatible_with(clipped.shape)
        return clipped


def real(input: Any, name: str | None = None) -> Tensor:
    """The real part; a real tensor itself.

    >>> sg.Session().run(sg.real([1 + 2j]))
    array([1.])
    """
    x = convert_to_tensor(input, name="input")
    return ops.real(x, name=name) if x.dtype.is_complex else snapshot(x)


def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part; zeros for a real tensor.

    >>> sg.Session().run(sg.imag([1 + 2j, 3j]))
    array([2., 3.])
    """
    x = convert_to_tensor(input, name="input")
    return ops.imag(x, name=name) if x.dtype.is_complex else ops.zeros_like(x, name=name)


def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor itself.

    >>> sg.Session().run(sg.conj([1 + 2j]))
    array([1.-2.j])
    """
    x = convert_to_tensor(x, name="x")
    return ops.conj(x, name=name) if x.dtype.is_complex else snapshot(x)


def angle(input: Any, name: str | None = None) -> Tensor:
    """The argument of complex numbers, between -pi and pi; zeros for a real tensor.

    >>> sg.Session().run(sg.angle([1.0 + 0j, 1j])).round(4)
    array([0.    , 1.5708])
    """
    x = convert_to_tensor(input, name="input")
    return ops.angle(x, name=name) if x.dtype.is_complex else ops.zeros_like(x, name=name)


def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> Tensor:
    """The polynomial with the coefficients `coeffs`, highest power first, at `x`: Horner's scheme.

    >>> import staticgraph as sg
    >>> sg.math.polyval([1.0, 0.0, -2.0], sg.placeholder(sg.float32, [3])).shape
    TensorShape([Dimension(3)])
    """
    if not isinstance(coeffs, list):
        raise misuse(ValueError, f"the coefficients must be a list, not {coeffs!r}")
    with name_scope(name, "polyval", [*coeffs, x]):
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return ops.zeros_like(x)
        total = convert_to_tensor(coeffs[0], x.dtype, name="coeff")
        for coefficient in coeffs[1:]:
            total = coefficient + total * x
        return snapshot(total)


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """log(|beta(x)|) along the last axis: the sum of lgamma(x) minus lgamma of the sum of x."""
    with name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x, name="x")
        return reduce_sum(ops.lgamma(x), axis=[-1]) - ops.lgamma(reduce_sum(x, axis=[-1]))


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0."""
    with name_scope(name, "bessel_i0", [x]):
        x = convert_to_tensor(x, name="x")
        return ops.exp(abs(x)) * ops.bessel_i0e(x)


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1."""
    with name_scope(name, "bessel_i1", [x]):
        x = convert_to_tensor(x, name="x")
        return ops.exp(abs(x)) * ops.bessel_i1e(x)


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Return True if no element, in row-major order, is smaller than the one before it.

    Args:
        x: A tensor of numbers.
        name: The name scope.

    Returns:
        A bool tensor, one truth value.
    """
    with name_scope(name, "is_non_decreasing", [x]):
        x = ops.reshape(convert_to_tensor(x, name="x"), shape=[-1])
        return reduce_all(ops.less_equal(x[:-1], x[1:]))


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Return True if every element, in row-major order, is larger than the one before it.

    Args:
        x: A tensor of numbers.
        name: The name scope.

    Returns:
        A bool tensor, one truth value.
    """
    with name_scope(name, "is_strictly_increasing", [x]):
        x = ops.reshape(convert_to_tensor(x, name="x"), shape=[-1])
        return reduce_all(ops.less(x[:-1], x[1:]))
