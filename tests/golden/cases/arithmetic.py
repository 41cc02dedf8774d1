"""Arithmetic with broadcasting, integer division, and the edge values of each."""

from tests.golden.draws import distinct, given, ints, positive, real
from tests.golden.runner import FLOAT32, value

NAN, INF = float("nan"), float("inf")
EDGES = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, INF, -INF, NAN]
LEFT = given([[edge] for edge in EDGES])
RIGHT = given([EDGES])
SIGNED = given([[-7], [-6], [-1], [0], [1], [6], [7]], "int32")
DIVISORS = given([[-7, -3, -2, -1, 1, 2, 3, 7]], "int32")
BYTES = given([[0], [1], [100], [200], [255]], "uint8")
OTHER_BYTES = given([[1, 2, 55, 100, 156, 255]], "uint8")


def op(name):
    return lambda tf, *args: getattr(tf, name)(*args)


CASES = [
    [value("%s same shape" % name, op(name), real(3, 4), positive(3, 4))
     for name in ("add", "subtract", "multiply", "divide", "truediv", "realdiv", "maximum", "minimum",
                  "squared_difference", "div", "div_no_nan", "floordiv", "floormod")],
    [value("%s rows and columns" % name, op(name), real(3, 1), positive(1, 4))
     for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "squared_difference",
                  "div_no_nan")],
    [value("%s scalar on the left" % name, op(name), real(), positive(2, 3))
     for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "squared_difference")],
    [value("%s lower rank on the right" % name, op(name), real(2, 3, 4), positive(4))
     for name in ("add", "subtract", "multiply", "divide", "maximum", "squared_difference", "floordiv")],
    [value("%s middle axis" % name, op(name), real(2, 1, 4), positive(3, 1))
     for name in ("add", "multiply", "divide", "minimum")],
    [value("%s edge values" % name, op(name), LEFT, RIGHT, grad=False, exact=True)
     for name in ("add", "subtract", "multiply", "divide", "div_no_nan", "squared_difference")],
    [value("%s empty" % name, op(name), real(0, 3), real(3)) for name in ("add", "multiply", "divide")],

    value("maximum ties", op("maximum"), given([1.0, 2.0, 3.0]), given([1.0, 3.0, 2.0])),
    value("minimum ties", op("minimum"), given([1.0, 2.0, 3.0]), given([1.0, 3.0, 2.0])),
    value("maximum with infinities", op("maximum"), given([INF, -INF, 1.0]), given([1.0, 2.0, -INF])),
    value("div_no_nan by zero", op("div_no_nan"), given([1.0, 0.0, -2.0]), given([0.0, 0.0, 4.0])),
    value("negative", op("negative"), real(2, 3)),
    value("add_n", lambda tf, *args: tf.add_n(args), real(2, 3), real(2, 3), real(2, 3)),
    value("add_n of one", lambda tf, x: tf.add_n([x]), real(2, 3)),
    value("scalar_mul", lambda tf, x: tf.scalar_mul(3.0, x), real(4)),
    value("operators", lambda tf, x, y: -x + y * 2 - 3 / y + x / 2 - (1 - y), real(2, 3), positive(2, 3)),
    value("power operator", lambda tf, x: x**2 + 2.0**x, real(3)),
    value("operator with a list", lambda tf, x: x + [1.0, 2.0, 3.0], real(2, 3)),
    value("same input twice", lambda tf, x: x * x + x, real(5)),
    value("accumulate_n", lambda tf, x, y: tf.accumulate_n([x, y, x]), real(3), real(3)),
    value("pow", op("pow"), positive(3, 4), real(3, 4)),
    value("pow broadcast", op("pow"), positive(3, 1), real(4)),
    value("pow of zero", op("pow"), given([0.0, 0.0, 0.0]), given([0.0, 1.0, 2.0])),
    value("pow of negative", op("pow"), given([-2.0, -2.0, -1.5]), given([2.0, 3.0, -1.0])),
    value("pow edge values", op("pow"), LEFT, RIGHT, grad=False),
    value("pow of integers", op("pow"), given([[-2], [0], [3]], "int32"), given([[0, 1, 2, 5]], "int32")),
    value("pow of int64", op("pow"), given([2, -3, 10], "int64"), given([40, 3, 12], "int64")),
    value("mod of floats", op("mod"), given([5.5, -5.5, 5.5, -5.5, 6.0]), given([2.0, 2.0, -2.0, -2.0, 3.0]),
          grad=False),
    value("floormod gradient", op("floormod"), real(3, 4, low=-9, high=9), positive(3, 4)),
    value("truncatemod of floats", op("truncatemod"), given([5.5, -5.5, 5.5]), given([2.0, 2.0, -2.0]),
          grad=False),
    value("floordiv of floats", op("floordiv"), given([7.0, -7.0, 7.0, -7.0]), given([2.0, 2.0, -2.0, -2.0])),
    value("atan2", op("atan2"), real(3, 4), positive(3, 4)),
    value("atan2 quadrants", op("atan2"), given([1.0, 1.0, -1.0, -1.0]), given([1.0, -1.0, 1.0, -1.0])),
    value("atan2 of zeros", op("atan2"), given([0.0, -0.0, 0.0, -0.0]), given([1.0, 1.0, -1.0, -1.0]),
          grad=False),
    value("cross", op("cross"), real(2, 3), real(2, 3)),
    value("lerp by hand", lambda tf, a, b, t: a + t * (b - a), real(3), real(3), positive()),

    [value("%s of signed integers" % name, op(name), SIGNED, DIVISORS)
     for name in ("floordiv", "floormod", "mod", "div", "truncatediv", "truncatemod", "truediv", "divide")],
    [value("%s of int64" % name, op(name), ints(3, 4, low=-10**12, high=10**12, dtype="int64"),
           ints(4, low=1, high=1000, dtype="int64"))
     for name in ("add", "multiply", "floordiv", "floormod", "truncatediv", "maximum")],
    [value("%s of bytes" % name, op(name), BYTES, OTHER_BYTES)
     for name in ("add", "subtract", "multiply", "floordiv", "truncatediv", "truediv")],
    [value("%s of int8 wraps" % name, op(name), given([100, -100, 127, -128], "int8"),
           given([100, 100, 1, 1], "int8"))
     for name in ("add", "subtract", "multiply")],
    [value("%s of int16 wraps" % name, op(name), given([32767, -32768, 300], "int16"),
           given([1, 1, 300], "int16"))
     for name in ("add", "subtract", "multiply")],
    [value("%s of int32 wraps" % name, op(name), given([2147483647, -2147483648, 65536], "int32"),
           given([1, 1, 65536], "int32"))
     for name in ("add", "subtract", "multiply", "squared_difference")],
    value("integer operators", lambda tf, x: [x // 3, x % 3, x / 3, -x, abs(x), 7 // (x + 10)], SIGNED),
    value("abs and negative of the least integer", lambda tf, x: [tf.abs(x), -x],
          given([-2147483648], "int32")),
    value("add of float16", op("add"), given([1.0, 2048.0, 65504.0]), given([0.001, 1.0, 65504.0]),
          dtypes=("float16",), grad=False),
    value("multiply of float16", op("multiply"), given([0.1, 300.0, 1e-4]), given([0.3, 300.0, 1e-4]),
          dtypes=("float16",), grad=False),
    value("complex multiply", lambda tf, x, y: tf.complex(x, y) * tf.complex(y, x), real(3), real(3),
          grad=False),
    value("complex parts",
          lambda tf, x, y: [tf.real(tf.conj(tf.complex(x, y))), tf.imag(tf.conj(tf.complex(x, y)))], real(3),
          real(3), grad=False),
    value("complex abs", lambda tf, x, y: tf.abs(tf.complex(x, y)), real(3), real(3), grad=False),
    value("long chain", lambda tf, x, y: ((x + y) * (x - y) / (y * y + 1.0) - x) * y, distinct(12),
          distinct(12)),
    value("second derivative of a product", lambda tf, x, y: tf.gradients(x * x * y, [x, y]), real(3),
          real(3)),
    value("second derivative of a quotient", lambda tf, x, y: tf.gradients(x / y, [x, y]), real(3),
          positive(3)),
    value("stop_gradient", lambda tf, x: x * tf.stop_gradient(x), real(3)),
    value("add_n of integers", lambda tf, x, y: tf.add_n([x, y]), ints(3), ints(3)),
    value("large and small", op("add"), given([1e30, 1e-30, 1e8]), given([1.0, 1e-31, 1.0]), dtypes=FLOAT32),
]
