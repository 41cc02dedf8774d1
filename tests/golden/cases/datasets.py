"""`tf.data`: elements, their order and nesting, static shapes, errors."""

import collections

import numpy as np

from tests.golden.runner import answer, error, runs, shape

Point = collections.namedtuple("Point", ["x", "y"])


def first(tf, dataset):
    """The next element, as a flat list of tensors."""
    return tf.nest.flatten(dataset.make_one_shot_iterator().get_next())


def elements(name, build, times):
    """The first elements of a dataset, with its types and shapes, and the error behind the last one."""
    return [
        runs(name, lambda tf: first(tf, build(tf)), times=times, exact=True),
        shape("shapes of " + name, lambda tf: first(tf, build(tf))),
        answer(
            "types of " + name,
            lambda tf: [t.name for t in tf.nest.flatten(build(tf).output_types)],
        ),
    ]


def numbers(count, step=1.0):
    return (np.arange(count) * step).astype("float32")


def grid(rows, columns):
    return np.arange(rows * columns).reshape(rows, columns)


def words(tf):
    return tf.data.Dataset.from_tensor_slices(["the", "quick", "brown", "fox"])


def counted():
    """Vectors of length 0, 1, 2 and so on, with their length."""
    for n in range(6):
        yield n, [float(n)] * n


def lengths(tf):
    return tf.data.Dataset.from_generator(counted, (tf.int32, tf.float32), ([], [None]))


def arguments(tf):
    """Which arguments of a generator are bytes, which NumPy numbers and which arrays."""
    kinds = (bytes, np.generic, np.ndarray)

    def produce(*given):
        yield [[isinstance(each, kind) for kind in kinds] for each in given]

    given = ("a", 1, 2.5, ["x", "y"], [1, 2], True)
    return tf.data.Dataset.from_generator(produce, tf.bool, args=given)


def ds(tf):
    return tf.data.Dataset


SOURCES = [
    elements("from_tensors", lambda tf: ds(tf).from_tensors([1.0, 2.0]), 1),
    elements("from_tensor_slices", lambda tf: ds(tf).from_tensor_slices(grid(3, 2)), 3),
    elements("slices of a tuple", lambda tf: ds(tf).from_tensor_slices((numbers(3), grid(3, 2))), 3),
    elements("slices of a dict", lambda tf: ds(tf).from_tensor_slices({"b": numbers(2), "a": [7, 8]}), 2),
    elements("slices of a nest",
             lambda tf: ds(tf).from_tensor_slices((numbers(2), {"a": (grid(2, 2), [1, 2])})), 2),
    elements("slices of a named tuple", lambda tf: ds(tf).from_tensor_slices(Point(numbers(2), [5, 6])), 2),
    elements("slices of bools", lambda tf: ds(tf).from_tensor_slices([True, False]), 2),
    elements("slices of a list of tensors",
             lambda tf: ds(tf).from_tensor_slices([tf.constant(1), tf.constant(2)]), 2),
    elements("range", lambda tf: ds(tf).range(4), 4),
    elements("range from", lambda tf: ds(tf).range(2, 5), 3),
    elements("range by", lambda tf: ds(tf).range(9, 0, -3), 3),
    elements("from_generator", lengths, 6),
    elements("from_generator with arguments of all kinds", arguments, 1),
    elements("from_generator with arguments",
             lambda tf: ds(tf).from_generator(lambda n: range(n), tf.int64, [], args=[tf.constant(3)]), 3),
    elements("from_generator of a dict",
             lambda tf: ds(tf).from_generator(lambda: iter([{"a": 1}, {"a": 2}]), {"a": tf.float64}), 2),
    elements("Counter", lambda tf: tf.data.experimental.Counter(5, 3), 4),
]

ORDER = [
    elements("take", lambda tf: ds(tf).range(9).take(2), 2),
    elements("take all", lambda tf: ds(tf).range(3).take(-1), 3),
    elements("skip", lambda tf: ds(tf).range(5).skip(3), 2),
    elements("repeat", lambda tf: ds(tf).range(2).repeat(3), 6),
    elements("repeat without end", lambda tf: ds(tf).range(3).repeat(), 8),
    elements("shard", lambda tf: ds(tf).range(10).shard(3, 1), 3),
    elements("concatenate", lambda tf: ds(tf).range(2).concatenate(ds(tf).range(7, 9)), 4),
    elements("concatenate of other shapes",
             lambda tf: ds(tf).from_tensors([1, 2]).concatenate(ds(tf).from_tensors([1, 2, 3])), 2),
    elements("zip", lambda tf: ds(tf).zip((ds(tf).range(3), ds(tf).range(5, 9))), 3),
    elements("zip of a nest",
             lambda tf: ds(tf).zip({"a": ds(tf).range(3), "b": (ds(tf).range(2), ds(tf).range(4))}), 2),
    elements("enumerate", lambda tf: ds(tf).from_tensor_slices(numbers(3)).apply(
        tf.data.experimental.enumerate_dataset(4)), 3),
    elements("cache", lambda tf: ds(tf).range(3).cache().repeat(2), 6),
    elements("prefetch", lambda tf: ds(tf).range(5).prefetch(2), 5),
    [elements("shuffle %d by %d" % (size, seed),
              lambda tf, size=size, seed=seed: ds(tf).range(12).shuffle(size, seed=seed), 12)
     for size in (1, 3, 12, 50) for seed in (0, 1, 7)],
    elements("shuffle by two seeds",
             lambda tf: (tf.set_random_seed(5), ds(tf).range(9).shuffle(9, seed=2))[1], 9),
    elements("shuffle, batch, repeat", lambda tf: ds(tf).range(6).shuffle(6, seed=3).batch(2).repeat(3), 9),
    elements("shuffle the same way again",
             lambda tf: ds(tf).range(6).shuffle(4, seed=3, reshuffle_each_iteration=False).repeat(3), 18),
    elements("shuffle, repeat", lambda tf: ds(tf).range(6).shuffle(4, seed=3).repeat(3), 18),
    elements("repeat, shuffle", lambda tf: ds(tf).range(5).repeat(2).shuffle(4, seed=9), 10),
    elements("shuffle_and_repeat",
             lambda tf: ds(tf).range(7).apply(tf.data.experimental.shuffle_and_repeat(5, 2, seed=4)), 14),
    elements("take, shuffle, skip", lambda tf: ds(tf).range(20).take(10).shuffle(10, seed=1).skip(2), 8),
]

BATCHES = [
    elements("batch", lambda tf: ds(tf).range(7).batch(3), 3),
    elements("batch without the rest", lambda tf: ds(tf).range(7).batch(3, drop_remainder=True), 2),
    elements("batch of a tuple", lambda tf: ds(tf).from_tensor_slices((numbers(4), grid(4, 3))).batch(2), 2),
    elements("batch of batches", lambda tf: ds(tf).range(12).batch(2).batch(3), 2),
    elements("batch by a tensor", lambda tf: ds(tf).range(4).batch(tf.constant(2, tf.int64)), 2),
    elements("padded_batch", lambda tf: lengths(tf).padded_batch(3, ([], [None])), 2),
    elements("padded_batch to a size", lambda tf: lengths(tf).padded_batch(4, ([], [7])), 2),
    elements("padded_batch with values",
             lambda tf: lengths(tf).padded_batch(2, ([], [None]), (0, -1.0)), 3),
    elements("padded_batch without the rest",
             lambda tf: lengths(tf).padded_batch(4, ([], [None]), drop_remainder=True), 1),
    elements("padded_batch of matrices",
             lambda tf: ds(tf).range(1, 4).map(lambda n: tf.fill([n, 2], n)).padded_batch(3, [None, 3]), 1),
    elements("unbatch",
             lambda tf: ds(tf).from_tensor_slices(grid(2, 3)).apply(tf.data.experimental.unbatch()), 6),
    elements("unbatch of batches",
             lambda tf: ds(tf).range(5).batch(2).apply(tf.data.experimental.unbatch()), 5),
    [elements("windows of %s" % (arguments,),
              lambda tf, a=arguments: ds(tf).range(8).window(*a).flat_map(lambda w: w.batch(4)), count)
     for arguments, count in (((3,), 3), ((3, 1), 8), ((3, 2), 4), ((2, 3), 3), ((3, 1, 2), 8),
                              ((3, 2, 1, True), 3), ((2, 5, 1, False), 2))],
    elements("windows of tuples",
             lambda tf: ds(tf).from_tensor_slices((numbers(5), grid(5, 2))).window(2).flat_map(
                 lambda x, y: ds(tf).zip((x.batch(2), y.batch(2)))), 3),
]

FUNCTIONS = [
    elements("map", lambda tf: ds(tf).range(4).map(lambda x: x * x + 1), 4),
    elements("map of a tuple",
             lambda tf: ds(tf).from_tensor_slices((numbers(3), grid(3, 2))).map(
                 lambda x, y: (y, {"sum": x + 1})), 3),
    elements("map of a dict",
             lambda tf: ds(tf).from_tensor_slices({"a": numbers(3)}).map(lambda d: d["a"] * 2), 3),
    elements("map of a named tuple",
             lambda tf: ds(tf).from_tensor_slices(Point(numbers(2), [5, 6])).map(
                 lambda p: Point(p.y, p.x)), 2),
    elements("map to a list", lambda tf: ds(tf).range(2).map(lambda x: [x, x + 1]), 2),
    elements("map to a number", lambda tf: ds(tf).range(2).map(lambda x: 3.5), 2),
    elements("map at once", lambda tf: ds(tf).range(20).map(lambda x: x * 2, num_parallel_calls=4), 20),
    elements("map with what is outside",
             lambda tf: (lambda k: ds(tf).range(3).map(lambda x: k - x))(tf.constant(10, tf.int64)), 3),
    elements("map with cond",
             lambda tf: ds(tf).range(4).map(lambda x: tf.cond(x > 1, lambda: x * 10, lambda: -x)), 4),
    elements("map with a loop",
             lambda tf: ds(tf).range(4).map(
                 lambda x: tf.while_loop(lambda i: i < 50, lambda i: i * 2 + 1, [x])), 4),
    elements("map with py_func",
             lambda tf: ds(tf).range(3).map(
                 lambda x: tf.py_func(lambda v: np.float32(v / 2), [x], tf.float32)), 3),
    elements("map with one_hot", lambda tf: ds(tf).range(3).map(lambda x: tf.one_hot(x, 3)), 3),
    elements("map with words", lambda tf: words(tf).map(lambda w: tf.equal(w, "fox")), 4),
    elements("filter", lambda tf: ds(tf).range(9).filter(lambda x: tf.equal(x % 3, 0)), 3),
    elements("filter of a tuple",
             lambda tf: ds(tf).from_tensor_slices((numbers(4), [1, 0, 1, 0])).filter(lambda x, y: y > 0), 2),
    elements("flat_map", lambda tf: ds(tf).range(4).flat_map(lambda n: ds(tf).range(n)), 6),
    elements("flat_map of slices",
             lambda tf: ds(tf).from_tensor_slices(grid(2, 3)).flat_map(ds(tf).from_tensor_slices), 6),
    elements("flat_map in flat_map",
             lambda tf: ds(tf).range(3).flat_map(
                 lambda n: ds(tf).range(n).flat_map(lambda m: ds(tf).from_tensors(n * 10 + m).repeat(2))), 6),
    elements("flat_map with map",
             lambda tf: ds(tf).range(3).flat_map(lambda n: ds(tf).range(3).map(lambda m: n * m)), 9),
    [elements("interleave %d %d" % (cycle, block),
              lambda tf, c=cycle, b=block: ds(tf).range(5).interleave(
                  lambda n: ds(tf).from_tensors(n).repeat(n + 1), cycle_length=c, block_length=b), 15)
     for cycle in (1, 2, 3, 7) for block in (1, 2, 3)],
    elements("interleave at once",
             lambda tf: ds(tf).range(4).interleave(
                 lambda n: ds(tf).from_tensors(n).repeat(3), 2, 1, num_parallel_calls=2), 12),
    elements("parallel_interleave",
             lambda tf: ds(tf).range(4).apply(tf.data.experimental.parallel_interleave(
                 lambda n: ds(tf).from_tensors(n).repeat(3), cycle_length=2)), 12),
    elements("map_and_batch",
             lambda tf: ds(tf).range(7).apply(tf.data.experimental.map_and_batch(lambda x: x * x, 3)), 3),
    elements("map_and_batch without the rest",
             lambda tf: ds(tf).range(7).apply(
                 tf.data.experimental.map_and_batch(lambda x: (x, -x), 3, drop_remainder=True)), 2),
    elements("scan", lambda tf: ds(tf).range(5).apply(
        tf.data.experimental.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s * x))), 5),
    elements("take_while", lambda tf: ds(tf).range(9).apply(
        tf.data.experimental.take_while(lambda x: x < 3)), 3),
    elements("ignore_errors", lambda tf: ds(tf).from_tensor_slices([1.0, 0.0, 4.0]).map(
        lambda x: tf.check_numerics(1.0 / x, "none")).apply(tf.data.experimental.ignore_errors()), 2),
    elements("group_by_window", lambda tf: ds(tf).range(11).apply(tf.data.experimental.group_by_window(
        lambda x: x % 3, lambda key, window: window.batch(2), window_size=2)), 6),
    elements("group_by_window by a function", lambda tf: ds(tf).range(11).apply(
        tf.data.experimental.group_by_window(
            lambda x: x % 2, lambda key, window: window.map(lambda x: x * 10 + key),
            window_size_func=lambda key: key + 2)), 11),
    elements("bucket_by_sequence_length", lambda tf: lengths(tf).apply(
        tf.data.experimental.bucket_by_sequence_length(lambda n, x: n, [2, 4], [2, 2, 2])), 3),
    elements("bucket_by_sequence_length to boundaries", lambda tf: lengths(tf).apply(
        tf.data.experimental.bucket_by_sequence_length(
            lambda n, x: n, [3, 7], [2, 2, 2], pad_to_bucket_boundary=True)), 4),
    runs("reduce", lambda tf: ds(tf).range(6).reduce(tf.constant(0, tf.int64), lambda s, x: s + x)),
    runs("reduce to a tuple", lambda tf: list(ds(tf).from_tensor_slices(numbers(4)).reduce(
        (0.0, 1.0), lambda s, x: (s[0] + x, s[1] * (x + 1.0))))),
    runs("get_single_element", lambda tf: tf.data.experimental.get_single_element(ds(tf).range(3).batch(5))),
]


def end_of(build):
    """The error behind the last element of a dataset of one element."""

    def fetch(tf):
        value = first(tf, build(tf))
        with tf.Session() as sess:
            sess.run(value)
            sess.run(value)

    return fetch


ERRORS = [
    error("end of sequence", end_of(lambda tf: ds(tf).from_tensors(1))),
    error("not initialised", lambda tf: ds(tf).range(3).make_initializable_iterator().get_next()),
    error("one shot of a placeholder",
          lambda tf: ds(tf).from_tensor_slices(tf.placeholder(tf.float32, [3])).make_one_shot_iterator()),
    error("initializer of a one shot iterator",
          lambda tf: ds(tf).range(3).make_one_shot_iterator().initializer),
    error("slices of different lengths", lambda tf: ds(tf).from_tensor_slices((numbers(2), numbers(3)))),
    error("slices of a scalar", lambda tf: ds(tf).from_tensor_slices(1.0)),
    error("batch of different shapes", lambda tf: first(tf, lengths(tf).batch(2))),
    error("padded_batch to too little", lambda tf: first(tf, lengths(tf).skip(3).padded_batch(2, ([], [2])))),
    error("padded_batch of another rank", lambda tf: ds(tf).range(3).padded_batch(2, [None])),
    error("concatenate of other types", lambda tf: ds(tf).range(3).concatenate(ds(tf).from_tensors(1.0))),
    error("zip of tensors", lambda tf: ds(tf).zip(([1], [2]))),
    error("filter by numbers", lambda tf: ds(tf).range(3).filter(lambda x: x)),
    error("flat_map to a tensor", lambda tf: ds(tf).range(3).flat_map(lambda x: x)),
    error("an error in map",
          lambda tf: first(tf, ds(tf).range(3).map(
              lambda x: tf.check_numerics(tf.cast(x, tf.float32) / 0.0, "x")))),
    error("a generator of other types",
          lambda tf: first(tf, ds(tf).from_generator(lambda: iter(["a"]), tf.int32))),
    error("a generator of other shapes",
          lambda tf: first(tf, ds(tf).from_generator(lambda: iter([[1, 2]]), tf.int32, [3]))),
    error("a generator that is none", lambda tf: ds(tf).from_generator([1, 2], tf.int32)),
    error("two elements for get_single_element",
          lambda tf: tf.data.experimental.get_single_element(ds(tf).range(2))),
    error("no element for get_single_element",
          lambda tf: tf.data.experimental.get_single_element(ds(tf).range(0))),
    error("a file that is not there", lambda tf: first(tf, tf.data.TextLineDataset("/nowhere/words"))),
    error("a reinitialised iterator of other types",
          lambda tf: tf.data.Iterator.from_structure(tf.int32).make_initializer(ds(tf).range(3))),
    error("both windows", lambda tf: tf.data.experimental.group_by_window(
        lambda x: x, lambda k, w: w, window_size=1, window_size_func=lambda k: k)),
    error("shard out of range", lambda tf: first(tf, ds(tf).range(3).shard(2, 2))),
    error("batches of nothing", lambda tf: first(tf, ds(tf).range(3).batch(0))),
    error("shuffle in nothing", lambda tf: first(tf, ds(tf).range(3).shuffle(0))),
]


def named(tf):
    """The names of what iterators add to a graph."""
    one, two = ds(tf).range(3).make_one_shot_iterator(), ds(tf).range(3).make_initializable_iterator()
    return [one.get_next().name, one.get_next("mine").name, two.get_next().name]


def three(tf):
    return [ds(tf).range(0, 8), ds(tf).range(100, 105), ds(tf).range(200, 203)]


def more(tf):
    return tf.data.experimental


WEIGHTS = np.float32([[0.01, 1.0, 0.01], [1.0, 0.01, 0.01], [0.3, 0.3, 0.3]])

MIXED = [
    elements("sample_from_datasets", lambda tf: more(tf).sample_from_datasets(three(tf), seed=7), 16),
    elements("sample_from_datasets by weights",
             lambda tf: more(tf).sample_from_datasets(three(tf), [0.2, 0.3, 0.5], seed=3), 16),
    elements("sample_from_datasets by a dataset of weights",
             lambda tf: more(tf).sample_from_datasets(
                 three(tf), ds(tf).from_tensor_slices(WEIGHTS).repeat(3), seed=3), 9),
    elements("sample_from_datasets, one of them",
             lambda tf: more(tf).sample_from_datasets([ds(tf).range(3)], seed=3), 3),
    elements("choose_from_datasets",
             lambda tf: more(tf).choose_from_datasets(
                 three(tf), ds(tf).from_tensor_slices(np.int64([0, 1, 2, 2, 2, 2, 0, 1]))), 7),
    elements("shuffle by a tensor", lambda tf: ds(tf).range(9).shuffle(4, seed=tf.constant(9, tf.int64)), 9),
    elements("shuffle in one place", lambda tf: ds(tf).range(4).shuffle(1, seed=3).repeat(2), 8),
    elements("batches of shuffled slices",
             lambda tf: ds(tf).from_tensor_slices((numbers(9), grid(9, 2))).shuffle(4, seed=2)
             .skip(1).shard(2, 1).repeat(3).take(11).batch(3), 4),
    error("sample_from_datasets by integers", lambda tf: more(tf).sample_from_datasets(three(tf), [1, 2, 3])),
    error("sample_from_datasets by too few",
          lambda tf: more(tf).sample_from_datasets(three(tf), [0.5, 0.5])),
    error("choose_from_datasets by floats",
          lambda tf: more(tf).choose_from_datasets(three(tf), ds(tf).from_tensors(1.0))),
    error("choose_from_datasets out of range",
          lambda tf: first(tf, more(tf).choose_from_datasets(three(tf), ds(tf).range(3, 5)))),
    error("mixed types",
          lambda tf: more(tf).choose_from_datasets([ds(tf).range(2), words(tf)], ds(tf).range(2))),
]

CASES = [SOURCES, ORDER, BATCHES, FUNCTIONS, MIXED, ERRORS, answer("names of elements", named)]
