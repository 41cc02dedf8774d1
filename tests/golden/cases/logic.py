"""Comparison, logic and bits."""

from tests.golden.draws import bools, given, ints, real
from tests.golden.runner import FLOAT32, value

NAN, INF = float("nan"), float("inf")
LEFT = given([[0.0], [-0.0], [1.0], [INF], [NAN]])
RIGHT = given([[0.0, -0.0, 1.0, -INF, INF, NAN]])
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")


def op(name):
    return lambda tf, *args: getattr(tf, name)(*args)


def bit(name):
    return lambda tf, *args: getattr(tf.bitwise, name)(*args)


CASES = [
    [value("%s at edges" % name, op(name), LEFT, RIGHT) for name in COMPARISONS],
    [value("%s of integers" % name, op(name), ints(3, 1, low=0, high=3), ints(1, 4, low=0, high=3))
     for name in COMPARISONS],
    [value("%s of bytes" % name, op(name), ints(3, 1, low=0, high=255, dtype="uint8"),
           given([0, 128, 255], "uint8"))
     for name in COMPARISONS],
    [value("%s of bools" % name, op(name), bools(4), bools(4)) for name in ("equal", "not_equal")],
    [value(name, op(name), given([[True], [False]], "bool"), given([True, False], "bool"))
     for name in ("logical_and", "logical_or", "logical_xor")],
    value("logical_not", op("logical_not"), bools(5)),
    value("logic operators", lambda tf, x, y: [x & y, x | y, x ^ y, ~x], bools(6), bools(6)),
    value("comparison operators", lambda tf, x, y: [x < y, x <= y, x > y, x >= y], real(3), real(3),
          dtypes=FLOAT32),
    [value("%s of %s" % (name, dtype), bit(name), given([0, 1, 5, 12, 100], dtype),
           given([0, 1, 3, 2, 3], dtype))
     for name in BITWISE for dtype in ("int32", "uint8", "int64")],
    [value("%s of negatives" % name, bit(name), given([-1, -7, -128], "int8"), given([1, 2, 3], "int8"))
     for name in BITWISE],
    [value("invert of %s" % dtype, bit("invert"), given([0, 1, 100], dtype))
     for dtype in ("int32", "uint8", "int8", "uint16")],
    [value("where picks by condition [%s]" % dtype, lambda tf, c, x, y: tf.where(c, x, y), bools(2, 3),
           ints(2, 3, dtype=dtype), ints(2, 3, dtype=dtype))
     for dtype in ("int32", "int64", "int8")],
    value("where gradient", lambda tf, c, x, y: tf.where(c, x, y), bools(2, 3), real(2, 3), real(2, 3)),
    value("where by rows", lambda tf, c, x, y: tf.where(c, x, y), bools(3), real(3, 2), real(3, 2)),
    value("where keeps nan out of the value", lambda tf, x: tf.where(x > 0, tf.log(x), x),
          given([-1.0, 0.5, 2.0])),
    value("where indices", lambda tf, c: tf.where(c), bools(3, 4)),
    value("where indices of numbers", lambda tf, x: tf.where(x), given([0, 3, 0, -1], "int32")),
    value("where indices of none", lambda tf, x: tf.where(x), given([False, False], "bool")),
    value("is_strictly_increasing", lambda tf, x: tf.is_strictly_increasing(x), given([1.0, 2.0, 2.0])),
    value("is_non_decreasing", lambda tf, x: tf.is_non_decreasing(x), given([1.0, 2.0, 2.0])),
    value("gradient through comparison is none", lambda tf, x: tf.cast(x > 0, tf.float32), real(3),
          dtypes=FLOAT32),
    value("where with comparison", lambda tf, x, y: tf.where(x > y, x * 2, y * 3), real(4), real(4)),
]
