"""Random streams: the same seeds give the same numbers, run after run."""

from tests.golden.runner import runs

# What is drawn, and whether its bits are fixed: the normal ones pass through log, sin and cos.
KINDS = {
    "uniform": (lambda tf, shape, **options: tf.random_uniform(shape, **options), True),
    "uniform float64": (
        lambda tf, shape, **options: tf.random_uniform(shape, dtype=tf.float64, **options),
        True,
    ),
    "uniform int32": (
        lambda tf, shape, **options: tf.random_uniform(shape, -3, 17, tf.int32, **options),
        True,
    ),
    "uniform int64": (
        lambda tf, shape, **options: tf.random_uniform(shape, 5, 10**12, tf.int64, **options),
        True,
    ),
    "normal": (lambda tf, shape, **options: tf.random_normal(shape, **options), False),
    "normal float64": (
        lambda tf, shape, **options: tf.random_normal(shape, dtype=tf.float64, **options),
        False,
    ),
    "truncated normal": (lambda tf, shape, **options: tf.truncated_normal(shape, **options), False),
    "truncated normal float64": (
        lambda tf, shape, **options: tf.truncated_normal(shape, dtype=tf.float64, **options),
        False,
    ),
}


def seeded(draw, shape, graph=None, op=None):
    def build(tf):
        if graph is not None:
            tf.set_random_seed(graph)
        return draw(tf, shape, seed=op)

    return build


def by_graph_seed(build):
    def seeded_build(tf):
        tf.set_random_seed(87)
        return build(tf)

    return seeded_build


def initialized(initializer, shape):
    """A variable's first value; its op seed is the number of operations made before."""
    return by_graph_seed(lambda tf: tf.get_variable("w", shape, initializer=initializer(tf)))


ALPHAS = [0.05, 0.9, 1.0, 1.5, 40.0]
RATES = [-2.0, 0.0, 0.3, 9.9, 10.0, 11.0, 350.0]


def gradients_of_gamma(tf, dtype):
    """Gradients by shapes and rates; shapes are small, since TensorFlow's are inexact for large ones."""
    alpha, beta = tf.constant([[0.3], [1.0], [6.0]], dtype), tf.constant([[2.0, 0.5]], dtype)
    drawn = tf.random_gamma([4], alpha, beta, dtype=dtype, seed=3)
    return tf.gradients(drawn * drawn, [alpha, beta])


def loop_of_gamma_and_poisson(tf):
    """Numbers of each iteration, which draws new ones."""

    def body(i, total, events):
        total = total + tf.random_gamma([2], 0.5, seed=1)
        return i + 1, total, events + tf.random_poisson([3.0, 30.0], [], seed=2)

    loop = tf.while_loop(lambda i, *_: i < 5, body, (0, tf.zeros([2]), tf.zeros([2])))
    return loop[1:]


CASES = [
    [runs("%s, graph seed %s, op seed %s" % (kind, graph, op), seeded(draw, [3, 5], graph, op), exact=exact)
     for kind, (draw, exact) in KINDS.items()
     for graph, op in ((None, 1), (7, None), (7, 1), (None, 0), (0, None), (0, 0))],
    [runs("%s of %d" % (kind, size), seeded(KINDS[kind][0], [size], op=3), exact=KINDS[kind][1])
     for kind in ("uniform", "normal", "truncated normal", "uniform int32", "uniform float64")
     for size in (1, 4, 257)],
    [runs("%s with large seeds" % kind, seeded(KINDS[kind][0], [4], 2**31 - 1, 2**40 + 9),
          exact=KINDS[kind][1])
     for kind in ("uniform", "normal")],
    [runs("%s with negative seeds" % kind, seeded(KINDS[kind][0], [4], -5, -1), exact=KINDS[kind][1])
     for kind in ("uniform", "normal")],
    runs("uniform three times in one session", seeded(KINDS["uniform"][0], [2], op=5), times=3, exact=True),
    runs("uniform between bounds", lambda tf: tf.random_uniform([6], -2.0, 5.0, seed=4)),
    runs("normal with mean and deviation", lambda tf: tf.random_normal([6], 3.0, 0.5, seed=4)),
    runs("truncated normal with mean and deviation", lambda tf: tf.truncated_normal([6], 3.0, 0.5, seed=4)),
    runs("uniform of a shape computed", lambda tf: tf.random_uniform(tf.shape(tf.zeros([2, 3])), seed=4),
         exact=True),
    runs("uniform of nothing", lambda tf: tf.random_uniform([0, 3], seed=4), exact=True),
    runs("uniform bounds by column", lambda tf: tf.random_uniform([3, 2], [0.0], [10.0], seed=4)),
    runs("two ops with the graph seed",
         by_graph_seed(lambda tf: [tf.random_uniform([3]), tf.random_uniform([3])]), exact=True),
    runs("two ops with one seed", lambda tf: [tf.random_uniform([3], seed=1), tf.random_uniform([3], seed=1)],
         exact=True),
    runs("an op of its own counter",
         lambda tf: [tf.random_uniform([3], seed=1), tf.random_normal([3], seed=1)]),
    runs("shuffle", lambda tf: tf.random_shuffle(tf.range(10), seed=3)),
    runs("shuffle rows", by_graph_seed(lambda tf: tf.random_shuffle(tf.reshape(tf.range(8), [4, 2])))),
    runs("random_crop", by_graph_seed(lambda tf: tf.random_crop(tf.reshape(tf.range(30), [5, 6]), [2, 3]))),
    runs("multinomial", lambda tf: tf.multinomial(tf.log([[0.2, 0.3, 0.5], [0.9, 0.05, 0.05]]), 8, seed=3)),
    [runs("gamma %s" % dtype, lambda tf, dtype=dtype: tf.random_gamma([7, 3], ALPHAS, dtype=dtype, seed=3),
          tolerance=4)
     for dtype in ("float16", "float32", "float64")],
    [runs("gamma, graph seed %s, op seed %s" % seeds,
          seeded(lambda tf, shape, seed: tf.random_gamma(shape, [0.3, 4.0], seed=seed), [5], *seeds),
          tolerance=4)
     for seeds in ((7, None), (7, 1), (None, 0), (0, 0), (-5, 2**40 + 9))],
    runs("gamma by rates",
         lambda tf: tf.random.gamma([3], [[1.0], [3.0], [5.0]], [[3.0, 4.0]], seed=2), tolerance=4),
    runs("gamma of one number", lambda tf: tf.random_gamma([], 0.7, seed=2), tolerance=4),
    runs("gamma of nothing", lambda tf: [tf.random_gamma([0], [1.0, 2.0]), tf.random_gamma([2], [[]])]),
    runs("gamma of a shape computed",
         lambda tf: tf.random_gamma(tf.shape(tf.zeros([2, 3])), tf.range(1.0, 4.0), seed=4), tolerance=4),
    runs("gamma of many", lambda tf: tf.reduce_sum(tf.random_gamma([4000], [0.2, 1.5], seed=4), 0),
         tolerance=20),
    [runs("gradients of gamma %s" % dtype, lambda tf, dtype=dtype: gradients_of_gamma(tf, dtype),
          tolerance=50)
     for dtype in ("float32", "float64")],
    [runs("poisson of %s as %s" % (rate, dtype),
          lambda tf, rate=rate, dtype=dtype: tf.random_poisson(tf.cast(RATES, rate), [7, 3], dtype, seed=3))
     for rate in ("float16", "float32", "float64", "int32", "int64")
     for dtype in ("float16", "float32", "float64", "int32", "int64")],
    [runs("poisson, graph seed %s, op seed %s" % seeds,
          seeded(lambda tf, shape, seed: tf.random_poisson([0.3, 40.0], shape, seed=seed), [5], *seeds))
     for seeds in ((7, None), (7, 1), (None, 0), (0, 0), (-5, 2**40 + 9))],
    runs("poisson of one number", lambda tf: tf.random.poisson(17.0, [], seed=2)),
    runs("poisson of nothing", lambda tf: [tf.random_poisson([1.0, 2.0], [0]), tf.random_poisson([[]], [2])]),
    runs("poisson of many",
         lambda tf: tf.reduce_sum(tf.random_poisson([1.5, 30.0], [4000], tf.int32, seed=4), 0)),
    runs("gamma and poisson in a loop", by_graph_seed(lambda tf: loop_of_gamma_and_poisson(tf)), tolerance=4),
    runs("gamma and poisson by the graph seed",
         by_graph_seed(lambda tf: [tf.random_gamma([3], 2.0), tf.random_poisson(20.0, [3])]), tolerance=4),
    runs("dropout", by_graph_seed(lambda tf: tf.nn.dropout(tf.ones([4, 5]), 0.6))),
    runs("dropout by rate", lambda tf: tf.nn.dropout(tf.ones([4, 5]), rate=0.3, seed=9)),
    runs("dropout with a noise shape",
         lambda tf: tf.nn.dropout(tf.ones([4, 5]), rate=0.5, noise_shape=[4, 1], seed=9)),
    runs("layers.dropout", by_graph_seed(lambda tf: tf.layers.dropout(tf.ones([4, 5]), 0.3, training=True))),

    runs("get_variable by default", initialized(lambda tf: None, [3, 4])),
    [runs("initializer %s" % name, initialized(lambda tf, name=name: getattr(tf, name)(), [3, 4]))
     for name in ("glorot_uniform_initializer", "glorot_normal_initializer", "random_uniform_initializer",
                  "random_normal_initializer", "truncated_normal_initializer", "variance_scaling_initializer",
                  "uniform_unit_scaling_initializer", "zeros_initializer", "ones_initializer")],
    [runs("initializers.%s" % name,
          initialized(lambda tf, name=name: getattr(tf.initializers, name)(), [3, 4]))
     for name in ("he_normal", "he_uniform", "lecun_normal", "lecun_uniform", "identity")],
    runs("initializer orthogonal", initialized(lambda tf: tf.orthogonal_initializer(), [4, 3]), tolerance=10),
    runs("initializer with its own seed",
         initialized(lambda tf: tf.glorot_uniform_initializer(seed=5), [3, 4])),
    runs("glorot of a convolution filter",
         initialized(lambda tf: tf.glorot_uniform_initializer(), [3, 3, 2, 4])),
    runs("variance scaling, average fan, uniform",
         initialized(lambda tf: tf.variance_scaling_initializer(2.0, "fan_avg", "uniform"), [5, 4])),
    runs("variance scaling, fan out, untruncated",
         initialized(lambda tf: tf.variance_scaling_initializer(2.0, "fan_out", "untruncated_normal"),
                     [5, 4])),
    runs("variable of random_normal",
         by_graph_seed(lambda tf: tf.Variable(tf.random_normal([2, 3], stddev=0.1)))),
    runs("a second variable",
         by_graph_seed(lambda tf: [tf.get_variable("a", [2, 3]), tf.get_variable("b", [2, 3])])),
    runs("two dense layers",
         by_graph_seed(lambda tf: tf.layers.dense(tf.layers.dense(tf.ones([2, 3]), 4, tf.nn.relu), 2))),
    runs("conv2d layer",
         by_graph_seed(lambda tf: tf.layers.conv2d(tf.ones([1, 4, 4, 2]), 3, 3, padding="same"))),
    runs("initialized_value",
         by_graph_seed(lambda tf: tf.Variable(tf.Variable(tf.random_uniform([3])).initialized_value() * 2))),
]
