"""Neural network functions: activations, softmax, losses, normalisation."""

from tests.golden.draws import bools, given, ints, positive, real, simplex
from tests.golden.runner import FLOAT32, runs, value

INF = float("inf")
LARGE = given([-1000.0, -100.0, -1.0, -0.0, 0.0, 1.0, 100.0, 1000.0])
LABELS = given([0, 2, 1], "int32")
REDUCTIONS = (
    "NONE",
    "SUM",
    "MEAN",
    "SUM_OVER_BATCH_SIZE",
    "SUM_OVER_NONZERO_WEIGHTS",
    "SUM_BY_NONZERO_WEIGHTS",
)


def nn(name, **options):
    return lambda tf, *args: getattr(tf.nn, name)(*args, **options)


def loss(name, **options):
    return lambda tf, *args: getattr(tf.losses, name)(*args, **options)


def batch_norm(**options):
    return lambda tf, x, scale, offset: list(tf.nn.fused_batch_norm(x, scale, offset, **options)[:1])


ACTIVATIONS = (
    "relu",
    "relu6",
    "elu",
    "selu",
    "leaky_relu",
    "crelu",
    "softplus",
    "softsign",
    "sigmoid",
    "tanh",
    "swish",
    "log_softmax",
    "softmax",
)

PROBABILITIES = {"log_loss": [[0.25, 0.75], [0.5, 0.0]]}
LABELS_OF_HALVES = [[1.0, 0.0], [0.0, 1.0]]
LARGE_HALVES = [[300.0, 200.0], [100.0, -700.0]]  # whose squares are no float16


def halves(tf, values):
    return tf.constant(values, tf.float16)


def loss_of_halves(name, reduction, **options):
    def build(tf):
        given = halves(tf, PROBABILITIES.get(name, LARGE_HALVES))
        how = getattr(tf.losses.Reduction, reduction)
        return getattr(tf.losses, name)(halves(tf, LABELS_OF_HALVES), given, reduction=how, **options)

    return build


CASES = [
    [value(name, nn(name), real(3, 4, low=-4, high=8)) for name in ACTIVATIONS],
    [value("%s of large arguments" % name, nn(name), LARGE)
     for name in ("relu", "relu6", "elu", "selu", "leaky_relu", "softplus", "softsign", "sigmoid", "tanh",
                  "softmax", "log_softmax")],
    [value("%s of infinities and nan" % name, nn(name), given([INF, -INF, float("nan"), 1.0]), grad=False)
     for name in ("relu", "relu6", "elu", "softplus", "softsign", "sigmoid", "tanh")],
    value("log_sigmoid of large arguments", lambda tf, x: tf.log_sigmoid(x), LARGE),
    value("relu of integers", nn("relu"), ints(6)),
    value("leaky_relu with slope", nn("leaky_relu", alpha=0.3), real(5)),
    value("second derivative of softplus", lambda tf, x: tf.gradients(tf.nn.softplus(x), x)[0], real(4)),
    value("second derivative of elu", lambda tf, x: tf.gradients(tf.nn.elu(x), x)[0], real(4)),
    value("second derivative of softmax", lambda tf, x: tf.gradients(tf.nn.softmax(x)[:, 0], x)[0],
          real(2, 3)),
    [value("%s along axis %d" % (name, axis), nn(name, axis=axis), real(2, 3, 4))
     for name in ("softmax", "log_softmax") for axis in (0, 1, -1)],
    value("softmax of a vector", nn("softmax"), real(5)),
    value("softmax with a mask of minus infinity", nn("softmax"), given([[1.0, -INF, 2.0]]), grad=False),
    value("log of softmax", lambda tf, x: tf.log(tf.nn.softmax(x)), real(2, 4)),

    value("softmax_cross_entropy_with_logits_v2",
          lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x), simplex(3, 4),
          real(3, 4)),
    value("softmax_cross_entropy_with_logits",
          lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x), simplex(3, 4),
          real(3, 4)),
    value("softmax cross entropy along axis 1",
          lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x, axis=1),
          simplex(2, 3, 2), real(2, 3, 2)),
    value("softmax cross entropy of large logits",
          lambda tf, x: tf.nn.softmax_cross_entropy_with_logits_v2(
              labels=tf.one_hot([0, 1], 2, dtype=x.dtype), logits=x),
          given([[1000.0, -1000.0], [1000.0, 0.0]])),
    value("sparse_softmax_cross_entropy_with_logits",
          lambda tf, y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x), LABELS,
          real(3, 4)),
    value("sparse softmax cross entropy of sequences",
          lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(
              labels=tf.constant([[0, 1], [2, 2]], tf.int64), logits=x), real(2, 2, 3)),
    value("sigmoid_cross_entropy_with_logits",
          lambda tf, y, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x), simplex(3, 4),
          real(3, 4)),
    value("sigmoid cross entropy of large logits",
          lambda tf, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(x) * 0.25, logits=x),
          LARGE),
    value("weighted_cross_entropy_with_logits",
          lambda tf, y, x: tf.nn.weighted_cross_entropy_with_logits(targets=y, logits=x, pos_weight=2.5),
          simplex(3, 4), real(3, 4)),
    value("log_poisson_loss", nn("log_poisson_loss"), positive(4), real(4)),
    value("l2_loss", nn("l2_loss"), real(3, 4)),
    [value("l2_normalize %s" % (axis,), nn("l2_normalize", axis=axis), real(3, 4))
     for axis in (0, 1, None, [0, 1])],
    value("l2_normalize of zeros", nn("l2_normalize", axis=1), given([[0.0, 0.0], [3.0, 4.0]])),

    value("moments", nn("moments", axes=[0]), real(5, 3)),
    value("moments of an image", nn("moments", axes=[0, 1, 2]), real(2, 3, 3, 2)),
    value("moments keep dims", nn("moments", axes=[1], keep_dims=True), real(3, 4)),
    value("weighted_moments", lambda tf, x, w: tf.nn.weighted_moments(x, [0], w), real(4, 2), positive(4, 1)),
    value("sufficient_statistics", lambda tf, x: list(tf.nn.sufficient_statistics(x, [0])[:3]), real(4, 2)),
    value("batch_normalization", nn("batch_normalization", variance_epsilon=1e-3), real(4, 3), real(3),
          positive(3), real(3), real(3)),
    value("batch_normalization without scale or offset",
          lambda tf, x, m, v: tf.nn.batch_normalization(x, m, v, None, None, 1e-3), real(4, 3), real(3),
          positive(3)),
    value("batch_normalization by its own moments",
          lambda tf, x, s, o: tf.nn.batch_normalization(x, *tf.nn.moments(x, [0]), o, s, 1e-3), real(5, 3),
          positive(3), real(3), tolerance=3),
    value("fused_batch_norm", batch_norm(), real(2, 3, 3, 2), positive(2), real(2), dtypes=FLOAT32,
          tolerance=3),
    value("fused_batch_norm statistics", lambda tf, x, s, o: list(tf.nn.fused_batch_norm(x, s, o)),
          real(2, 3, 3, 2), positive(2), real(2), dtypes=FLOAT32, grad=False),
    value("fused_batch_norm epsilon", batch_norm(epsilon=0.1), real(2, 2, 2, 3), positive(3), real(3),
          dtypes=FLOAT32, tolerance=3),
    value("fused_batch_norm for inference",
          lambda tf, x, s, o, m, v: tf.nn.fused_batch_norm(x, s, o, m, v, is_training=False)[0],
          real(2, 2, 2, 3), positive(3), real(3), real(3), positive(3), dtypes=FLOAT32),
    value("bias_add", nn("bias_add"), real(2, 3), real(3)),
    value("bias_add of an image", nn("bias_add"), real(2, 2, 2, 3), real(3)),
    value("bias_add channels first", nn("bias_add", data_format="NCHW"), real(2, 3, 2, 2), real(3),
          dtypes=FLOAT32),
    value("lrn", nn("lrn"), real(1, 2, 2, 7), dtypes=FLOAT32),
    value("lrn with parameters",
          nn("local_response_normalization", depth_radius=1, bias=2.0, alpha=0.3, beta=0.75),
          real(1, 2, 2, 4), dtypes=FLOAT32),
    value("in_top_k", lambda tf, x, y: tf.nn.in_top_k(x, y, 2), real(3, 4), LABELS, dtypes=FLOAT32),
    value("in_top_k with ties", lambda tf, x, y: tf.nn.in_top_k(x, y, 1),
          given([[1.0, 1.0, 0.0], [1.0, 2.0, 2.0], [0.0, 0.0, 0.0]]), LABELS, dtypes=FLOAT32),
    value("zero_fraction", nn("zero_fraction"), given([0.0, 1.0, 0.0, -0.0]), dtypes=FLOAT32),
    value("normalize by hand",
          lambda tf, x: (x - tf.reduce_mean(x, 1, keepdims=True)) * tf.rsqrt(
              tf.reduce_mean(tf.squared_difference(x, tf.stop_gradient(tf.reduce_mean(x, 1, keepdims=True))),
                             1, keepdims=True) + 1e-5), real(3, 6), tolerance=3),
    value("attention",
          lambda tf, q, k, v: tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 2.0), v),
          real(2, 3, 4), real(2, 5, 4), real(2, 5, 3)),

    [value("losses.mean_squared_error %s" % reduction,
           lambda tf, y, x, w, reduction=reduction: tf.losses.mean_squared_error(
               y, x, w, reduction=getattr(tf.losses.Reduction, reduction)), real(3, 2), real(3, 2),
           given([[1.0], [0.0], [2.5]]), dtypes=FLOAT32)
     for reduction in REDUCTIONS],
    [value("losses.%s" % name, loss(name), real(3, 4), real(3, 4), dtypes=FLOAT32)
     for name in ("mean_squared_error", "absolute_difference", "huber_loss", "mean_pairwise_squared_error")],
    value("losses.hinge_loss", loss("hinge_loss"), given([[0.0, 1.0], [1.0, 0.0]]), real(2, 2),
          dtypes=FLOAT32),
    value("losses.log_loss", loss("log_loss"), simplex(3, 4), simplex(3, 4), dtypes=FLOAT32),
    value("losses.huber_loss with delta", loss("huber_loss", delta=0.4), real(3, 4), real(3, 4),
          dtypes=FLOAT32),
    value("losses.cosine_distance", loss("cosine_distance", axis=1), real(3, 4), real(3, 4), dtypes=FLOAT32),
    value("losses.softmax_cross_entropy", loss("softmax_cross_entropy"), simplex(3, 4), real(3, 4),
          dtypes=FLOAT32),
    value("losses.softmax_cross_entropy smoothed", loss("softmax_cross_entropy", label_smoothing=0.1),
          simplex(3, 4), real(3, 4), dtypes=FLOAT32),
    value("losses.sparse_softmax_cross_entropy", loss("sparse_softmax_cross_entropy"), LABELS, real(3, 4),
          dtypes=FLOAT32),
    value("losses.sparse_softmax_cross_entropy weighted",
          loss("sparse_softmax_cross_entropy", weights=[1.0, 0.0, 3.0]), LABELS, real(3, 4), dtypes=FLOAT32),
    value("losses.sigmoid_cross_entropy", loss("sigmoid_cross_entropy"), simplex(3, 4), real(3, 4),
          dtypes=FLOAT32),
    value("losses.sigmoid_cross_entropy smoothed", loss("sigmoid_cross_entropy", label_smoothing=0.2),
          simplex(3, 4), real(3, 4), dtypes=FLOAT32),
    [runs("losses.%s of float16, reduction %s" % (name, reduction),
          loss_of_halves(name, reduction, **options))
     for name, options in (("absolute_difference", {}), ("mean_squared_error", {}), ("hinge_loss", {}),
                           ("huber_loss", {}), ("log_loss", {}), ("cosine_distance", {"axis": 1}),
                           ("sigmoid_cross_entropy", {}), ("softmax_cross_entropy", {}))
     for reduction in ("NONE", "SUM_BY_NONZERO_WEIGHTS")],
    runs("losses.mean_pairwise_squared_error of float16",
         lambda tf: tf.losses.mean_pairwise_squared_error(
             halves(tf, LABELS_OF_HALVES), halves(tf, LARGE_HALVES))),
    value("losses with all weights zero", loss("mean_squared_error", weights=0.0), real(3), real(3),
          dtypes=FLOAT32),
    value("losses.get_total_loss",
          lambda tf, y, x: [tf.losses.mean_squared_error(y, x), tf.losses.absolute_difference(y, x),
                            tf.losses.get_total_loss()][2], real(3), real(3), dtypes=FLOAT32),

    value("clip_by_value", lambda tf, x: tf.clip_by_value(x, -1.0, 0.5), given([-2.0, -1.0, 0.0, 0.5, 3.0])),
    value("clip_by_value by tensors", lambda tf, x, low, high: tf.clip_by_value(x, low, high), real(4),
          real(4, low=-1, high=0), real(4, low=0, high=1)),
    value("clip_by_norm", lambda tf, x: tf.clip_by_norm(x, 1.0), real(3, 2)),
    value("clip_by_norm of a short one", lambda tf, x: tf.clip_by_norm(x, 100.0), real(3, 2)),
    value("clip_by_norm by rows", lambda tf, x: tf.clip_by_norm(x, 1.0, axes=[1]), real(3, 4)),
    value("clip_by_norm of zeros", lambda tf, x: tf.clip_by_norm(x, 1.0), given([0.0, 0.0]), grad=False),
    value("clip_by_average_norm", lambda tf, x: tf.clip_by_average_norm(x, 0.1), real(3, 2), dtypes=FLOAT32),
    value("clip_by_global_norm",
          lambda tf, x, y: [*tf.clip_by_global_norm([x, y], 1.5)[0], tf.clip_by_global_norm([x, y], 1.5)[1]],
          real(3), real(2, 2)),
    value("clip_by_global_norm with infinity", lambda tf, x: tf.clip_by_global_norm([x], 1.5)[0],
          given([1.0, INF]), grad=False),
    value("clip_by_global_norm under the bound", lambda tf, x: tf.clip_by_global_norm([x], 100.0)[0],
          real(4)),

    value("cond takes one branch", lambda tf, p, x: tf.cond(p, lambda: x * x, lambda: x + 1), bools(),
          real(3)),
    value("while_loop doubles",
          lambda tf, x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), [0, x])[1], real(3)),
    value("while_loop until large",
          lambda tf, x: tf.while_loop(lambda y: tf.reduce_sum(y) < 100, lambda y: (y * y + y,), [x]),
          positive(3)),
    value("map_fn", lambda tf, x: tf.map_fn(lambda row: row * tf.reduce_sum(row), x), real(3, 2)),
    value("scan", lambda tf, x: tf.scan(lambda total, row: total * 0.5 + row, x), real(4, 2)),
    value("foldl", lambda tf, x: tf.foldl(lambda total, row: total * row, x), real(4, 2)),
    value("hessians", lambda tf, x: tf.hessians(tf.reduce_sum(x * x * x) + x[0] * x[1], x), real(3)),
    value("gradients with stop", lambda tf, x: tf.gradients(x * x * (x + 1), x, stop_gradients=[x]), real(3)),
    value("gradients of several", lambda tf, x, y: tf.gradients([x * y, x + y], [x, y]), real(3), real(3)),
    value("custom_gradient", lambda tf, x: tf.custom_gradient(lambda a: (a * a, lambda g: g * 100.0))(x),
          real(3)),
]
