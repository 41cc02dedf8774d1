"""Small graphs with loops, branches, tensor arrays and recurrent nets, built as those in `models`."""

from __future__ import annotations

import numpy as np

from tests.graph_def.models import EXPORTED, IMPORTED, TRAINED, fed, model, numbers, operand, weights
from tests.graph_def.slopes import SLOPES


def loops(tf):
    """A loop with several values and a constant from outside, one inside another, and one that grows."""
    values = numbers(3, 4, seed=100)
    x = fed(tf, values, "x", [None, 4])
    w = tf.constant(numbers(4, 4, seed=101))
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, w)) + x), (0, x))

    def rows(i, total):
        _, row = tf.while_loop(lambda j, s: j <= i, lambda j, s: (j + 1, s + x[i, j]), (0, 0.0))
        return i + 1, total + row * tf.cast(i + 1, tf.float32)

    _, nested = tf.while_loop(lambda i, t: i < tf.shape(x)[0], rows, (0, 0.0))
    _, grown = tf.while_loop(
        lambda i, g: i < 3,
        lambda i, g: (i + 1, tf.concat([g, x[i : i + 1] * 2.0], 0)),
        (0, x[:1]),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 4])),
    )
    limited = tf.while_loop(
        lambda v: tf.reduce_sum(v) < 1e6, lambda v: v * 2.0, [x + 2.0], maximum_iterations=5
    )
    return model({x: values}, [tf.identity(y), tf.identity(nested), tf.identity(grown), tf.identity(limited)])


def branches(tf):
    """Branches with several values, one inside another, after one another on one condition, and a choice."""
    values = numbers(3, 4, seed=102)
    x, train = fed(tf, values, "x", [None, 4]), tf.placeholder(tf.bool, [], name="train")
    w = tf.constant(numbers(4, 2, seed=103))
    a, b = tf.cond(train, lambda: (x * 2.0, tf.matmul(x, w)), lambda: (x - 1.0, tf.ones([tf.shape(x)[0], 2])))
    c = tf.cond(train, lambda: tf.reduce_sum(a), lambda: tf.reduce_max(b))
    d = tf.cond(
        tf.reduce_sum(x) > 0.0,
        lambda: tf.cond(train, lambda: c + 1.0, lambda: c + 2.0),
        lambda: tf.cond(train, lambda: c + 3.0, lambda: tf.constant(4.0)),
    )
    e = tf.case([(c > 100.0, lambda: x[0]), (c > -100.0, lambda: x[1])], default=lambda: x[2])
    f = tf.cond(train, lambda: tf.while_loop(lambda i: i < 5, lambda i: i + 2, [0]), lambda: tf.constant(7))
    _, g = tf.while_loop(
        lambda i, s: i < 4,
        lambda i, s: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: s + x[0], lambda: s * 0.5)),
        (0, x[1]),
    )
    out = [tf.identity(t) for t in (a, b, c, d, e, f, g)]
    return model({x: values, train: np.array(True)}, out)


def other_branches(tf):
    """The same, where the condition does not hold."""
    told = branches(tf)
    return told._replace(feeds={**told.feeds, "train:0": np.array(False)})


def arrays(tf):
    """Tensor arrays: written, read, gathered, joined, split, by loops and by `map_fn` and `scan`."""
    values = numbers(3, 4, seed=104)
    x = fed(tf, values, "x", [3, 4])
    array = tf.TensorArray(tf.float32, size=3, element_shape=[4], clear_after_read=False).unstack(x)
    written = tf.TensorArray(tf.int32, size=4)
    _, written = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, i * i)), (0, written))
    scattered = tf.TensorArray(tf.float32, size=3).scatter([2, 0, 1], x)
    parts = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(tf.reshape(x, [12]), [6, 6])
    out = [
        array.read(1), array.gather([2, 0]), array.concat(), written.stack(), scattered.stack(),
        parts.read(1),
        tf.cast(array.size(), tf.float32), tf.map_fn(lambda row: row * 2.0 + 1.0, x),
        tf.scan(lambda total, row: total + row, x), tf.foldl(lambda total, row: total * row, x),
    ]
    return model({x: values}, [tf.identity(t) for t in out])


def recurrent(tf):
    """An LSTM in a loop, over sequences of several lengths, and a GRU both ways."""
    values, sizes = numbers(2, 5, 3, seed=105), np.array([5, 2], np.int32)
    x, lengths = fed(tf, values, "x", [None, 5, 3]), fed(tf, sizes, "lengths", [None])
    init = tf.constant_initializer(0.1)
    with tf.variable_scope("net", initializer=init):
        y, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), x, lengths, dtype=tf.float32)
    with tf.variable_scope("both", initializer=init):
        cells = [tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.GRUCell(2)]
        (there, back), _ = tf.nn.bidirectional_dynamic_rnn(*cells, x, lengths, dtype=tf.float32)
    out = [tf.identity(t) for t in (y, state.c, state.h, there, back)]
    return model({x: values, lengths: sizes}, out, init=tf.global_variables_initializer())


def assigned(tf):
    """Variables that loops and branches change."""
    v, n = weights(tf, 2, seed=106, name="v"), tf.Variable(0, name="n")
    turn = tf.cond(tf.equal(n % 2, 0), lambda: tf.assign_add(v, [1.0, 2.0]), lambda: tf.assign(v, v * 2.0))
    with tf.control_dependencies([turn]):
        step = tf.group(tf.assign_add(n, 1), name="step")
    return model({}, [operand(v), operand(n)], step, tf.global_variables_initializer(), 3)


RAW_FEEDS = {
    "x:0": numbers(2, 4, 4, 3, seed=110, low=0.0),
    "rows:0": numbers(5, 3, seed=111),
    "boxes:0": np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]], np.float32),
}


def raw_nodes(tf):
    """Nodes of types that one of the libraries has no public function for: built by TensorFlow alone."""
    x, rows, boxes = (fed(tf, RAW_FEEDS[name], name[:-2]) for name in ("x:0", "rows:0", "boxes:0"))
    raw = tf.raw_ops
    scores, quantities = rows[:3, 0], tf.constant([3, 1, 2, 0, 3])
    w, b = tf.constant(numbers(5, 8, seed=112)), tf.constant(numbers(8, seed=113))
    peeks = [tf.constant(numbers(2, seed=114 + n)) for n in range(3)]
    state, hidden = tf.constant(numbers(5, 2, seed=117)), tf.constant(numbers(5, 2, seed=118))
    parts = {
        "cs_prev": state,
        "h_prev": hidden,
        "w": w,
        "wci": peeks[0],
        "wcf": peeks[1],
        "wco": peeks[2],
        "b": b,
    }
    sequence = tf.stack([rows, rows * 0.5, -rows])
    gates = {"w_ru": w[:, :4], "w_c": w[:, :2], "b_ru": b[:4], "b_c": b[:2]}
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([1, 3], tf.int64), tf.constant([0.5, 1.5])), -1.0
    )
    sparse = tf.SparseTensor([[0, 1], [4, 0]], [2.0, 3.0], [5, 2])
    example = tf.train.Example(features=tf.train.Features(feature={
        "a": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0])),
        "b": tf.train.Feature(int64_list=tf.train.Int64List(value=[7])),
    })).SerializeToString()
    features = {
        "a": tf.FixedLenFeature([2], tf.float32),
        "b": tf.VarLenFeature(tf.int64),
        "c": tf.FixedLenFeature([], tf.float32, 4.0),
    }
    parsed = tf.parse_example([example, example], features)
    indices = tf.cast(quantities, tf.int64)
    layer = raw.BlockLSTM(seq_len_max=tf.constant(2, tf.int64), x=sequence, cell_clip=-1.0, **parts)
    out = [
        tf.image.adjust_contrast(x, 0.5), tf.image.adjust_hue(x, 0.1), tf.image.adjust_saturation(x, 1.5),
        tf.image.rgb_to_hsv(x), tf.image.hsv_to_rgb(x), tf.fake_quant_with_min_max_args(rows, -0.7, 0.4, 4),
        tf.fake_quant_with_min_max_vars(rows, -0.3, 0.9, 8, True),
        raw.Bucketize(input=rows, boundaries=[-0.5, 0.0, 0.5]),
        tf.fake_quant_with_min_max_vars_per_channel(rows, [-0.3, -1.0, 0.0], [0.9, 0.5, 0.7]),
        raw.NonMaxSuppressionV2(boxes=boxes, scores=scores, max_output_size=3, iou_threshold=0.5),
        tf.image.non_max_suppression(boxes, scores, 2), tf.nn.top_k(rows, 2)[1],
        raw.NonMaxSuppression(boxes=boxes, scores=scores, max_output_size=3, iou_threshold=0.3),
        raw.InTopK(predictions=rows, targets=[0, 1, 2, 0, 1], k=2), raw.UniqueV2(x=quantities, axis=[0])[0],
        *tf.dynamic_partition(rows, [0, 1, 0, 1, 1], 2), raw.Reverse(tensor=rows, dims=[True, False]),
        raw.ClipByValue(t=rows, clip_value_min=-0.2, clip_value_max=0.3),
        tf.sparse_tensor_dense_matmul(sparse, rows[:2]), tf.sparse_to_dense([[1, 2]], [3, 3], [4.0]),
        tf.sparse_reshape(sparse, [2, 5]).indices, tf.histogram_fixed_width(rows, [-1.0, 1.0], 4),
        tf.sparse_segment_mean(rows, [0, 2, 3], [0, 0, 1]), tf.sparse_reorder(sparse).values,
        raw.SpaceToBatch(input=x, paddings=[[0, 0], [0, 0]], block_size=2),
        raw.LSTMBlockCell(x=rows, use_peephole=True, cell_clip=0.5, **parts)[6],
        layer[1], layer[6],
        *raw.GRUBlockCell(x=rows, h_prev=hidden, **gates), table.lookup(indices), table.size(),
        parsed["a"], parsed["b"].values, parsed["c"], tf.parse_single_example(example, features)["a"],
        tf.dynamic_stitch([tf.cast(rows[:2, 0] > 5.0, tf.int32) + [0, 2], [1, 3]], [rows[:2], rows[2:4]]),
    ]
    return model({}, out, init=tf.tables_initializer())._replace(feeds=RAW_FEEDS)


SPARSE_FEEDS = {
    "rows:0": numbers(5, 3, seed=130),
    "words:0": np.array([[b"a", b"b"], [b"", b"c"], [b"d", b"a"]], object),
    "ids:0": np.array([3, 1, 4, 1, 2], np.int64),
}


def sparse_nodes(tf):
    """Nodes of sparse tensors, such as feature columns make them: built by TensorFlow alone."""
    rows = fed(tf, SPARSE_FEEDS["rows:0"], "rows")
    words, ids = tf.placeholder(tf.string, [3, 2], name="words"), tf.placeholder(tf.int64, [5], name="ids")
    ragged = tf.SparseTensor([[0, 0], [0, 2], [2, 1], [4, 0], [4, 1]], ids, [6, 3])
    filled, empty = tf.sparse.fill_empty_rows(ragged, tf.constant(7, tf.int64))
    weighted = tf.SparseTensor(ragged.indices, tf.cast(ids, tf.float32) * rows[0, 0], ragged.dense_shape)
    padded, _ = tf.sparse.fill_empty_rows(weighted, 0.5)
    both = tf.sparse.concat(1, [ragged, filled])
    part = tf.sparse.slice(both, [0, 1], [3, 4])
    few = tf.SparseTensor([[0, 0], [2, 0], [2, 1]], ids[:3], [3, 2])
    crossed = tf.raw_ops.SparseCross(
        indices=[few.indices], values=[few.values], shapes=[few.dense_shape], dense_inputs=[words],
        hashed_output=True, num_buckets=50, hash_key=0xDECAFCAFFE, out_type=tf.int64,
        internal_type=tf.int64,
    )
    table = tf.Variable(numbers(9, 3, seed=131), name="table")
    looked = [
        tf.nn.embedding_lookup_sparse(table, filled, None, combiner=combiner)
        for combiner in ("mean", "sqrtn", "sum")
    ]
    loss = tf.add_n([tf.reduce_sum(each * each) for each in looked]) + tf.reduce_sum(padded.values**2.0)
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    slope = tf.gradients(loss, rows)[0]
    parts = [part for each in (filled, both, part) for part in (each.indices, each.values, each.dense_shape)]
    out = [*parts, empty, *crossed, tf.sparse.reduce_sum(weighted, 1), slope, loss, table, *looked]
    fetches = [tf.identity(each) for each in out]
    return model({}, fetches, step, tf.global_variables_initializer(), 2)._replace(feeds=SPARSE_FEEDS)


PIPELINE_FEEDS = {
    "IteratorGetNext:0": numbers(4, 3, seed=120),
    "IteratorGetNext:1": np.array([0, 1, 1, 0], np.int32),
    "batch:0": numbers(4, 3, seed=121),
    "PyFunc:0": np.array([1, 0, 1, 1], np.int32),
}


def pipelines(tf):
    """Nets that a dataset, a queue and a function of Python feed: built by TensorFlow alone."""
    x, labels = (tf.constant(PIPELINE_FEEDS["IteratorGetNext:%d" % n]) for n in (0, 1))
    pairs = tf.data.Dataset.from_tensor_slices((x, labels)).repeat().map(lambda a, b: (a * 2.0, b)).batch(4)
    iterator = pairs.make_initializable_iterator()
    queued, others = tf.train.batch(tf.train.slice_input_producer([x, labels]), 4, name="batch")
    counted = tf.py_func(lambda v: v, [others], tf.int32)
    counted.set_shape([4])
    w = weights(tf, 3, 2, seed=122, name="w")
    losses = [
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=b, logits=tf.matmul(a, w))
        for a, b in (iterator.get_next(), (queued, counted))
    ]
    step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(losses[0]) + tf.reduce_mean(losses[1]))
    fetches = [tf.identity(t) for t in [*losses, w]]
    return model({}, fetches, step, tf.global_variables_initializer(), 2)._replace(feeds=PIPELINE_FEEDS)


STRUCTURES = [loops, branches, other_branches, arrays, recurrent, assigned]
FUNCTIONAL = [loops, branches, other_branches]  # recorded a second time, with functions in place of nodes

ALONE = [raw_nodes, sparse_nodes, pipelines]  # which only TensorFlow builds

READ = [*IMPORTED, *STRUCTURES, *SLOPES]
WRITTEN = [*EXPORTED, *TRAINED, *STRUCTURES, *SLOPES]


def partitioned(tf, folder, session):
    """Write checkpoints with a variable in parts, in both formats; all values by name."""
    with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(3)):
        tf.get_variable("w", initializer=tf.random_uniform_initializer(), shape=[7, 2])
    dtypes = [tf.float16, tf.float64, tf.int8, tf.int32, tf.int64, tf.uint8, tf.bool, tf.complex64, tf.string]
    for dtype in dtypes:
        values = ["ab", "", "c"] if dtype == tf.string else np.array([3, 0, 1]).astype(dtype.as_numpy_dtype)
        tf.get_variable(dtype.name, initializer=tf.constant(values, dtype))
    tf.get_variable("number", initializer=2.5)
    session.run(tf.global_variables_initializer())
    for version in (1, 2):
        saver = tf.train.Saver(write_version=version)
        saver.save(session, "%s/v%d" % (folder, version), write_meta_graph=False, write_state=False)
    tf.train.Saver(write_version=1, sharded=True).save(
        session, folder + "/parts", write_meta_graph=False, write_state=False
    )
    whole = {"net/w": tf.concat(tf.global_variables()[:3], 0)}
    return session.run({**whole, **{v.op.name: v for v in tf.global_variables()[3:]}})


def assets(tf, session, folder, words):
    """Write a SavedModel: half of x plus two, a file, and an operation that is run when it is loaded."""
    x = tf.placeholder(tf.float32, [None], name="x")
    half, two = tf.Variable(0.5, name="half"), tf.Variable(0.0, name="two", collections=["other"])
    y = tf.add(x * half, two, name="y")
    path = tf.constant(words, name="path")
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, path)
    session.run(half.initializer)
    main = tf.group(tf.assign(two, 2.0))
    builder = tf.saved_model.builder.SavedModelBuilder(folder)
    signature = tf.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})
    builder.add_meta_graph_and_variables(
        session, ["serve"], {"serving_default": signature}, main_op=main,
        assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS), saver=tf.train.Saver([half]),
    )
    builder.save()
