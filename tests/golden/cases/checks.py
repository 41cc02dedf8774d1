"""Assertions and checks: what holds, what is said, and which error it is where something does not."""

from tests.golden.draws import bools, given, real
from tests.golden.runner import answer, error, value

BINARY = ("equal", "none_equal", "less", "less_equal", "greater", "greater_equal")
UNARY = ("negative", "positive", "non_negative", "non_positive")
SAMPLES = ([1, 2, 3], [1, 2, 4], [2, 3, 4], [0, 1, 2])
SIGNS = ([1, 2], [-1, -2], [0, 0], [-1, 1], [])


def fed(tf, numbers):
    """A tensor of which nothing is known while the graph is built but its dtype and rank."""
    return tf.placeholder_with_default(tf.constant(numbers, tf.int32), [None])


def guarded(check):
    """A tensor that depends on a check."""

    def build(tf):
        with tf.control_dependencies([check(tf)]):
            return tf.constant(1) + 1

    return build


def said(build):
    """The first line of what an error says, from where the assertion begins."""

    def run(tf):
        try:
            with tf.Session() as sess:
                sess.run(build(tf))
        except tf.errors.InvalidArgumentError as raised:
            text = raised.message.split("\n")[0]
            return [text[text.index("assertion failed") :]]
        return ["nothing"]

    return answer("says: %s" % build.__name__, run)


def texts_and_tensors(tf):
    return tf.Assert(fed(tf, [0])[0] > 0, ["text", fed(tf, [1, 2]), tf.constant(["a", "b"]), 3])


def three_elements(tf):
    return tf.Assert(fed(tf, [0])[0] > 0, [fed(tf, [1, 2, 3, 4, 5])])


def all_elements(tf):
    return tf.Assert(fed(tf, [0])[0] > 0, [fed(tf, [1, 2, 3, 4, 5])], summarize=-1)


def matrices(tf):
    return tf.Assert(fed(tf, [0])[0] > 0, [tf.reshape(fed(tf, [1, 2, 3, 4, 5, 6]), [2, 3])], summarize=4)


def floats(tf):
    return tf.Assert(
        fed(tf, [0])[0] > 0, [tf.cast(fed(tf, [1, 2]), tf.float32) / 3.0, tf.constant([0.5, 1e20])]
    )


def truths(tf):
    return tf.Assert(fed(tf, [0])[0] > 0, [fed(tf, [1, 2]) > 1])


def a_message(tf):
    return tf.assert_less(fed(tf, [3, 4]), fed(tf, [3, 5]), data=["data", fed(tf, [7])], message="message")


SAID = [
    said(build)
    for build in (texts_and_tensors, three_elements, all_elements, matrices, floats, truths, a_message)
]


def compared(kind, other, dynamic):
    def check(tf):
        x, y = [1, 2, 3], other
        if dynamic:
            x, y = fed(tf, x), fed(tf, y)
        return getattr(tf, "assert_" + kind)(x, y)

    return check


def signed(kind, numbers, dynamic):
    def check(tf):
        x = fed(tf, numbers) if dynamic else tf.constant(numbers, tf.int32)
        return getattr(tf, "assert_" + kind)(x)

    return check


COMPARISONS = [
    error("%s %s%s" % (kind, other, " fed" * dynamic), guarded(compared(kind, other, dynamic)))
    for kind in BINARY
    for other in SAMPLES
    for dynamic in (False, True)
] + [
    error("%s %s%s" % (kind, numbers, " fed" * dynamic), guarded(signed(kind, numbers, dynamic)))
    for kind in UNARY
    for numbers in SIGNS
    for dynamic in (False, True)
]


def unknown(tf, array):
    return tf.placeholder_with_default(tf.constant(array), None)


MATRIX = [[1.0, 2.0], [3.0, 4.0]]

SHAPES = [
    error("rank", guarded(lambda tf: tf.assert_rank(tf.zeros([2, 3]), 2))),
    error("rank: wrong", guarded(lambda tf: tf.assert_rank(tf.zeros([2, 3]), 1))),
    error("rank: fed", guarded(lambda tf: tf.assert_rank(unknown(tf, MATRIX), 2))),
    error("rank: fed, wrong", guarded(lambda tf: tf.assert_rank(unknown(tf, MATRIX), 3))),
    error("rank: a vector", guarded(lambda tf: tf.assert_rank(unknown(tf, MATRIX), [2]))),
    error("rank: a float", guarded(lambda tf: tf.assert_rank(unknown(tf, MATRIX), 2.0))),
    error("rank_at_least", guarded(lambda tf: tf.assert_rank_at_least(tf.zeros([2, 3]), 1))),
    error("rank_at_least: wrong", guarded(lambda tf: tf.assert_rank_at_least(tf.zeros([2, 3]), 3))),
    error("rank_at_least: fed", guarded(lambda tf: tf.assert_rank_at_least(unknown(tf, MATRIX), 2))),
    error("rank_at_least: fed, wrong", guarded(lambda tf: tf.assert_rank_at_least(unknown(tf, MATRIX), 3))),
    error("rank_in", guarded(lambda tf: tf.assert_rank_in(tf.zeros([2, 3]), [1, 2]))),
    error("rank_in: wrong", guarded(lambda tf: tf.assert_rank_in(tf.zeros([2, 3]), [1, 3]))),
    error("rank_in: fed", guarded(lambda tf: tf.assert_rank_in(unknown(tf, MATRIX), (2, 3)))),
    error("rank_in: fed, wrong", guarded(lambda tf: tf.assert_rank_in(unknown(tf, MATRIX), (0, 1)))),
    error("scalar", lambda tf: tf.assert_scalar(3.0)),
    error("scalar: wrong", lambda tf: tf.assert_scalar([3.0])),
    error("scalar: unknown", lambda tf: tf.assert_scalar(tf.placeholder(tf.float32))),
    error(
        "shapes",
        guarded(
            lambda tf: tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("n", 3)), (tf.zeros([2]), ("n",))])
        ),
    ),
    error(
        "shapes: a size is wrong",
        guarded(lambda tf: tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("n", 4))])),
    ),
    error(
        "shapes: a name is wrong",
        guarded(
            lambda tf: tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("n", "d")), (tf.zeros([4]), ("n",))])
        ),
    ),
    error(
        "shapes: a rank is wrong",
        guarded(lambda tf: tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("n",))])),
    ),
    error(
        "shapes: fed",
        guarded(lambda tf: tf.debugging.assert_shapes([(fed(tf, [1, 2]), ("n",)), (tf.zeros([2]), ("n",))])),
    ),
    error(
        "shapes: fed, wrong",
        guarded(lambda tf: tf.debugging.assert_shapes([(fed(tf, [1, 2]), ("n",)), (tf.zeros([3]), ("n",))])),
    ),
    error(
        "shapes: the last axes",
        guarded(lambda tf: tf.debugging.assert_shapes([(tf.zeros([5, 2, 3]), (..., 2, "d"))])),
    ),
    error(
        "shapes: ... in the middle",
        guarded(lambda tf: tf.debugging.assert_shapes([(tf.zeros([2, 3]), (2, ...))])),
    ),
    error("shapes: no list", guarded(lambda tf: tf.debugging.assert_shapes([(tf.zeros([2, 3]), 2)]))),
    error(
        "shapes: a scalar",
        guarded(lambda tf: tf.debugging.assert_shapes([(tf.constant(1.0), (1,)), (tf.zeros([1]), ())])),
    ),
]

DTYPES = [
    error("type", guarded(lambda tf: tf.assert_type(1.0, tf.float32))),
    error("type: wrong", guarded(lambda tf: tf.assert_type(1.0, tf.int32))),
    error("integer", guarded(lambda tf: tf.assert_integer(1))),
    error("integer: wrong", guarded(lambda tf: tf.assert_integer(1.0))),
    error("proper_iterable", lambda tf: tf.assert_proper_iterable([1, 2])),
    error("proper_iterable: a tensor", lambda tf: tf.assert_proper_iterable(tf.constant([1, 2]))),
    error("proper_iterable: a text", lambda tf: tf.assert_proper_iterable("text")),
    error("proper_iterable: a number", lambda tf: tf.assert_proper_iterable(1)),
    answer(
        "same_float_dtype",
        lambda tf: [
            tf.debugging.assert_same_float_dtype().name,
            tf.debugging.assert_same_float_dtype([tf.zeros([], tf.float64), None]).name,
            tf.debugging.assert_same_float_dtype([tf.zeros([], tf.float16)], tf.float16).name,
        ],
    ),
    error(
        "same_float_dtype: unlike",
        lambda tf: tf.debugging.assert_same_float_dtype([tf.zeros([]), tf.zeros([], tf.float64)]),
    ),
    error("same_float_dtype: integers", lambda tf: tf.debugging.assert_same_float_dtype([tf.constant(1)])),
    answer(
        "is_numeric_tensor",
        lambda tf: [
            tf.is_numeric_tensor(x)
            for x in (tf.constant(1), tf.constant(True), tf.constant("a"), 1, tf.constant(1.5))
        ],
    ),
]


def nearly(tf, distance, **kwargs):
    return tf.assert_near(
        tf.placeholder_with_default([1.0, 2.0], [2]), tf.constant([1.0, 2.0 + distance]), **kwargs
    )


REST = [
    error("near", guarded(lambda tf: nearly(tf, 1e-7))),
    error("near: wrong", guarded(lambda tf: nearly(tf, 1e-3))),
    error("near: atol", guarded(lambda tf: nearly(tf, 1e-3, atol=0.1))),
    error("near: rtol", guarded(lambda tf: nearly(tf, 1e-3, rtol=0.1))),
    error("equal: unlike dtypes", guarded(lambda tf: tf.assert_equal(fed(tf, [1]), 1.5))),
    error("equal: unlike shapes", guarded(lambda tf: tf.assert_equal(tf.zeros([2]), tf.zeros([3])))),
    error("equal: broadcast", guarded(lambda tf: tf.assert_equal(fed(tf, [2, 2]), 2))),
    error("equal: itself", guarded(lambda tf: (lambda x: tf.assert_equal(x, x))(fed(tf, [1])))),
    error("equal: texts", guarded(lambda tf: tf.assert_equal(tf.constant(["a"]), tf.constant(["b"])))),
    error("Assert: no list", lambda tf: tf.Assert(fed(tf, [1])[0] > 0, 3)),
    error("Assert: a number", lambda tf: tf.Assert(fed(tf, [1])[0], ["x"])),
    error("Assert: holds", lambda tf: tf.Assert(fed(tf, [1])[0] > 0, ["x"])),
    error("Assert: False", lambda tf: tf.Assert(False, ["x"])),
    error("Print: no list", lambda tf: tf.Print(1.0, 3)),
    error("print: a wrong stream", lambda tf: tf.print(1, output_stream="nowhere")),
    value("check_numerics", lambda tf, x: tf.check_numerics(x * x, "x"), real(3)),
    value("verify_tensor_all_finite", lambda tf, x: tf.verify_tensor_all_finite(x * x, "x"), real(3)),
    value("assert_all_finite", lambda tf, x: tf.debugging.assert_all_finite(x=x * x, message="x"), real(3)),
    error(
        "check_numerics: nan",
        lambda tf: tf.check_numerics(tf.log(tf.placeholder_with_default(-1.0, [])), "x"),
    ),
    error(
        "check_numerics: infinite",
        lambda tf: tf.check_numerics(tf.log(tf.placeholder_with_default(0.0, [])), "x"),
    ),
    error("check_numerics: integers", lambda tf: tf.check_numerics(1, "x")),
    error(
        "verify_tensor_all_finite: nan",
        lambda tf: tf.verify_tensor_all_finite(tf.log(tf.placeholder_with_default(-1.0, [])), "x"),
    ),
    error("verify_tensor_all_finite: nothing", lambda tf: tf.verify_tensor_all_finite()),
    error(
        "add_check_numerics_ops",
        lambda tf: [tf.log(tf.placeholder_with_default(0.0, [])), tf.add_check_numerics_ops()],
    ),
    error(
        "add_check_numerics_ops: a loop",
        lambda tf: [tf.while_loop(lambda x: x < 3.0, lambda x: x + 1.0, [0.0]), tf.add_check_numerics_ops()],
    ),
    value("Print", lambda tf, x: tf.Print(x * x, [x[0] < 9.0], "", 0) * x, real(3)),
    value(
        "guarded",
        lambda tf, x, p: tf.cond(
            p, lambda: tf.check_numerics(x, "x") * x, lambda: tf.verify_tensor_all_finite(x, "x")
        ),
        real(3),
        bools(),
    ),
    *[
        value(
            "is_non_decreasing %s" % numbers,
            lambda tf, x: tf.is_non_decreasing(x),
            given(numbers, dtype="int32"),
        )
        for numbers in ([1, 1, 2], [2, 1], [], [3], [[1, 2], [2, 5]])
    ],
    *[
        value(
            "is_strictly_increasing %s" % numbers,
            lambda tf, x: tf.is_strictly_increasing(x),
            given(numbers, dtype="int32"),
        )
        for numbers in ([1, 1, 2], [1, 2], [], [3], [[1, 2], [3, 5]])
    ],
    value("is_non_decreasing: floats", lambda tf, x: tf.is_non_decreasing(x), real(2)),
    error("is_non_decreasing: texts", lambda tf: tf.is_non_decreasing(tf.constant(["a", "b"]))),
]

CASES = [SAID, COMPARISONS, SHAPES, DTYPES, REST]
