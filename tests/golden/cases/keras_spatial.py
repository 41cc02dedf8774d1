"""Layers of Keras with weights at each place, convolutions in time, and its cells in `dynamic_rnn`."""


from tests.golden.cases.keras_layers import drawn, fixed, layer, measures
from tests.golden.runner import answer, error


def local(kind, *arguments, **options):
    return lambda tf: getattr(tf.keras.layers, kind)(*arguments, **options)


def images_in_time(*arguments, **options):
    return lambda tf: tf.keras.layers.ConvLSTM2D(*arguments, **options)


def masked_images(tf):
    """The last images where steps of zeros do not count."""
    keras = tf.keras
    x = keras.Input([4, 3, 3, 2])
    mask = keras.layers.Lambda(lambda t: tf.not_equal(t[:, :, 0, 0, 0], 0.0))(x)
    y = keras.layers.ConvLSTM2D(2, 2, padding="same")(x, mask=mask)
    fixed(keras.Model(x, y))
    data = drawn("masked images", 3, 4, 3, 3, 2)
    data[1, 2:] = 0.0
    return [keras.backend.get_session().run(y, {x: data})]


def stateful_images(tf):
    """Two batches, the second of which goes on where the first ended."""
    keras = tf.keras
    x = keras.Input(batch_shape=[2, 3, 4, 4, 1])
    model = fixed(keras.Model(x, keras.layers.ConvLSTM2D(2, 3, strides=2, stateful=True)(x)))
    data = drawn("stateful images", 2, 3, 4, 4, 1)
    return [model.predict_on_batch(data), model.predict_on_batch(data)]


def weights(make, *shape):
    """Names and shapes of the weights, and the config of a layer."""

    def build(tf):
        made = make(tf)
        made(tf.keras.Input(shape))
        config = {k: v for k, v in made.get_config().items() if "initializer" not in k}
        config = {k: list(v) if isinstance(v, tuple) else v for k, v in config.items()}
        return [[v.name, v.shape.as_list()] for v in made.weights] + [config]

    return build


def cells(tf):
    """Outputs and states of cells of Keras in the functions of `tf.nn`, for weights that are constant."""
    keras, x = tf.keras, tf.constant(drawn("steps", 2, 4, 3))
    options = {
        "kernel_initializer": keras.initializers.Constant(0.2),
        "recurrent_initializer": keras.initializers.Constant(-0.3),
    }
    made = []
    for kind in ("SimpleRNNCell", "GRUCell", "LSTMCell"):
        for function in (tf.nn.dynamic_rnn, static):
            cell = getattr(keras.layers, kind)(5, **options)
            outputs, state = function(cell, x, sequence_length=[2, 4], dtype=tf.float32)
            made += [outputs, *(state if isinstance(state, (list, tuple)) else [state])]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(made)


def static(cell, x, **options):
    tf = cells.tf
    outputs, state = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), **options)
    return tf.stack(outputs, 1), state


def cell_measures(tf):
    cells.tf = tf
    return cells(tf)


def cell_names(tf):
    """Names of the weights of cells of Keras in recurrent networks."""
    x = tf.placeholder(tf.float32, [None, 4, 3])
    tf.nn.dynamic_rnn(tf.keras.layers.GRUCell(5), x, dtype=tf.float32)
    cells_of_both = [tf.keras.layers.LSTMCell(5) for _ in range(2)]
    tf.nn.bidirectional_dynamic_rnn(cells_of_both[0], cells_of_both[1], x, dtype=tf.float32)
    return [v.name for v in tf.global_variables()]


def local_functions(tf):
    K = tf.keras.backend
    x, y = tf.constant(drawn("sequence", 2, 5, 3)), tf.constant(drawn("image", 2, 4, 5, 2))
    return K.get_session().run(
        [
            K.local_conv1d(x, tf.constant(drawn("one", 2, 6, 4)), (2,), (2,)),
            K.local_conv2d(y, tf.constant(drawn("two", 9, 4, 3)), (2, 1), (1, 2), (3, 3)),
            K.local_conv2d(
                tf.transpose(y, [0, 3, 1, 2]),
                tf.constant(drawn("two", 9, 4, 3)),
                (2, 1),
                (1, 2),
                (3, 3),
                "channels_first",
            ),
        ]
    )


ONE, TWO = "LocallyConnected1D", "LocallyConnected2D"
CASES = [
    layer("LocallyConnected1D", local(ONE, 4, 3, strides=2, activation="tanh"), 8, 2),
    layer("LocallyConnected1D, channels first", local(ONE, 4, 3, data_format="channels_first"), 2, 8),
    layer("LocallyConnected2D", local(TWO, 3, (2, 3), strides=(2, 1)), 5, 6, 2),
    layer("LocallyConnected2D, channels first", local(TWO, 3, 2, data_format="channels_first"), 2, 4, 5),
    layer("LocallyConnected2D without bias", local(TWO, 3, 2, use_bias=False), 4, 4, 2),
    [
        layer(
            "%s %d %s %s" % (kind, way, padding, order),
            local(kind, 2, 3, strides=2, padding=padding, data_format=order, implementation=way),
            *shape,
        )
        for way in (2, 3)
        for padding in ("valid", "same")
        for order in ("channels_first", "channels_last")
        for kind, shape in ((ONE, (6, 3)), (TWO, (5, 4, 3)))
    ],
    layer("ConvLSTM2D", images_in_time(3, 2), 4, 4, 4, 2),
    layer(
        "ConvLSTM2D, all steps",
        images_in_time(2, (3, 2), strides=(2, 1), padding="same", return_sequences=True),
        3,
        5,
        4,
        2,
    ),
    layer(
        "ConvLSTM2D, states backwards", images_in_time(2, 2, return_state=True, go_backwards=True), 3, 3, 3, 1
    ),
    layer(
        "ConvLSTM2D, dilated",
        images_in_time(2, 2, dilation_rate=2, recurrent_activation="sigmoid", use_bias=False),
        3,
        5,
        5,
        1,
    ),
    measures("ConvLSTM2D with a mask", masked_images, tolerance=4.0),
    measures("ConvLSTM2D, stateful", stateful_images, tolerance=4.0),
    measures("cells of Keras in recurrent networks", cell_measures, tolerance=4.0),
    measures("local convolutions", local_functions, tolerance=4.0),
    answer("names of cells of Keras in recurrent networks", cell_names),
    answer("weights of LocallyConnected1D", weights(local(ONE, 4, 3), 8, 2)),
    answer(
        "weights of LocallyConnected2D", weights(local(TWO, 4, 3, implementation=3, padding="same"), 4, 4, 1)
    ),
    answer("weights of ConvLSTM2D", weights(images_in_time(3, 2), 4, 4, 4, 2)),
    error("LocallyConnected1D same", lambda tf: tf.keras.layers.LocallyConnected1D(4, 3, padding="same")),
    error("ConvLSTM2D unrolled", lambda tf: tf.keras.layers.ConvLSTM2D(4, 3, unroll=True)),
]
