"""Conditional accumulators: what each run of a session gets, names, shapes and errors."""

from tests.golden.cases.queues import outcome, plain, steps
from tests.golden.runner import answer, error, shape


def dense(tf, **options):
    return tf.ConditionalAccumulator(tf.float32, **dict({"shape": [2]}, **options))


def sparse(tf, **options):
    return tf.SparseConditionalAccumulator(tf.float32, **options)


def counted(tf, made, adds):
    """The number of gradients after each addition."""
    return [each for add in adds for each in (add, made.num_accumulated())]


def means(tf, **options):
    made = dense(tf, **options)
    adds = [made.apply_grad([1.0, 2.0]), made.apply_grad([3.0, 6.0]), made.apply_grad([5.0, 4.0])]
    return [*counted(tf, made, adds), made.take_grad(2), made.num_accumulated()]


def stale(tf):
    """The first take makes the global step 1."""
    made = dense(tf)
    adds = [made.apply_grad([1.0, 1.0], 0), made.apply_grad([1.0, 1.0], 1), made.apply_grad([3.0, 3.0], 2)]
    first = [made.apply_grad([1.0, 1.0]), made.take_grad(1)]
    later = [made.set_global_step(7), made.apply_grad([9.0, 9.0], 6), made.num_accumulated()]
    return [*first, *counted(tf, made, adds), *later, made.take_grad(2)]


def rows(tf, **options):
    made = sparse(tf, **options)
    slices = tf.IndexedSlices(
        tf.constant([[6.0, 7.0]]), tf.constant([0], tf.int64), tf.constant([5, 2], tf.int64)
    )
    adds = [
        made.apply_grad([0, 2], [[1.0, 1.0], [2.0, 2.0]]), made.apply_grad([2], [[4.0, 8.0]], [5, 2]),
        made.apply_indexed_slices_grad(slices),
    ]
    taken = made.take_indexed_slices_grad(1)
    again = made.apply_grad([3], [[1.0, 2.0]], local_step=1)
    return [*counted(tf, made, adds), [taken.indices, taken.values, taken.dense_shape], again,
            list(made.take_grad(1))]


def refused(tf):
    made = sparse(tf, shape=[None, 2, 2])
    parts = [
        ([[0, 1]], [1.0], None), ([0], 1.0, None), ([0, 1], [[[1.0, 2.0], [3.0, 4.0]]], None),
        ([0], [[1.0, 2.0]], None), ([0], [[[1.0, 2.0, 3.0]] * 2], None), ([0], [[[1.0, 2.0]] * 2], [5, 2]),
        ([0], [[[1.0, 2.0]] * 2], [5, 2, 2]),
        (tf.constant([1]), [[[1.0, 2.0]] * 2], tf.constant([5, 2, 2])),
    ]
    with tf.Session() as sess:
        return [run(tf, sess, lambda p=part: made.apply_grad(*p)) for part in parts]


def run(tf, sess, build):
    """The outcome of a run; an error when the operation is made counts as one of the run."""
    try:
        return outcome(tf, sess, build())
    except ValueError:
        return "InvalidArgumentError"


def by_shared_name(tf):
    first, second = dense(tf, shared_name="s"), dense(tf, shared_name="s")
    return [first.apply_grad([1.0, 2.0]), second.num_accumulated(), second.take_grad(1)]


def fed(tf):
    """A shape that is only known in a run."""
    made = dense(tf, shape=[None, 2])
    given = tf.placeholder(tf.float32, None)
    add = made.apply_grad(given)
    with tf.Session() as sess:
        found = []
        for value in ([[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0]], [[3.0, 4.0]]):
            try:
                sess.run(add, {given: value})
                found.append(plain(sess.run(made.num_accumulated())))
            except tf.errors.InvalidArgumentError:
                found.append("refused")
        return found + [plain(sess.run(made.take_grad(1)))]


def waits(tf):
    """A run that waits for gradients goes on when another thread has added them."""
    import threading

    made, got = dense(tf), []
    taken, adds = made.take_grad(2), [made.apply_grad([1.0, 2.0]), made.apply_grad([5.0, 8.0])]
    with tf.Session() as sess:
        thread = threading.Thread(target=lambda: got.append(plain(sess.run(taken))))
        thread.start()
        for add in adds:
            sess.run(add)
        thread.join(60)
    return got


CASES = [
    steps("the mean", means),
    steps("the sum", lambda tf: means(tf, reduction_type="SUM")),
    steps("of an unknown shape", lambda tf: means(tf, shape=None)),
    steps("stale gradients", stale),
    steps("rows", rows),
    steps("rows of a known shape", lambda tf: rows(tf, shape=[5, 2])),
    steps("the sum of rows", lambda tf: rows(tf, reduction_type="SUM")),
    steps("a shared name", by_shared_name),
    steps("too few required", lambda tf: [dense(tf).take_grad(0), sparse(tf).take_grad(-1)[1]]),
    answer("rows that do not fit", refused),
    steps("a row out of range", lambda tf: [sparse(tf, shape=[2, 1]).apply_grad([2], [[1.0]])]),
    answer("fed gradients", fed),
    answer("a run that waits", waits),
    error("a gradient of another shape", lambda tf: dense(tf).apply_grad([1.0, 2.0, 3.0])),
    error("another reduction", lambda tf: dense(tf, reduction_type="MAX")),
    shape("take_grad", lambda tf: dense(tf, shape=[None, 3]).take_grad(1)),
    answer("names", lambda tf: [
        made.name for made in (dense(tf, name="Q"), dense(tf), sparse(tf), sparse(tf))]),
    answer("names of operations", lambda tf: [
        made.name for q in [dense(tf, name="Q")]
        for made in (q.apply_grad([1.0, 2.0]), q.take_grad(1), q.num_accumulated(), q.set_global_step(1),
                     q.take_grad(1, name="taken"))]),
]
