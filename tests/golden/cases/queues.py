"""Queues, readers, input producers, batches and lookup tables: what a session gets, step by step."""

import atexit
import os
import shutil
import tempfile

import numpy as np

from tests.golden.runner import answer, error, shape


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def steps(name, build):
    """Return the results of runs of a list of fetches, or the classes of their errors."""

    def script(tf):
        fetches = build(tf)
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            return [outcome(tf, sess, fetch) for fetch in fetches]

    return answer(name, script)


def outcome(tf, sess, fetch):
    try:
        return plain(sess.run(fetch))
    except tf.errors.OpError as raised:
        return type(raised).__name__


def pipeline(name, build, times, ordered=True):
    """Return the results of a fetch while queue runners work, until the input ends."""

    def script(tf):
        fetch = build(tf)
        got = []
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess, coord)
            for _ in range(times):
                got.append(outcome(tf, sess, fetch))
            coord.request_stop()
            coord.join(threads)
        return got if ordered else sorted(got, key=str)

    return answer(name, script)


def queue(tf, kind="FIFOQueue", capacity=10, dtypes=None, shapes=None, **options):
    dtypes = [tf.int32] if dtypes is None else dtypes
    return getattr(tf, kind)(capacity, dtypes=dtypes, shapes=shapes, **options)


def filled(tf, values, **options):
    """A queue with shapes, and the operation that fills it."""
    made = queue(tf, shapes=[[]], **options)
    return made, made.enqueue_many([values])


def shuffled(tf, seed, least=0):
    made = tf.RandomShuffleQueue(20, least, [tf.int32], [[]], seed=seed)
    return made, made.enqueue_many([list(range(12))])


def fifo(tf):
    q, fill = filled(tf, [1, 2, 3, 4, 5])
    return [fill, q.size(), q.dequeue(), q.dequeue_many(2), q.dequeue_up_to(2), q.size(), q.is_closed()]


def closed(tf):
    q, fill = filled(tf, [1, 2, 3])
    return [
        fill, q.close(), q.is_closed(), fill, q.enqueue([1]), q.dequeue_many(5), q.dequeue_up_to(2),
        q.dequeue_up_to(2), q.dequeue_up_to(2), q.dequeue(), q.size(), q.close(),
    ]


def several(tf):
    q = queue(tf, dtypes=[tf.float32, tf.string], shapes=[[2], []])
    return [q.enqueue(([1.0, 2.0], "a")), q.enqueue_many(([[3.0, 4.0]], ["b"])), q.dequeue_many(2)]


def by_name(tf):
    q = queue(tf, dtypes=[tf.float32, tf.string], shapes=[[], []], names=["x", "word"])
    return [q.enqueue({"word": "a", "x": 1.5}), q.enqueue_many({"word": ["b"], "x": [2.5]}), q.dequeue(),
            q.dequeue_many(1)]


def padded(tf):
    q = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], [[None, 2], [None]])
    return [q.enqueue(([[1, 2]], ["a", "b"])), q.enqueue(([[3, 4], [5, 6]], [])), q.dequeue_many(2)]


def by_priority(tf):
    q = tf.PriorityQueue(10, [tf.string], [[]])
    return [q.enqueue((np.int64(5), "five")), q.enqueue_many(([3, 9, 1], ["three", "nine", "one"])),
            q.dequeue(), q.dequeue_many(2), q.size()]


def shared(tf):
    one, fill = filled(tf, [1, 2], shared_name="both")
    two = queue(tf, shapes=[[]], shared_name="both")
    return [fill, two.dequeue(), one.dequeue(), two.size()]


def moved(tf):
    """From one queue to another, with work in between."""
    one, fill = filled(tf, [1, 2, 3])
    two = queue(tf, shapes=[[]])
    move = two.enqueue([one.dequeue() * 10])
    return [fill, move, move, two.dequeue(), two.dequeue(), move, one.size(), two.size()]


QUEUES = [
    steps("in order", fifo),
    steps("closed", closed),
    steps("several components", several),
    steps("by name", by_name),
    steps("padded", padded),
    steps("by priority", by_priority),
    steps("shared", shared),
    steps("from one to another", moved),
    steps("nothing at once", lambda tf: [queue(tf, shapes=[[3]]).dequeue_many(0)]),
    steps("other shapes",
          lambda tf: [queue(tf, shapes=[[2]]).enqueue([tf.placeholder_with_default([1, 2, 3], None)])]),
    steps("dequeue_many without shapes",
          lambda tf: (lambda q: [q.enqueue([1]), q.dequeue_many(1)])(queue(tf))),
    steps("cancelled",
          lambda tf: (lambda q, fill: [fill, q.close(cancel_pending_enqueues=True), fill, q.dequeue()])(
        *filled(tf, [1]))),
    [steps("at random by %d" % seed, lambda tf, seed=seed: (lambda q, fill: [
        fill, q.dequeue_many(5), q.dequeue(), q.dequeue_many(3), q.dequeue_up_to(2)])(*shuffled(tf, seed)))
     for seed in (0, 1, 5, 123)],
    steps("at random until closed", lambda tf: (lambda q, fill: [
        fill, q.dequeue_many(4), q.close(), q.dequeue_many(6), q.dequeue_up_to(9), q.dequeue()])(
            *shuffled(tf, 3, least=6))),
    steps("at random by two seeds", lambda tf: (lambda _, made: [made[1], made[0].dequeue_many(12)])(
        tf.set_random_seed(9), shuffled(tf, 2))),
]


def names(tf):
    q = queue(tf, shapes=[[]])
    reader = tf.TextLineReader()
    made = [
        q.enqueue([1]), q.enqueue_many([[1]]), q.dequeue().op, q.dequeue_many(2).op, q.dequeue_up_to(2).op,
        q.size().op, q.is_closed().op, q.close(), reader.read(q)[0].op, reader.num_records_produced().op,
        tf.read_file("f").op, tf.matching_files("*").op, tf.write_file("f", "x"),
        tf.RandomShuffleQueue(3, 1, tf.int32).queue_ref.op,
        tf.PaddingFIFOQueue(3, tf.int32, [[None]]).queue_ref.op,
        tf.PriorityQueue(3, tf.int32, [[]]).queue_ref.op,
    ]
    return [q.name] + [op.name for op in made]


def details(tf):
    q = queue(tf, dtypes=[tf.float32, tf.string], shapes=[[2], []], names=["a", "b"])
    return [[t.name for t in q.dtypes], [s.as_list() for s in q.shapes], q.names, queue(tf).names]


STATIC = [
    answer("names of queue operations", names),
    answer("details of a queue", details),
    shape("dequeue", lambda tf: queue(tf, shapes=[[2, 3]]).dequeue()),
    shape("dequeue without shapes", lambda tf: queue(tf).dequeue()),
    shape("dequeue_many", lambda tf: queue(tf, shapes=[[2, 3]]).dequeue_many(4)),
    shape("dequeue_many by a tensor",
          lambda tf: queue(tf, shapes=[[2]]).dequeue_many(tf.placeholder(tf.int32, []))),
    shape("dequeue_up_to", lambda tf: queue(tf, shapes=[[2, 3]]).dequeue_up_to(4)),
    shape("dequeue of a padding queue",
          lambda tf: tf.PaddingFIFOQueue(3, tf.int32, [[None, 2]]).dequeue_many(4)),
    shape("dequeue by priority", lambda tf: tf.PriorityQueue(3, [tf.int32], [[2]]).dequeue_many(4)),
    shape("read", lambda tf: tf.TextLineReader().read(queue(tf, dtypes=[tf.string]))),
    shape("read_up_to", lambda tf: tf.TextLineReader().read_up_to(queue(tf, dtypes=[tf.string]), 3)),
    shape("matching_files", lambda tf: tf.matching_files("*")),
    shape("string_input_producer", lambda tf: tf.train.string_input_producer(["a", "b"]).dequeue()),
    shape("slice_input_producer",
          lambda tf: tf.train.slice_input_producer([np.zeros((4, 2, 3)), [1, 2, 3, 4]])),
    shape("batch", lambda tf: tf.train.batch([tf.zeros([2, 3]), tf.constant("a")], 5)),
    shape("batch of a dict",
          lambda tf: list(tf.train.batch({"b": tf.zeros([2]), "a": tf.constant(1)}, 5).values())),
    shape("batch of rows", lambda tf: tf.train.batch([tf.zeros([7, 3])], 5, enqueue_many=True)),
    shape("batch that may be smaller",
          lambda tf: tf.train.batch([tf.zeros([3])], 5, allow_smaller_final_batch=True)),
    shape("batch that is padded",
          lambda tf: tf.train.batch([tf.placeholder_with_default([1.0], [None])], 5, dynamic_pad=True)),
    shape("shuffle_batch", lambda tf: tf.train.shuffle_batch([tf.zeros([2, 3])], 5, 20, 10)),
    shape("batch_join", lambda tf: tf.train.batch_join([[tf.zeros([2]), 1], [tf.ones([2]), 2]], 5)),
    shape("maybe_batch", lambda tf: tf.train.maybe_batch([tf.zeros([2])], tf.constant(True), 5)),
]

ERRORS = [
    error("too few shapes", lambda tf: queue(tf, dtypes=[tf.int32, tf.int32], shapes=[[2]])),
    error("too few names", lambda tf: queue(tf, dtypes=[tf.int32, tf.int32], names=["a"])),
    error("a component of another shape", lambda tf: queue(tf, shapes=[[2]]).enqueue([[1, 2, 3]])),
    error("a dict without names", lambda tf: queue(tf).enqueue({"a": 1})),
    error("no dict in spite of names", lambda tf: queue(tf, names=["a"]).enqueue([1])),
    error("other keys than names", lambda tf: queue(tf, names=["a"]).enqueue({"b": 1})),
    error("a padding queue without shapes", lambda tf: tf.PaddingFIFOQueue(3, [tf.int32], None)),
    error("no strings", lambda tf: tf.train.string_input_producer([])),
    error("no epochs", lambda tf: tf.train.string_input_producer(["a"], num_epochs=0)),
    error("no slices", lambda tf: tf.train.slice_input_producer([])),
    error("a batch of unknown shapes", lambda tf: tf.train.batch([tf.placeholder(tf.float32, [None])], 5)),
    error("a batch of nothing", lambda tf: tf.train.batch([], 5)),
    error("epochs without local variables", lambda tf: tf.train.limit_epochs(tf.constant(1.0), 2)),
    error("read_file of nothing", lambda tf: tf.read_file("/nowhere/at/all")),
    error("queue runners without a session", lambda tf: tf.train.start_queue_runners()),
]

FOLDER = os.path.join(tempfile.gettempdir(), "golden input files %d" % os.getpid())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
FILES = {
    "words": b"one\ntwo\r\n\nthree",
    "more": b"header\nfour\n",
    "columns": b"a\t1\nb\t2\n",
    "nothing": b"",
    "bytes": b"HHaaabbbcccF",
}


def path(name):
    """The path of a file of the table above, which this writes."""
    os.makedirs(FOLDER, exist_ok=True)
    found = os.path.join(FOLDER, name)
    if not os.path.exists(found):
        with open(found, "wb") as file:
            file.write(FILES[name])
    return found


def records(tf, name, *data, cut=0):
    """The path of a TFRecord file, which this writes."""
    os.makedirs(FOLDER, exist_ok=True)
    found = os.path.join(FOLDER, name)
    with tf.python_io.TFRecordWriter(found) as writer:
        for record in data:
            writer.write(record)
    with open(found, "rb") as file:
        contents = file.read()
    with open(found, "wb") as file:
        file.write(contents[: len(contents) - cut])
    return found


def reading(name, make, files, times, most=None):
    """Return the results of a reader for files, by the names of these."""

    def build(tf):
        q = queue(tf, dtypes=[tf.string], shapes=[[]])
        reader = make(tf)
        read = reader.read(q) if most is None else reader.read_up_to(q, most)
        paths = [f(tf) if callable(f) else path(f) for f in files]
        numbers = [reader.num_records_produced(), reader.num_work_units_completed()]
        return [q.enqueue_many([paths]), q.close()] + [read] * times + [numbers]

    def script(tf):
        text = steps(name, build).__getitem__(0).build(tf)
        return [without_folder(item) for item in text]

    return answer(name, script)


def without_folder(item):
    if isinstance(item, list):
        return [without_folder(i) for i in item]
    return item.replace(FOLDER + os.sep, "") if isinstance(item, str) else item


def diagonal(tf, n):
    """A sparse tensor of n + 1 rows."""
    places = tf.range(tf.cast(n, tf.int64) + 1)
    values = tf.fill(tf.shape(places), tf.cast(n, tf.float32))
    shape = tf.stack([tf.cast(n, tf.int64) + 1] * 2)
    return tf.SparseTensor(tf.stack([places, places], axis=1), values, shape)


def sparse_parts(x):
    return [x.indices, x.values, x.dense_shape]


READERS = [
    reading("TextLineReader", lambda tf: tf.TextLineReader(), ["words", "nothing", "more"], 7),
    reading("TextLineReader without headers",
            lambda tf: tf.TextLineReader(skip_header_lines=1), ["more", "words"], 5),
    reading("TextLineReader, several", lambda tf: tf.TextLineReader(), ["words", "more"], 4, most=3),
    reading("WholeFileReader", lambda tf: tf.WholeFileReader(), ["words", "nothing"], 3),
    reading("IdentityReader", lambda tf: tf.IdentityReader(), ["words", "nothing"], 3),
    reading("FixedLengthRecordReader", lambda tf: tf.FixedLengthRecordReader(3, 2, 1), ["bytes"], 4),
    reading("FixedLengthRecordReader with a rest",
            lambda tf: tf.FixedLengthRecordReader(4, 2, 1), ["bytes"], 3),
    reading("FixedLengthRecordReader with hops",
            lambda tf: tf.FixedLengthRecordReader(3, 2, 1, hop_bytes=2), ["bytes"], 5),
    reading("TFRecordReader", lambda tf: tf.TFRecordReader(),
            [lambda tf: records(tf, "whole", b"r1", b"record 2")], 3),
    reading("TFRecordReader of a damaged file", lambda tf: tf.TFRecordReader(),
            [lambda tf: records(tf, "cut", b"r1", b"record 2", cut=3)], 2),
]

PIPELINES = [
    pipeline("strings in order",
             lambda tf: tf.train.string_input_producer(
                 ["a", "b", "c"], num_epochs=2, shuffle=False).dequeue(), 7),
    pipeline("strings shuffled",
             lambda tf: tf.train.string_input_producer(
                 ["a", "b", "c"], num_epochs=2).dequeue(), 7, ordered=False),
    pipeline("more epochs than room", lambda tf: tf.train.string_input_producer(
        ["a", "b", "c"], num_epochs=4, shuffle=False, capacity=2).dequeue(), 13),
    pipeline("numbers without end", lambda tf: tf.train.range_input_producer(3, shuffle=False).dequeue(), 8),
    pipeline("slices", lambda tf: tf.train.slice_input_producer(
        [tf.constant(["a", "b", "c"]), [1, 2, 3]], num_epochs=1, shuffle=False), 4),
    pipeline("rows of a matrix", lambda tf: tf.train.input_producer(
        np.arange(6).reshape(3, 2), num_epochs=1, shuffle=False).dequeue(), 4),
    pipeline("batches", lambda tf: tf.train.batch(
        [tf.train.range_input_producer(7, num_epochs=1, shuffle=False).dequeue()], 3), 4),
    pipeline("batches and a rest", lambda tf: tf.train.batch(
        [tf.train.range_input_producer(7, num_epochs=1, shuffle=False).dequeue()], 3,
        allow_smaller_final_batch=True), 4),
    pipeline("batches of a dict", lambda tf: tf.train.batch(
        {"a": tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()}, 2), 3),
    pipeline("batches of rows", lambda tf: tf.train.batch(
        [tf.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue_many(3)], 2,
        enqueue_many=True), 4),
    pipeline("batches of sparse tensors", lambda tf: sparse_parts(tf.train.batch(
        [diagonal(tf, tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue())], 2,
        allow_smaller_final_batch=True)), 4),
    pipeline("batches of rows of sparse tensors", lambda tf: sparse_parts(tf.train.batch(
        {"a": diagonal(tf, tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue())}, 2,
        enqueue_many=True)["a"]), 3),
    pipeline("sparse tensors kept by a condition", lambda tf: (lambda n: sparse_parts(tf.train.maybe_batch(
        [diagonal(tf, n)], n > 1, 2)))(
            tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()), 3),
    pipeline("padded batches", lambda tf: (lambda n: tf.train.batch([tf.fill([n], n)], 3, dynamic_pad=True))(
        tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()), 3),
    pipeline("kept by a condition", lambda tf: (lambda n: tf.train.maybe_batch([n], n > 2, 2))(
        tf.train.range_input_producer(7, num_epochs=1, shuffle=False).dequeue()), 3),
    pipeline("shuffled batches", lambda tf: tf.train.shuffle_batch(
        [tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()], 1, 20, 0), 7,
             ordered=False),
    pipeline("lines in batches", lambda tf: tf.train.batch(
        [tf.TextLineReader().read(tf.train.string_input_producer(
            [path("words"), path("more")], num_epochs=1, shuffle=False))[1]], 2), 4),
]


def tables(tf, *lookups):
    return [tf.tables_initializer()] + list(lookups)


def words(tf, *values):
    return tf.constant(list(values))


def table(tf):
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)


def vocabulary(tf, buckets):
    keys = tf.lookup.KeyValueTensorInitializer(["x", "y"], tf.constant([0, 1], tf.int64))
    return tf.lookup.StaticVocabularyTable(keys, buckets)


def from_file(tf, name, key_dtype, key, value_dtype, value, default):
    source = tf.lookup.TextFileInitializer(path(name), key_dtype, key, value_dtype, value)
    return tf.lookup.StaticHashTable(source, default)


LOOKUPS = [
    steps("a table", lambda tf: (lambda t: tables(tf, t.lookup(words(tf, "b", "z")), t.size()))(table(tf))),
    steps("a table in a matrix",
          lambda tf: (lambda t: tables(tf, t.lookup(tf.constant([["a"], ["b"]]))))(table(tf))),
    steps("a table not initialised", lambda tf: [table(tf).lookup(words(tf, "a"))]),
    steps("a table with two values for a key", lambda tf: (lambda t: [t.initializer])(
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), 0))),
    steps("numbers as keys", lambda tf: (lambda t: tables(tf, t.lookup(tf.constant([7, 8], tf.int64))))(
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(
            tf.constant([7, 9], tf.int64), ["seven", "nine"]), "none"))),
    steps("a vocabulary", lambda tf: (lambda t: tables(
        tf, t.lookup(words(tf, "y", "foo", "bar", "baz", "")), t.size()))(vocabulary(tf, 3))),
    steps("a vocabulary with one bucket", lambda tf: (lambda t: tables(tf, t.lookup(words(tf, "x", "foo"))))(
        vocabulary(tf, 1))),
    steps("words of a file", lambda tf: (lambda t: tables(tf, t.lookup(words(tf, "four", "no"))))(
        from_file(tf, "more", tf.string, -2, tf.int64, -1, -1))),
    steps("lines of a file", lambda tf: (lambda t: tables(tf, t.lookup(tf.constant([1, 0, 9], tf.int64))))(
        from_file(tf, "more", tf.int64, -1, tf.string, -2, "UNK"))),
    steps("a column of a file", lambda tf: (lambda t: tables(tf, t.lookup(words(tf, "b", "two"))))(
        from_file(tf, "columns", tf.string, 0, tf.int64, 1, -1))),
    steps("a file with an empty line",
          lambda tf: [from_file(tf, "words", tf.string, -2, tf.int64, -1, -1).initializer]),
    steps("a file of too few columns",
          lambda tf: [from_file(tf, "columns", tf.string, 5, tf.int64, 1, -1).initializer]),
    steps("a file of other types",
          lambda tf: [from_file(tf, "columns", tf.int64, 0, tf.int64, 1, -1).initializer]),
    error("keys of another type", lambda tf: table(tf).lookup(tf.constant([1]))),
    error("a default of another type", lambda tf: tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a"], [1]), "none")),
    shape("lookup", lambda tf: table(tf).lookup(tf.placeholder(tf.string, [None, 3]))),
    shape("size of a table", lambda tf: table(tf).size()),
    answer("names of tables", lambda tf: [
        table(tf).lookup(words(tf, "a")).name, table(tf).size().name, tf.tables_initializer().name]),
]

CASES = [QUEUES, STATIC, ERRORS, READERS, PIPELINES, LOOKUPS]
