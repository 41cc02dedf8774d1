"""SparseTensor and IndexedSlices in loops, branches and strings; what of loops cannot be fetched or fed."""

import binascii

import numpy as np

from tests.golden.draws import real
from tests.golden.runner import answer, error, shape, value

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
    """Values of a run; TensorFlow has no derivative."""

    def run(tf):
        with tf.Session() as sess:
            return [array.tolist() for array in sess.run(build(tf, tf.constant([1.0, 4.0])))]

    return run


def dtypes_of_mixed_indices(tf):
    x = tf.constant([1.0, 2.0])
    made = tf.cond(tf.constant(True), lambda: slices(tf, x), lambda: slices(tf, x, dtype="int64"))
    return made.indices.dtype.name


def inside(tf):
    """Two tensors and an operation in a loop and a branch, and the results of the two."""
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


def strings(tf, values):
    x = tf.SparseTensor([[0, 1], [2, 0], [2, 1]], values, [3, 4])
    return [tf.io.serialize_sparse(x), tf.io.serialize_many_sparse(x)]


def read_back(values, dtype=None, rank=None, many=True):
    """The rows of a sparse tensor out of strings, or two sparse tensors."""

    def build(tf):
        one, rows = strings(tf, values)
        kind = tf.constant(values).dtype if dtype is None else dtype
        read = tf.io.deserialize_many_sparse(rows if many else tf.stack([one, one]), kind, rank)
        with tf.Session() as sess:
            found = [part.tolist() for part in sess.run(read)]
        return [found, [str(part.shape) for part in (read.indices, read.values, read.dense_shape)]]

    return build


def batch_of_sparse(tf, **options):
    return tf.train.batch([tf.SparseTensor([[0, 0]], [1.0], [1, 2])], 2, **options)


def hexed(values):
    def build(tf):
        with tf.Session() as sess:
            found = sess.run(strings(tf, values))
        return [binascii.hexlify(text).decode() for array in found for text in array.ravel()]

    return build


SERIALIZED = [
    [answer("sparse %s as strings" % (values,), hexed(values))
     for values in ([1.5, -2.0, 0.0], ["a", "", "bc"])],
    [answer("sparse %s out of strings, rank %s" % (values, rank), read_back(values, rank=rank))
     for values in ([1.5, -2.0, 0.0], [1, 2, 3], [True, False, True]) for rank in (None, 2)],
    answer("two sparse tensors out of strings", read_back([1.5, -2.0, 0.0], many=False)),
    error("sparse floats read as integers", read_back([1.5, -2.0, 0.0], dtype="int32")),
    error("sparse tensors read with another rank", read_back([1.5, -2.0, 0.0], rank=3)),
    error("rows of a sparse vector",
          lambda tf: tf.Session().run(tf.io.serialize_many_sparse(tf.SparseTensor([[1]], [1.0], [3])))),
    shape("a batch of sparse tensors", lambda tf: batch_of_sparse(tf).indices),
    shape("a batch of rows of sparse tensors", lambda tf: batch_of_sparse(tf, enqueue_many=True).dense_shape),
]

VARIABLES = [
    answer("a variable as a message", lambda tf: [
        str(tf.Variable([1.0], name="v").to_proto()),
        tf.Variable.from_proto(tf.global_variables()[0].to_proto()).name,
        tf.global_variables()[0].to_proto("other")]),
    answer("variables that counting changes", lambda tf: counted(tf)),
    answer("trained although it is combined on read", lambda tf: tf.Variable(
        1.0, trainable=True, synchronization=tf.VariableSynchronization.ON_READ).trainable),
    answer("no variables to be initialised", lambda tf: tf.assert_variables_initialized() is None),
    error("variables that are not initialised", lambda tf: checked(tf, False)),
    answer("variables that are initialised", lambda tf: checked(tf, True)),
]


def counted(tf):
    v = tf.Variable(1, use_resource=False)
    count = v.count_up_to(3)
    with tf.Session() as sess:
        sess.run(v.initializer)
        found = [int(sess.run(count)), int(sess.run(count)), int(sess.run(v))]
        try:
            sess.run(count)
        except tf.errors.OutOfRangeError:
            found.append("ended")
    return found


def checked(tf, initialized):
    tf.Variable(1.0), tf.Variable([[1, 2]])
    ranks = tf.assert_variables_initialized()
    with tf.Session() as sess:
        if initialized:
            sess.run(tf.global_variables_initializer())
        return sess.run(ranks).tolist()


CASES = [
    SERIALIZED,
    VARIABLES,
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
