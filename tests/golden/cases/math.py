"""Functions of one number: values, gradients, edge values, rounding and casts."""

from tests.golden.draws import given, ints, positive, real, unit
from tests.golden.runner import FLOAT32, value

NAN, INF = float("nan"), float("inf")
EDGES = given([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 30.0, -30.0, 1000.0, -1000.0, INF, -INF, NAN])
EDGES_BUT_MINUS_ZERO = given([0.0, 1.0, -1.0, 0.5, -0.5, 30.0, -30.0, 1000.0, -1000.0, INF, -INF, NAN])
HALVES = given([-2.5, -1.5, -0.5, -0.2, -0.0, 0.0, 0.2, 0.5, 1.5, 2.5, 3.5, 1e9, -1e9])


def op(name):
    return lambda tf, x: getattr(tf, name)(x)


def cast(dtype):
    return lambda tf, x: tf.cast(x, getattr(tf, dtype))


ANYWHERE = ("abs", "negative", "square", "exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh",
            "asinh", "atan",
            "erf", "erfc", "sigmoid", "sign", "floor", "ceil", "round", "rint", "identity",
            "log_sigmoid")
POSITIVE = ("log", "log1p", "sqrt", "rsqrt", "lgamma", "digamma", "reciprocal")
INSIDE_ONE = ("asin", "acos", "atanh")
AT_EDGES = ("abs", "negative", "square", "exp", "expm1", "log", "log1p", "sqrt", "reciprocal",
            "sin", "cos",
            "tanh", "sinh", "cosh", "asinh", "acosh", "atanh", "asin", "acos", "atan", "erf", "erfc",
            "sigmoid", "sign", "floor",
            "ceil", "round", "rint", "is_nan", "is_inf", "is_finite", "lgamma")
SIGN_OF_ZERO = ("abs", "square", "floor", "ceil", "sign", "is_nan", "is_inf", "is_finite")

CASES = [
    [value(name, op(name), real(3, 5, low=-3, high=3)) for name in ANYWHERE],
    [value(name, op(name), positive(3, 5)) for name in POSITIVE],
    [value(name, op(name), unit(3, 5)) for name in INSIDE_ONE],
    value("acosh", op("acosh"), real(7, low=1.1, high=5)),
    [value("%s at edges" % name, op(name), EDGES, grad=False, exact=name in SIGN_OF_ZERO)
     for name in AT_EDGES],
    value("rsqrt at edges", op("rsqrt"), EDGES_BUT_MINUS_ZERO, grad=False),
    value("rsqrt of minus zero", op("rsqrt"), given([-0.0] * 8), grad=False, dtypes=FLOAT32),
    value("negative of zero", op("negative"), given([0.0] * 8), grad=False, exact=True),
    [value("gradient of %s at zero" % name, op(name), given([0.0, -0.0, 1.0]))
     for name in ("abs", "sign", "square", "tanh", "sin", "erf", "sigmoid", "exp", "sqrt", "rsqrt", "log",
                  "reciprocal")],
    [value("second derivative of %s" % name,
           lambda tf, x, name=name: tf.gradients(getattr(tf, name)(x), x)[0], positive(4))
     for name in ("exp", "log", "tanh", "sigmoid", "sin", "sqrt", "rsqrt", "square", "erf", "reciprocal",
                  "log1p")],
    [value("%s of halves" % name, op(name), HALVES, grad=False, exact=True)
     for name in ("rint", "floor", "ceil")],
    value("round of halves", op("round"), given([-2.5, -1.5, 0.0, 0.2, 0.5, 1.5, 2.5, 3.5, 1e9, -1e9]),
          grad=False, exact=True),
    value("round to zero from below", op("round"), given([-0.5, -0.2, -0.0]), grad=False, exact=True),
    [value("%s of large arguments" % name, op(name), given([1e3, 1e4, 1e5, -1e6]), grad=False)
     for name in ("sin", "cos", "tan")],
    [value("%s near zero" % name, op(name), given([1e-8, -1e-8, 1e-5, -1e-5, 1e-3]), grad=False)
     for name in ("expm1", "log1p", "sin", "tanh", "sinh", "asinh", "atanh", "erf")],
    [value("%s of integers" % name, op(name), ints(7))
     for name in ("abs", "negative", "square", "sign", "round")],
    [value("%s of int64" % name, op(name), ints(7, dtype="int64"))
     for name in ("abs", "negative", "square", "sign")],
    value("abs of nan gradient", op("abs"), given([NAN, 1.0, -1.0])),
    value("igamma", lambda tf, a, x: tf.igamma(a, x), positive(4), positive(4), grad=False, tolerance=4),
    value("zeta", lambda tf, x: tf.zeta(x, x), real(4, low=2, high=4), grad=False, tolerance=4),
    value("polygamma", lambda tf, x: tf.polygamma(tf.ones_like(x), x), positive(4), grad=False, tolerance=10),
    value("lbeta", lambda tf, x: tf.lbeta(x), positive(3, 4), grad=False, tolerance=4),
    value("betainc", lambda tf, a, b: tf.betainc(a, b, tf.fill([4], tf.constant(0.3, a.dtype))), positive(4),
          positive(4), grad=False, tolerance=4),
    value("softplus", lambda tf, x: tf.math.softplus(x), real(3, 4, low=-5, high=5)),
    value("softplus of large arguments", lambda tf, x: tf.nn.softplus(x),
          given([-1000.0, -30.0, 0.0, 30.0, 1000.0])),
    value("bessel_i0", lambda tf, x: tf.math.bessel_i0(x), real(5), grad=False),
    value("bessel_i1e", lambda tf, x: tf.math.bessel_i1e(x), real(5), grad=False),
    value("xlogy", lambda tf, x, y: tf.math.xlogy(x, y), given([0.0, 0.0, 2.0]), given([0.0, 2.0, 3.0]),
          grad=False),
    value("xdivy", lambda tf, x, y: tf.math.xdivy(x, y), given([0.0, 0.0, 2.0]), given([0.0, 2.0, 3.0]),
          grad=False),
    value("nextafter", lambda tf, x: tf.math.nextafter(x, x + 1), real(3), grad=False, exact=True),

    [value("cast float to %s" % dtype, cast(dtype), given([-2.9, -1.5, -0.5, 0.0, 0.5, 1.5, 2.9, 100.7]),
           dtypes=FLOAT32)
     for dtype in ("int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool", "complex64")],
    value("cast float to uint8", cast("uint8"), given([0.0, 0.5, 1.9, 254.9]), dtypes=FLOAT32),
    [value("cast int32 to %s" % dtype, cast(dtype),
           given([-2147483648, -300, -129, -1, 0, 1, 128, 255, 256, 70000, 16777217], "int32"))
     for dtype in ("int8", "uint8", "int16", "uint16", "int64", "float32", "float64", "bool")],
    [value("cast int64 to %s" % dtype, cast(dtype), given([2**40 + 5, -(2**33) - 1, 7], "int64"))
     for dtype in ("int32", "uint8", "float32", "float64")],
    [value("cast bool to %s" % dtype, cast(dtype), given([True, False], "bool"))
     for dtype in ("int32", "uint8", "float32", "float64", "int64")],
    value("cast float64 to float32", cast("float32"), given([0.1, 1e300, -1e300, 1e-320, NAN]),
          dtypes=("float64",), grad=False),
    value("cast float32 to float16", cast("float16"), given([0.1, 65519.0, 65520.0, 1e-8, 6e-8, NAN, -INF]),
          dtypes=FLOAT32, grad=False),
    value("cast there and back", lambda tf, x: tf.cast(tf.cast(x, tf.float64) * 2, tf.float32), real(4),
          dtypes=FLOAT32),
    value("cast cuts the gradient", lambda tf, x: tf.cast(tf.cast(x, tf.int32), tf.float32) * x, real(4),
          dtypes=FLOAT32),
    [value("saturate_cast float to %s" % dtype,
           lambda tf, x, dtype=dtype: tf.saturate_cast(x, getattr(tf, dtype)),
           given([-1e6, -200.0, -1.0, 0.0, 127.6, 300.0, 1e6]), dtypes=FLOAT32, grad=False)
     for dtype in ("int8", "uint8", "int16")],
    value("saturate_cast int to uint8", lambda tf, x: tf.saturate_cast(x, tf.uint8),
          given([-5, 0, 255, 256], "int32")),
    value("bitcast float to int", lambda tf, x: tf.bitcast(x, tf.int32), real(4), dtypes=FLOAT32),
    value("bitcast int to float", lambda tf, x: tf.bitcast(x, tf.float32),
          given([0, 1065353216, -1082130432], "int32")),
    value("to_float", lambda tf, x: tf.to_float(x), ints(4)),
    value("to_int32", lambda tf, x: tf.to_int32(x), real(4, low=-9, high=9), dtypes=FLOAT32),
]
