"""Layers: names, seeds, shapes and values."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.api.evaluate import State


def images(channels_first=False):
    return sg.placeholder(sg.float32, [None, 3, 8, 8] if channels_first else [None, 8, 8, 3])


def seeds():
    return [op.attrs["seed2"] for op in sg.get_default_graph().get_operations() if "seed2" in op.attrs]


L = sg.layers


class TestNames:
    """Names and seeds as in TensorFlow 1.15.5, which follow from how many operations
    it makes.
    """

    def test_dense(self):
        sg.set_random_seed(7)
        y = L.dense(L.dense(sg.placeholder(sg.float32, [None, 4]), 3, activation=sg.nn.relu), 2)
        assert y.name == "dense_1/BiasAdd:0"
        names = ["dense/kernel:0", "dense/bias:0", "dense_1/kernel:0", "dense_1/bias:0"]
        assert [v.name for v in sg.global_variables()] == names
        assert seeds() == [4, 21]

    def test_convolutions(self):
        sg.set_random_seed(7)
        h = L.conv2d(images(), 4, 3, activation=sg.nn.relu)
        h = L.max_pooling2d(L.conv2d(h, 5, 3, padding="same"), 2, 2)
        y = L.dense(L.flatten(h), 7)
        assert [h.name, y.name] == ["max_pooling2d/MaxPool:0", "dense/BiasAdd:0"]
        assert seeds() == [4, 22, 48]

    def test_batch_normalization(self):
        sg.set_random_seed(7)
        h = L.dense(sg.placeholder(sg.float32, [None, 4]), 3)
        L.dense(L.batch_normalization(h, training=True), 2)
        assert seeds() == [4, 60]

    def test_transposed_convolution(self):
        sg.set_random_seed(7)
        y = L.conv2d(L.conv2d_transpose(images(), 4, 3, 2, padding="same"), 2, 2)
        assert y.shape.as_list() == [None, 15, 15, 2]
        assert seeds()[0] == 4

    def test_an_object_called_twice(self):
        layer = L.Dense(3)
        x = sg.placeholder(sg.float32, [None, 4])
        assert [layer(x).name, layer(x).name] == ["dense/BiasAdd:0", "dense/BiasAdd_1:0"]
        assert len(sg.global_variables()) == 2

    def test_reuse(self):
        x = sg.placeholder(sg.float32, [None, 4])
        with sg.variable_scope("s"):
            first = L.dense(x, 3, name="fc")
        with sg.variable_scope("s", reuse=True):
            second = L.dense(x, 3, name="fc")
        assert [first.name, second.name] == ["s/fc/BiasAdd:0", "s_1/fc/BiasAdd:0"]
        assert len(sg.global_variables()) == 2

    def test_the_same_name_twice(self):
        x = sg.placeholder(sg.float32, [None, 4])
        L.dense(x, 3, name="fc")
        with pytest.raises(ValueError, match="there already is a variable fc/kernel"):
            L.dense(x, 3, name="fc")


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: L.conv2d(images(), 4, 3), [None, 6, 6, 4]),
        (lambda: L.conv2d(images(), 4, 3, strides=2, padding="same"), [None, 4, 4, 4]),
        (lambda: L.conv2d(images(True), 4, (3, 1), data_format="channels_first"), [None, 4, 6, 8]),
        (lambda: L.conv2d(images(), 4, 3, dilation_rate=2), [None, 4, 4, 4]),
        (lambda: L.conv1d(sg.placeholder(sg.float32, [None, 9, 2]), 4, 3), [None, 7, 4]),
        (lambda: L.conv2d_transpose(images(), 4, 3, 2), [None, 17, 17, 4]),
        (lambda: L.conv2d_transpose(images(True), 4, 3, 2, "same", "channels_first"), [None, 4, 16, 16]),
        (lambda: L.separable_conv2d(images(), 4, 3, depth_multiplier=2), [None, 6, 6, 4]),
        (lambda: L.max_pooling2d(images(), 3, 2), [None, 3, 3, 3]),
        (lambda: L.average_pooling2d(images(True), 2, 2, "same", "channels_first"), [None, 3, 4, 4]),
        (lambda: L.max_pooling1d(sg.placeholder(sg.float32, [None, 9, 2]), 2, 2), [None, 4, 2]),
        (lambda: L.average_pooling1d(sg.placeholder(sg.float32, [None, 9, 2]), 2, 2, "same"), [None, 5, 2]),
        (lambda: L.flatten(images()), [None, 192]),
        (lambda: L.dense(sg.placeholder(sg.float32, [None, 5, 4]), 3), [None, 5, 3]),
    ],
)
def test_shapes(layer, shape):
    assert layer().shape.as_list() == shape


def test_unknown_channels():
    with pytest.raises(ShapeError, match="axis -1 of the input"):
        L.dense(sg.placeholder(sg.float32, [3, None]), 2)


def test_wrong_rank():
    with pytest.raises(ShapeError, match="has 2 axes, and must have 4"):
        L.conv2d(sg.placeholder(sg.float32, [3, 4]), 2, 3)


def test_dense_values(rng):
    x = rng.normal(size=(5, 4)).astype(np.float32)
    layer = L.Dense(3, activation=sg.nn.relu, bias_initializer=sg.constant_initializer([1.0, 2.0, 3.0]))
    y = layer(sg.constant(x))
    state = State()
    state.run(sg.global_variables_initializer())
    kernel = state.run(layer.kernel)
    np.testing.assert_allclose(state.run(y), np.maximum(x @ kernel + [1, 2, 3], 0), rtol=1e-5)


def test_regularizers_and_activity():
    x = sg.placeholder(sg.float32, [None, 4])
    layer = L.Dense(3, kernel_regularizer=sg.nn.l2_loss, activity_regularizer=sg.nn.l2_loss)
    layer(x)
    names = ["dense/kernel/Regularizer/L2Loss:0", "dense/ActivityRegularizer/truediv:0"]
    assert [t.name for t in sg.losses.get_regularization_losses()] == names
    assert layer.losses == sg.losses.get_regularization_losses()
    assert layer.count_params() == 15


def test_a_weight_that_is_read_from_one_copy_is_not_trained():
    class Counter(L.Layer):
        def build(self, input_shape):
            self.count = self.add_weight("count", [], synchronization=sg.VariableSynchronization.ON_READ)

    layer = Counter()
    layer(images())
    assert layer.weights == [layer.count]
    assert not layer.trainable_weights


def test_a_layer_that_is_not_trained():
    layer = L.Dense(3, trainable=False)
    layer(sg.placeholder(sg.float32, [None, 4]))
    assert sg.trainable_variables() == []
    assert layer.trainable_weights == []
    assert len(layer.weights) == 2


class TestDropout:
    def test_outside_of_training(self):
        assert L.dropout(sg.placeholder(sg.float32, [3])).name == "dropout/Identity:0"

    def test_training_may_be_fed(self):
        training = sg.placeholder(sg.bool, [])
        x = sg.constant(np.ones(100, np.float32))
        y = L.dropout(x, 0.5, training=training)
        assert y.shape.as_list() == [100]


class TestBatchNormalization:
    def run(self, training, x, momentum=0.9):
        layer = L.BatchNormalization(momentum=momentum, epsilon=0.01)
        y = layer(sg.constant(x), training=training)
        state = State()
        state.run(sg.global_variables_initializer())
        return layer, y, state

    def test_statistics_of_the_batch(self, rng):
        x = rng.normal(2.0, 3.0, size=(50, 4)).astype(np.float32)
        layer, y, state = self.run(True, x)
        expected = (x - x.mean(0)) / np.sqrt(x.var(0) + 0.01)
        np.testing.assert_allclose(state.run(y), expected, rtol=1e-4, atol=1e-5)
        state.run(layer.updates)
        np.testing.assert_allclose(state.run(layer.moving_mean), 0.1 * x.mean(0), rtol=1e-4)
        np.testing.assert_allclose(state.run(layer.moving_variance), 0.9 + 0.1 * x.var(0), rtol=1e-4)

    def test_images_have_an_unbiased_moving_variance(self, rng):
        x = rng.normal(size=(2, 3, 3, 2)).astype(np.float32)
        layer, _, state = self.run(True, x)
        state.run(layer.updates)
        unbiased = x.reshape(-1, 2).var(0, ddof=1)
        np.testing.assert_allclose(state.run(layer.moving_variance), 0.9 + 0.1 * unbiased, rtol=1e-4)

    @pytest.mark.parametrize("shape", [(6, 4), (2, 3, 3, 2)])
    def test_training_may_be_fed(self, shape, rng):
        x = rng.normal(2.0, size=shape).astype(np.float32)
        training = sg.placeholder(sg.bool, [])
        layer, y, state = self.run(training, x)
        state.run(layer.updates, {training: False})
        assert not state.run(layer.moving_mean).any()
        np.testing.assert_allclose(state.run(y, {training: False}), x / np.sqrt(1.01), rtol=1e-4)
        state.run(layer.updates, {training: True})
        np.testing.assert_allclose(
            state.run(layer.moving_mean), 0.1 * x.reshape(-1, shape[-1]).mean(0), rtol=1e-4
        )
        assert abs(state.run(y, {training: True}).mean()) < 1e-5

    def test_other_axes(self):
        layer = L.BatchNormalization(axis=1, center=False)
        y = layer(sg.placeholder(sg.float32, [None, 3, 5]))
        assert y.shape.as_list() == [None, 3, 5]
        assert [v.name for v in layer.trainable_weights] == ["batch_normalization/gamma:0"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"renorm": True, "renorm_clipping": {"max": 1}}, "renorm_clipping has the key 'max'"),
            ({"virtual_batch_size": 0}, "virtual_batch_size is 0"),
            ({"virtual_batch_size": 2, "adjustment": lambda shape: (1.0, 0.0)}, "together with"),
            ({"virtual_batch_size": 2, "axis": [0, 3]}, "axis 0 is the batch's"),
        ],
    )
    def test_options_that_exclude_each_other(self, options, message):
        with pytest.raises(ValueError, match=message):
            L.batch_normalization(images(), training=True, **options)

    def test_batches_of_open_sizes_have_virtual_batches(self, rng):
        x = sg.placeholder(sg.float32, [None, None, 2])
        y = L.batch_normalization(x, training=True, virtual_batch_size=2)
        value = rng.normal(size=(4, 3, 2)).astype(np.float32)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            out = sess.run(y, {x: value}).reshape(2, 2, 3, 2)
        np.testing.assert_allclose(out.mean((0, 2)), 0, atol=1e-5)  # the first axis counts within a part


class TestSpecification:
    """`input_spec` of a layer, as TF's own tests of layers have it."""

    class Plain(L.Layer):
        def call(self, inputs):
            return inputs

    @pytest.mark.parametrize(
        ("spec", "bad", "good", "message"),
        [
            ({"ndim": 2}, [1], [[1], [2]], "expected ndim=2, found ndim=1"),
            ({"min_ndim": 2}, [1], [[[1]]], "expected min_ndim=2"),
            ({"max_ndim": 2}, [[[1]]], [1], "expected max_ndim=2"),
            ({"dtype": "float32"}, 1, 1.0, "expected dtype=float32, found dtype=int32"),
            ({"axes": {-1: 2}}, [1, 2, 3], [[1, 2], [3, 4]], "expected axis -1"),
            ({"shape": (None, 3)}, [[1, 2]], [[1, 2, 3]], "expected shape"),
        ],
    )
    def test_an_input_is_checked(self, spec, bad, good, message):
        layer = self.Plain()
        layer.input_spec = sg.keras.layers.InputSpec(**spec)
        with pytest.raises(ValueError, match=message):
            layer(sg.constant(bad))
        layer(sg.constant(good))
        if "ndim" in str(spec):
            with pytest.raises(ValueError, match="requires a defined rank"):
                layer(sg.placeholder(sg.float32))

    def test_a_dict_of_inputs(self):
        class Sum(L.Layer):
            def build(self, shape):
                assert {key: s.as_list() for key, s in shape.items()} == {"a": [], "b": [2]}

            def call(self, inputs):
                return {"sum": inputs["a"] + inputs["b"]}

        out = Sum()({"a": 1.0, "b": [1.0, 2.0]})["sum"]
        with sg.Session() as sess:
            assert sess.run(out).tolist() == [2, 3]

    def test_options_of_weights_are_attributes(self):
        bound = abs
        assert L.Dense(2, kernel_constraint=bound, bias_regularizer=bound).kernel_constraint is bound
        assert L.Dense(2, bias_regularizer=bound).bias_regularizer is bound
        assert L.Conv2D(2, 3, kernel_constraint=bound).kernel_constraint is bound
        assert L.BatchNormalization(gamma_constraint=bound).gamma_constraint is bound
        with pytest.raises(AttributeError, match="'Dense' object has no attribute 'gamma_constraint'"):
            L.Dense(2).gamma_constraint

    def test_shapes_and_counts_before_a_layer_is_built(self):
        assert L.Flatten().compute_output_shape((1, 3, 2, 2)).as_list() == [1, 12]
        for shape in (None, [], [1]):
            with pytest.raises(ValueError):
                L.Dense(2).compute_output_shape(sg.TensorShape(shape))
        with pytest.raises(ValueError, match="do not exist before"):
            L.Dense(2).count_params()
        layer = L.BatchNormalization(dtype=sg.float32)
        layer.build([None, 3])
        assert layer.count_params() == 12

    def test_losses_and_updates_by_input(self):
        class Watched(L.Layer):
            def call(self, inputs):
                self.add_loss(inputs, inputs=True)
                self.add_update(sg.assign_add(self.a, inputs))
                return inputs + 1.0

            def build(self, shape):
                self.a = self.add_weight("a", [], sg.float32, trainable=False)
                self.add_loss(self.a + 0.0)

        layer = Watched()
        x, other = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
        inner = x + 1.0
        y = layer(inner)
        layer(other)
        assert [len(layer.get_losses_for(t)) for t in (None, [x], [inner], [y], [other])] == [1, 1, 1, 0, 1]
        assert [len(layer.get_updates_for(t)) for t in (None, [x], [other])] == [0, 1, 1]


NAMED = "elu exponential hard_sigmoid linear relu selu sigmoid softmax softplus softsign tanh"


@pytest.mark.parametrize("name", NAMED.split())
def test_activations_have_names(name):
    """Activations of Keras, as in TensorFlow 1."""
    x = sg.constant([[-3.0, -0.5, 0.0, 1.5, 4.0]])
    same = sg.constant_initializer(np.eye(5))
    y = L.dense(x, 5, activation=name, use_bias=False, kernel_initializer=same)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        np.testing.assert_allclose(*sess.run([y, getattr(sg.keras.activations, name)(x)]), rtol=1e-6)
