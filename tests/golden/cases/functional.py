"""Functions applied to rows."""

from tests.golden.draws import ints, real
from tests.golden.runner import answer, error, shape, value


def structured_map(tf, x, y):
    made = tf.map_fn(
        lambda rows: {"s": rows[0] + rows[1], "p": rows[0] * rows[1]}, (x, y), {"s": x.dtype, "p": x.dtype}
    )
    return [made["s"], made["p"]]


def two_states(tf, x):
    return tf.scan(lambda s, row: (s[0] + row, s[1] * tf.sin(row)), x, initializer=(x[0], x[1]))


def power(tf, x, n):
    return tf.scan(lambda s, _: s * x, tf.zeros([n]), initializer=tf.ones_like(x))


def cell(tf, h, row, w):
    return tf.tanh(tf.matmul(h, w) + row)


VALUES = [
    value("map_fn", lambda tf, x: tf.map_fn(lambda r: r * r, x), real(4)),
    value("map_fn: rows", lambda tf, x: tf.map_fn(lambda r: tf.reduce_sum(tf.sin(r)), x), real(4, 3)),
    value(
        "map_fn: matrices",
        lambda tf, x, w: tf.map_fn(lambda r: tf.matmul(r, w), x),
        real(2, 3, 4),
        real(4, 2),
    ),
    value(
        "map_fn: two",
        lambda tf, x, y: tf.map_fn(lambda r: r[0] * r[1], (x, y), dtype=x.dtype),
        real(4, 3),
        real(4, 3),
    ),
    value(
        "map_fn: two results",
        lambda tf, x: tf.map_fn(lambda r: (r, r * r), x, dtype=(x.dtype, x.dtype)),
        real(4, 3),
    ),
    value("map_fn: a structure", structured_map, real(4, 3), real(4, 3)),
    value(
        "map_fn: another dtype",
        lambda tf, n: tf.map_fn(lambda r: tf.cast(r, tf.float32) / 2.0, n, tf.float32),
        ints(5),
    ),
    value(
        "map_fn: branches",
        lambda tf, x: tf.map_fn(lambda r: tf.cond(r > 0.0, lambda: r, lambda: r * r), x),
        real(6),
    ),
    value(
        "map_fn: nested", lambda tf, x: tf.map_fn(lambda r: tf.map_fn(lambda e: e * r[0], r), x), real(3, 4)
    ),
    value("map_fn: no rows", lambda tf: tf.map_fn(lambda r: r * 2.0, tf.zeros([0, 3]))),
    value(
        "map_fn: hints",
        lambda tf, x: tf.map_fn(lambda r: r * r, x, parallel_iterations=2, swap_memory=True),
        real(4),
    ),
    value(
        "map_fn: complex",
        lambda tf, x, y: tf.real(tf.map_fn(lambda z: z * z, tf.complex(x, y))),
        real(4),
        real(4),
    ),
    value("scan", lambda tf, x: tf.scan(lambda s, r: s + r * r, x), real(5)),
    value("scan: rows", lambda tf, x: tf.scan(lambda s, r: tf.sin(s) * r, x), real(5, 3)),
    value("scan: reverse", lambda tf, x: tf.scan(lambda s, r: tf.sin(s) * r, x, reverse=True), real(5, 3)),
    value(
        "scan: an initializer",
        lambda tf, x, y: tf.scan(lambda s, r: tf.sin(s) + r, x, initializer=y),
        real(5, 3),
        real(3),
    ),
    value(
        "scan: an initializer, reverse",
        lambda tf, x, y: tf.scan(lambda s, r: s * r, x, initializer=y, reverse=True),
        real(5, 3),
        real(3),
    ),
    value("scan: two states", two_states, real(5, 3)),
    value(
        "scan: two inputs",
        lambda tf, x, y: tf.scan(lambda s, r: s + r[0] * r[1], (x, y), initializer=tf.zeros_like(x[0])),
        real(5, 3),
        real(5, 3),
    ),
    value("scan: powers", lambda tf, x: power(tf, x, 4), real(3)),
    value("scan: second order", lambda tf, x: tf.gradients(power(tf, x, 4), x)[0], real(3), grad=False),
    value(
        "scan: recurrent",
        lambda tf, x, h, w: tf.scan(lambda s, r: cell(tf, s, r, w), x, h),
        real(4, 2, 3),
        real(2, 3),
        real(3, 3),
    ),
    value("scan: integers", lambda tf, n: tf.scan(lambda s, r: s * 3 + r, n), ints(6)),
    value("foldl", lambda tf, x: tf.foldl(lambda s, r: s * 0.5 + r, x), real(5)),
    value("foldl: rows", lambda tf, x: tf.foldl(lambda s, r: tf.sin(s) * r, x), real(5, 3)),
    value(
        "foldl: an initializer",
        lambda tf, x, y: tf.foldl(lambda s, r: s * r + y, x, initializer=y),
        real(5, 3),
        real(3),
    ),
    value(
        "foldl: another shape",
        lambda tf, x: tf.foldl(lambda s, r: s + tf.reduce_sum(r), x, initializer=tf.zeros([], x.dtype)),
        real(5, 3),
    ),
    value("foldr", lambda tf, x: tf.foldr(lambda s, r: s * 0.5 + r, x), real(5)),
    value(
        "foldr: an initializer",
        lambda tf, x, y: tf.foldr(lambda s, r: s - r * y, x, initializer=y),
        real(5, 3),
        real(3),
    ),
    value("foldr: integers", lambda tf, n: tf.foldr(lambda s, r: s - r, n), ints(6)),
]


def unknown(tf):
    return tf.placeholder(tf.float32, [None, 3])


FACTS = [
    shape("shape of map_fn", lambda tf: tf.map_fn(lambda r: r[:2], unknown(tf))),
    shape("shape of map_fn of a known number", lambda tf: tf.map_fn(lambda r: r[:2], tf.zeros([4, 3]))),
    shape("shape of scan", lambda tf: tf.scan(lambda s, r: s + r, unknown(tf))),
    shape("shape of scan of a known number", lambda tf: tf.scan(lambda s, r: s + r, tf.zeros([4, 3]))),
    shape(
        "shape of scan with an initializer",
        lambda tf: tf.scan(lambda s, r: s + r[0], unknown(tf), tf.zeros([])),
    ),
    shape("shape of foldl", lambda tf: tf.foldl(lambda s, r: s + r, unknown(tf))),
    shape("shape of foldr", lambda tf: tf.foldr(lambda s, r: s + r, unknown(tf))),
    answer(
        "structures",
        lambda tf: [
            type(tf.map_fn(lambda r: [r, r], tf.zeros([2]), dtype=[tf.float32, tf.float32])).__name__,
            type(tf.map_fn(lambda r: (r, r), tf.zeros([2]), dtype=(tf.float32, tf.float32))).__name__,
            sorted(tf.map_fn(lambda r: {"a": r}, tf.zeros([2]), dtype={"a": tf.float32})),
        ],
    ),
]

ERRORS = [
    error("map_fn: no function", lambda tf: tf.map_fn(1, tf.zeros([3]))),
    error("map_fn: a number", lambda tf: tf.map_fn(lambda r: r, tf.constant(1.0))),
    error("map_fn: another structure", lambda tf: tf.map_fn(lambda r: (r, r), tf.zeros([3]))),
    error(
        "map_fn: an undeclared dtype",
        lambda tf: tf.map_fn(lambda r: tf.cast(r, tf.int32), tf.zeros([3])) + 0.0,
    ),
    error("scan: no function", lambda tf: tf.scan(1, tf.zeros([3]))),
    error("scan: another shape", lambda tf: tf.scan(lambda s, r: tf.stack([s, r]), tf.zeros([3]))),
    error("scan: another dtype", lambda tf: tf.scan(lambda s, r: tf.cast(s, tf.int32), tf.zeros([3]))),
    error("scan: another structure", lambda tf: tf.scan(lambda s, r: (s, s), tf.zeros([3]))),
    error("foldl: no function", lambda tf: tf.foldl(1, tf.zeros([3]))),
    error("foldr: no function", lambda tf: tf.foldr(1, tf.zeros([3]))),
    error("foldl: a shape that changes", lambda tf: tf.foldl(lambda s, r: tf.stack([s, r]), tf.zeros([3]))),
]

CASES = [VALUES, FACTS, ERRORS]
