"""`tf.data`: whole pipelines, the structures of their elements, and random numbers in repetitions."""

import collections

import numpy as np

from tests.golden.cases.failed_elements import ds, more
from tests.golden.runner import answer

Pair = collections.namedtuple("Pair", "x y")
MOST = 40  # elements of a case


def listed(value):
    """An element as JSON."""
    if isinstance(value, dict):
        return {key: listed(part) for key, part in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(listed, value)]
    if isinstance(value, bytes):
        return value.decode()
    array = np.asarray(value)
    return [text.decode() for text in array.ravel()] if array.dtype == object else array.tolist()


def drained(tf, sess, element):
    """The elements up to the end; of an error its class in TensorFlow."""
    found = []
    while len(found) < MOST:
        try:
            found.append(listed(sess.run(element)))
        except tf.errors.OutOfRangeError:
            return [*found, "end"]
        except tf.errors.InvalidArgumentError:
            found.append("invalid")
        except tf.errors.DataLossError:
            found.append("lost")
    return found


def outcomes(build):
    """Case of all elements of a pipeline, in two passes of a session."""

    def run(tf):
        tf.set_random_seed(1)
        iterator = build(tf).make_initializable_iterator()
        element = iterator.get_next()
        found = []
        with tf.Session() as sess:
            for _ in range(2):
                sess.run(iterator.initializer)
                found.append(drained(tf, sess, element))
        return found

    return run


def drawn(tf, scale=1):
    """A function that draws a whole number from a seed."""
    return lambda x: tf.random_uniform([], 0, 1000, tf.int64, seed=3) * scale + 0 * x


def rows(tf, count):
    """1, then 2 2, and so on."""
    return ds(tf).range(1, count).map(lambda i: tf.fill([i], i))


def twice(make):
    """One dataset in two places."""
    return lambda tf: (lambda one: make(tf, one, one))(ds(tf).range(3).map(drawn(tf)))


def buckets(tf, **named):
    lengths = ds(tf).range(1, 12).map(lambda i: tf.fill([i % 4 + 1], i))
    return lengths.apply(more(tf).bucket_by_sequence_length(tf.size, [3, 6], [2, 2, 3], **named))


def generated(tf, values, dtype="int32", shape=None):
    return ds(tf).from_generator(lambda: iter(values), getattr(tf, dtype), shape)


DRAWS = {
    "repeat": lambda tf: ds(tf).range(3).map(drawn(tf)).repeat(3),
    "flat_map": lambda tf: ds(tf).range(3).flat_map(lambda i: ds(tf).range(3).map(drawn(tf))),
    "flat_map of draws": lambda tf: ds(tf).range(3).flat_map(
        lambda i: ds(tf).from_tensors(drawn(tf)(i)).repeat(2)).repeat(2),
    "interleave": lambda tf: ds(tf).range(4).interleave(
        lambda i: ds(tf).range(3).map(drawn(tf)), cycle_length=2).repeat(2),
    "filter": lambda tf: ds(tf).range(8).filter(lambda x: tf.random_uniform([], seed=4) < 0.5).repeat(2),
    "batch": lambda tf: ds(tf).range(4).map(drawn(tf)).batch(2).repeat(2),
    "two maps": lambda tf: ds(tf).range(3).map(drawn(tf)).map(
        lambda x: x * 1000 + tf.random_uniform([], 0, 1000, tf.int64, seed=9)).repeat(2),
    "scan": lambda tf: ds(tf).range(3).apply(
        more(tf).scan(np.int64(0), lambda s, x: (s + 1, drawn(tf)(x)))).repeat(2),
    "concatenate": twice(lambda tf, a, b: a.concatenate(b).repeat(2)),
    "zip": twice(lambda tf, a, b: ds(tf).zip((a, b)).repeat(2)),
    "choose": twice(lambda tf, a, b: more(tf).choose_from_datasets([a, b], ds(tf).range(2).repeat(3))),
    "group_by_window": lambda tf: ds(tf).range(6).apply(more(tf).group_by_window(
        lambda x: x % 2, lambda key, window: window.map(drawn(tf)), window_size=2)).repeat(2),
    "shuffle in a flat_map": lambda tf: ds(tf).range(4).flat_map(
        lambda i: ds(tf).range(5).shuffle(5, seed=2)).repeat(2),
    "take_while": lambda tf: ds(tf).range(9).apply(
        more(tf).take_while(lambda x: tf.random_uniform([], seed=4) < 0.9)).repeat(3),
    "reduce": lambda tf: ds(tf).range(3).map(lambda n: ds(tf).range(3).map(drawn(tf)).reduce(
        np.int64(0), lambda a, b: a * 1000 + b)).repeat(2),
    "cache": lambda tf: ds(tf).range(3).map(drawn(tf)).cache().repeat(3),
    "sample_from_datasets": lambda tf: more(tf).sample_from_datasets(
        [ds(tf).from_tensors(i).repeat(6) for i in range(3)], [0.2, 0.5, 0.3], seed=3),
    "the seed of the graph": lambda tf: ds(tf).range(8).shuffle(8).repeat(2),
    "one order": lambda tf: ds(tf).range(6).shuffle(6, seed=4, reshuffle_each_iteration=False).repeat(3),
    "rejection_resample": lambda tf: ds(tf).from_tensor_slices([0, 1] * 20).apply(
        more(tf).rejection_resample(lambda c: c, [0.7, 0.3], [0.5, 0.5], seed=2)).take(8),
}

STRUCTURES = {
    "a named tuple": lambda tf: ds(tf).from_tensor_slices(Pair([1, 2, 3], [[1.0], [2.0], [3.0]])).batch(2),
    "nested": lambda tf: ds(tf).from_tensor_slices(
        {"a": ([1, 2], {"b": ["x", "y"]}), "c": Pair([1.0, 2.0], [True, False])}).repeat(2),
    "an ordered dict": lambda tf: ds(tf).range(3).map(
        lambda x: collections.OrderedDict([("z", x), ("a", x * 2)])),
    "a list is a tensor": lambda tf: ds(tf).range(3).map(lambda x: [x, x + 1]),
    "sparse": lambda tf: ds(tf).range(4).map(lambda i: tf.SparseTensor([[i]], [i * 10], [5])).batch(3),
    "slices of sparse": lambda tf: ds(tf).from_tensor_slices(
        tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 2])),
    "sparse of dense": lambda tf: rows(tf, 5).apply(more(tf).dense_to_sparse_batch(3, [6])),
    "unbatch": lambda tf: ds(tf).from_tensor_slices(
        ({"a": np.arange(12).reshape(2, 3, 2)}, np.arange(6).reshape(2, 3))).apply(more(tf).unbatch()),
    "windows of a dict": lambda tf: ds(tf).from_tensor_slices({"a": [1, 2, 3, 4], "b": [5, 4, 3, 2]}).window(
        2, stride=2).flat_map(lambda d: ds(tf).zip({"a": d["a"].batch(2), "b": d["b"].batch(2)})),
    "zip of unlike lengths": lambda tf: ds(tf).zip(
        {"a": ds(tf).range(3), "b": (ds(tf).range(5).batch(2), ds(tf).from_tensors("s").repeat())}),
    "padded_batch of a dict": lambda tf: ds(tf).range(1, 6).map(
        lambda i: {"a": tf.fill([i], i), "b": tf.fill([2, i], tf.to_float(i))}).padded_batch(
            3, {"a": [None], "b": [None, None]}, {"a": np.int64(-1), "b": 0.5}),
    "padded_batch of strings": lambda tf: ds(tf).from_tensor_slices(["ab", "c", "def"]).map(
        lambda s: tf.fill([tf.strings.length(s)], s)).padded_batch(2, [None], "_"),
    "padded_batch that is too small": lambda tf: rows(tf, 5).padded_batch(2, [2]),
    "buckets": lambda tf: buckets(tf),
    "buckets of one length": lambda tf: buckets(
        tf, pad_to_bucket_boundary=True, padding_values=tf.constant(-7, tf.int64)),
    "windows of sizes": lambda tf: ds(tf).range(12).apply(more(tf).group_by_window(
        lambda x: x % 3, lambda key, window: window.batch(10), window_size_func=lambda key: key + 1)),
    "scan of a pair": lambda tf: ds(tf).range(6).apply(more(tf).scan(
        (np.int64(0), 1.0), lambda state, x: ((state[0] + x, state[1] * 2.0), (state[0], state[1])))),
    "a generator": lambda tf: generated(tf, [[1, 2], [1, 2, 3], [3, 4]], shape=[2]),
    "a generator of another type": lambda tf: generated(tf, [1, "a"]),
    "the function of rows of text": lambda tf: ds(tf).from_tensor_slices(["1,2", "1", "3,x", "4,5"]).map(
        lambda line: tf.io.decode_csv(line, [[0], [0]])),
    "an index": lambda tf: ds(tf).range(4).map(lambda x: tf.gather([1, 2], x)),
    "a shape": lambda tf: ds(tf).range(1, 4).map(lambda x: tf.reshape(tf.range(4), [x, -1])),
    "an assertion": lambda tf: ds(tf).range(4).map(
        lambda x: _asserted(tf, x)),
    "unlike shapes": lambda tf: rows(tf, 4).batch(2),
    "counts": lambda tf: more(tf).Counter(3, -2, tf.int32).take(4),
    "random numbers": lambda tf: more(tf).RandomDataset(seed=7).take(4),
    "a range that falls": lambda tf: ds(tf).range(5, 0, -2),
    "all but none": lambda tf: ds(tf).range(4).skip(-1).repeat(2),
}


def _asserted(tf, x):
    with tf.control_dependencies([tf.Assert(x < 2, ["x is", x])]):
        return tf.identity(x)


CASES = [
    [answer(f"draws: {name}", outcomes(build)) for name, build in DRAWS.items()],
    [answer(name, outcomes(build)) for name, build in STRUCTURES.items()],
]
