"""The names that operations and variables get."""

from tests.golden.runner import answer


def names(make):
    """The op names of public results, made in this order in one graph after `x` and `y`."""

    def build(tf):
        x, y = tf.placeholder(tf.float32, [2, 2], name="x"), tf.placeholder(tf.float32, [2, 2], name="y")
        return [result.op.name for result in make(tf, x, y)]

    return build


def variables(build):
    def answer_of(tf):
        build(tf)
        return [variable.name for variable in tf.global_variables()]

    return answer_of


BINARY = ("add", "subtract", "multiply", "divide", "truediv", "floordiv", "maximum", "minimum", "pow",
          "squared_difference", "equal",
          "less", "greater_equal", "matmul", "not_equal", "mod", "floormod", "div", "div_no_nan", "realdiv",
          "atan2")
UNARY = ("abs", "negative", "square", "sqrt", "rsqrt", "exp", "log", "log1p", "sin", "cos", "tan", "tanh",
         "sigmoid", "sign", "floor", "ceil", "round",
         "reciprocal", "erf", "identity", "stop_gradient", "shape", "size", "rank", "zeros_like",
         "ones_like", "transpose", "reduce_sum", "reduce_mean", "reduce_max",
         "reduce_min", "reduce_prod", "reduce_logsumexp", "argmax", "is_nan", "to_float", "to_int32",
         "squeeze", "cumsum", "diag", "trace", "norm", "where")
NN = ("relu", "relu6", "elu", "selu", "leaky_relu", "softplus", "softsign", "sigmoid", "tanh", "softmax",
      "log_softmax", "l2_loss", "crelu", "swish")


def reuse(tf):
    with tf.variable_scope("a"):
        tf.get_variable("w", [2])
        with tf.variable_scope("b"):
            tf.get_variable("w", [2])
    with tf.variable_scope("a", reuse=True):
        return [tf.get_variable("w", [2]).name, tf.get_variable("w", [2]).op.name]


def reentered(tf):
    with tf.name_scope("a") as scope:
        first = tf.zeros([2])
    with tf.name_scope("a"):
        second = tf.zeros([2])
    with tf.name_scope(scope):
        third = tf.zeros([2])
    with tf.name_scope("a/"):
        fourth = tf.zeros([2])
    return [scope] + [tensor.op.name for tensor in (first, second, third, fourth)]


def nested(tf):
    with tf.name_scope("a"), tf.name_scope("b"):
        inside = tf.constant(1.0, name="c")
        with tf.name_scope(None):
            root = tf.constant(1.0, name="c")
    return [inside.name, root.name, tf.constant(1.0, name="c").name]


def variable_scope_ops(tf):
    out = []
    for _ in range(2):
        with tf.variable_scope("s", reuse=tf.AUTO_REUSE) as scope:
            out += [tf.get_variable("w", [1]).name, tf.add(1, 2).name, scope.name, scope.original_name_scope]
    return out


def scope_objects(tf):
    with tf.variable_scope("s") as scope:
        tf.get_variable("w", [1])
    with tf.variable_scope(scope, reuse=True):
        again = tf.get_variable("w", [1])
        op = tf.constant(1.0)
    with tf.variable_scope(scope, auxiliary_name_scope=False):
        bare = tf.constant(1.0)
    return [again.name, op.name, bare.name]


def default_names(tf):
    out = []
    for _ in range(3):
        with tf.variable_scope(None, "block"):
            out.append(tf.get_variable("w", [1]).name)
    return out


def plain_variables(tf):
    with tf.name_scope("n"):
        inside = tf.Variable(1.0, name="w")
        shared = tf.get_variable("w", [1])
    return [v.name for v in (inside, shared, tf.Variable(1.0), tf.Variable(1.0), tf.Variable(1.0, name="w"))]


def dense_twice(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    hidden = tf.layers.dense(x, 4, activation=tf.nn.relu)
    tf.layers.dense(hidden, 2)
    tf.layers.dense(hidden, 2, use_bias=False, name="out")


def dense_results(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    return [
        tf.layers.dense(x, 4, activation=tf.nn.relu).name,
        tf.layers.dense(x, 4).name,
        tf.layers.dense(x, 4, name="out", activation=tf.tanh).name,
    ]


def shared_layer(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    layer = tf.layers.Dense(2)
    return [layer(x).name, layer(x).name, layer.kernel.name, layer.bias.name]


def convolutions(tf):
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    y = tf.layers.conv2d(x, 4, 3)
    y = tf.layers.batch_normalization(y, training=True)
    y = tf.layers.max_pooling2d(y, 2, 2)
    with tf.variable_scope("block"):
        y = tf.layers.conv2d(y, 4, 1)
        y = tf.layers.conv2d_transpose(y, 2, 2)
    tf.layers.separable_conv2d(x, 2, 2)
    tf.layers.dense(tf.layers.flatten(y), 2)


def layer_results(tf):
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    results = [
        tf.layers.conv2d(x, 4, 3),
        tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu),
        tf.layers.max_pooling2d(x, 2, 2),
        tf.layers.average_pooling2d(x, 2, 2),
        tf.layers.flatten(x),
        tf.layers.batch_normalization(x),
        tf.layers.dropout(x, training=True),
    ]
    return [result.name for result in results]


def optimizer_variables(make):
    def build(tf):
        with tf.variable_scope("net"):
            w = tf.get_variable("w", [2])
        make(tf).minimize(tf.reduce_sum(tf.square(w)), global_step=tf.train.get_or_create_global_step())

    return variables(build)


def step_names(tf):
    w = tf.Variable([1.0, 2.0])
    loss = tf.reduce_sum(w * w)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return [
        optimizer.minimize(loss).name,
        optimizer.minimize(loss).name,
        tf.train.AdamOptimizer().minimize(loss, name="fit").name,
    ]


def collections(tf):
    tf.get_variable("a", [1])
    tf.get_variable("b", [1], trainable=False)
    tf.get_variable("c", [1], collections=[tf.GraphKeys.LOCAL_VARIABLES])
    x = tf.placeholder(tf.float32, [None, 3])
    tf.layers.dense(x, 2, kernel_regularizer=lambda w: tf.reduce_sum(w * w))
    tf.losses.mean_squared_error(x, x)
    return {key: [item.name for item in tf.get_collection(getattr(tf.GraphKeys, key))] for key in
            ("GLOBAL_VARIABLES", "TRAINABLE_VARIABLES", "LOCAL_VARIABLES", "LOSSES", "REGULARIZATION_LOSSES",
             "UPDATE_OPS")}


def by_name(tf):
    x = tf.placeholder(tf.float32, [2], name="in")
    y = tf.split(x, 2, name="parts")
    graph = tf.get_default_graph()
    return [graph.get_tensor_by_name("parts:1") is y[1], graph.get_operation_by_name("in").name,
            y[0].op.outputs[1].name,
            [op.type for op in graph.get_operations()], y[0].value_index
]


def scope_for_values(tf):
    with tf.name_scope(None, "layer", [1.0]) as scope:
        return [scope, tf.constant(1.0).name]


def strings(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    v = tf.get_variable("v", [3])
    return [str(x), tf.int64.name, str(x.shape), v.op.type,
            str(tf.placeholder(tf.float32, name="unknown"))
]


def gradient_names(tf):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    return [
        tf.gradients(tf.matmul(x, x), x)[0].name,
        tf.gradients(tf.tanh(x), x)[0].name,
        tf.gradients(tf.tanh(x), x, name="slope")[0].name,
    ]


def default_names_beside_taken_names(tf):
    """Names of operations and variables, where other operations have a default name in another case."""
    x = tf.zeros([3])
    mean = tf.reduce_mean(x)
    tf.identity(x, name="LSTM")
    made = [mean.name]
    for _ in range(2):
        tf.metrics.mean(mean)
        tf.metrics.accuracy(x, x)
        with tf.variable_scope(None, "lstm") as scope:
            made += [tf.get_variable("v", [2]).name, tf.identity(x).name, scope.original_name_scope]
    return made + [v.name for v in tf.local_variables()]


CASES = [
    [answer(name, names(lambda tf, x, y, name=name: [getattr(tf, name)(x, y)])) for name in BINARY],
    [answer(name, names(lambda tf, x, y, name=name: [getattr(tf, name)(x)])) for name in UNARY],
    [answer("nn.%s" % name, names(lambda tf, x, y, name=name: [getattr(tf.nn, name)(x)])) for name in NN],
    answer(
        "operators",
        names(
            lambda tf, x, y: [
                x + y,
                x - y,
                x * y,
                x / y,
                -x,
                x**2,
                abs(x),
                x < y,
                x @ y,
                x // y,
                x % y,
                1 - x,
                2 * x,
                x[0],
            ]
        ),
    ),
    answer("the same twice", names(lambda tf, x, y: [x + y, x + y, x + y, tf.matmul(x, y), tf.matmul(x, y)])),
    answer(
        "names of one's own",
        names(
            lambda tf, x, y: [tf.add(x, y, name=name) for name in ("sum", "sum", "sum", "a/b", "x", "x_1")]
        ),
    ),
    answer(
        "case does not matter",
        names(lambda tf, x, y: [tf.identity(x, name=name) for name in ("Out", "out", "OUT")]),
    ),
    answer(
        "constructors",
        names(
            lambda tf, x, y: [
                tf.constant(1.0),
                tf.zeros([2]),
                tf.ones([2]),
                tf.fill([2], 1),
                tf.range(3),
                tf.linspace(0.0, 1.0, 3),
                tf.placeholder(tf.int32),
                tf.placeholder_with_default(1.0, []),
                tf.eye(2),
                tf.convert_to_tensor([1, 2]),
            ]
        ),
    ),
    answer(
        "random",
        names(lambda tf, x, y: [tf.random_uniform([2]), tf.random_normal([2]), tf.truncated_normal([2])]),
    ),
    answer(
        "shaping",
        names(
            lambda tf, x, y: [
                tf.reshape(x, [4]),
                tf.concat([x, y], 0),
                tf.stack([x, y]),
                tf.split(x, 2)[1],
                tf.unstack(x)[0],
                tf.expand_dims(x, 0),
                tf.pad(x, [[1, 1], [0, 0]]),
                tf.tile(x, [1, 2]),
                tf.gather(x, [0]),
                tf.gather_nd(x, [[0]]),
                tf.one_hot([1], 2),
                tf.slice(x, [0, 0], [1, 1]),
                tf.cast(x, tf.int32),
                tf.reverse(x, [0]),
                tf.clip_by_value(x, 0.0, 1.0),
                tf.where(x > y, x, y),
                tf.boolean_mask(x, [True, False]),
                tf.add_n([x, y]),
                tf.tensordot(x, y, 1),
                tf.broadcast_to(x, [3, 2, 2]),
                tf.scatter_nd([[0]], [1.0], [2]),
                tf.nn.top_k(x).values,
                tf.sort(x),
            ]
        ),
    ),
    answer("einsum", names(lambda tf, x, y: [tf.einsum("ij,jk->ik", x, y)])),
    answer(
        "softmax cross entropy",
        names(lambda tf, x, y: [tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=y)]),
    ),
    answer(
        "cross entropies",
        names(
            lambda tf, x, y: [
                tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=y),
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=y),
                tf.losses.mean_squared_error(x, y),
                tf.losses.softmax_cross_entropy(x, y),
                tf.losses.sparse_softmax_cross_entropy([0, 1], y),
                tf.losses.sigmoid_cross_entropy(x, y),
                tf.losses.absolute_difference(x, y),
                tf.losses.huber_loss(x, y),
                tf.losses.get_total_loss(),
            ]
        ),
    ),
    answer(
        "normalisation",
        names(
            lambda tf, x, y: [
                tf.nn.moments(x, [0])[0],
                tf.nn.moments(x, [0])[1],
                tf.nn.l2_normalize(x, 1),
                tf.nn.dropout(x, 0.5),
                tf.nn.batch_normalization(x, 0.0, 1.0, 0.0, 1.0, 1e-3),
                tf.nn.bias_add(x, [1.0, 2.0]),
                tf.nn.xw_plus_b(x, y, [1.0, 1.0]),
            ]
        ),
    ),
    answer(
        "images",
        names(
            lambda tf, x, y: [
                tf.nn.conv2d(tf.zeros([1, 4, 4, 1]), tf.zeros([2, 2, 1, 1]), 1, "SAME"),
                tf.nn.max_pool(tf.zeros([1, 4, 4, 1]), 2, 2, "SAME"),
                tf.nn.avg_pool(tf.zeros([1, 4, 4, 1]), 2, 2, "SAME"),
                tf.nn.conv1d(tf.zeros([1, 4, 1]), tf.zeros([2, 1, 1]), 1, "SAME"),
                tf.nn.depthwise_conv2d(tf.zeros([1, 4, 4, 1]), tf.zeros([2, 2, 1, 1]), [1, 1, 1, 1], "SAME"),
            ]
        ),
    ),
    answer(
        "control",
        lambda tf: [
            tf.no_op().name,
            tf.group(tf.no_op()).name,
            tf.group(tf.no_op(), name="all").name,
            tf.global_variables_initializer().name,
            tf.tuple([tf.zeros([1])])[0].name,
        ],
    ),
    answer(
        "cond",
        lambda tf: (
            tf.cond(tf.placeholder(tf.bool, []), lambda: tf.constant(1.0), lambda: tf.constant(2.0)).name
        ),
    ),
    answer(
        "while_loop",
        lambda tf: [
            t.name
            for t in tf.while_loop(
                lambda i, j: i < 3, lambda i, j: (i + 1, j), [tf.constant(0), tf.constant(1)]
            )
        ],
    ),
    answer("reuse", reuse),
    answer("name_scope entered again", reentered),
    answer("name_scope nested", nested),
    answer(
        "name_scope with values",
        scope_for_values,
    ),
    answer(
        "graph.unique_name",
        lambda tf: [tf.get_default_graph().unique_name(name) for name in ("a", "a", "A", "b", "a_1")],
    ),
    answer("variable_scope opens a new name scope each time", variable_scope_ops),
    answer("variable_scope by its object", scope_objects),
    answer("variable_scope by default name", default_names),
    answer("Variable and get_variable", plain_variables),
    answer(
        "reading a variable",
        lambda tf: [
            tf.identity(tf.get_variable("w", [1])).op.inputs[0].name,
            tf.get_variable("v", [1]).initializer.name,
            tf.get_variable("u", [1]).initial_value.name,
            tf.get_variable("t", [1]).read_value().name,
            tf.identity(tf.get_variable("s", [1])).name,
            tf.assign(tf.get_variable("r", [1]), [1.0]).name,
        ],
    ),
    answer("dense variables", variables(dense_twice)),
    answer("dense results", dense_results),
    answer("a layer called twice", shared_layer),
    answer("convolution variables", variables(convolutions)),
    answer("layer results", layer_results),
    [
        answer("variables of %s" % name, optimizer_variables(make))
        for name, make in (
            ("Adam", lambda tf: tf.train.AdamOptimizer()),
            ("Momentum", lambda tf: tf.train.MomentumOptimizer(0.1, 0.9)),
            ("RMSProp", lambda tf: tf.train.RMSPropOptimizer(0.1)),
            ("RMSProp, centered", lambda tf: tf.train.RMSPropOptimizer(0.1, centered=True)),
            ("Adagrad", lambda tf: tf.train.AdagradOptimizer(0.1)),
            ("Adadelta", lambda tf: tf.train.AdadeltaOptimizer()),
            ("Ftrl", lambda tf: tf.train.FtrlOptimizer(0.1)),
            ("GradientDescent", lambda tf: tf.train.GradientDescentOptimizer(0.1)),
        )
    ],
    answer("optimizer steps", step_names),
    answer(
        "variables of a moving average",
        variables(lambda tf: tf.train.ExponentialMovingAverage(0.9).apply([tf.Variable(1.0, name="w")])),
    ),
    answer("collections", collections),
    answer("look up by name", by_name),
    answer("str", strings),
    answer("repr", lambda tf: repr(tf.placeholder(tf.float32, [None, 3], name="x"))),
    answer("gradients", gradient_names),
    answer(
        "placeholders",
        names(
            lambda tf, x, y: [
                tf.placeholder(tf.float32, name="x"),
                tf.placeholder(tf.float32),
                tf.placeholder(tf.float32),
            ]
        ),
    ),
    answer(
        "schedules",
        lambda tf: [
            getattr(tf.train, name)(0.1, tf.train.get_or_create_global_step(), 10, 0.9).name
            for name in ("exponential_decay", "natural_exp_decay", "inverse_time_decay")
        ],
    ),
    answer(
        "global step",
        lambda tf: [
            tf.train.get_or_create_global_step().name,
            tf.train.get_global_step() is tf.train.get_or_create_global_step(),
        ],
    ),
    answer(
        "dtypes",
        lambda tf: [
            dtype.name
            for dtype in (
                tf.constant(1).dtype,
                tf.constant(1.0).dtype,
                tf.constant([True]).dtype,
                (tf.constant(1) / 2).dtype,
                tf.argmax([1.0]).dtype,
                tf.shape([1]).dtype,
                tf.Variable(1.0).value().dtype.base_dtype,
                tf.constant("a").dtype,
                tf.range(3).dtype,
                tf.range(3.0).dtype,
                tf.where([True]).dtype,
            )
        ],
    ),
    answer("default names beside taken names", default_names_beside_taken_names),
]
