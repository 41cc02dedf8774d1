"""The names and types of the operations that derivatives are, op by op, and of those of a training step."""

import numpy as np

from tests.golden.runner import answer

WINDOW = ([1, 2, 2, 1], [1, 2, 2, 1], "SAME")


def ones(*shape):
    return np.ones(shape, np.float32)


MATRIX = {
    "relu": lambda tf, x: tf.nn.relu(x),
    "relu6": lambda tf, x: tf.nn.relu6(x),
    "elu": lambda tf, x: tf.nn.elu(x),
    "selu": lambda tf, x: tf.nn.selu(x),
    "leaky_relu": lambda tf, x: tf.nn.leaky_relu(x),
    "softplus": lambda tf, x: tf.nn.softplus(x),
    "softsign": lambda tf, x: tf.nn.softsign(x),
    "sigmoid": lambda tf, x: tf.sigmoid(x),
    "tanh": lambda tf, x: tf.tanh(x),
    "sqrt": lambda tf, x: tf.sqrt(x),
    "rsqrt": lambda tf, x: tf.rsqrt(x),
    "reciprocal": lambda tf, x: tf.reciprocal(x),
    "exp": lambda tf, x: tf.exp(x),
    "square": lambda tf, x: tf.square(x),
    "negative": lambda tf, x: -x,
    "abs": lambda tf, x: tf.abs(x),
    "sin": lambda tf, x: tf.sin(x),
    "cos": lambda tf, x: tf.cos(x),
    "mean": lambda tf, x: tf.reduce_mean(x),
    "mean of rows": lambda tf, x: tf.reduce_mean(x, 1),
    "max": lambda tf, x: tf.reduce_max(x, 1),
    "identity": lambda tf, x: tf.identity(x),
    "reshape": lambda tf, x: tf.reshape(x, [-1]),
    "transpose": lambda tf, x: tf.transpose(x),
    "expand_dims": lambda tf, x: tf.expand_dims(x, 0),
    "tile": lambda tf, x: tf.tile(x, [2, 1]),
    "slice": lambda tf, x: tf.slice(x, [0, 1], [2, 2]),
    "getitem": lambda tf, x: x[:, 1],
    "cast": lambda tf, x: tf.cast(x, tf.float64),
    "concat": lambda tf, x: tf.concat([x, x], 0),
    "stack": lambda tf, x: tf.stack([x, x]),
    "unstack": lambda tf, x: tf.unstack(x, axis=1)[0],
    "split": lambda tf, x: tf.split(x, 2, 1)[0],
    "softmax": lambda tf, x: tf.nn.softmax(x),
    "log_softmax": lambda tf, x: tf.nn.log_softmax(x),
    "l2_loss": lambda tf, x: tf.nn.l2_loss(x),
    "cumsum": lambda tf, x: tf.cumsum(x),
    "reverse": lambda tf, x: tf.reverse(x, [0]),
    "bias_add": lambda tf, x: tf.nn.bias_add(x, ones(4)),
    "matmul": lambda tf, x: tf.matmul(x, ones(4, 2)),
    "add": lambda tf, x: x + 1.0,
    "subtract": lambda tf, x: x - 1.0,
    "pow": lambda tf, x: x**3.0,
    "where": lambda tf, x: tf.where(x > 0, x, x * 2.0),
    "squared_difference": lambda tf, x: tf.squared_difference(x, 1.0),
    "sparse cross entropy": lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=[0, 1, 2], logits=x
    ),
    "sigmoid cross entropy": lambda tf, x: tf.nn.sigmoid_cross_entropy_with_logits(
        labels=tf.ones_like(x), logits=x
    ),
}
IMAGES = {
    "max_pool": lambda tf, x: tf.nn.max_pool(x, *WINDOW),
    "avg_pool": lambda tf, x: tf.nn.avg_pool(x, *WINDOW),
    "conv2d": lambda tf, x: tf.nn.conv2d(x, ones(3, 3, 3, 2), strides=[1, 1, 1, 1], padding="SAME"),
    "depthwise_conv2d": lambda tf, x: tf.nn.depthwise_conv2d(x, ones(3, 3, 3, 1), [1, 1, 1, 1], "SAME"),
    "space_to_depth": lambda tf, x: tf.space_to_depth(x, 2),
    "lrn": lambda tf, x: tf.nn.lrn(x),
    "mirror_pad": lambda tf, x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"),
}


def derivative(function, shape):
    def build(tf):
        x = tf.placeholder(tf.float32, shape, name="x")
        (slope,) = tf.gradients(function(tf, x), x)
        return [slope.name, slope.op.type]

    return build


def two_layers(tf):
    """Which operations a training step has that pass through layers, and the names of what they give."""
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    logits = tf.layers.dense(tf.layers.dense(x, 100, tf.nn.relu), 10)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), name="loss"
    )
    pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss)
    made = [(op.name, op.type) for op in tf.get_default_graph().get_operations()]
    kinds = ("MatMul", "ReluGrad", "BiasAddGrad", "Fill", "RealDiv", "NoOp")
    named = [[name, type] for name, type in made if name.startswith("gradients/") and type in kinds]
    return [[gradient.name, variable.name] for gradient, variable in pairs] + sorted(named)


CASES = [
    [answer(name, derivative(function, [3, 4])) for name, function in MATRIX.items()],
    [answer(name, derivative(function, [2, 4, 4, 3])) for name, function in IMAGES.items()],
    answer("two layers", two_layers),
]
