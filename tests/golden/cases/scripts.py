"""Real scripts a little beside the main road: types that are cast, shapes of unknown rank."""

import threading

from tests.golden.draws import real
from tests.golden.runner import answer, error, trains, value


def counts_its_steps(make):
    """A step counter that is trainable by mistake: an integer variable without a gradient."""

    def build(tf):
        step, w = tf.Variable(0), tf.Variable([1.0, 2.0])
        return make(tf).minimize(tf.reduce_sum(w * w), global_step=step), [step, w]

    return build


def gradients_exist(*makes):
    def build(tf):
        variables = [make(tf) for make in makes]
        loss = tf.add_n([tf.cast(v, tf.float32) for v in variables])
        pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss)
        return [gradient is not None for gradient, _ in pairs]

    return build


def integer_loss(tf):
    v = tf.Variable(2)
    tf.train.GradientDescentOptimizer(0.1).minimize(v * v)


def cross_entropy(version, labels_dtype):
    def build(tf, logits):
        labels = tf.constant([[0, 1, 0], [1, 0, 0]], labels_dtype)
        function = getattr(tf.nn, "softmax_cross_entropy_with_logits" + version)
        return function(labels=labels, logits=logits)

    return build


def drawn_shapes(draw):
    """Shapes of draws are those that are fed, whatever is known of them."""

    def build(tf):
        seen = []
        for known in (None, [None], [2]):
            wanted = tf.placeholder(tf.int32, known)
            made = draw(tf, wanted)
            with tf.Session() as sess:
                ran = sess.run(tf.shape(made), {wanted: [2, 3]})
            seen.append([None if made.shape.ndims is None else made.shape.as_list(), ran.tolist()])
        return seen

    return build


DRAWS = {
    "uniform": lambda tf, s: tf.random.uniform(s),
    "integers": lambda tf, s: tf.random.uniform(s, 0, 5, tf.int32),
    "normal": lambda tf, s: tf.random.normal(s),
    "truncated normal": lambda tf, s: tf.random.truncated_normal(s),
    "gamma": lambda tf, s: tf.random.gamma(s, 1.0),
    "stateless uniform": lambda tf, s: tf.random.stateless_uniform(s, [1, 2]),
    "stateless normal": lambda tf, s: tf.random.stateless_normal(s, [1, 2]),
    "initializer": lambda tf, s: tf.initializers.random_normal()(s),
    "noise of dropout": lambda tf, s: tf.nn.dropout(tf.ones([2, 3]), rate=0.5, noise_shape=s),
    "fill": lambda tf, s: tf.fill(s, 1.0),
    "zeros": lambda tf, s: tf.zeros(s),
    "broadcast": lambda tf, s: tf.broadcast_to(1.0, s),
    "shuffle": lambda tf, s: tf.random.shuffle(tf.zeros(s)),
}


def gradient_of_input(tf):
    sizes = tf.placeholder(tf.int32)
    made = tf.nn.conv2d_backprop_input(
        sizes, tf.ones([2, 2, 1, 1]), tf.ones([1, 3, 3, 1]), strides=[1, 1, 1, 1], padding="VALID"
    )
    with tf.Session() as sess:
        return [made.shape.as_list(), sess.run(made, {sizes: [1, 4, 4, 1]}).tolist()]


def queue_shapes(tf):
    """The shapes of a queue's components: a shape by itself is that of the only one."""
    seen = []
    for kind in ("FIFOQueue", "PriorityQueue"):
        for given in ((), [], [()], [[]], (3,), [3], [(3,)], [(), (2, 3)], tf.TensorShape([2]), [2, 3]):
            for dtypes in (tf.float32, [tf.float32], [tf.float32, tf.int32]):
                try:
                    shapes = [shape.as_list() for shape in getattr(tf, kind)(10, dtypes, shapes=given).shapes]
                except ValueError:
                    shapes = "refused"
                seen.append(shapes)
    return seen


def passed_to_threads(tf):
    """Return the dependencies and the devices of operations of another thread."""
    graph, made = tf.get_default_graph(), []
    first, second = tf.constant(1.0, name="first"), tf.constant(2.0, name="second")

    def add():
        with graph.as_default():
            made.append(tf.constant(3.0))
            with graph.control_dependencies([second.op]), graph.device("/cpu:0"):
                made.append(tf.constant(3.0))

    with graph.control_dependencies([first.op]), graph.device("/gpu:0"):
        graph.switch_to_thread_local()
        with graph.control_dependencies([second.op]), graph.device("/cpu:0"):
            thread = threading.Thread(target=add)
            thread.start()
            thread.join()
            made.append(tf.constant(3.0))
    made.append(tf.constant(3.0))
    return [[sorted(op.name for op in t.op.control_inputs), t.device] for t in made]


CASES = [
    answer("queue shapes", queue_shapes),
    answer("scopes of other threads", passed_to_threads),
    trains("integer step, sgd", counts_its_steps(lambda tf: tf.train.GradientDescentOptimizer(0.1)), 3),
    trains("integer step, adam", counts_its_steps(lambda tf: tf.train.AdamOptimizer(0.1)), 3),
    answer(
        "gradients that exist",
        gradients_exist(
            lambda tf: tf.Variable(0), lambda tf: tf.Variable(1.0), lambda tf: tf.Variable(1, dtype=tf.int64),
            lambda tf: tf.Variable(True),
        ),
    ),
    error("integer loss", integer_loss),
    [
        value("cross entropy%s, %s labels" % (version, kind), cross_entropy(version, kind), real(2, 3))
        for version in ("", "_v2")
        for kind in ("float32", "float64", "int32", "int64")
    ],
    error("cross entropy of integers", lambda tf: cross_entropy("_v2", "int32")(tf, [[1, 2, 3], [4, 5, 6]])),
    [answer("shape that is fed: %s" % name, drawn_shapes(draw)) for name, draw in DRAWS.items()],
    answer("sizes that are fed: conv2d_backprop_input", gradient_of_input),
]
