"""Layers that are built, or are given a weight, before they are called: the names of their variables."""

from tests.golden.runner import answer


def built(make, shape, inputs=None):
    """Names of the weights of two layers that are built by themselves, and then of what a call makes."""

    def build(tf):
        with tf.variable_scope("outer"):
            layers = [make(tf), make(tf)]
            for layer in layers:
                layer.build(tf.TensorShape(shape))
        outputs = [layer(*inputs(tf)) for layer in layers] if inputs else []
        return [[v.name for layer in layers for v in layer.weights], [tensor.name for tensor in outputs]]

    return build


def given_weights(tf):
    layer = tf.layers.Layer(name="mine")
    first = layer.add_weight("first", [2, 2])
    with tf.variable_scope("elsewhere"):
        second = layer.add_variable("second", [2], initializer=tf.zeros_initializer())
    return [first.name, second.name, [v.name for v in layer.weights]]


def in_another_scope(tf):
    class Own(tf.layers.Layer):
        def build(self, shape):
            with tf.variable_scope("part"):
                self.scale = self.add_weight("scale", [])
            super().build(shape)

        def call(self, x):
            return x * self.scale

    layer = Own(name="own")
    return [layer(tf.ones([2])).name, layer.scale.name]


def names(tf):
    """Names of layers: those of a class are counted, of Keras and not, whatever the scopes of variables."""
    layers, cells, keras = tf.layers, tf.nn.rnn_cell, tf.keras.layers
    x = tf.ones([1, 2])
    made = [layers.Dense(2), layers.Dense(3, name="z"), layers.Dense(4), keras.Dense(2), layers.Dense(2),
            keras.Dense(2), layers.Conv2D(2, 3), layers.MaxPooling2D(2, 2), layers.BatchNormalization(),
            layers.Dropout(), cells.LSTMCell(2), cells.LSTMCell(2), cells.GRUCell(2),
            cells.MultiRNNCell([cells.LSTMCell(2)]), cells.DropoutWrapper(cells.LSTMCell(2)),
            type("Own", (layers.Layer,), {})(), layers.Dense(2, _scope="foo")]  # fmt: skip
    layers.dense(x, 3)
    layers.dense(x, 3, name="q")
    made += [layers.Dense(1), layers.Dense(2, name="z")]
    for layer in (made[2], made[1], made[-1]):
        layer(x)
    found = [layer.name for layer in made] + [made[2].scope_name, made[2].kernel.name, made[-1].kernel.name]
    with tf.Graph().as_default():
        found += [layer.name for layer in (layers.Dense(1), keras.Dense(1), keras.Dense(1), layers.Dense(1))]
    tf.keras.backend.reset_uids()
    return found + [keras.Dense(1).name, tf.keras.backend.get_uid("dense")]


CASES = [
    answer("names of layers", names),
    answer("Dense", built(lambda tf: tf.layers.Dense(2), [None, 3], lambda tf: [tf.ones([1, 3])])),
    answer("Conv2D", built(lambda tf: tf.layers.Conv2D(2, 3), [None, 4, 4, 3])),
    answer("BatchNormalization", built(lambda tf: tf.layers.BatchNormalization(name="bn"), [None, 3])),
    answer("LSTMCell", built(lambda tf: tf.nn.rnn_cell.LSTMCell(2, use_peepholes=True), [None, 3])),
    answer("GRUCell", built(lambda tf: tf.nn.rnn_cell.GRUCell(2), [None, 3])),
    answer("BasicRNNCell", built(lambda tf: tf.nn.rnn_cell.BasicRNNCell(2), [None, 3])),
    answer("weights of a layer that is not called", given_weights),
    answer("a weight in another scope", in_another_scope),
]
