"""Reductions over segments of chosen rows, and functions under their first or later names."""

from tests.golden.draws import distinct, given, ints, real
from tests.golden.runner import value

TABLE = real(5, 3)
ROWS = given([0, 3, 3, 4], "int32")


def segmented(function, **options):
    def build(tf, table, rows):
        return getattr(tf, function)(table, rows, tf.constant([0, 0, 2, 2]), **options)

    return build


def scattered(function):
    return lambda tf, x, updates: getattr(tf, function)(x, [[0, 1], [2, 2]], updates)


CASES = [
    [[value(name, segmented(name), TABLE, ROWS),
      value("%s, num_segments" % name, segmented(name, num_segments=4), TABLE, ROWS),
      value("%s of a vector" % name, segmented(name), real(6), ROWS)]
     for name in ("sparse_segment_sum", "sparse_segment_mean", "sparse_segment_sqrt_n")],
    [value(name, lambda tf, x, name=name: getattr(tf, name)(x, 1), distinct(3, 4), grad=False)
     for name in ("arg_max", "arg_min")],
    value("arg_max as int32", lambda tf, x: tf.arg_max(x, 0, tf.int32), ints(3, 4)),
    [value(name, scattered(name), real(3, 4), real(2))
     for name in ("tensor_scatter_nd_update", "tensor_scatter_nd_add", "tensor_scatter_nd_sub")],
]
