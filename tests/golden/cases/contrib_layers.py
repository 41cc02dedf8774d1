"""Layers and cells of `tf.contrib`, with values, gradients and the names of variables."""

from tests.golden.cases.recurrent import network
from tests.golden.draws import contrib, ints, real, waves
from tests.golden.runner import answer, error, value


def layer(label, build, sizes):
    """Return the cases of a layer on inputs of the shape `sizes`."""
    return network("contrib %s" % label, lambda tf, x: [build(tf, contrib(tf).layers, x)], sizes)


def over_time(label, build, sizes=(3, 4, 2), **options):
    """Return the cases of a cell over time."""

    def run(tf, inputs):
        tf.set_random_seed(5)  # some weights are drawn whatever the initializer
        return tf.nn.dynamic_rnn(build(tf, contrib(tf).rnn), inputs, dtype=tf.float32, **options)

    return network("contrib.rnn.%s" % label, run, sizes)


def normalized(tf, L, x, **options):
    """A normalization whose weights differ from channel to channel."""
    starts = {"beta": waves(tf), "gamma": waves(tf)}
    return L.instance_norm(x, param_initializers=starts, **options)


def separable(tf, L, x, **options):
    """Separable convolutions of sequences; variables have other names than the layer's weights."""
    starts = {"depthwise_initializer": waves(tf), "pointwise_initializer": waves(tf)}
    return tf.layers.separable_conv1d(x, 3, 2, depth_multiplier=2, activation=tf.nn.tanh, **starts, **options)


IMAGES, VOLUMES = (2, 4, 3, 6), (2, 3, 4, 4, 2)


def order_of_the_variables_of_normalizers(tf):
    """Names of all variables of batch_norm, which is TensorFlow's core layer in some cases only."""
    rows, images = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 4, 4, 3])
    for updates in (tf.GraphKeys.UPDATE_OPS, None):
        for x in (rows, images):
            contrib(tf).layers.batch_norm(x, scale=True, updates_collections=updates)
    tf.layers.batch_normalization(images)
    return [v.name for v in tf.global_variables()]


def names_of_fused_cells(tf):
    """Names of the variables of several fused cells, one of which is used again."""
    rnn, x = contrib(tf).rnn, tf.placeholder(tf.float32, [5, 2, 4])
    cells = [rnn.LSTMBlockFusedCell(3) for _ in range(3)]
    cells[1] = rnn.TimeReversedFusedRNN(cells[1])
    with tf.variable_scope("in"):
        for cell in (*cells, cells[0]):
            cell(x, dtype=tf.float32)
    rnn.LSTMBlockFusedCell(2)(x, dtype=tf.float32, scope="here")
    return [v.name for v in tf.global_variables()]


CASES = [
    layer("instance_norm", normalized, IMAGES),
    layer("instance_norm NCHW", lambda tf, L, x: normalized(tf, L, x, data_format="NCHW"), IMAGES),
    layer(
        "instance_norm of sequences",
        lambda tf, L, x: normalized(tf, L, x, center=False, epsilon=1e-3, activation_fn=tf.nn.relu),
        (2, 5, 4),
    ),
    layer("group_norm", lambda tf, L, x: L.group_norm(x, 3, param_initializers={"gamma": waves(tf)}), IMAGES),
    layer(
        "group_norm channels first",
        lambda tf, L, x: L.group_norm(x, 2, channels_axis=1, reduction_axes=(2, 3), scale=False),
        IMAGES,
    ),
    layer("maxout", lambda tf, L, x: L.maxout(x, 3), IMAGES),
    layer("maxout another axis", lambda tf, L, x: L.maxout(x, 2, axis=1), IMAGES),
    layer("spatial_softmax", lambda tf, L, x: L.spatial_softmax(x), IMAGES),
    layer("spatial_softmax NCHW", lambda tf, L, x: L.spatial_softmax(x, 2.0, data_format="NCHW"), IMAGES),
    layer("conv1d", lambda tf, L, x: L.conv1d(x, 3, 2, weights_initializer=waves(tf)), (2, 5, 4)),
    layer("conv3d", lambda tf, L, x: L.conv3d(x, 3, 2, weights_initializer=waves(tf)), VOLUMES),
    layer(
        "conv3d_transpose",
        lambda tf, L, x: L.conv3d_transpose(x, 3, 2, 2, weights_initializer=waves(tf)),
        VOLUMES,
    ),
    layer("layers.separable_conv1d", separable, (2, 5, 4)),
    layer(
        "layers.separable_conv1d same",
        lambda tf, L, x: separable(tf, L, x, padding="same", strides=2, use_bias=False),
        (2, 5, 4),
    ),
    layer(
        "layers.separable_conv1d dilated",
        lambda tf, L, x: separable(tf, L, x, dilation_rate=2, name="deep"),
        (2, 6, 4),
    ),
    layer("layers.conv3d", lambda tf, L, x: tf.layers.conv3d_transpose(x, 3, 2, 2, "same"), VOLUMES),
    value(
        "scale_gradient",
        lambda tf, x: contrib(tf).layers.scale_gradient(x * 2.0, tf.constant(0.25, x.dtype)) ** 2,
        real(3, 2),
    ),
    value(
        "dense_to_sparse",
        lambda tf, x: tf.sparse_tensor_to_dense(contrib(tf).layers.dense_to_sparse(x, 1)),
        ints(3, 4, low=0, high=3),
    ),
    error("group_norm of other groups", lambda tf: contrib(tf).layers.group_norm(tf.zeros([2, 4, 4, 6]), 4)),
    error("maxout of other units", lambda tf: contrib(tf).layers.maxout(tf.zeros([2, 6]), 4)),
    over_time("IndRNNCell", lambda tf, R: R.IndRNNCell(3, activation=tf.nn.relu)),
    over_time("IndyGRUCell", lambda tf, R: R.IndyGRUCell(3, kernel_initializer=waves(tf))),
    over_time("IndyLSTMCell", lambda tf, R: R.IndyLSTMCell(3, 0.5, bias_initializer=waves(tf))),
    over_time("SRUCell", lambda tf, R: R.SRUCell(3)),
    over_time(
        "Conv1DLSTMCell",
        lambda tf, R: R.Conv1DLSTMCell(input_shape=[5, 2], output_channels=3, kernel_shape=[3]),
        (2, 3, 5, 2),
    ),
    over_time(
        "Conv2DLSTMCell",
        lambda tf, R: R.Conv2DLSTMCell(
            input_shape=[4, 3, 2], output_channels=2, kernel_shape=[2, 3], use_bias=False
        ),
        (2, 3, 4, 3, 2),
    ),
    answer("order of the variables of normalizers", order_of_the_variables_of_normalizers),
    answer("names of fused cells", names_of_fused_cells),
]
