"""Operations as scripts look at them: their inputs, attributes and messages."""

from tests.golden.runner import answer


def arrays(tf):
    a = tf.placeholder(tf.float32, [2, 3], name="a")
    ones, kernel = tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1])
    return {
        "transpose": tf.transpose(a, [1, 0]), "transpose all": tf.transpose(a),
        "reshape": tf.reshape(a, [3, 2]),
        "sum": tf.reduce_sum(a, 1), "sum all": tf.reduce_sum(a), "mean": tf.reduce_mean(a, [0, 1], True),
        "concat": tf.concat([a, a], 1), "tile": tf.tile(a, [1, 2]), "pad": tf.pad(a, [[1, 1], [0, 0]]),
        "expand": tf.expand_dims(a, 0), "squeeze": tf.squeeze(tf.ones([1, 2])), "argmax": tf.argmax(a, 1),
        "gather": tf.gather(a, [0]), "slice": tf.slice(a, [0, 0], [1, 1]), "row": a[0], "part": a[:, 1:],
        "split": tf.split(a, 3, axis=1)[0], "stack": tf.stack([a, a], axis=1), "unstack": tf.unstack(a)[0],
        "fill": tf.fill([2, 3], 1.0), "range": tf.range(5), "cumsum": tf.cumsum(a, 1),
        "reverse": tf.reverse(a, [0]),
        "top_k": tf.nn.top_k(a, 2)[0], "roll": tf.roll(a, 1, 0),
        "resize": tf.image.resize_bilinear(ones, [8, 8]),
        "conv": tf.nn.conv2d(ones, kernel, strides=[1, 2, 2, 1], padding="SAME"),
        "pool": tf.nn.max_pool(ones, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        "transposed conv": tf.nn.conv2d_transpose(ones, kernel, [1, 8, 8, 1], [1, 2, 2, 1]),
        "matmul": tf.matmul(a, a, transpose_b=True), "cast": tf.cast(a, tf.int32),
        "bias": tf.nn.bias_add(a, tf.ones([3])),
        "broadcast": tf.broadcast_to(a, [2, 2, 3]), "segments": tf.unsorted_segment_sum(a, [0, 1], 2),
        "any": tf.reduce_any(a > 0, 0), "max": tf.reduce_max(a, 0), "blocks": tf.space_to_depth(ones, 2),
        "batches": tf.space_to_batch_nd(ones, [2, 2], [[0, 0], [0, 0]]), "lrn": tf.nn.lrn(ones),
        "product": a * 2.0, "relu": tf.nn.relu(a),
        "normal": tf.random_normal([2, 3]).op.inputs[0].op.inputs[0],
        "placeholder": a, "constant": tf.constant([1.0, 2.0]), "linspace": tf.linspace(0.0, 1.0, 3),
        "split sizes": tf.split(a, [1, 2], axis=1)[0], "where": tf.where(a > 0), "norm": tf.nn.l2_loss(a),
    }


def inputs(tf):
    """Type, and shape and dtype of each input."""
    return {
        name: [t.op.type, [[x.shape.as_list(), x.dtype.base_dtype.name] for x in t.op.inputs]]
        for name, t in arrays(tf).items()
    }


def constants(tf):
    """The values of all inputs that are constants."""
    made = arrays(tf)
    known = {name: [x for x in t.op.inputs if x.op.type == "Const"] for name, t in made.items()}
    with tf.Session() as sess:
        return {name: [value.tolist() for value in sess.run(found)] for name, found in known.items() if found}


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "dim"):
        return [d.size for d in value.dim]
    if hasattr(value, "tensor_content"):
        return "a tensor"
    if isinstance(value, bytes):
        return "bytes: " + value.decode()
    return value.name if hasattr(value, "as_numpy_dtype") else value


def attributes(tf):
    """The attributes by `get_attr`: those that the message has, without what is only TensorFlow's."""
    return {
        name: {key: plain(t.op.get_attr(key)) for key in sorted(t.op.node_def.attr) if key[0] != "_"}
        for name, t in arrays(tf).items()
    }


def messages(tf):
    """Name, type and inputs of the messages."""
    with tf.control_dependencies([tf.no_op(name="before")]):
        x = tf.placeholder(tf.float32, [2, 4], name="x")
    y = tf.reshape(tf.split(x, 2, axis=1, name="parts")[1], [4], name="y")
    nodes = [y.op.node_def, x.op.node_def]
    return [[node.name, node.op, list(node.input)] for node in nodes]


def missing(tf):
    try:
        tf.constant(1.0).op.get_attr("nothing")
    except ValueError:
        return "refused"
    return "found"


CASES = [
    answer("inputs", inputs),
    answer("constants", constants),
    answer("attributes", attributes),
    answer("messages", messages),
    answer("missing attribute", missing),
]
