"""`tf.data` with ragged tensors and TensorArrays as elements: what each transformation makes of them."""

from tests.golden.runner import answer, error

ROWS = [[1, 2], [3], [], [4, 5, 6]]
DEEP = [[[1, 2], [3]], [], [[4, 5, 6]]]


def plain(value):
    """An element as JSON: ragged values as lists, pairs as lists."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return value.to_list() if hasattr(value, "to_list") else value.tolist()


def listed(tf, dataset):
    """All elements of a dataset."""
    iterator = tf.data.make_initializable_iterator(dataset)
    element, found = iterator.get_next(), []
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        try:
            while True:
                found.append(plain(sess.run(element)))
        except tf.errors.OutOfRangeError:
            return found


def whole(tf, rows):
    return tf.data.Dataset.from_tensors(tf.ragged.constant(rows))


def pyramid(tf, n):
    return tf.RaggedTensor.from_row_lengths(tf.range(n * 2), [n, n])


def array(tf, n):
    return tf.TensorArray(tf.int64, 2).unstack(tf.stack([n, n + 1]))


def arrays(tf):
    return tf.data.Dataset.range(3).map(lambda n: array(tf, n))


MADE = {
    "one": lambda tf: whole(tf, ROWS),
    "slices of rows of rows": lambda tf: tf.data.Dataset.from_tensor_slices(tf.ragged.constant(DEEP)),
    "a batch of rows": lambda tf: tf.data.Dataset.from_tensor_slices(tf.ragged.constant(ROWS)).batch(2),
    "a batch of rows of rows": lambda tf: tf.data.Dataset.from_tensor_slices(
        tf.ragged.constant(DEEP)).batch(2),
    "a batch of whole ones": lambda tf: whole(tf, ROWS).repeat(3).batch(2),
    "parts": lambda tf: whole(tf, ROWS).map(lambda x: (x.values, x.row_lengths())),
    "results of a function": lambda tf: tf.data.Dataset.range(3).map(lambda n: pyramid(tf, n)),
    "filtered": lambda tf: whole(tf, ROWS).repeat(2).filter(lambda x: x.nrows() > 2),
    "zipped": lambda tf: tf.data.Dataset.zip((whole(tf, ROWS), tf.data.Dataset.range(1))),
    "unbatched": lambda tf: whole(tf, DEEP).unbatch(),
    "cached": lambda tf: whole(tf, ROWS).cache().repeat(2),
    "flattened": lambda tf: whole(tf, ROWS).flat_map(
        lambda r: tf.data.Dataset.from_tensor_slices(r.to_tensor())),
    "shuffled": lambda tf: whole(tf, ROWS).shuffle(2).prefetch(1),
    "arrays": lambda tf: arrays(tf).map(lambda a: a.stack()),
    "arrays written in part": lambda tf: tf.data.Dataset.range(3).map(
        lambda n: tf.TensorArray(tf.int64, 2, element_shape=[]).write(1, n)).map(lambda a: a.stack()),
    "flattened arrays": lambda tf: arrays(tf).flat_map(
        lambda a: tf.data.Dataset.from_tensor_slices(a.stack())),
    "filtered arrays": lambda tf: arrays(tf).filter(lambda a: a.read(0) > 0).map(lambda a: a.stack()),
}  # fmt: skip


def sparse_rows(tf):
    """The slices of sparse elements, as dense ones."""
    whole = tf.SparseTensor([[0, 1], [2, 0]], [5, 7], [3, 2])
    return tf.data.Dataset.from_tensors(whole).unbatch().map(tf.sparse_tensor_to_dense)


def read_outside(tf):
    found = arrays(tf).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        return [plain(sess.run(each)) for each in (found.stack(), found.read(1), found.stack())]


CASES = [
    [answer(title, lambda tf, made=made: listed(tf, made(tf))) for title, made in MADE.items()],
    answer("rows of sparse elements", lambda tf: listed(tf, sparse_rows(tf))),
    answer("an array of an iterator", read_outside),
    answer("a sum over ragged elements", lambda tf: plain(tf.Session().run(
        whole(tf, ROWS).reduce(0, lambda state, x: state + tf.reduce_sum(x.values))))),
    answer("types and shapes", lambda tf: [[d.output_types.name, d.output_shapes.as_list()] for d in (
        whole(tf, ROWS), tf.data.Dataset.from_tensor_slices(tf.ragged.constant(DEEP)),
        tf.data.Dataset.from_tensor_slices(tf.ragged.constant(ROWS)).batch(2))]),
    error("other rows behind rows", lambda tf: whole(tf, ROWS).concatenate(whole(tf, [[1]])) and None),
    error("padding whole ones", lambda tf: whole(tf, ROWS).padded_batch(2, [None, None])),
]  # fmt: skip
