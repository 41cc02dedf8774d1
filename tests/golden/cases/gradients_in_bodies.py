"""Gradients inside of loops and branches, and through them."""

from tests.golden.cases.gradient_functions import case, grown, registered


def in_a_body(run):
    """A custom gradient in the body of a loop or a branch: `run(tf, f, x)`."""

    def build(tf, x):
        @tf.custom_gradient
        def sine(x):
            return tf.sin(x), lambda dy: dy * 2.0 * x

        return tf.gradients(run(tf, sine, x), x)

    return build


def override_in_a_loop(tf, x):
    name = registered(tf, lambda op, dy: dy * 2.0 * op.inputs[0])

    def body(i, a):
        with tf.get_default_graph().gradient_override_map({"Sin": name}):
            return i + 1, tf.sin(a) * a

    return tf.gradients(tf.while_loop(lambda i, a: i < 3, body, [0, x])[1], x)


def loop_in_a_gradient_in_a_loop(tf, x):
    @tf.custom_gradient
    def sine(x):
        return tf.sin(x), lambda dy: grown(tf, x, dy)

    return tf.gradients(tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, sine(a) + a), [0, x])[1], x)


def several(tf, body, x, rounds=3):
    return tf.while_loop(lambda i, a: i < rounds, lambda i, a: (i + 1, body(a)), [0, x])[1]


def doubling(tf, x, factor=1.5):
    return tf.while_loop(lambda a: tf.reduce_sum(tf.abs(a)) < 60.0, lambda a: a * factor, [x])


def powers(tf, x):
    return several(tf, lambda a: a * x, x)


def slope(tf, function, x):
    return tf.gradients(function(tf, x), x)[0]


def longer(tf, x, until=50.0):
    return tf.while_loop(
        lambda a: tf.reduce_sum(tf.abs(a)) < until,
        lambda a: tf.concat([a, a * a * 0.5 + 0.1], 0),
        [x],
        shape_invariants=[tf.TensorShape([None])],
    )


def longer_by_what_it_captures(tf, x):
    w = tf.reduce_sum(x)
    invariants = [tf.TensorShape([]), tf.TensorShape([None])]
    y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.concat([a, a * w], 0)), [0, x], invariants)[
        1
    ]
    return tf.gradients(y * y, [x, w])


def shorter(tf, x):
    return tf.while_loop(
        lambda a: tf.size(a) > 1, lambda a: a[:-1] * a[1:], [x], shape_invariants=[tf.TensorShape([None])]
    )


BODIES = [
    case("custom gradient in a while_loop", in_a_body(lambda tf, f, x: several(tf, lambda a: f(a) * a, x))),
    case("custom gradient in a map_fn", in_a_body(lambda tf, f, x: tf.map_fn(f, x))),
    case("custom gradient in a scan", in_a_body(lambda tf, f, x: tf.scan(lambda a, e: f(a) + e, x))),
    case(
        "custom gradient in a cond",
        in_a_body(lambda tf, f, x: tf.cond(tf.reduce_sum(x) > -10.0, lambda: f(x), lambda: x)),
    ),
    case("override in a while_loop", override_in_a_loop),
    case("a loop in a gradient in a loop", loop_in_a_gradient_in_a_loop),
    case(
        "gradients in a cond",
        lambda tf, x: tf.cond(tf.reduce_sum(x) > -10.0, lambda: slope(tf, powers, x), lambda: x),
    ),
    case(
        "gradients in a cond, data end the loop",
        lambda tf, x: tf.cond(tf.reduce_sum(x) > -10.0, lambda: slope(tf, doubling, x), lambda: x),
    ),
    case("gradients in a loop", lambda tf, x: several(tf, lambda v: v - 0.01 * slope(tf, powers, v), x)),
    case(
        "gradients in a loop, data end the inner one",
        lambda tf, x: several(tf, lambda v: v - 0.01 * slope(tf, doubling, v), x),
    ),
    case(
        "gradients in a branch in a loop, data end the inner one",
        lambda tf, x: several(
            tf, lambda v: tf.cond(v[0] > 0.0, lambda: v - 0.01 * slope(tf, doubling, v), lambda: v * 1.1), x
        ),
    ),
    case(
        "gradients in a loop in a branch, data end the inner one",
        lambda tf, x: tf.cond(
            tf.reduce_sum(x) > -10.0,
            lambda: several(tf, lambda v: v - 0.01 * slope(tf, doubling, v), x),
            lambda: x,
        ),
    ),
    case(
        "gradients in a map_fn, data end the inner loop",
        lambda tf, x: tf.map_fn(lambda e: slope(tf, doubling, e + 0.1), x),
    ),
    case(
        "through a loop in a loop",
        lambda tf, x: slope(tf, lambda tf, x: several(tf, lambda v: doubling(tf, v) * 0.01, x), x),
    ),
    case("through a longer one", lambda tf, x: slope(tf, longer, x)),
    case("through a longer one, by what it captures", longer_by_what_it_captures),
    case("through a shorter one", lambda tf, x: slope(tf, shorter, x)),
]


CASES = [BODIES]
