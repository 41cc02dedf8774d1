"""`tf.contrib.layers`, `framework` and `slim`: variables, collections, scopes of arguments."""

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf

layers, framework, slim = tf.contrib.layers, tf.contrib.framework, tf.contrib.slim


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def names(variables) -> list[str]:
    return [variable.op.name for variable in variables]


def value(fetch, feed=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetch, feed)


def test_fully_connected_is_a_product_with_biases():
    data = np.float32([[1, -2], [3, 4]])
    outputs = layers.fully_connected(
        data, 3, weights_initializer=tf.constant_initializer(0.5), biases_initializer=tf.ones_initializer()
    )
    assert names(tf.global_variables()) == ["fully_connected/weights", "fully_connected/biases"]
    assert names(framework.get_model_variables()) == names(tf.global_variables())
    np.testing.assert_allclose(value(outputs), np.maximum(data @ np.full((2, 3), 0.5) + 1, 0))


def test_layers_are_numbered_and_reused_by_scope():
    x = tf.placeholder(tf.float32, [None, 4])
    layers.fully_connected(x, 2)
    layers.fully_connected(x, 2, biases_initializer=None)
    first = layers.fully_connected(x, 2, scope="shared", activation_fn=None)
    second = layers.fully_connected(x, 2, scope="shared", activation_fn=None, reuse=True)
    assert names(tf.trainable_variables()) == [
        "fully_connected/weights",
        "fully_connected/biases",
        "fully_connected_1/weights",
        "shared/weights",
        "shared/biases",
    ]
    made = value([first, second], {x: np.ones((1, 4))})
    np.testing.assert_array_equal(*made)


def test_all_parameters_are_taken_by_place():
    """In TensorFlow's order: the normalizer comes after the activation, then its parameters, then weights."""
    images, ones = tf.ones([1, 4, 4, 2]), tf.ones_initializer()
    norm = {"scale": True}
    made = [
        layers.fully_connected(tf.ones([2, 3]), 4, None, None, None, ones),
        layers.conv2d(images, 3, [2, 2], 1, "SAME", None, 1, None, layers.batch_norm, norm),
        layers.conv2d_transpose(images, 3, [2, 2], 1, "SAME", "NHWC", None, layers.batch_norm, norm),
        layers.separable_conv2d(images, 3, 2, 1, 1, "SAME", "NHWC", 1, None, layers.batch_norm, None, ones),
    ]
    assert [each.op.name for each in made] == [
        "fully_connected/BiasAdd",
        "Conv/BatchNorm/FusedBatchNormV3",
        "Conv2d_transpose/BatchNorm/FusedBatchNormV3",
        "SeparableConv2d/BatchNorm/FusedBatchNormV3",
    ]
    np.testing.assert_array_equal(value(made[0]), np.full((2, 4), 3.0))
    assert [v.op.name for v in tf.global_variables() if "gamma" in v.name] == [
        "Conv/BatchNorm/gamma",
        "Conv2d_transpose/BatchNorm/gamma",
    ]


def test_a_convolution_agrees_with_that_of_nn():
    images = np.random.RandomState(0).rand(2, 6, 6, 3).astype(np.float32)
    outputs = layers.conv2d(images, 4, [3, 3], stride=2, activation_fn=None, scope="c")
    weights = framework.get_unique_variable("c/weights")
    expected = tf.nn.conv2d(images, weights, [1, 2, 2, 1], "SAME")
    np.testing.assert_array_equal(*value([outputs, expected]))
    enlarged = layers.conv2d_transpose(outputs, 3, 3, 2)
    assert enlarged.shape.as_list() == [2, 6, 6, 3]
    assert names(framework.get_variables("Conv2d_transpose")) == [
        "Conv2d_transpose/weights",
        "Conv2d_transpose/biases",
    ]


def test_a_normalizer_takes_the_place_of_the_biases():
    x = tf.placeholder(tf.float32, [None, 4])
    normalizer = {"normalizer_fn": layers.batch_norm, "normalizer_params": {"scale": True}}
    layers.fully_connected(x, 2, scope="a", **normalizer)
    assert names(tf.global_variables()) == [
        "a/weights",
        "a/BatchNorm/beta",
        "a/BatchNorm/gamma",
        "a/BatchNorm/moving_mean",
        "a/BatchNorm/moving_variance",
    ]
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2


def test_batch_norm_updates_in_place_where_no_collection_is_given():
    x = tf.placeholder(tf.float32, [None, 2])
    outputs = layers.batch_norm(x, decay=0.5, updates_collections=None, scope="n")
    assert not tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    mean = framework.get_unique_variable("n/moving_mean")
    data = np.float32([[1, 2], [3, 6]])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        made = sess.run(outputs, {x: data})
        np.testing.assert_allclose(sess.run(mean), data.mean(0) / 2)
    np.testing.assert_allclose(made.mean(0), 0, atol=1e-6)


def test_regularizers_make_losses():
    x = tf.placeholder(tf.float32, [None, 2])
    layers.fully_connected(
        x, 3, weights_regularizer=layers.l2_regularizer(0.1), weights_initializer=tf.ones_initializer()
    )
    assert value(tf.losses.get_regularization_loss()) == pytest.approx(0.1 * 6 / 2)
    weights = tf.constant([-1.0, 2.0])
    assert value(layers.l1_regularizer(0.5)(weights)) == pytest.approx(1.5)
    assert value(layers.l1_l2_regularizer(0.5, 2.0)(weights)) == pytest.approx(1.5 + 5)
    assert layers.l2_regularizer(0.0)(weights) is None
    with pytest.raises(ValueError, match="negative"):
        layers.l2_regularizer(-0.1)


def test_layer_norm_makes_rows_of_mean_0_and_variance_1():
    made = value(layers.layer_norm(tf.constant([[1.0, 2.0, 6.0], [0.0, 5.0, 1.0]])))
    np.testing.assert_allclose(made.mean(1), 0, atol=1e-6)
    np.testing.assert_allclose(made.var(1), 1, rtol=1e-5)


def test_arguments_come_from_the_innermost_scope():
    x = tf.placeholder(tf.float32, [None, 2])
    with slim.arg_scope([slim.fully_connected], activation_fn=tf.nn.tanh, trainable=False) as outer:
        with slim.arg_scope([slim.fully_connected], activation_fn=tf.nn.sigmoid):
            assert slim.fully_connected(x, 2).op.type.lower() == "sigmoid"
        assert slim.fully_connected(x, 2, activation_fn=None).op.type.lower() == "biasadd"
    assert slim.fully_connected(x, 2).op.type.lower() == "relu"
    with slim.arg_scope(outer):
        assert slim.fully_connected(x, 2).op.type.lower() == "tanh"
    assert len(tf.trainable_variables()) == 2
    with pytest.raises(ValueError, match="add_arg_scope"), slim.arg_scope([tf.nn.relu], name="x"):
        pass


def test_repeat_and_stack_name_convolutions_as_tensorflow_does():
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    layers.repeat(x, 2, layers.conv2d, 4, 3)
    layers.stack(x, layers.conv2d, [4, 3], kernel_size=3)
    assert [name for name in names(tf.trainable_variables()) if name.endswith("weights")] == [
        "Repeat/convolution2d_1/weights",
        "Repeat/convolution2d_2/weights",
        "Stack/convolution2d_1/weights",
        "Stack/convolution2d_2/weights",
    ]


def test_repeat_and_stack_number_their_layers():
    x = tf.placeholder(tf.float32, [None, 4])
    slim.repeat(x, 2, slim.fully_connected, 4, scope="r")
    slim.stack(x, slim.fully_connected, [3, 2], scope="s")
    assert [name for name in names(tf.trainable_variables()) if name.endswith("weights")] == [
        "r/r_1/weights",
        "r/r_2/weights",
        "s/s_1/weights",
        "s/s_2/weights",
    ]


def test_pooling_flatten_and_dropout_shapes():
    images = tf.placeholder(tf.float32, [None, 8, 8, 3])
    assert slim.max_pool2d(images, [2, 2]).shape.as_list() == [None, 4, 4, 3]
    assert slim.avg_pool2d(images, 3, 1, "SAME").shape.as_list() == [None, 8, 8, 3]
    assert slim.flatten(images).shape.as_list() == [None, 192]
    data = np.ones((4, 5), np.float32)
    np.testing.assert_array_equal(value(slim.dropout(data, 0.5, is_training=False)), data)


def test_lists_of_variables_by_scope_and_suffix():
    x = tf.placeholder(tf.float32, [None, 2])
    for scope in ("one", "two"):
        slim.fully_connected(x, 2, scope=scope)
    assert names(slim.get_variables("one")) == ["one/weights", "one/biases"]
    assert names(slim.get_variables_by_name("biases")) == ["one/biases", "two/biases"]
    assert names(slim.get_variables_to_restore(exclude=["two"])) == ["one/weights", "one/biases"]
    with pytest.raises(ValueError, match="0 variables"):
        framework.get_unique_variable("three/weights")


@pytest.mark.parametrize(
    "name",
    [
        "conv2d",
        "conv2d_transpose",
        "separable_conv2d",
        "max_pool2d",
        "batch_norm",
        "spatial_softmax",
        "bias_add",
    ],
)
def test_an_order_of_axes_that_does_not_exist_is_refused(name):
    sizes = {"num_outputs": 2} if "conv" in name else {}
    if "conv" in name or "pool" in name:
        sizes["kernel_size"] = 3
    with pytest.raises(ValueError, match="data_format='NHCW': there is no such order of axes"):
        getattr(layers, name)(tf.placeholder(tf.float32, [None, 6, 6, 3]), **sizes, data_format="NHCW")


def test_channels_first_are_those_of_each_number_of_axes():
    sequence = layers.conv1d(tf.placeholder(tf.float32, [None, 3, 6]), 2, 3, data_format="NCW")
    volume = layers.conv3d(tf.placeholder(tf.float32, [None, 3, 6, 6, 6]), 2, 3, data_format="NCDHW")
    assert sequence.shape.as_list() == [None, 2, 6]
    assert volume.shape.as_list() == [None, 2, 6, 6, 6]


def test_divisive_normalization_of_channels_first_is_that_of_channels_last():
    images = np.random.RandomState(0).rand(2, 3, 4, 5).astype(np.float32)
    first = layers.gdn(images, inverse=True, data_format="channels_first")
    last = layers.gdn(images.transpose(0, 2, 3, 1), inverse=True)
    made = value([first, tf.transpose(last, [0, 3, 1, 2])])
    np.testing.assert_allclose(*made, rtol=1e-6)
    with pytest.raises(ValueError, match="channels_last or channels_first"):
        layers.gdn(images, data_format="NHWC")


def test_a_variable_decides_about_training_at_each_run():
    """Batch normalization and dropout read it, or what is fed for it; a variable is not always true."""
    x = np.random.default_rng(0).normal(3, 2, (4, 3)).astype(np.float32)
    training = tf.Variable(True, trainable=False)
    made = [
        layers.batch_norm(x, is_training=training),
        tf.layers.batch_normalization(x, training=training),
        layers.dropout(x, 0.5, is_training=training),
        tf.layers.dropout(x, 0.5, training=training),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        in_training = session.run(made)
        fed = session.run(made, {training: False})
        session.run(training.assign(False))
        assigned = session.run(made)
    for trained, one, other in zip(in_training, fed, assigned, strict=True):
        assert not np.allclose(trained, x, rtol=0.01)
        np.testing.assert_allclose(one, x, rtol=0.01)
        np.testing.assert_array_equal(one, other)


def test_layers_named_by_their_activation_have_weights():
    x = tf.constant([[1.0, -2.0]])
    start = {"weights_initializer": tf.constant_initializer(-4.0), "scope": "shared"}
    made = [layers.elu(x, 1, **start), layers.relu6(x, 1, **start, reuse=True)]
    made.append(layers.relu(-x, 1, **start, reuse=True))
    np.testing.assert_allclose(np.ravel(value(made)), [4.0, 4.0, 0.0])
    assert names(tf.trainable_variables()) == ["shared/weights", "shared/biases"]


def test_layer_norm_of_16_bits_adds_more_to_the_variance():
    """1e-3 in float16, where 1e-12 is zero: TensorFlow's source says so, and its tests."""
    row = np.float32([[0.0, 0.125]])
    for dtype, epsilon in ((tf.float16, 1e-3), (tf.float32, 1e-12)):
        made = value(layers.layer_norm(tf.constant(row, dtype)))
        np.testing.assert_allclose(made, (row - row.mean()) / np.sqrt(row.var() + epsilon), rtol=1e-3)


@pytest.mark.parametrize("training", ["always", "variable"])
@pytest.mark.parametrize("fused", [False, True])
def test_a_moving_mean_without_bias_is_the_mean_at_once(fused, training):
    x = np.random.default_rng(0).normal(3, 2, (2, 3, 3, 2)).astype(np.float32)
    is_training = True if training == "always" else tf.Variable(True, trainable=False)
    y = layers.batch_norm(
        x, 0.9, is_training=is_training, updates_collections=None, zero_debias_moving_mean=True, fused=fused
    )
    (mean,) = framework.get_variables_by_name("BatchNorm/moving_mean")
    (variance,) = framework.get_variables_by_name("moving_variance")
    (step,) = framework.get_variables_by_name("local_step")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        if training == "variable":
            session.run(y, {is_training: False})
            assert [*session.run(mean), session.run(step)] == [0, 0, 0]
        for number in (1, 2):
            session.run(y)
            np.testing.assert_allclose(session.run(mean), x.mean((0, 1, 2)), rtol=1e-5)
            assert session.run(step) == number
        left = 0.9**2 + (1 - 0.9**2) * x.var((0, 1, 2), ddof=int(fused))
        np.testing.assert_allclose(session.run(variance), left, rtol=1e-5)


def test_variables_are_found_by_several_parts_of_their_names():
    x = tf.ones([1, 2])
    layers.fully_connected(x, 2, scope="a/first")
    layers.fully_connected(x, 2, scope="second")
    assert names(framework.get_variables_by_name("first/weights")) == ["a/first/weights"]
    assert names(framework.get_variables_by_name("weights")) == ["a/first/weights", "second/weights"]
    assert framework.get_variables_by_name("irst/weights") == []


def test_what_layers_refuse_as_tensorflow_does():
    with pytest.raises(TypeError, match="non-floating point type"):
        layers.xavier_initializer(dtype=tf.int32)
    with pytest.raises(TypeError, match="non-floating point type"):
        layers.variance_scaling_initializer(dtype=tf.int32)
    with pytest.raises(ValueError, match="input rank must be known"):
        layers.unit_norm(tf.placeholder(tf.float32), dim=1)
    assert layers.sum_regularizer([]) is None
    assert layers.sum_regularizer([None]) is None


@pytest.mark.parametrize("options", [{}, {"center": False}, {"center": False, "scale": True}], ids=str)
def test_batch_norm_of_16_bits_without_all_weights(options):
    """The weights that are not there are float32, as those that are."""
    x = np.random.default_rng(0).normal(3, 2, (2, 3, 3, 2)).astype(np.float16)
    y = layers.batch_norm(tf.constant(x), fused=True, **options)
    assert y.dtype == tf.float16
    wide = x.astype(np.float32)
    expected = (wide - wide.mean((0, 1, 2))) / np.sqrt(wide.var((0, 1, 2)) + 1e-3)
    np.testing.assert_allclose(value(y), expected, atol=5e-3)
