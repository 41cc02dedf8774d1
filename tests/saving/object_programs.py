"""Programs with objects to save, for either `tensorflow` 1.15 or `staticgraph.compat.tf1`.

`tools/record/object_checkpoints.py` records the keys that TensorFlow's checkpoints of them have, and one
whole checkpoint. Python 3.7 runs this file too.
"""


def programs(tf):
    """Return functions by name; each makes objects in the default graph, as arguments of a Checkpoint."""
    keras = tf.keras
    layers = keras.layers

    def variables():
        return {"b": tf.Variable([1.0, 2.0], name="x"), "a": tf.Variable(3, name="y")}

    def checkpoints_in_checkpoints():
        inner = tf.train.Checkpoint(v=tf.Variable(1.0, name="v"))
        return {"one": inner, "two": tf.train.Checkpoint(inner=inner, w=tf.Variable(2.0))}

    def adam():
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        w = tf.get_variable("w", initializer=[3.0])
        optimizer = tf.train.AdamOptimizer(0.1)
        optimizer.minimize(tf.reduce_sum(v * v) + tf.reduce_sum(w * w))
        return {"optimizer": optimizer, "v": v, "w": w, "step": tf.train.get_or_create_global_step()}

    def layers_with_momentum():
        dense = tf.layers.Dense(2)
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(tf.reduce_sum(dense(tf.ones([1, 3]))))
        return {"net": dense, "opt": optimizer}

    def sequential():
        dense, last = layers.Dense(3, input_shape=(2,)), layers.Dense(1)
        return {"model": keras.Sequential([dense, layers.ReLU(), layers.BatchNormalization(), last])}

    def functional():
        inputs = keras.Input([5, 2])
        hidden = layers.LSTM(3, return_sequences=True)(inputs)
        hidden = layers.Bidirectional(layers.GRU(2))(hidden)
        return {"model": keras.Model(inputs, layers.Dense(1)(hidden))}

    def keras_optimizer():
        v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
        optimizer = keras.optimizers.RMSprop(0.1)
        optimizer.apply_gradients([(tf.ones([2]), v)])
        return {"optimizer": optimizer, "v": v}

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self._first = layers.Dense(2)
            self.blocks = [layers.Dense(2), layers.Dense(3)]
            self.by = {"a": layers.Dense(2)}
            self.scale = tf.Variable(1.0, name="scale")

        def call(self, x):
            x = self._first(x)
            for block in self.blocks:
                x = block(x)
            return self.by["a"](x) * self.scale

    def subclass():
        net = Net()
        net(tf.ones([1, 2]))
        return {"net": net}

    class Own(layers.Layer):
        def build(self, shape):
            self.W = self.add_weight("w/x", [2], initializer="ones")
            self.inner = layers.Dense(1)
            super().build(shape)

        def call(self, x):
            return self.inner(x * self.W)

    def own_layer():
        layer = Own()
        layer(tf.ones([1, 2]))
        return {"layer": layer}

    def model_in_model():
        inner = keras.Sequential([layers.Dense(2, input_shape=(2,))], name="inner")
        inputs = keras.Input([2])
        steps = layers.TimeDistributed(layers.Dense(1))(layers.Reshape([1, 2])(inner(inputs)))
        return {"model": keras.Model(inputs, steps), "again": inner}

    def stacked_cells():
        layer = layers.RNN([layers.LSTMCell(2), layers.GRUCell(3)])
        layer(tf.ones([1, 4, 2]))
        return {"rnn": layer}

    def cells():
        rnn = tf.nn.rnn_cell
        stack = rnn.MultiRNNCell([rnn.LSTMCell(2, use_peepholes=True, num_proj=1), rnn.GRUCell(2)])
        cell = rnn.ResidualWrapper(rnn.DropoutWrapper(rnn.BasicLSTMCell(3), output_keep_prob=0.5))
        for each in (stack, cell):
            each(tf.ones([1, 3]), each.zero_state(1, tf.float32))
        return {"stack": stack, "cell": rnn.DeviceWrapper(cell, "/cpu:0")}

    def cells_of_contrib():
        rnn = tf.contrib.rnn
        made = [rnn.NASCell(2), rnn.IndRNNCell(2)]
        for number, each in enumerate(made):
            with tf.variable_scope("cell%d" % number):
                each(tf.ones([1, 2]), each.zero_state(1, tf.float32))
        return {"cell%d" % number: each for number, each in enumerate(made)}

    made = [variables, checkpoints_in_checkpoints, adam, layers_with_momentum, sequential, functional]
    made += [keras_optimizer, subclass, own_layer, model_in_model, stacked_cells]
    made += [cells, cells_of_contrib]
    return {each.__name__: each for each in made}
