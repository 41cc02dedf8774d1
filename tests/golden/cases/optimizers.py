"""Optimizers over ten steps, dense and sparse; learning-rate schedules; moving averages."""

from tests.golden.runner import answer, error, trains

OPTIMIZERS = {
    "GradientDescent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "Momentum, Nesterov": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "Adagrad from zero": lambda tf: tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.01),
    "Adadelta": lambda tf: tf.train.AdadeltaOptimizer(1.0),
    "Adadelta by default": lambda tf: tf.train.AdadeltaOptimizer(),
    "RMSProp": lambda tf: tf.train.RMSPropOptimizer(0.01),
    "RMSProp, centered": lambda tf: tf.train.RMSPropOptimizer(0.01, centered=True),
    "RMSProp, momentum": lambda tf: tf.train.RMSPropOptimizer(0.01, decay=0.8, momentum=0.7),
    "RMSProp, centered, momentum": lambda tf: tf.train.RMSPropOptimizer(
        0.01, momentum=0.5, epsilon=1e-3, centered=True
    ),
    "Adam": lambda tf: tf.train.AdamOptimizer(0.05),
    "Adam by default": lambda tf: tf.train.AdamOptimizer(),
    "Adam with other rates": lambda tf: tf.train.AdamOptimizer(0.1, 0.5, 0.9, 1e-4),
    "Ftrl": lambda tf: tf.train.FtrlOptimizer(0.1),
    "Ftrl, l1 and l2": lambda tf: tf.train.FtrlOptimizer(
        0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.1
    ),
    "Ftrl, shrinkage": lambda tf: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    "ProximalGradientDescent": lambda tf: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.1),
    "ProximalAdagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.1),
    "AdagradDA": lambda tf: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
}

SCHEDULES = {
    "exponential_decay": lambda tf, step: tf.train.exponential_decay(0.5, step, 4, 0.7),
    "exponential_decay, staircase": lambda tf, step: tf.train.exponential_decay(
        0.5, step, 4, 0.7, staircase=True
    ),
    "piecewise_constant": lambda tf, step: tf.train.piecewise_constant(step, [2, 5], [0.5, 0.2, 0.1]),
    "polynomial_decay": lambda tf, step: tf.train.polynomial_decay(0.5, step, 6, 0.01),
    "polynomial_decay, power": lambda tf, step: tf.train.polynomial_decay(0.5, step, 6, 0.01, power=2.0),
    "polynomial_decay, cycle": lambda tf, step: tf.train.polynomial_decay(0.5, step, 4, 0.01, cycle=True),
    "natural_exp_decay": lambda tf, step: tf.train.natural_exp_decay(0.5, step, 4, 0.7),
    "natural_exp_decay, staircase": lambda tf, step: tf.train.natural_exp_decay(
        0.5, step, 4, 0.7, staircase=True
    ),
    "inverse_time_decay": lambda tf, step: tf.train.inverse_time_decay(0.5, step, 4, 0.7),
    "inverse_time_decay, staircase": lambda tf, step: tf.train.inverse_time_decay(
        0.5, step, 4, 0.7, staircase=True
    ),
    "cosine_decay": lambda tf, step: tf.train.cosine_decay(0.5, step, 8, alpha=0.1),
    "cosine_decay_restarts": lambda tf, step: tf.train.cosine_decay_restarts(
        0.5, step, 3, t_mul=2.0, m_mul=0.8
    ),
    "linear_cosine_decay": lambda tf, step: tf.train.linear_cosine_decay(0.5, step, 8),
}

AVERAGES = {
    "plain": lambda tf, step: tf.train.ExponentialMovingAverage(0.9),
    "num_updates": lambda tf, step: tf.train.ExponentialMovingAverage(0.9, num_updates=step),
    "zero_debias": lambda tf, step: tf.train.ExponentialMovingAverage(0.9, zero_debias=True),
}


def weights(tf, name="w", dtype=None):
    return tf.Variable([[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]], name=name, dtype=dtype or tf.float32)


def dense_loss(tf, variable):
    """A bent valley, so that the gradients change from step to step."""
    scale = tf.constant([[1.0, 3.0], [0.3, 0.1], [2.0, 1.0]], variable.dtype.base_dtype)
    return tf.reduce_sum(scale * tf.square(variable) + tf.sin(variable))


def sparse_loss(tf, variable):
    """Touches two rows of three, one of them twice."""
    return tf.reduce_sum(tf.square(tf.nn.embedding_lookup(variable, [2, 0, 2]) + [1.0, -1.0]))


def product_loss(tf, variable):
    """The product with a sparse matrix that has another column in each step; its derivative is dense."""
    column = tf.mod(tf.train.get_or_create_global_step(), 3)
    places = tf.stack([tf.stack([0, column]), tf.stack([1, column])])
    matrix = tf.SparseTensor(tf.cast(places, tf.int64), [1.0, -0.5], [2, 3])
    return tf.reduce_sum(tf.square(tf.sparse_tensor_dense_matmul(matrix, variable) + [1.0, -1.0]))


def slots(optimizer, variable):
    return [optimizer.get_slot(variable, name) for name in optimizer.get_slot_names()]


def minimizes(make, loss):
    def build(tf):
        variable = weights(tf)
        optimizer = make(tf)
        step = optimizer.minimize(loss(tf, variable), global_step=tf.train.get_or_create_global_step())
        return step, [variable] + slots(optimizer, variable)

    return build


def minimizes_double(make):
    def build(tf):
        variable = weights(tf, dtype=tf.float64)
        return make(tf).minimize(dense_loss(tf, variable)), [variable]

    return build


def nodes(make, dtype="float32"):
    """The operations of a step: names, types, inputs, and attributes of updates."""

    def build(tf):
        variable = weights(tf, dtype=getattr(tf, dtype))
        make(tf).minimize(dense_loss(tf, variable), name="step")
        made = [op for op in tf.get_default_graph().get_operations() if op.name.split("/")[0] == "step"]
        return [[op.name, kind(op), [t.name for t in op.inputs], len(op.outputs), attributes(op)]
                for op in made]

    return build


def kind(op):
    return "Add" if op.type == "AddV2" else op.type


def attributes(op):
    known = ("use_locking", "use_nesterov", "update_slots") if op.type.startswith("Apply") else ()
    return {name: op.get_attr(name) for name in known if name in op.node_def.attr}


def scheduled(schedule):
    def build(tf):
        variable, count = weights(tf), tf.train.get_or_create_global_step()
        rate = schedule(tf, count)
        step = tf.train.GradientDescentOptimizer(rate).minimize(dense_loss(tf, variable), global_step=count)
        return step, [rate, count, variable]

    return build


def clipped(clip):
    def build(tf):
        a, b = weights(tf, "a"), weights(tf, "b")
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        pairs = optimizer.compute_gradients(dense_loss(tf, a) + 3.0 * dense_loss(tf, b))
        grads = clip(tf, [grad for grad, _ in pairs])
        return optimizer.apply_gradients(zip(grads, [variable for _, variable in pairs])), [a, b]

    return build


def averaged(average):
    def build(tf):
        variable, count = weights(tf), tf.train.get_or_create_global_step()
        step = tf.train.GradientDescentOptimizer(0.1).minimize(dense_loss(tf, variable), global_step=count)
        average_of = average(tf, count)
        with tf.control_dependencies([step]):
            update = average_of.apply([variable])
        return update, [variable, average_of.average(variable)]

    return build


def averaged_tensor(zero_debias):
    """The average of a tensor, which begins at zero."""

    def build(tf):
        count = tf.Variable(1.0)
        tensor = tf.identity(tf.assign_add(count, 0.5))
        average = tf.train.ExponentialMovingAverage(0.9, zero_debias=zero_debias)
        return average.apply([tensor]), [count, average.average(tensor)]

    return build


def batch_normalized(tf):
    """A layer with moving averages: its updates are run with the step."""
    inputs = tf.constant([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]])
    hidden = tf.layers.batch_normalization(inputs, training=True, momentum=0.8)
    variables = tf.global_variables()
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(hidden - 1.0)))
    return step, variables


def two_variables(tf):
    a, b = weights(tf, "a"), tf.Variable(0.5, name="b")
    loss = tf.reduce_sum(tf.square(a * b - 1.0))
    return tf.train.AdamOptimizer(0.05).minimize(loss), [a, b, loss]


def only_one_of_two(tf):
    a, b = weights(tf, "a"), weights(tf, "b")
    loss = dense_loss(tf, a) + dense_loss(tf, b)
    return tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss, var_list=[b]), [a, b]


def regression(tf):
    """Linear regression on fixed points, as the first script of every tutorial has it."""
    x = tf.constant([[0.0], [1.0], [2.0], [3.0]])
    y = 2.0 * x - 1.0
    w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    loss = tf.losses.mean_squared_error(y, tf.matmul(x, w) + b)
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss), [w, b, loss]


def counting(tf):
    """Assignments in their own right."""
    count, total = tf.Variable(0), tf.Variable([0.0, 1.0])
    with tf.control_dependencies([tf.assign_add(count, 2)]):
        step = tf.assign(total, total * 1.5 + 1.0)
    return step, [count, total]


def scattering(tf):
    table = weights(tf)
    step = tf.group(tf.scatter_add(table, [0, 2, 0], [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]))
    return step, [table]


def resources(tf):
    return [tf.get_variable(name, initializer=[3.0, 4.0], use_resource=True) for name in "ab"]


def loss_by_function(tf):
    a, _ = resources(tf)
    return tf.train.GradientDescentOptimizer(0.1).minimize(lambda: tf.reduce_sum(a * a)), [a]


def pairs_by_function(tf):
    a, b = resources(tf)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    found = [optimizer.compute_gradients(lambda: a * a), optimizer.compute_gradients(lambda: a * a, [a, b])]
    return [[[v.name, g is None] for g, v in pairs] for pairs in found]


CASES = [
    trains("a loss that a function gives", loss_by_function),
    answer("gradients of a loss that a function gives", pairs_by_function),
    error("a loss without variables that a function gives", lambda tf: [
        resources(tf), tf.train.AdamOptimizer().minimize(lambda: tf.constant(1.0))]),
    [trains("%s, dense" % name, minimizes(make, dense_loss), tolerance=5)
     for name, make in OPTIMIZERS.items()],
    [trains("%s, sparse" % name, minimizes(make, sparse_loss), tolerance=5)
     for name, make in OPTIMIZERS.items()],
    [trains("%s, product with a sparse matrix" % name, minimizes(OPTIMIZERS[name], product_loss), tolerance=5)
     for name in ("Momentum", "RMSProp", "Ftrl, l1 and l2")],
    [trains("%s, float64" % name, minimizes_double(OPTIMIZERS[name]))
     for name in ("GradientDescent", "Momentum", "Momentum, Nesterov", "Adagrad", "Adadelta", "RMSProp",
                  "RMSProp, centered", "Adam", "Ftrl")],
    [answer("the operations of a step of %s" % name, nodes(make)) for name, make in OPTIMIZERS.items()],
    [answer("the operations of a step of %s, float64" % name, nodes(OPTIMIZERS[name], "float64"))
     for name in ("GradientDescent", "Momentum", "RMSProp, centered", "Adam", "Ftrl")],
    answer("the operations of a step of Adam, with use_locking", nodes(
        lambda tf: tf.train.AdamOptimizer(use_locking=True))),
    [trains(name, scheduled(schedule), tolerance=5) for name, schedule in SCHEDULES.items()],
    trains("clip_by_global_norm", clipped(lambda tf, grads: tf.clip_by_global_norm(grads, 2.0)[0]),
           tolerance=5),
    trains("clip_by_norm", clipped(lambda tf, grads: [tf.clip_by_norm(grad, 1.0) for grad in grads]),
           tolerance=5),
    trains("clip_by_value", clipped(lambda tf, grads: [tf.clip_by_value(grad, -0.5, 0.5) for grad in grads]),
           tolerance=5),
    [trains("ExponentialMovingAverage, %s" % name, averaged(average), tolerance=5)
     for name, average in AVERAGES.items()],
    trains("ExponentialMovingAverage of a tensor", averaged_tensor(False)),
    trains("ExponentialMovingAverage of a tensor, zero_debias", averaged_tensor(True)),
    trains("batch_normalization with its moving averages", batch_normalized, tolerance=10),
    trains("Adam over two variables", two_variables, tolerance=5),
    trains("Momentum over one of two variables", only_one_of_two, tolerance=5),
    trains("linear regression", regression, tolerance=5),
    trains("assign and assign_add", counting),
    trains("scatter_add adds duplicates", scattering),
]
