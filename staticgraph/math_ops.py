"""Functions of corresponding elements, with TensorFlow 1's names.

Where an op has TensorFlow's signature it is the public function itself: the assignments in the middle of this file.
Their manual is in the docstrings of `staticgraph.compiler.ops`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import (
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    float32,
    float64,
    int32,
    int64,
)
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.arithmetic import absolute as abs
from staticgraph.compiler.ops.division import div, truediv
from staticgraph.compiler.ops.logic import logical_xor
from staticgraph.framework import name_scope
from staticgraph.inputs import constant, convert_to_tensor
from staticgraph.reductions import reduce_all, reduce_sum

__all__ = [
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "angle",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "betainc",
    "bitcast",
    "cast",
    "ceil",
    "clip_by_value",
    "complex",
    "conj",
    "cos",
    "cosh",
    "crelu",
    "digamma",
    "div",
    "div_no_nan",
    "divide",
    "divide_no_nan",
    "elu",
    "equal",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "igamma",
    "igammac",
    "imag",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "lbeta",
    "leaky_relu",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log_sigmoid",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "multiply_no_nan",
    "negative",
    "nextafter",
    "not_equal",
    "polygamma",
    "polyval",
    "pow",
    "real",
    "realdiv",
    "reciprocal",
    "reciprocal_no_nan",
    "relu",
    "relu6",
    "rint",
    "round",
    "rsqrt",
    "saturate_cast",
    "scalar_mul",
    "selu",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "swish",
    "tan",
    "tanh",
    "to_bfloat16",
    "to_complex128",
    "to_complex64",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "truediv",
    "truncatediv",
    "truncatemod",
    "xdivy",
    "xlogy",
    "zeta",
]

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
elu = ops.elu
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
relu = ops.relu
relu6 = ops.relu6
rint = ops.rint
rsqrt = ops.rsqrt
selu = ops.selu
sigmoid = ops.sigmoid
sign = ops.sign
sin = ops.sin
sinh = ops.sinh
softplus = ops.softplus
softsign = ops.softsign
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
    """x / y, and 0 where y is 0."""
    return ops.div_no_nan(x, y, name=name or "div_no_nan")


divide_no_nan = div_no_nan


def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y, and 0 where y is 0 even if x is infinite or NaN."""
    return ops.multiply_no_nan(x, y, name=name or "multiply_no_nan")


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0."""
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return ops.div_no_nan(constant(1.0, x.dtype, name="one"), x, name=scope)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor:
    """A number times a tensor. ValueError where `scalar` is known to have axes."""
    x = convert_to_tensor(x)
    scalar = convert_to_tensor(scalar, x.dtype, name="scalar")
    if scalar.shape.ndims not in (None, 0):
        raise ValueError(f"scalar_mul needs a single number as its first argument, not one of shape {scalar.shape}")
    return ops.multiply(scalar, x, name=name)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one shape and dtype. ValueError where the list is empty.

    >>> import staticgraph as sg
    >>> sg.add_n([sg.ones([2]), sg.ones([2]), sg.ones([2])])
    <sg.Tensor 'AddN:0' shape=(2,) dtype=float32>
    """
    if not isinstance(inputs, list | tuple) or not inputs:
        raise ValueError("add_n needs a list of at least one tensor")
    if len(inputs) == 1:
        only = convert_to_tensor(inputs[0])
        return ops.identity(only, name=name) if name else only
    return ops.add_n(list(inputs), name=name)


def accumulate_n(
    inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """The sum of a list of tensors, as `add_n`. `shape` and `tensor_dtype` are checked against the sum's."""
    if len(inputs) == 1 and name is None:
        total = convert_to_tensor(inputs[0])
    else:
        total = add_n(inputs, name or "AccumulateNV2")
    if tensor_dtype is not None and total.dtype is not as_dtype(tensor_dtype):
        raise TypeError(f"the tensors are {total.dtype.name}, and tensor_dtype is {as_dtype(tensor_dtype).name}")
    if shape is not None:
        total.shape.assert_is_compatible_with(shape)
    return total


def round(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number; halves go to the even one. Integers stay as they are."""
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else ops.round(x, name=name)


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Tensor:
    """`t` with elements below `clip_value_min` and above `clip_value_max` replaced by these.

    The two ends are numbers, or tensors that broadcast to the shape of `t`. ValueError where they do not.

    >>> import staticgraph as sg
    >>> sg.clip_by_value([-3.0, 0.5, 7.0], 0.0, 1.0).name
    'clip_by_value:0'
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = convert_to_tensor(t, name="t")
        clipped = ops.maximum(ops.minimum(values, clip_value_max), clip_value_min, name=scope)
        values.shape.assert_is_compatible_with(clipped.shape)
        return clipped


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`x` as numbers of another type; itself where it has that type already.

    Floating numbers become integers by cutting off what follows the point; what is out of range becomes the nearest
    integer of the type, and NaN becomes 0. Anything but 0 is True. Complex numbers lose their imaginary part.

    >>> import staticgraph as sg
    >>> sg.cast([1.8, -1.8], sg.int32)
    <sg.Tensor 'Cast:0' shape=(2,) dtype=int32>
    """
    wanted = as_dtype(dtype)
    with name_scope(name, "Cast", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return x if x.dtype is wanted else ops.cast(x, dtype=wanted, name=scope)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`value` as numbers of another type; what is out of range becomes the smallest or largest one."""
    wanted = as_dtype(dtype)
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = convert_to_tensor(value, name="value")
        source = value.dtype
        if not (source.is_floating and wanted.is_integer):  # there, a cast saturates by itself
            if source.min < wanted.min:
                value = ops.maximum(value, constant(wanted.min, source, name="min"))
            if source.max > wanted.max:
                value = ops.minimum(value, constant(wanted.max, source, name="max"))
        return cast(value, wanted, name=scope)


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The bits of `input` read as another type of the same size."""
    return ops.bitcast(input, type=as_dtype(type), name=name)


def to_float(x: Any, name: str = "ToFloat") -> Tensor:
    """`cast(x, float32)`."""
    return cast(x, float32, name)


def to_double(x: Any, name: str = "ToDouble") -> Tensor:
    """`cast(x, float64)`."""
    return cast(x, float64, name)


def to_int32(x: Any, name: str = "ToInt32") -> Tensor:
    """`cast(x, int32)`."""
    return cast(x, int32, name)


def to_int64(x: Any, name: str = "ToInt64") -> Tensor:
    """`cast(x, int64)`."""
    return cast(x, int64, name)


def to_bfloat16(x: Any, name: str = "ToBFloat16") -> Tensor:
    """`cast(x, bfloat16)`."""
    return cast(x, bfloat16, name)


def to_complex64(x: Any, name: str = "ToComplex64") -> Tensor:
    """`cast(x, complex64)`."""
    return cast(x, complex64, name)


def to_complex128(x: Any, name: str = "ToComplex128") -> Tensor:
    """`cast(x, complex128)`."""
    return cast(x, complex128, name)


def real(input: Any, name: str | None = None) -> Tensor:
    """The real part; a real tensor itself."""
    x = convert_to_tensor(input, name="input")
    return ops.real(x, name=name) if x.dtype.is_complex else x


def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part; zeros for a real tensor."""
    x = convert_to_tensor(input, name="input")
    return ops.imag(x, name=name) if x.dtype.is_complex else ops.zeros_like(x, name=name)


def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor itself."""
    x = convert_to_tensor(x, name="x")
    return ops.conj(x, name=name) if x.dtype.is_complex else x


def angle(input: Any, name: str | None = None) -> Tensor:
    """The argument of complex numbers, between -pi and pi; zeros for a real tensor, as TensorFlow 1 has it."""
    x = convert_to_tensor(input, name="input")
    return ops.angle(x, name=name) if x.dtype.is_complex else ops.zeros_like(x, name=name)


def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> Tensor:
    """The polynomial with the coefficients `coeffs`, highest power first, at `x`: Horner's scheme.

    >>> import staticgraph as sg
    >>> sg.math.polyval([1.0, 0.0, -2.0], sg.placeholder(sg.float32, [3])).shape
    TensorShape([Dimension(3)])
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"the coefficients must be a list, not {coeffs!r}")
    with name_scope(name, "polyval", [*coeffs, x]):
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return ops.zeros_like(x)
        total = convert_to_tensor(coeffs[0], x.dtype, name="coeff")
        for coefficient in coeffs[1:]:
            total = coefficient + total * x
        return total


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """x where it is positive, alpha * x elsewhere. Integers are converted to float32."""
    with name_scope(name, "LeakyRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = cast(features, float32)
        return ops.leaky_relu(features, alpha=float(alpha), name=scope)


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """`relu` of x and of -x side by side along `axis`, which becomes twice as large."""
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        return ops.relu(ops.concat([features, -features], axis=axis, name=scope))


def swish(features: Any) -> Tensor:
    """x * sigmoid(x)."""
    features = convert_to_tensor(features, name="features")
    return features * ops.sigmoid(features)


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(sigmoid(x)), finite for every finite x."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return ops.negative(ops.softplus(-x), name=scope)


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """log(|beta(x)|) along the last axis: the sum of lgamma(x) minus lgamma of the sum of x."""
    with name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x, name="x")
        return reduce_sum(ops.lgamma(x), axis=[-1]) - ops.lgamma(reduce_sum(x, axis=[-1]))


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0."""
    with name_scope(name, "bessel_i0", [x]):
        return ops.exp(abs(x)) * ops.bessel_i0e(x)


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1."""
    with name_scope(name, "bessel_i1", [x]):
        return ops.exp(abs(x)) * ops.bessel_i1e(x)


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Whether no element, in row-major order, is smaller than the one before it."""
    with name_scope(name, "is_non_decreasing", [x]):
        x = ops.reshape(convert_to_tensor(x, name="x"), shape=[-1])
        return reduce_all(ops.less_equal(x[:-1], x[1:]))


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Whether every element, in row-major order, is larger than the one before it."""
    with name_scope(name, "is_strictly_increasing", [x]):
        x = ops.reshape(convert_to_tensor(x, name="x"), shape=[-1])
        return reduce_all(ops.less(x[:-1], x[1:]))
