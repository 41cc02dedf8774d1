"""Loops, branches, and the order of operations."""

import collections

from tests.golden.draws import bools, given, ints, real
from tests.golden.runner import answer, error, runs, shape, value

Pair = collections.namedtuple("Pair", ["first", "second"])


def loop(body, rounds=3, **kwargs):
    """`body(tf, i, y, *inputs)` several times, from the first input on."""

    def build(tf, x, *others):
        return tf.while_loop(
            lambda i, y: i < rounds, lambda i, y: [i + 1, body(tf, i, y, x, *others)], [0, x], **kwargs
        )

    return build


def grown(tf, x, limit):
    return tf.while_loop(lambda y: tf.reduce_sum(tf.abs(y)) < limit, lambda y: y * 1.5 + 0.1, [x])


def newton(tf, x):
    return tf.while_loop(
        lambda y, n: tf.logical_and(tf.abs(y * y - x) > 1e-3, n < 20),
        lambda y, n: ((y + x / y) / 2.0, n + 1),
        [x, 0],
    )


def fibonacci(tf, n):
    return tf.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b, a + b), [0, 0, 1])


def swapped(tf, x, y):
    return tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, tf.sin(a) * b), [0, x, y])


def triangle(tf, x):
    def outer(i, y):
        _, y = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, tf.sin(z) + x), [0, y])
        return i + 1, y

    return tf.while_loop(lambda i, y: i < 4, outer, [0, x])


def even_and_odd(tf, i, y, x):
    return tf.cond(tf.equal(i % 2, 0), lambda: y * x, lambda: tf.sin(y))


def dicts(tf, x):
    def body(s):
        return [{"b": s["b"] + s["a"][1], "a": (s["a"][0] + 1, s["a"][1] * 0.5)}]

    (end,) = tf.while_loop(lambda s: s["a"][0] < 3, body, [{"b": x, "a": (tf.constant(0), x * 2.0)}])
    return [end["b"], end["a"][0], end["a"][1]]


def pairs(tf, x):
    end = tf.while_loop(
        lambda first, second: first < 3,
        lambda first, second: Pair(first + 1, second * x),
        Pair(tf.constant(0), x),
    )
    return [end.first, end.second]


def concatenating(tf, x):
    return tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.concat([y, x * tf.cast(i, x.dtype)], 0)),
        [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
    )[1]


def looped(dtype, step, start):
    return lambda tf: tf.while_loop(
        lambda i, y: i < 5, lambda i, y: (i + 1, step(tf, y)), [0, tf.constant(start, getattr(tf, dtype))]
    )[1]


DTYPES = [
    ("int8", lambda tf, y: y + y, 3),
    ("int64", lambda tf, y: y * 7, 3),
    ("uint8", lambda tf, y: y * 3, 9),
    ("float16", lambda tf, y: y * 1.5, 1.0),
    ("complex64", lambda tf, y: y * 1j, 1 + 2j),
    ("complex128", lambda tf, y: y * (1 + 1j), 1 + 2j),
    ("bool", lambda tf, y: tf.logical_not(y), True),
]

LOOPS = [
    value("while_loop: sums", loop(lambda tf, i, y, x: y + x), real(2, 3)),
    value("while_loop: no round", loop(lambda tf, i, y, x: y + x, 0), real(2, 3)),
    value("while_loop: one round", loop(lambda tf, i, y, x: tf.tanh(y) * x, 1), real(2, 3)),
    value("while_loop: sine", loop(lambda tf, i, y, x: tf.sin(y) + x, 4), real(3)),
    value("while_loop: power", loop(lambda tf, i, y, x: y * x), real(3)),
    value(
        "while_loop: matrix", loop(lambda tf, i, y, x, w: tf.tanh(tf.matmul(y, w)), 4), real(2, 3), real(3, 3)
    ),
    value("while_loop: the index", loop(lambda tf, i, y, x: y * tf.cast(i + 1, y.dtype), 4), real(3)),
    value("while_loop: branches", loop(even_and_odd, 5), real(3)),
    value("while_loop: rows", loop(lambda tf, i, y, x, m: y + m[i]), real(3), real(4, 3)),
    value("while_loop: at most two", loop(lambda tf, i, y, x: y * 2.0, 10, maximum_iterations=2), real(3)),
    value(
        "while_loop: hints", loop(lambda tf, i, y, x: y * x, parallel_iterations=1, swap_memory=True), real(3)
    ),
    value("while_loop: until large", lambda tf, x: grown(tf, x, 20.0), given([0.3, -0.2, 0.5])),
    value("while_loop: Newton", newton, given(7.0)),
    value("while_loop: Fibonacci", fibonacci, ints(low=10, high=20)),
    value("while_loop: swapped", swapped, real(3), real(3)),
    value("while_loop: nested", triangle, real(3)),
    value("while_loop: dicts", dicts, real(3)),
    value("while_loop: named tuples", pairs, real(3)),
    value("while_loop: a shape that grows", concatenating, real(1, 2), grad=False),
    value("while_loop: stop_gradient", loop(lambda tf, i, y, x: y * tf.stop_gradient(y) + x), real(3)),
    value(
        "while_loop: second order",
        lambda tf, x: tf.gradients(loop(lambda tf, i, y, x: tf.sin(y) * x)(tf, x)[1], x)[0],
        real(3),
        grad=False,
    ),
    value(
        "while_loop: back_prop=False", loop(lambda tf, i, y, x: y * x, back_prop=False), real(3), grad=False
    ),
    *[value("while_loop: %s" % dtype, looped(dtype, step, start)) for dtype, step, start in DTYPES],
    value(
        "while_loop: collatz",
        lambda tf, n: tf.while_loop(
            lambda k, n: n > 1,
            lambda k, n: (k + 1, tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1)),
            [0, n],
        ),
        ints(low=20, high=30),
    ),
]


def chosen(tf, p, x):
    return tf.cond(p, lambda: tf.sin(x), lambda: x * x * 0.5)


def nested(tf, p, q, x):
    return tf.cond(
        p, lambda: tf.cond(q, lambda: x * 2.0, lambda: x * x), lambda: tf.cond(q, lambda: -x, lambda: x)
    )


def signs(tf, x):
    s = tf.reduce_sum(x)
    return tf.case([(s < -1.0, lambda: x * 2.0), (s < 1.0, lambda: x * x)], default=lambda: tf.sin(x))


def by_number(tf, i, x):
    return tf.switch_case(i, [lambda: x, lambda: x * x, lambda: x * x * x])


def structured(tf, p, x):
    made = tf.cond(p, lambda: {"a": x, "b": [x * 2.0, (x,)]}, lambda: {"a": -x, "b": [x * x, (x + 1.0,)]})
    return [made["a"], made["b"][0], made["b"][1][0]]


BRANCHES = [
    *[
        value("cond: %s" % p, lambda tf, x, p=p: chosen(tf, tf.placeholder_with_default(p, []), x), real(3))
        for p in (True, False)
    ],
    *[
        value(
            "cond: nested %s %s" % (p, q),
            lambda tf, x, p=p, q=q: nested(
                tf, tf.placeholder_with_default(p, []), tf.placeholder_with_default(q, []), x
            ),
            real(3),
        )
        for p in (True, False)
        for q in (True, False)
    ],
    value("cond: fed", chosen, bools(), real(3)),
    value(
        "cond: one side is constant",
        lambda tf, p, x: tf.cond(p, lambda: x, lambda: tf.ones_like(x)),
        bools(),
        real(3),
    ),
    value(
        "cond: several results",
        lambda tf, p, x, y: tf.cond(p, lambda: (x, y), lambda: (y, x)),
        bools(),
        real(3),
        real(3),
    ),
    value("cond: structures", structured, bools(), real(3)),
    value("cond: by a comparison", lambda tf, x: tf.cond(x[0] > x[1], lambda: x[0], lambda: x[1]), real(2)),
    value("cond: old names", lambda tf, p, x: tf.cond(p, fn1=lambda: x, fn2=lambda: -x), bools(), real(3)),
    value(
        "cond: a loop inside",
        lambda tf, p, x: tf.cond(p, lambda: loop(lambda tf, i, y, x: y * x)(tf, x)[1], lambda: x),
        bools(),
        real(3),
    ),
    value("case", signs, real(3)),
    value("case: the first", signs, given([-2.0, -1.0, -3.0])),
    value("case: the last", signs, given([2.0, 1.0, 3.0])),
    value(
        "case: exclusive",
        lambda tf, x: tf.case({x[0] < 0.0: lambda: x, x[0] >= 0.0: lambda: x * x}, exclusive=True),
        real(3),
    ),
    value("case: a dict", lambda tf, x: tf.case({x[0] < 9.0: lambda: x, x[0] < 8.0: lambda: x * x}), real(3)),
    value(
        "case: no default",
        lambda tf, x: tf.case([(x[0] > 9.0, lambda: x), (x[0] < 9.0, lambda: x * x)]),
        real(3),
    ),
    *[
        value(
            "switch_case: %d" % i,
            lambda tf, x, i=i: by_number(tf, tf.placeholder_with_default(i, []), x),
            real(3),
            grad=False,
        )
        for i in (0, 1, 2)
    ],
    *[
        value(
            "switch_case: default for %d" % i,
            lambda tf, x, i=i: tf.switch_case(
                tf.placeholder_with_default(i, []), {0: lambda: x, 1: lambda: x * x}, default=lambda: -x
            ),
            real(3),
        )
        for i in (1, 2, -1)
    ],
]


def counted(tf, in_order):
    """A counter that a loop increases, and what is seen of it."""
    v = tf.get_variable("v", initializer=1.0)

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, 2.0)]):
            return i + 1

    end = tf.while_loop(lambda i: i < 3, body, [0])
    with tf.control_dependencies([end]):
        return [end, tf.identity(v) if not in_order else v.read_value() * 10.0]


def assigned_in_branches(tf):
    v = tf.get_variable("v", initializer=1.0)
    p = tf.random_uniform([]) < 2.0
    done = tf.cond(p, lambda: tf.assign(v, v * 3.0), lambda: tf.assign(v, 0.0))
    with tf.control_dependencies([done]):
        return [v + 0.0]


def grouped(tf):
    a, b = (tf.get_variable(name, initializer=1.0) for name in "ab")
    both = tf.group(tf.assign_add(a, 1.0), tf.assign_add(b, 2.0))
    with tf.control_dependencies([both]):
        return [a + 0.0, b + 0.0]


def gated(tf):
    v = tf.get_variable("v", initializer=1.0)
    one, _ = tf.tuple([tf.constant(5.0), tf.assign_add(v, 1.0)])
    with tf.control_dependencies([one]):
        return [one, v + 0.0]


def forgotten(tf):
    v = tf.get_variable("v", initializer=1.0)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]), tf.control_dependencies(None):
        return [tf.constant(3.0) * 2.0]


def in_turn(tf):
    v = tf.get_variable("v", initializer=1.0)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        second = tf.assign(v, v * 10.0)
        with tf.control_dependencies([second]):
            return [v + 0.5]


ORDER = [
    runs("a loop assigns", lambda tf: counted(tf, False)),
    runs("a loop assigns, read after", lambda tf: counted(tf, True)),
    runs("a branch assigns", assigned_in_branches, times=3),
    runs("group", grouped, times=3),
    runs("tuple", gated, times=3),
    runs("control_dependencies: in turn", in_turn, times=3),
    runs("control_dependencies: forgotten", forgotten),
]


def names(*builds):
    return lambda tf: [build(tf).name for build in builds]


def placeholder(tf, *shape):
    return tf.placeholder(tf.float32, list(shape))


FACTS = [
    answer(
        "while_loop: types",
        lambda tf: [
            type(tf.while_loop(lambda i: i < 1, lambda i: i + 1, [tf.constant(0)])).__name__ == "Tensor",
            type(tf.while_loop(lambda i, j: i < 1, lambda i, j: (i + 1, j), [0, 0])).__name__,
            type(tf.while_loop(lambda i, j: i < 1, lambda i, j: (i + 1, j), (0, 0))).__name__,
            type(tf.while_loop(lambda i: i < 1, lambda i: [i + 1], [0], return_same_structure=True)).__name__,
            type(tf.while_loop(lambda i: i < 1, lambda i: i + 1, [0], maximum_iterations=3)).__name__
            == "Tensor",
            type(tf.while_loop(lambda s: s[0] < 1, lambda s: [(s[0] + 1, s[1])], [(0, 1)])).__name__,
            type(
                tf.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, s[1]), [(0, 1)], maximum_iterations=3)
            ).__name__,
        ],
    ),
    answer(
        "cond: types",
        lambda tf: [
            type(tf.cond(tf.constant(True), lambda: [1], lambda: [2])).__name__ == "Tensor",
            type(tf.cond(tf.constant(True), lambda: [1], lambda: [2], strict=True)).__name__,
            type(tf.cond(tf.constant(True), lambda: (1, 2), lambda: (3, 4))).__name__,
            type(tf.cond(tf.constant(True), lambda: [1, 2], lambda: [3, 4])).__name__,
        ],
    ),
    answer("group: type", lambda tf: [tf.group(tf.constant(1)).type, tf.group().type, tf.no_op().type]),
    answer(
        "names: loops",
        names(
            lambda tf: tf.while_loop(lambda i: i < 1, lambda i: i + 1, [0]),
            lambda tf: tf.while_loop(lambda i: i < 1, lambda i: i + 1, [0]),
            lambda tf: tf.while_loop(lambda i: i < 1, lambda i: i + 1, [0], name="mine"),
        ),
    ),
    answer(
        "names: branches",
        names(
            lambda tf: tf.cond(tf.constant(True), lambda: 1, lambda: 2),
            lambda tf: tf.cond(tf.constant(True), lambda: 1, lambda: 2, name="mine"),
        ),
    ),
    answer(
        "names: group and tuple",
        names(
            lambda tf: tf.group(tf.constant(1.0)),
            lambda tf: tf.tuple([tf.constant(1.0)])[0],
            lambda tf: tf.group(tf.constant(1.0), name="mine"),
        ),
    ),
    shape(
        "while_loop: shapes",
        lambda tf: tf.while_loop(
            lambda i, a, b: i < 1,
            lambda i, a, b: (i + 1, a * 2.0, b),
            [0, placeholder(tf, None, 2), tf.zeros([2, 3])],
        ),
    ),
    shape(
        "while_loop: shape invariants",
        lambda tf: tf.while_loop(
            lambda i, a: i < 1,
            lambda i, a: (i + 1, a),
            [tf.constant(0), tf.zeros([2, 3])],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])],
        ),
    ),
    shape(
        "while_loop: unknown rank",
        lambda tf: tf.while_loop(
            lambda i, a: i < 1, lambda i, a: (i + 1, a), [tf.constant(0), tf.placeholder(tf.float32)]
        ),
    ),
    shape(
        "cond: equal shapes",
        lambda tf: tf.cond(tf.constant(True), lambda: tf.zeros([2]), lambda: tf.ones([2])),
    ),
    shape(
        "cond: unlike sizes",
        lambda tf: tf.cond(tf.placeholder(tf.bool, []), lambda: tf.zeros([2, 3]), lambda: tf.ones([4, 3])),
    ),
    shape(
        "cond: unlike ranks",
        lambda tf: tf.cond(tf.placeholder(tf.bool, []), lambda: tf.zeros([2, 3]), lambda: tf.ones([3])),
    ),
    shape(
        "cond: unknown sizes",
        lambda tf: tf.cond(
            tf.placeholder(tf.bool, []), lambda: placeholder(tf, None, 3), lambda: tf.ones([4, 3])
        ),
    ),
]


def escaped(tf):
    kept = []

    def body(i):
        kept.append(i * 2)
        return i + 1

    tf.while_loop(lambda i: i < 3, body, [0])
    return kept[0] + 1


def false(tf):
    return tf.constant(False)


ERRORS = [
    error(
        "while_loop: another dtype",
        lambda tf: tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [0]),
    ),
    error(
        "while_loop: another shape",
        lambda tf: tf.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [0, tf.zeros([2])]
        ),
    ),
    error("while_loop: another structure", lambda tf: tf.while_loop(lambda i: i < 3, lambda i: (i, i), [0])),
    error("while_loop: too few", lambda tf: tf.while_loop(lambda i, j: i < 3, lambda i, j: i + 1, [0, 0])),
    error(
        "while_loop: a list in a tuple",
        lambda tf: tf.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, (j[1], j[0])), (0, [1, 2])),
    ),
    error("while_loop: nothing", lambda tf: tf.while_loop(lambda: True, list, [])),
    error("while_loop: cond is no function", lambda tf: tf.while_loop(1, lambda i: i + 1, [0])),
    error("while_loop: cond gives a number", lambda tf: tf.while_loop(lambda i: i, lambda i: i + 1, [0])),
    error(
        "while_loop: cond gives a vector",
        lambda tf: tf.while_loop(lambda x: x > 0.0, lambda x: x - 1.0, [tf.ones([2])]),
    ),
    error("while_loop: too many arguments", lambda tf: tf.while_loop(lambda i: i < 3, lambda i, j: i, [0])),
    error("while_loop: None", lambda tf: tf.while_loop(lambda i: i < 3, lambda i: None, [0])),
    error(
        "while_loop: maximum_iterations is a vector",
        lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], maximum_iterations=[1, 2]),
    ),
    error(
        "while_loop: an invariant that does not fit",
        lambda tf: tf.while_loop(lambda x: True, lambda x: x, [tf.zeros([2])], [tf.TensorShape([3])]),
    ),
    error(
        "while_loop: invariants of another structure",
        lambda tf: tf.while_loop(
            lambda i, x: i < 3, lambda i, x: (i, x), [0, tf.zeros([2])], [tf.TensorShape([])]
        ),
    ),
    error("cond: a Python bool", lambda tf: tf.cond(True, lambda: 1, lambda: 2)),
    error("cond: no functions", lambda tf: tf.cond(tf.constant(True))),
    error("cond: both names", lambda tf: tf.cond(tf.constant(True), lambda: 1, lambda: 2, fn1=lambda: 3)),
    error("cond: a number", lambda tf: tf.cond(tf.constant(1), lambda: 1, lambda: 2)),
    error("cond: a vector", lambda tf: tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2)),
    error("cond: unlike dtypes", lambda tf: tf.cond(false(tf), lambda: 1, lambda: 2.0)),
    error("cond: unlike numbers", lambda tf: tf.cond(false(tf), lambda: (1, 2), lambda: 1)),
    error("cond: unlike structures", lambda tf: tf.cond(false(tf), lambda: [1, 2], lambda: (1, 2))),
    error(
        "cond: unlike keys", lambda tf: tf.cond(false(tf), lambda: {"a": 1, "b": 2}, lambda: {"a": 1, "c": 2})
    ),
    error("cond: None of one", lambda tf: tf.cond(false(tf), lambda: None, lambda: 1)),
    error("case: no pairs", lambda tf: tf.case([])),
    error("case: no pair", lambda tf: tf.case([(false(tf),)])),
    error("case: no condition", lambda tf: tf.case([(tf.constant(1), lambda: 1)])),
    error("case: no function", lambda tf: tf.case([(false(tf), 1)])),
    error("case: no list", lambda tf: tf.case(1)),
    error(
        "case: nothing holds",
        lambda tf: tf.case([(tf.placeholder_with_default(False, []), lambda: tf.constant(1))] * 2),
    ),
    error(
        "case: two hold",
        lambda tf: tf.case(
            [(tf.placeholder_with_default(True, []), lambda n=n: tf.constant(n)) for n in (1, 2)],
            default=lambda: tf.constant(3),
            exclusive=True,
        ),
    ),
    error("switch_case: no functions", lambda tf: tf.switch_case(tf.constant(0), [])),
    error(
        "switch_case: a number twice",
        lambda tf: tf.switch_case(tf.constant(0), [(0, lambda: 1), (0, lambda: 2)]),
    ),
    error("switch_case: a text for a number", lambda tf: tf.switch_case(tf.constant(0), {"a": lambda: 1})),
    error("switch_case: a float", lambda tf: tf.switch_case(tf.constant(0.0), [lambda: 1, lambda: 2])),
    error("a tensor of a loop outside", escaped),
    error("tuple of None", lambda tf: tf.tuple([None])),
    error("group of a number", lambda tf: tf.group(1)),
    error("control_dependencies of a number", lambda tf: tf.control_dependencies([1]).__enter__()),
]

CASES = [LOOPS, BRANCHES, ORDER, FACTS, ERRORS]
