"""Small graphs, written once and built by either library: by TensorFlow 1.15 to be read here, and the reverse.

A model is a function of `tf` that builds in the default graph and returns a `Model`. It runs on Python 3.7, the
last that TensorFlow 1.15 knows.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

# Names of tensors and operations. `feeds`: arrays by tensor; `fetches`: the tensors looked at, before and after
# the operation `step` ran `steps` times. `init` is run first, where there are variables.
Model = namedtuple("Model", "feeds fetches init step steps")


def numbers(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.RandomState(seed).uniform(low, high, shape).astype(np.float32)


def model(feeds, fetches, step=None, init=None, steps=0):
    return Model(
        {tensor.name: value for tensor, value in feeds.items()}
        if not isinstance(feeds, list)
        else dict(feeds),
        [tensor.name for tensor in fetches],
        init.name if init is not None else None,
        step.name if step is not None else None,
        steps,
    )


def renamed(told, names):
    """A model with the other library's names: of `init`, `step` and the fetches."""
    init, step, *fetches = [str(name) for name in names]
    return told._replace(init=init or None, step=step or None, fetches=fetches)


def fed(tf, value, name, shape=None):
    return tf.placeholder(value.dtype.name, value.shape if shape is None else shape, name=name)


def operand(variable):
    """Return the operand of operations for a variable. Fetched, it has the value after the assignments of a run."""
    return variable.graph.get_tensor_by_name(variable.op.name + "/read:0")


def weights(tf, *shape, seed, name):
    return tf.Variable(numbers(*shape, seed=seed), name=name)


def run(tf, graph, told, session=None):
    """Return the fetches of a model: before training, and after."""
    with (session or tf.Session)(graph=graph) as sess:
        feeds = {graph.get_tensor_by_name(name): value for name, value in told.feeds.items()}
        if told.init:
            sess.run(graph.get_operation_by_name(told.init))
        fetches = [graph.get_tensor_by_name(name) for name in told.fetches]
        found = sess.run(fetches, feeds)
        if told.step:
            step = graph.get_operation_by_name(told.step)
            for _ in range(told.steps):
                sess.run(step, feeds)
            found += sess.run(fetches, feeds)
    return [np.asarray(value) for value in found]


def elementwise(tf):
    values = numbers(3, 4, seed=1, low=0.1)
    x = fed(tf, values, "x", [None, 4])
    y = tf.constant(numbers(4, seed=2, low=0.5), name="c")
    out = [
        x + y, x - y, x * y, x / y, tf.pow(x, y), tf.maximum(x, y), tf.minimum(x, y), tf.squared_difference(x, y),
        tf.exp(x), tf.log(x), tf.sqrt(x), tf.rsqrt(x), tf.square(x), tf.tanh(x), tf.sigmoid(x), tf.sin(x), tf.cos(x),
        tf.nn.relu(x - 0.5), tf.nn.elu(x - 0.5), tf.nn.selu(x - 0.5), tf.nn.softplus(x), tf.nn.relu6(x * 9.0),
        tf.nn.leaky_relu(x - 0.5), tf.abs(x - 0.5), tf.sign(x - 0.5), tf.floor(x * 3.0), tf.ceil(x * 3.0),
        tf.round(x * 3.0), tf.negative(x), tf.reciprocal(x), tf.erf(x), tf.log1p(x), tf.expm1(x), tf.floormod(x, y),
        tf.where(x > 0.5, x, -x), tf.cast(x * 9.0, tf.int32), tf.logical_and(x > 0.2, x < 0.7), tf.equal(x, x),
        tf.clip_by_value(x, 0.2, 0.7), tf.add_n([x, x, x]), tf.identity(x), tf.zeros_like(x), tf.ones_like(x),
        tf.is_nan(x), tf.atan2(x, y), tf.stop_gradient(x), tf.not_equal(x, 0.5), tf.atan(x),
    ]
    return model({x: values}, out)


def reductions(tf):
    values = numbers(2, 3, 4, seed=3)
    x = fed(tf, values, "x", [None, 3, 4])
    out = [
        tf.reduce_sum(x), tf.reduce_sum(x, 1), tf.reduce_mean(x, [0, 2]), tf.reduce_max(x, -1, keepdims=True),
        tf.reduce_min(x, 0), tf.reduce_prod(x, [1]), tf.reduce_mean(x, keepdims=True), tf.reduce_all(x > -2.0),
        tf.reduce_any(x > 0.9, 2), tf.argmax(x, 1), tf.argmin(x, 2, output_type=tf.int32), tf.nn.softmax(x),
        tf.nn.softmax(x, axis=1), tf.nn.log_softmax(x), tf.reduce_logsumexp(x, 1), tf.cumsum(x, 1),
        tf.cumprod(x, 2, exclusive=True, reverse=True), tf.nn.moments(x, [0])[1], tf.nn.l2_loss(x), tf.norm(x),
        tf.nn.top_k(x, 2)[0], tf.nn.top_k(x, 2)[1], tf.nn.l2_normalize(x, 2),
    ]
    return model({x: values}, out)


def shapes(tf):
    values = numbers(2, 3, 4, seed=4)
    x = fed(tf, values, "x", [None, 3, 4])
    n = tf.shape(x)[0]
    parts = tf.split(x, 2, axis=2)
    a, b = tf.split(x, [1, 3], axis=2)
    rows = tf.unstack(x, axis=1)
    out = [
        tf.reshape(x, [n, 12]), tf.reshape(x, [-1]), tf.transpose(x), tf.transpose(x, [0, 2, 1]),
        tf.concat([x, x], 1), tf.stack([x, x], 1), parts[0], parts[1], a, b, rows[2], tf.expand_dims(x, 1),
        tf.squeeze(tf.expand_dims(x, 1)), tf.squeeze(tf.expand_dims(x, 1), [1]), tf.tile(x, [1, 2, 1]),
        tf.pad(x, [[0, 0], [1, 2], [0, 1]]), tf.pad(x, [[0, 0], [1, 1], [0, 0]], constant_values=2.0),
        tf.pad(x, [[0, 0], [1, 1], [1, 2]], mode="REFLECT"), x[0], x[:, 1:], x[..., -1], x[:, ::2, tf.newaxis],
        tf.slice(x, [0, 1, 1], [-1, 2, 2]), tf.gather(x, [2, 0], axis=1), tf.gather(tf.reshape(x, [-1, 4]), [1, 0]),
        tf.gather_nd(x, [[0, 1], [1, 2]]), tf.reverse(x, [1]), tf.fill([2, 2], 7.0), tf.range(2, 9, 3),
        tf.one_hot([0, 2], 3), tf.shape(x), tf.size(x), tf.rank(x), tf.ones([2, 3]), tf.linspace(0.0, 1.0, 3),
        tf.boolean_mask(x, [True, False, True], axis=1), tf.scatter_nd([[1], [3]], [1.0, 2.0], [4]),
        tf.unsorted_segment_sum(x, [0, 1], 2), tf.matrix_band_part(x, 1, 0), tf.invert_permutation([2, 0, 1]),
        tf.eye(3), tf.broadcast_to(tf.constant([1.0, 2.0]), [3, 2]), tf.sequence_mask([1, 3], 4),
    ]
    return model({x: values}, out)


def convolutions(tf):
    values = numbers(2, 8, 8, 3, seed=5)
    x = fed(tf, values, "x", [None, 8, 8, 3])
    kernel = tf.constant(numbers(3, 3, 3, 4, seed=6))
    conv = tf.nn.conv2d(x, kernel, strides=[1, 2, 2, 1], padding="SAME")
    out = [
        conv, tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="VALID", dilations=[1, 2, 2, 1]),
        tf.nn.bias_add(conv, tf.constant(numbers(4, seed=7))), tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
        tf.nn.depthwise_conv2d(x, tf.constant(numbers(3, 3, 3, 2, seed=8)), [1, 1, 1, 1], "SAME"),
        tf.nn.conv2d_transpose(
            x, tf.constant(numbers(3, 3, 2, 3, seed=9)), [2, 16, 16, 2], [1, 2, 2, 1], "SAME"
        ),
        tf.nn.lrn(x, depth_radius=2), tf.space_to_depth(x, 2), tf.depth_to_space(conv, 2),
        tf.image.resize_bilinear(x, [4, 5]), tf.image.resize_nearest_neighbor(x, [5, 4]),
        tf.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]), tf.zeros([3]), tf.ones([3]), is_training=False)[0],
        tf.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]))[0],
    ]
    return model({x: values}, out)


def products(tf):
    values = numbers(2, 3, 4, seed=10)
    x = fed(tf, values, "x", [None, 3, 4])
    flat = tf.reshape(x, [-1, 4])
    w = tf.constant(numbers(4, 5, seed=11))
    out = [
        tf.matmul(flat, w), tf.matmul(flat, w, transpose_a=False, transpose_b=False), tf.matmul(x, x, transpose_b=True),
        tf.matmul(flat, flat, transpose_a=True), tf.tensordot(x, w, 1), tf.matmul(x, x, adjoint_a=True),
    ]
    return model({x: values}, out)


def losses(tf):
    values, classes = numbers(4, 3, seed=12), np.array([0, 2, 1, 1], np.int32)
    x, labels = fed(tf, values, "x", [None, 3]), fed(tf, classes, "labels", [None])
    hot = tf.one_hot(labels, 3)
    out = [
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=hot, logits=x),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x),
        tf.nn.sigmoid_cross_entropy_with_logits(labels=hot, logits=x),
        tf.losses.mean_squared_error(hot, x), tf.losses.softmax_cross_entropy(hot, x),
        tf.losses.absolute_difference(hot, x), tf.losses.huber_loss(hot, x), tf.nn.in_top_k(x, labels, 1),
        tf.reduce_mean(tf.cast(tf.equal(tf.argmax(x, 1, output_type=tf.int32), labels), tf.float32)),
    ]
    return model({x: values, labels: classes}, out)


def counters(tf):
    """Variables that are assigned, without derivatives."""
    v, n = weights(tf, 2, 3, seed=13, name="v"), tf.Variable(1, name="n")
    table = weights(tf, 4, 2, seed=14, name="table")
    with tf.control_dependencies([tf.assign_add(n, 2)]):
        half = tf.assign(v, v * 0.5)
    with tf.control_dependencies([half]):
        rows = tf.scatter_add(table, [1, 3], tf.ones([2, 2]))
    step = tf.group(half, rows, name="step")
    return model({}, [operand(v), operand(n), operand(table)], step, tf.global_variables_initializer(), 2)


EXPORTED = [elementwise, reductions, shapes, convolutions, products, losses, counters]


def mlp(tf):
    """Two layers, cross-entropy, momentum."""
    values, classes = numbers(6, 4, seed=20), np.array([0, 2, 1, 1, 0, 2], np.int64)
    x, labels = fed(tf, values, "x", [None, 4]), fed(tf, classes, "labels", [None])
    w, b = weights(tf, 4, 8, seed=21, name="w"), tf.Variable(np.zeros(8, np.float32), name="b")
    w2, b2 = weights(tf, 8, 3, seed=22, name="w2"), tf.Variable(np.zeros(3, np.float32), name="b2")
    logits = tf.nn.xw_plus_b(tf.nn.relu(tf.matmul(x, w) + b), w2, b2)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    step = tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(loss)
    return model({x: values, labels: classes}, [loss, logits], step, tf.global_variables_initializer(), 3)


def regression(tf, optimizer):
    values, targets = numbers(5, 3, seed=23), numbers(5, 2, seed=24)
    x, y = fed(tf, values, "x", [None, 3]), fed(tf, targets, "y", [None, 2])
    w, b = weights(tf, 3, 2, seed=25, name="w"), weights(tf, 1, seed=26, name="b")
    scale = tf.reduce_max(tf.abs(x), axis=1, keepdims=True)
    loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w) / scale + b) - y))
    step = optimizer(tf.train).minimize(loss)
    return model({x: values, y: targets}, [loss, operand(w)], step, tf.global_variables_initializer(), 4)


def adam(tf):
    return regression(tf, lambda train: train.AdamOptimizer(0.05))


def gradient_descent(tf):
    return regression(tf, lambda train: train.GradientDescentOptimizer(0.1))


def adagrad(tf):
    return regression(tf, lambda train: train.AdagradOptimizer(0.1))


def rms_prop(tf):
    return regression(tf, lambda train: train.RMSPropOptimizer(0.01, momentum=0.5))


def centered_rms_prop(tf):
    return regression(tf, lambda train: train.RMSPropOptimizer(0.01, centered=True))


def lenet(tf):
    """Convolutions and pooling, trained with Adam."""
    values, classes = numbers(3, 12, 12, 1, seed=30), np.array([1, 0, 3], np.int32)
    x, labels = fed(tf, values, "x", [None, 12, 12, 1]), fed(tf, classes, "labels", [None])
    k, c = weights(tf, 5, 5, 1, 4, seed=31, name="k"), weights(tf, 4, seed=32, name="c")
    h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k, [1, 1, 1, 1], "SAME"), c))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    k2 = weights(tf, 3, 3, 4, 6, seed=33, name="k2")
    h = tf.nn.avg_pool(
        tf.nn.elu(tf.nn.conv2d(h, k2, [1, 1, 1, 1], "VALID")), [1, 2, 2, 1], [1, 2, 2, 1], "VALID"
    )
    w = weights(tf, 24, 4, seed=34, name="w")
    logits = tf.matmul(tf.reshape(h, [-1, 24]), w, name="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    step = tf.train.AdamOptimizer(0.01).minimize(loss)
    return model({x: values, labels: classes}, [loss, logits], step, tf.global_variables_initializer(), 2)


def batch_norm(tf):
    """A normalised layer, its moving averages, and another in inference."""
    values = numbers(4, 5, 5, 2, seed=40)
    x = fed(tf, values, "x", [None, 5, 5, 2])
    scale, offset = weights(tf, 2, seed=41, name="scale"), weights(tf, 2, seed=42, name="offset")
    y, mean, variance = tf.nn.fused_batch_norm(x, scale, offset, epsilon=0.01)
    kept = tf.Variable(np.zeros(2, np.float32), trainable=False, name="kept")
    moved = tf.assign_sub(kept, (kept - mean) * 0.1)
    z = tf.nn.fused_batch_norm(y, scale, offset, mean * 0.5, variance + 1.0, is_training=False)[0]
    loss = tf.reduce_sum(tf.square(z + y) * numbers(5, 5, 2, seed=43))
    with tf.control_dependencies([moved]):
        step = tf.train.GradientDescentOptimizer(0.001).minimize(loss)
    return model(
        {x: values}, [loss, operand(kept), operand(scale)], step, tf.global_variables_initializer(), 3
    )


def lstm(tf):
    """Three unrolled steps of an LSTM, in terms of split, sigmoid and tanh, with clipped gradients."""
    values = numbers(2, 3, 4, seed=50)
    x = fed(tf, values, "x", [None, 3, 4])
    w, b = weights(tf, 9, 20, seed=51, name="w"), tf.Variable(np.zeros(20, np.float32), name="b")
    state = hidden = tf.zeros([tf.shape(x)[0], 5])
    for part in tf.unstack(x, axis=1):
        i, j, f, o = tf.split(tf.matmul(tf.concat([part, hidden], 1), w) + b, 4, axis=1)
        state = state * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        hidden = tf.tanh(state) * tf.sigmoid(o)
    loss = tf.reduce_mean(tf.reduce_sum(tf.square(hidden - 0.3), axis=1))
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    grads, variables = zip(*optimizer.compute_gradients(loss))
    grads, _ = tf.clip_by_global_norm(grads, 0.5)
    step = optimizer.apply_gradients(zip(grads, variables))
    return model({x: values}, [loss, hidden], step, tf.global_variables_initializer(), 3)


def embedding(tf):
    """Rows of a table by number, trained sparsely."""
    numbers_fed = np.array([[1, 2], [2, 4]], np.int32)
    ids = fed(tf, numbers_fed, "ids", [None, 2])
    table = weights(tf, 5, 3, seed=60, name="table")
    mean = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1)
    loss = tf.reduce_sum(tf.square(mean - 0.5))
    step = tf.train.AdagradOptimizer(0.2).minimize(loss)
    return model({ids: numbers_fed}, [loss, operand(table)], step, tf.global_variables_initializer(), 3)


def optimizers(tf, use_resource=False):
    """A step of every optimizer, on all of a variable, and on some rows of another."""
    train, numbers_fed = tf.train, np.array([[1, 2], [2, 4]], np.int32)
    ids = fed(tf, numbers_fed, "ids", [None, 2])
    count = train.get_or_create_global_step()
    every = [
        train.GradientDescentOptimizer(0.1), train.MomentumOptimizer(0.1, 0.9),
        train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), train.AdamOptimizer(0.1),
        train.AdagradOptimizer(0.2), train.AdadeltaOptimizer(0.5, 0.9, 1e-4),
        train.RMSPropOptimizer(0.05, momentum=0.5), train.RMSPropOptimizer(0.05, centered=True),
        train.FtrlOptimizer(0.3, l1_regularization_strength=0.05, l2_regularization_strength=0.1),
        train.FtrlOptimizer(0.3, learning_rate_power=-0.3, l2_shrinkage_regularization_strength=0.2),
        train.AdagradDAOptimizer(0.3, count, l1_regularization_strength=0.05),
        train.ProximalGradientDescentOptimizer(0.1, 0.2, 0.1), train.ProximalAdagradOptimizer(0.2, 0.1, 0.3),
    ]
    fetches, steps = [], []
    for number, optimizer in enumerate(every):
        with tf.variable_scope("net%d" % number, use_resource=use_resource):
            w = tf.get_variable("w", initializer=numbers(3, seed=63))
            table = tf.get_variable("table", initializer=numbers(5, 3, seed=64))
        mean = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1)
        steps.append(optimizer.minimize(tf.reduce_sum(tf.square(mean * w - 0.5)), var_list=[w, table]))
        fetches += [tf.identity(w), tf.identity(table)]
    with tf.control_dependencies(steps):
        step = tf.assign_add(count, 1)
    return model({ids: numbers_fed}, fetches, step.op, tf.global_variables_initializer(), 3)


def resource_optimizers(tf):
    """The same with variables of the newer kind."""
    return optimizers(tf, use_resource=True)


def resources(tf):
    """Variables of the newer kind."""
    values = numbers(4, 3, seed=61)
    x = fed(tf, values, "x", [None, 3])
    with tf.variable_scope("net", use_resource=True):
        w = tf.get_variable("w", initializer=numbers(3, 2, seed=62))
        n = tf.get_variable("n", initializer=np.float32(1.0), trainable=False)
    loss = tf.reduce_mean(tf.square(tf.nn.softplus(tf.matmul(x, w)) * n - 0.2))
    with tf.control_dependencies([tf.train.AdamOptimizer(0.1).minimize(loss)]):
        step = tf.assign_add(n, 0.5)
    return model({x: values}, [loss, w.read_value()], step.op, tf.global_variables_initializer(), 3)


def derivatives(tf):
    """Derivatives of shapes, slices and normalisations, expanded into nodes."""
    values = numbers(2, 4, 6, seed=70, low=0.2)
    x = fed(tf, values, "x", [None, 4, 6])
    n = tf.shape(x)[0]
    parts = [
        tf.reduce_sum(x[:, 1:3, ::2] * 2.0), tf.reduce_sum(tf.square(tf.concat([x, x * 2.0], 2))),
        tf.reduce_mean(tf.nn.softmax(x) * x), tf.reduce_sum(tf.transpose(x, [2, 0, 1]) ** 3.0),
        tf.reduce_max(x), tf.reduce_sum(tf.reduce_mean(x, 1) ** 2.0), tf.reduce_sum(tf.gather(x, [1, 1], axis=1) ** 2.0),
        tf.reduce_sum(tf.tile(x, [1, 2, 1]) ** 2.0), tf.reduce_sum(tf.pad(x, [[0, 0], [1, 1], [0, 0]]) ** 2.0),
        tf.reduce_sum(tf.stack([x, -x], 1) ** 2.0), tf.reduce_sum(tf.nn.l2_normalize(x, 2)),
        tf.reduce_sum(tf.nn.log_softmax(x) * x), tf.reduce_sum(tf.maximum(x, 0.5) + tf.minimum(x, 0.4) * x),
        tf.reduce_sum(tf.where(x > 0.5, x * x, x)), tf.reduce_sum(tf.reshape(x, [n, 24]) ** 2.0),
        tf.reduce_sum(tf.nn.relu6(x * 8.0) + tf.nn.selu(x - 0.5) + tf.nn.softsign(x) + tf.nn.leaky_relu(x - 0.5)),
        tf.reduce_sum(tf.sqrt(x) + tf.rsqrt(x) + tf.log(x) + tf.reciprocal(x) + tf.abs(x) + tf.sigmoid(x)),
        tf.reduce_sum(tf.matmul(x, x, transpose_b=True) ** 2.0), tf.reduce_sum(tf.cumsum(x, 1) ** 2.0),
        tf.reduce_sum(tf.nn.lrn(tf.reshape(x, [-1, 2, 2, 6])) * tf.reshape(x, [-1, 2, 2, 6])),
        tf.reduce_sum(tf.pad(x, [[0, 0], [1, 1], [0, 0]], mode="REFLECT") ** 2.0),
        tf.reduce_sum((x - tf.reduce_mean(x, [0, 1], keepdims=True)) ** 2.0), tf.reduce_sum(tf.unstack(x, axis=1)[2] ** 2.0),
    ]
    return model({x: values}, [tf.gradients(part, x)[0] for part in parts])


TRAINED = [
    mlp, adam, gradient_descent, adagrad, rms_prop, centered_rms_prop, lenet, batch_norm, lstm, resources,
    embedding, optimizers,
]
IMPORTED = [*EXPORTED, *TRAINED, derivatives, resource_optimizers]


def served(tf, session, folder):
    """Write a SavedModel of a net that is not trained; what it gives for `numbers(4, 3, seed=80)`."""
    x = fed(tf, numbers(4, 3, seed=80), "x", [None, 3])
    w, b = weights(tf, 3, 2, seed=81, name="w"), weights(tf, 2, seed=82, name="b")
    y = tf.nn.softmax(tf.nn.xw_plus_b(x, w, b), name="y")
    session.run(tf.global_variables_initializer())
    tf.saved_model.simple_save(session, folder, {"x": x}, {"y": y})
    return session.run(y, {x: numbers(4, 3, seed=80)})


def load_served(tf, session, folder):
    """Return the results of such a SavedModel, by its signature."""
    told = tf.saved_model.loader.load(session, ["serve"], folder).signature_def["serving_default"]
    return session.run(told.outputs["y"].name, {told.inputs["x"].name: numbers(4, 3, seed=80)})


def collected(tf):
    """A net in scopes, with collections of all kinds."""
    values = numbers(4, 3, seed=80)
    x = fed(tf, values, "x", [None, 3])
    with tf.variable_scope("net"):
        w = tf.get_variable("w", initializer=numbers(3, 2, seed=81))
        b = tf.get_variable("b", initializer=np.zeros(2, np.float32), trainable=False)
    y = tf.nn.softplus(tf.matmul(x, w) + b, name="y")
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.square(y - 0.5), name="loss")
    train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    tf.add_to_collection("mine", y)
    tf.add_to_collection("texts", "hello")
    tf.add_to_collection("numbers", 3)
    tf.add_to_collection("weights", 2.5)
    tf.add_to_collection("train_op", train)
    tf.summary.scalar("loss", loss)
    return model({x: values}, [loss, operand(w)], train, tf.global_variables_initializer(), 1)
