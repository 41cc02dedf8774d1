"""Outputs of the layers of Keras for fixed weights, as values and for gradients of the weights."""

from dataclasses import dataclass

import numpy as np

from tests.golden.draws import generator, real
from tests.golden.runner import Case, answer


@dataclass(frozen=True)
class Measures(Case):
    """Arrays that a program computes by itself, in the default session."""

    def outcome(self, tf, session):
        with session():
            values = self.build(tf)
        return {"value %d" % i: np.asarray(value) for i, value in enumerate(values)}


def measures(name, build, tolerance=1.0):
    return [Measures(name, build, tolerance=tolerance)]


def drawn(name, *shape, **options):
    return real(*shape, **options).array(generator(name, 0), "float32")


def fixed(model):
    """Give a model weights that depend on their shapes alone."""
    model.set_weights([
        drawn("weight %d" % i, *w.shape, low=0.1, high=0.9) * (1.0 if i % 2 else -0.7)
        for i, w in enumerate(model.get_weights())
    ])
    return model


def layer(name, make, *shape, times=1, dtype=None, tolerance=4.0):
    """The output of a layer, and the gradients of its weights and of the input."""

    def build(tf):
        keras = tf.keras
        x = keras.Input(shape, dtype=dtype)
        y = make(tf)(x)
        outputs = list(y) if isinstance(y, (list, tuple)) else [y]
        model = fixed(keras.Model(x, y))
        data = (
            drawn(name, 3, *shape)
            if dtype is None
            else np.arange(3 * int(np.prod(shape))).reshape(3, *shape) % 5
        )
        weights = model.trainable_weights
        sources = [*weights, *([x] if dtype is None else [])]
        grads = tf.gradients([tf.reduce_sum(o * o) for o in outputs], sources)
        grads = [tf.convert_to_tensor(g) for g in grads if g is not None]
        return keras.backend.get_session().run([*outputs, *grads], {x: data})

    return measures(name, build, tolerance)


def summary_lines(tf):
    """The table of a model."""
    lines = []
    x = tf.keras.Input([8, 8, 3], name="image")
    y = tf.keras.layers.Conv2D(4, 3, name="conv")(x)
    y = tf.keras.layers.BatchNormalization(name="norm")(y)
    y = tf.keras.layers.GlobalAveragePooling2D(name="pool")(y)
    y = tf.keras.layers.Dense(2, name="dense")(y)
    tf.keras.Model(x, y, name="net").summary(print_fn=lines.append)
    return [line.rstrip() for line in lines]


def names(tf):
    """The names of layers, of weights, and the shapes that layers tell."""
    keras = tf.keras
    model = keras.Sequential([
        keras.layers.Conv2D(4, 3, input_shape=(8, 8, 1)), keras.layers.BatchNormalization(),
        keras.layers.Flatten(), keras.layers.Dense(3), keras.layers.Dense(2),
    ])
    return [
        [made.name for made in model.layers],
        [w.name.split("/", 1)[-1] for w in model.weights],
        [list(made.output_shape) for made in model.layers],
        model.count_params(),
        [len(made.get_weights()) for made in model.layers],
    ]


def layer_order(tf):
    """The order of the layers of a model with branches."""
    layers = tf.keras.layers
    a, b = tf.keras.Input([4], name="a"), tf.keras.Input([4], name="b")
    shared = layers.Dense(3, name="shared")
    left, right = shared(a), shared(b)
    joined = layers.concatenate([left, layers.Dense(2, name="side")(right)], name="joined")
    model = tf.keras.Model([a, b], [layers.Dense(1, name="out")(joined), layers.Dense(1, name="other")(left)])
    return [[made.name for made in model.layers], model.input_names, model.output_names,
            [w.name for w in model.weights]]


def configs(tf):
    """Return the configurations of layers, as far as they are the same in every program."""
    layers = tf.keras.layers
    made = [
        layers.Dense(3, "relu", kernel_regularizer="l2"), layers.Conv2D(4, (3, 2), padding="same"),
        layers.Dropout(0.5), layers.LSTM(4, return_sequences=True), layers.Embedding(5, 3, mask_zero=True),
        layers.MaxPooling2D(), layers.Reshape((2, -1)), layers.Concatenate(axis=1), layers.LeakyReLU(0.2),
        layers.ZeroPadding2D(((1, 2), (3, 4))), layers.Flatten(), layers.Activation("tanh"),
    ]
    kept = ("units", "activation", "use_bias", "filters", "kernel_size", "strides", "padding", "rate", "seed",
            "return_sequences", "go_backwards", "input_dim", "output_dim", "mask_zero", "pool_size", "axis",
            "target_shape", "data_format", "dropout", "recurrent_activation", "unit_forget_bias")
    return [{k: v if not isinstance(v, tuple) else str(v) for k, v in each.get_config().items() if k in kept}
            for each in made]


def masked(make):
    """A layer behind an embedding that masks zeros."""

    def build(tf):
        x = tf.keras.Input([5], dtype="int32")
        y = make(tf)(tf.keras.layers.Embedding(6, 3, mask_zero=True)(x))
        model = fixed(tf.keras.Model(x, y))
        return [model.predict(np.array([[1, 2, 0, 0, 0], [3, 0, 4, 5, 1], [0, 0, 0, 0, 2]]))]

    return build


def merged(tf):
    """All ways to merge tensors."""
    layers = tf.keras.layers
    a, b = tf.keras.Input([3, 4]), tf.keras.Input([3, 4])
    outputs = [layers.add([a, b]), layers.subtract([a, b]), layers.multiply([a, b]), layers.average([a, b]),
               layers.maximum([a, b]), layers.minimum([a, b]), layers.concatenate([a, b], axis=1),
               layers.dot([a, b], axes=2), layers.dot([a, b], axes=1, normalize=True),
               layers.Dot(axes=(1, 1))([a, b])]
    return tf.keras.Model([a, b], outputs).predict([drawn("a", 2, 3, 4), drawn("b", 2, 3, 4)])


def attention(kind, **options):
    """Attention with a mask of the values, where the weights are not all equal."""

    def build(tf):
        layers = tf.keras.layers
        query, value = tf.keras.Input([2, 4]), tf.keras.Input([3, 4])
        outputs = getattr(layers, kind)(**options)([query, layers.Masking()(value)])
        model = fixed(tf.keras.Model([query, value], outputs))
        values = drawn("value", 2, 3, 4)
        values[1, 2] = 0.0
        return [model.predict([drawn("query", 2, 2, 4), values])]

    return build


def backend_functions(tf):
    """Functions of the backend that are more than another name."""
    K = tf.keras.backend
    x, y = K.constant(drawn("x", 2, 3, 4)), K.constant(drawn("y", 2, 4, 5))
    square, vector = K.constant(drawn("square", 4, 4)), K.constant(drawn("vector", 2, 4))
    made = [K.batch_dot(x, y), K.batch_dot(x, vector, axes=[2, 1]), K.dot(x, square), K.std(x, 1), K.var(x),
            K.sqrt(x), K.clip(x, -0.5, 0.5), K.softmax(x, 1), K.hard_sigmoid(x), K.l2_normalize(x, 1),
            K.repeat_elements(x, 2, 1), K.resize_images(K.expand_dims(x), 2, 3, "channels_last"),
            K.bias_add(x, K.constant([1.0, 2.0, 3.0, 4.0])), K.elu(x, 0.3), K.batch_flatten(x),
            K.switch(K.constant([1, 0], dtype="int32"), x, -x), K.logsumexp(x, 1)
            if hasattr(K, "logsumexp") else K.sum(x), K.permute_dimensions(x, (2, 0, 1)),
            K.spatial_2d_padding(K.expand_dims(x)),
            K.one_hot(K.constant([1, 3], dtype="int32"), 4)]
    return K.get_session().run(made[:16] + made[17:])


def recurrent(kind, **options):
    return lambda tf: getattr(tf.keras.layers, kind)(4, **options)


def made(kind, *args, **options):
    return lambda tf: getattr(tf.keras.layers, kind)(*args, **options)


CASES = [
    layer("Dense", made("Dense", 3, activation="sigmoid"), 4),
    layer("Dense of three axes", made("Dense", 3, use_bias=False), 5, 4),
    [layer("activation %s" % name, made("Activation", name), 4, 3) for name in
     ("elu", "relu", "selu", "softmax", "softplus", "softsign", "tanh", "hard_sigmoid", "exponential",
      "linear")],
    layer("Conv1D", made("Conv1D", 3, 3, strides=2), 9, 2),
    layer("Conv1D, causal", made("Conv1D", 3, 3, padding="causal", dilation_rate=2), 9, 2),
    layer("Conv2D", made("Conv2D", 3, (3, 2), padding="same", activation="relu"), 6, 5, 2),
    layer("Conv2D, dilated", made("Conv2D", 3, 3, dilation_rate=2), 8, 7, 2),
    layer("Conv3D", made("Conv3D", 2, 2), 4, 4, 4, 2),
    layer("Conv2DTranspose", made("Conv2DTranspose", 3, 3, strides=2, padding="same"), 4, 5, 2),
    layer("Conv2DTranspose, valid", made("Conv2DTranspose", 3, 3, strides=2), 4, 5, 2),
    layer("Conv2DTranspose, padded", made("Conv2DTranspose", 3, 3, strides=2, output_padding=1), 4, 5, 2),
    layer("Conv3DTranspose", made("Conv3DTranspose", 2, 2, strides=2), 2, 3, 2, 2),
    layer("SeparableConv2D", made("SeparableConv2D", 3, 3, depth_multiplier=2), 6, 6, 2),
    layer("SeparableConv1D", made("SeparableConv1D", 3, 3), 7, 2),
    layer("DepthwiseConv2D", made("DepthwiseConv2D", 3, padding="same"), 5, 5, 2),
    [layer(name, made(name), *shape) for name, shape in
     (("MaxPooling1D", (7, 2)), ("AveragePooling1D", (7, 2)), ("MaxPooling2D", (6, 5, 2)),
      ("AveragePooling2D", (6, 5, 2)), ("MaxPooling3D", (4, 4, 4, 2)), ("AveragePooling3D", (4, 4, 4, 2)),
      ("GlobalMaxPooling1D", (5, 2)), ("GlobalAveragePooling1D", (5, 2)), ("GlobalMaxPooling2D", (4, 3, 2)),
      ("GlobalAveragePooling2D", (4, 3, 2)), ("GlobalAveragePooling3D", (2, 3, 2, 2)),
      ("UpSampling1D", (3, 2)), ("UpSampling2D", (3, 2, 2)), ("UpSampling3D", (2, 2, 2, 1)),
      ("ZeroPadding1D", (3, 2)), ("ZeroPadding2D", (3, 2, 2)), ("ZeroPadding3D", (2, 2, 2, 1)),
      ("Cropping1D", (4, 2)), ("Cropping3D", (4, 4, 4, 1)), ("Flatten", (3, 2)), ("LeakyReLU", (4,)),
      ("PReLU", (3, 2)), ("ELU", (4,)), ("ThresholdedReLU", (4,)), ("Softmax", (3, 4)), ("ReLU", (4,)),
      ("LayerNormalization", (3, 4)), ("BatchNormalization", (4,)))],
    layer("MaxPooling2D, same", made("MaxPooling2D", 3, strides=2, padding="same"), 6, 5, 2),
    layer("Cropping2D", made("Cropping2D", ((1, 0), (1, 2))), 5, 6, 2),
    layer("ReLU with options", made("ReLU", 1.0, 0.2, 0.3), 9),
    layer("PReLU, shared", made("PReLU", shared_axes=[1]), 3, 2),
    layer("BatchNormalization of images", made("BatchNormalization"), 3, 4, 2),
    layer("LayerNormalization of two axes", made("LayerNormalization", axis=[1, 2]), 3, 4),
    layer("Embedding", made("Embedding", 6, 3), 4, dtype="int32"),
    layer("TimeDistributed", lambda tf: tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(2)), 4, 3),
    layer("SimpleRNN", recurrent("SimpleRNN"), 5, 3),
    layer("SimpleRNN, sequences", recurrent("SimpleRNN", return_sequences=True, go_backwards=True), 5, 3),
    layer("GRU", recurrent("GRU"), 5, 3),
    layer("GRU, reset after", recurrent("GRU", reset_after=True, return_sequences=True), 5, 3),
    layer("LSTM", recurrent("LSTM"), 5, 3),
    layer("LSTM, states", recurrent("LSTM", return_state=True, return_sequences=True), 5, 3),
    layer("LSTM, unrolled", recurrent("LSTM", unroll=True), 5, 3),
    layer("Bidirectional", lambda tf: tf.keras.layers.Bidirectional(
        tf.keras.layers.LSTM(2, return_sequences=True)), 5, 3),
    layer("Bidirectional sum", lambda tf: tf.keras.layers.Bidirectional(
        tf.keras.layers.GRU(2), merge_mode="sum"), 5, 3),
    layer("RNN of cells", lambda tf: tf.keras.layers.RNN(
        [tf.keras.layers.LSTMCell(3), tf.keras.layers.SimpleRNNCell(2)]), 5, 3),
    measures("LSTM with a mask", masked(recurrent("LSTM")), tolerance=4.0),
    measures("GRU sequences with a mask", masked(recurrent("GRU", return_sequences=True)), tolerance=4.0),
    measures("mean with a mask", masked(made("GlobalAveragePooling1D")), tolerance=4.0),
    [measures("%s %s" % (kind, options), attention(kind, **options), tolerance=4.0)
     for kind in ("Attention", "AdditiveAttention") for options in ({}, {"use_scale": True})],
    measures("merged", merged, tolerance=4.0),
    measures("backend", backend_functions, tolerance=4.0),
    answer("summary", summary_lines),
    answer("names", names),
    answer("order of layers", layer_order),
    answer("configs", configs),
]
