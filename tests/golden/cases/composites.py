"""SparseTensor and IndexedSlices in loops and branches; what of loops cannot be fetched or fed."""

import numpy as np

from tests.golden.draws import real
from tests.golden.runner import answer, error, value

INDICES = np.array([[0], [3]], np.int64)


def sparse(tf, values):
    return tf.SparseTensor(INDICES, values, [10])


def slices(tf, values, shape=None, dtype="int32"):
    shape = None if shape is None else tf.constant(shape)
    return tf.IndexedSlices(values, tf.constant([0, 3], getattr(tf, dtype)), shape)


def looped(make, body, invariant=None):
    """The parts of `body` three times of what `make` makes."""

    def build(tf, values):
        x = make(tf, values)
        shapes = None if invariant is None else [tf.TensorShape([]), tf.TensorShape(invariant)]
        _, last = tf.while_loop(lambda i, _: i < 3, lambda i, x: [i + 1, body(tf, i, x)], [0, x], shapes)
        return [tf.identity(part) for part in parts(tf, last)]

    return build


def parts(tf, x):
    shape = [] if x.dense_shape is None else [x.dense_shape]
    return [x.indices, x.values, *shape] if isinstance(x, tf.SparseTensor) else [x.values, x.indices, *shape]


def branch(taken, make):
    """The parts of what one of two functions of the values returns."""

    def build(tf, x):
        return parts(tf, tf.cond(tf.constant(taken), lambda: make(tf, x + 1), lambda: make(tf, x - 1)))

    return build


def grown(tf, i, x):
    """A sparse tensor with a value more."""
    indices = tf.concat([x.indices, [[i + 5]]], axis=0)
    return tf.SparseTensor(indices, tf.concat([x.values, [2.0]], axis=0), x.dense_shape)


def of_higher_rank(tf, i, x):
    shape = tf.concat([x.dense_shape, [10]], axis=0)
    return tf.SparseTensor(tf.concat([x.indices, [[i], [i]]], axis=1), x.values * 2.0, shape)


def doubled_slices(tf, _, x):
    return tf.IndexedSlices(x.values * 2.0, x.indices, x.dense_shape)


def doubled(tf, _, x):
    return tf.SparseTensor(x.indices, x.values * 2.0, x.dense_shape)


def squared_slices(tf, _, x):
    return tf.IndexedSlices(x.values * x.values, x.indices, x.dense_shape)


def squared(tf, _, x):
    return tf.SparseTensor(x.indices, x.values * x.values, x.dense_shape)


def derivative(make, body):
    def build(tf, x):
        _, last = tf.while_loop(lambda i, _: i < 3, lambda i, x: [i + 1, body(tf, i, x)], [0, make(tf, x)])
        return tf.gradients(last.values, x)

    return build


def evaluated(build):
    """What a run gives; TensorFlow has no derivative."""

    def run(tf):
        with tf.Session() as sess:
            return [array.tolist() for array in sess.run(build(tf, tf.constant([1.0, 4.0])))]

    return run


def dtypes_of_mixed_indices(tf):
    x = tf.constant([1.0, 2.0])
    made = tf.cond(tf.constant(True), lambda: slices(tf, x), lambda: slices(tf, x, dtype="int64"))
    return made.indices.dtype.name


def inside(tf):
    """What is in a loop and a branch: two tensors and an operation; and what the two give."""
    found = []

    def body(i):
        found.append(i + 1)
        return found[0]

    def first():
        found.append(tf.constant(2.0) * 3.0)
        return found[1]

    last = tf.while_loop(lambda i: i < 3, body, [0])
    other = tf.cond(tf.constant(True), first, lambda: tf.constant(1.0))
    return [*found, found[0].op], [last, other]


def fetched(tf):
    hidden, made = inside(tf)
    graph = tf.get_default_graph()
    fetchable = [[graph.is_fetchable(x), graph.is_fetchable(x.op)] for x in hidden[:2] + made]
    return [fetchable, [graph.is_feedable(x) for x in (hidden[0], *made)]]  # TensorFlow feeds branches


def running(number, fetch, prevented=None):
    """Run what a loop gives, or what is inside of it, or feed that."""

    def build(tf):
        hidden, made = inside(tf)
        if prevented == "feed":
            tf.get_default_graph().prevent_feeding(made[number])
            hidden = made
        if prevented == "fetch":
            tf.get_default_graph().prevent_fetching(made[number].op)
            hidden = made
        with tf.Session() as sess:
            sess.run(hidden[number] if fetch else made, None if fetch else {hidden[number]: 1})

    return build


def control_inputs(tf):
    a, b = tf.constant(1.0), tf.constant(2.0)
    with tf.control_dependencies([a, b]):
        c = tf.constant(3.0)
    return [a.op.control_inputs == [], c.op.control_inputs == [a.op, b.op]]


CASES = [
    [value("cond of sparse tensors: %s" % taken, branch(taken, sparse), real(2)) for taken in (True, False)],
    [value("cond of slices, shape %s: %s" % (shape, taken),
           branch(taken, lambda tf, x, s=shape: slices(tf, x, s)), real(2))
     for shape in (None, [10]) for taken in (True, False)],
    answer("cond of slices with indices of different types", dtypes_of_mixed_indices),
    value("loop over a sparse tensor", looped(sparse, doubled), real(2)),
    answer("loop that adds values to a sparse tensor", evaluated(looped(sparse, grown))),
    value("loop over a sparse tensor of any rank", looped(sparse, of_higher_rank, [None]), real(2)),
    value("loop over slices", looped(lambda tf, x: slices(tf, x, [10, 2]), doubled_slices), real(2, 2)),
    value("loop over slices, invariant",
          looped(lambda tf, x: slices(tf, x, [10, 2]), doubled_slices, [None, 2]), real(2, 2)),
    answer("derivative of a loop over a sparse tensor", evaluated(derivative(sparse, squared))),
    answer("derivative of a loop over slices", evaluated(derivative(slices, squared_slices))),
    value("packed tensors of another type", lambda tf, x: x * [tf.constant(3), 2], real(2)),
    answer("what can be fetched and fed", fetched),
    error("feed of a tensor in a loop", running(0, False)),
    error("fetch of an operation in a loop", running(2, True)),
    error("fetch that is prevented", running(0, True, "fetch")),
    error("feed that is prevented", running(0, False, "feed")),
    error("loop that changes the rank of a sparse tensor",
          lambda tf: looped(sparse, of_higher_rank)(tf, tf.constant([1.0, 2.0]))),
    error("invariant of another rank", lambda tf: looped(sparse, doubled, [5])(tf, tf.constant([1.0, 2.0]))),
    error("cond of slices and a tensor",
          lambda tf: tf.cond(tf.constant(True), lambda: slices(tf, tf.constant([1.0, 2.0])),
                             lambda: tf.constant([1.0, 2.0]))),
    answer("control inputs", control_inputs),
]
