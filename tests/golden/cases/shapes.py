"""Static shape inference: what is known of a result's shape before anything runs."""

import copy

from tests.golden.runner import answer, shape


def known(build, *dims):
    """The shape of a function of placeholders with these dimensions; None leaves one open."""
    return lambda tf: build(tf, *[tf.placeholder(tf.float32, each) for each in dims])


TABLE = {
    "placeholder": (lambda tf, x: x, [None, 3]),
    "placeholder of unknown rank": (lambda tf, x: x, None),
    "add broadcasts": (lambda tf, x, y: x + y, [None, 1], [4]),
    "add of open and known": (lambda tf, x, y: x + y, [None, 3], [2, 3]),
    "add of open and one": (lambda tf, x, y: x + y, [None], [1]),
    "add of unknown rank": (lambda tf, x, y: x + y, None, [3]),
    "matmul": (lambda tf, x, y: tf.matmul(x, y), [None, 3], [3, 4]),
    "matmul of a batch": (lambda tf, x, y: tf.matmul(x, y), [None, 2, 3], [None, 3, 4]),
    "matmul transposed": (lambda tf, x, y: tf.matmul(x, y, transpose_a=True), [3, None], [3, 4]),
    "reduce_sum of all": (lambda tf, x: tf.reduce_sum(x), [None, 3]),
    "reduce_sum over axis 0": (lambda tf, x: tf.reduce_sum(x, 0), [None, 3]),
    "reduce_mean keeps dims": (lambda tf, x: tf.reduce_mean(x, 1, keepdims=True), [None, 3]),
    "reduce_max over several": (lambda tf, x: tf.reduce_max(x, [1, 2]), [None, 3, 4, 5]),
    "reduce_sum of unknown rank": (lambda tf, x: tf.reduce_sum(x), None),
    "reduce_sum of unknown rank over axis 0": (lambda tf, x: tf.reduce_sum(x, 0), None),
    "argmax": (lambda tf, x: tf.argmax(x, 1), [None, 3]),
    "reshape": (lambda tf, x: tf.reshape(x, [-1, 6]), [None, 2, 3]),
    "reshape of known size": (lambda tf, x: tf.reshape(x, [-1, 6]), [4, 2, 3]),
    "reshape by a shape": (lambda tf, x, y: tf.reshape(x, tf.shape(y)), [None, 3], [3, 2]),
    "reshape by a part of a shape": (lambda tf, x: tf.reshape(x, [tf.shape(x)[0], 6]), [None, 2, 3]),
    "transpose": (lambda tf, x: tf.transpose(x, [2, 0, 1]), [None, 3, 4]),
    "transpose by default": (lambda tf, x: tf.transpose(x), [None, 3]),
    "expand_dims": (lambda tf, x: tf.expand_dims(x, -1), [None, 3]),
    "squeeze": (lambda tf, x: tf.squeeze(x, [1]), [None, 1, 3]),
    "squeeze of known": (lambda tf, x: tf.squeeze(x), [2, 1, 3, 1]),
    "concat": (lambda tf, x, y: tf.concat([x, y], 0), [None, 3], [2, 3]),
    "concat along 1": (lambda tf, x, y: tf.concat([x, y], 1), [None, 3], [2, 4]),
    "stack": (lambda tf, x, y: tf.stack([x, y], 1), [None, 3], [2, None]),
    "unstack": (lambda tf, x: tf.unstack(x, axis=1), [None, 3]),
    "split": (lambda tf, x: tf.split(x, 3, 1), [None, 6]),
    "split by sizes": (lambda tf, x: tf.split(x, [1, 5], 1), [None, 6]),
    "slicing": (lambda tf, x: x[1:, 2], [None, 3]),
    "slicing known": (lambda tf, x: x[1:-1, ::-2, None], [5, 6]),
    "slicing with ellipsis": (lambda tf, x: x[..., 0], [None, 3, None]),
    "slice": (lambda tf, x: tf.slice(x, [1, 0], [2, -1]), [None, 3]),
    "pad": (lambda tf, x: tf.pad(x, [[0, 0], [1, 2]]), [None, 3]),
    "tile": (lambda tf, x: tf.tile(x, [2, 3]), [None, 3]),
    "gather": (lambda tf, x: tf.gather(x, [[0, 1]]), [None, 3]),
    "gather along 1": (lambda tf, x: tf.gather(x, [0, 1], axis=1), [None, 3, 4]),
    "gather_nd": (lambda tf, x: tf.gather_nd(x, [[0, 1], [1, 1]]), [None, 3, 4]),
    "one_hot": (lambda tf, x: tf.one_hot(tf.cast(x, tf.int32), 5), [None]),
    "one_hot along 0": (lambda tf, x: tf.one_hot(tf.cast(x, tf.int32), 5, axis=0), [None, 2]),
    "where": (lambda tf, x: tf.where(x > 0), [None, 3]),
    "where of three": (lambda tf, x, y: tf.where(x > y, x, y), [None, 3], [2, 3]),
    "boolean_mask": (lambda tf, x: tf.boolean_mask(x, [True, False, True], axis=1), [None, 3]),
    "top_k": (lambda tf, x: tf.nn.top_k(x, 2), [None, 5]),
    "unique": (lambda tf, x: tf.unique(x), [None]),
    "cumsum": (lambda tf, x: tf.cumsum(x), [None, 3]),
    "shape": (lambda tf, x: [tf.shape(x), tf.size(x), tf.rank(x)], [None, 3]),
    "shape of unknown rank": (lambda tf, x: tf.shape(x), None),
    "zeros_like": (lambda tf, x: tf.zeros_like(x), [None, 3]),
    "fill by a shape": (lambda tf, x: tf.fill(tf.shape(x), 1.0), [None, 3]),
    "random_uniform by a shape": (lambda tf, x: tf.random_uniform(tf.shape(x)), [2, 3]),
    "conv2d SAME": (lambda tf, x: tf.nn.conv2d(x, tf.zeros([3, 3, 2, 5]), 2, "SAME"), [None, 7, 8, 2]),
    "conv2d VALID": (lambda tf, x: tf.nn.conv2d(x, tf.zeros([3, 3, 2, 5]), 2, "VALID"), [None, 7, 8, 2]),
    "conv2d of an open image": (
        lambda tf, x: tf.nn.conv2d(x, tf.zeros([3, 3, 2, 5]), 1, "SAME"),
        [None, None, None, 2],
    ),
    "conv2d_transpose": (
        lambda tf, x: tf.nn.conv2d_transpose(x, tf.zeros([3, 3, 2, 5]), [2, 8, 8, 2], 2),
        [2, 4, 4, 5],
    ),
    "max_pool": (lambda tf, x: tf.nn.max_pool(x, 3, 2, "VALID"), [None, 7, 8, 2]),
    "bias_add": (lambda tf, x: tf.nn.bias_add(x, [1.0, 2.0, 3.0]), [None, 3]),
    "softmax cross entropy": (
        lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=y),
        [None, 3],
        [None, 3],
    ),
    "sparse softmax cross entropy": (
        lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2], logits=x),
        [None, 3],
    ),
    "moments": (lambda tf, x: tf.nn.moments(x, [0]), [None, 3]),
    "batch_normalization": (lambda tf, x: tf.layers.batch_normalization(x), [None, 4, 4, 3]),
    "dense": (lambda tf, x: tf.layers.dense(x, 7), [None, 3]),
    "dense of three axes": (lambda tf, x: tf.layers.dense(x, 7), [None, None, 3]),
    "flatten": (lambda tf, x: tf.layers.flatten(x), [None, 2, 3]),
    "layers.conv2d": (lambda tf, x: tf.layers.conv2d(x, 4, 3, padding="same", strides=2), [None, 9, 9, 3]),
    "layers.max_pooling2d": (lambda tf, x: tf.layers.max_pooling2d(x, 2, 2), [None, 9, 9, 3]),
    "dropout": (lambda tf, x: tf.nn.dropout(x, 0.5), [None, 3]),
    "losses": (lambda tf, x, y: tf.losses.mean_squared_error(x, y), [None, 3], [None, 3]),
    "tensordot": (lambda tf, x, y: tf.tensordot(x, y, 1), [None, 2, 3], [3, 4]),
    "einsum": (lambda tf, x, y: tf.einsum("bij,jk->bik", x, y), [None, 2, 3], [3, 4]),
    "embedding_lookup": (
        lambda tf, x: tf.nn.embedding_lookup(tf.zeros([5, 2]), tf.cast(x, tf.int32)),
        [None, 3],
    ),
    "map_fn": (lambda tf, x: tf.map_fn(lambda row: row * 2, x), [None, 3]),
    "scan": (lambda tf, x: tf.scan(lambda a, row: a + row, x), [None, 3]),
    "cond": (lambda tf, x: tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: x + 1), [None, 3]),
    "while_loop": (
        lambda tf, x: tf.while_loop(lambda y: tf.reduce_sum(y) < 1, lambda y: y * 2, [x]),
        [None, 3],
    ),
    "gradients": (lambda tf, x: tf.gradients(tf.reduce_sum(x * x), x), [None, 3]),
    "placeholder_with_default": (lambda tf, x: tf.placeholder_with_default(x, [None, 3]), [2, 3]),
    "broadcast_to": (lambda tf, x: tf.broadcast_to(x, [4, 2, 3]), [2, 3]),
    "matrix_diag": (lambda tf, x: tf.matrix_diag(x), [None, 3]),
    "space_to_depth": (lambda tf, x: tf.space_to_depth(x, 2), [None, 4, 4, 3]),
    "reverse": (lambda tf, x: tf.reverse(x, [0]), [None, 3]),
    "ensure_shape": (lambda tf, x: tf.ensure_shape(x, [2, None]), [None, 3]),
    "unsorted_segment_sum": (lambda tf, x: tf.unsorted_segment_sum(x, [0, 1], 4), [2, 3]),
    "accumulate through broadcast": (lambda tf, x, y, z: x * y + z, [None, 1], [1, None], [5]),
}


def set_shape(tf):
    x = tf.placeholder(tf.float32, None)
    x.set_shape([None, 3])
    y = tf.placeholder(tf.float32, [None, 3])
    y.set_shape([2, None])
    return [x, y]


def sums(tf):
    """Shapes and sizes in the arithmetic of Python, copied and stored."""
    x, size = tf.TensorShape([2, None]), tf.Dimension(9)
    made = [x + [3], [1] + x, (1, None) + x, x + x, x + size, x + tf.TensorShape(None), [1] + x[:1],
            copy.deepcopy(x), copy.deepcopy(tf.TensorShape(None)), *copy.deepcopy([size, tf.Dimension(None)]),
            4 % size, 20 % size]
    return [str(each) for each in made]

# Shapes with a number `n` whose rank is not declared: `n = tf.placeholder(tf.int32)`.
NUMBERS = {
    "reshape": lambda tf, x, n: tf.reshape(x, [n, 3, 6]),
    "reshape with an open size": lambda tf, x, n: tf.reshape(x, [n * 2, -1, 6]),
    "reshape by a stack": lambda tf, x, n: tf.reshape(x, tf.stack([n, 3])),
    "reshape by nothing else": lambda tf, x, n: tf.reshape(x, [n, n]),
    "reshape by lists that are joined": lambda tf, x, n: tf.reshape(x, tf.concat([[n], [3]], 0)),
    "zeros": lambda tf, x, n: tf.zeros([n, 3]),
    "fill": lambda tf, x, n: tf.fill([n, 3], 1.0),
    "tile": lambda tf, x, n: tf.tile(tf.ones([1, 3]), [n, 1]),
    "random_uniform": lambda tf, x, n: tf.random_uniform([n, 3]),
    "truncated_normal": lambda tf, x, n: tf.truncated_normal([n, 3]),
    "broadcast_to": lambda tf, x, n: tf.broadcast_to(1.0, [n, 3]),
    "scatter_nd": lambda tf, x, n: tf.scatter_nd([[1]], tf.ones([1, 3]), [n, 3]),
    "slice": lambda tf, x, n: tf.slice(tf.ones([9, 4]), [0, 0], [n, 2]),
    "a slice of rows": lambda tf, x, n: tf.ones([9, 4])[:n],
    "conv2d_transpose": lambda tf, x, n: tf.nn.conv2d_transpose(
        tf.ones([2, 4, 4, 3]), tf.ones([2, 2, 5, 3]), [n, 8, 8, 5], [1, 2, 2, 1]
    ),
    "dense": lambda tf, x, n: tf.layers.dense(tf.reshape(x, [n, 3]), 4),
    "dynamic_rnn": lambda tf, x, n: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(5), tf.reshape(x, [n, 4, 3]), dtype=tf.float32
    )[0],
}


def of_numbers(build):
    """The shape of a function of two placeholders of unknown rank."""
    return lambda tf: build(tf, tf.placeholder(tf.float32), tf.placeholder(tf.int32))


CASES = [
    [shape("%s of a number" % name, of_numbers(build)) for name, build in NUMBERS.items()],
    [shape(name, known(build, *dims)) for name, (build, *dims) in TABLE.items()],
    shape("constants",
          lambda tf: [tf.constant(1), tf.zeros([2, 3]), tf.range(5), tf.range(0, 10, 3),
                      tf.linspace(0.0, 1.0, 4), tf.eye(2, 3)]),
    shape("variables",
          lambda tf: [tf.get_variable("w", [2, 3]), tf.Variable([1.0]), tf.Variable(tf.zeros([2, 1]))]),
    shape("set_shape", set_shape),
    answer("sums of shapes", sums),
]
