"""A recurrent network that follows a cosine; its state goes from one batch to the next."""
import numpy as np
import tensorflow as tf

BATCH_START, TIME_STEPS, BATCH_SIZE, INPUT_SIZE, OUTPUT_SIZE, CELL_SIZE = 0, 8, 4, 1, 1, 6


def get_batch():
    global BATCH_START
    xs = np.arange(BATCH_START, BATCH_START + TIME_STEPS * BATCH_SIZE).reshape((BATCH_SIZE, TIME_STEPS)) / (10 * np.pi)
    BATCH_START += TIME_STEPS
    return [np.sin(xs)[:, :, np.newaxis], np.cos(xs)[:, :, np.newaxis]]


class LSTMRNN(object):
    def __init__(self):
        with tf.name_scope("inputs"):
            self.xs = tf.placeholder(tf.float32, [None, TIME_STEPS, INPUT_SIZE], name="xs")
            self.ys = tf.placeholder(tf.float32, [None, TIME_STEPS, OUTPUT_SIZE], name="ys")
        with tf.variable_scope("in_hidden"):
            l_in_x = tf.reshape(self.xs, [-1, INPUT_SIZE], name="2_2D")
            l_in_y = tf.matmul(l_in_x, self._weight([INPUT_SIZE, CELL_SIZE])) + self._bias([CELL_SIZE])
            self.l_in_y = tf.reshape(l_in_y, [-1, TIME_STEPS, CELL_SIZE], name="2_3D")
        with tf.variable_scope("LSTM_cell", initializer=tf.glorot_uniform_initializer(seed=2)):
            lstm_cell = tf.contrib.rnn.BasicLSTMCell(CELL_SIZE, forget_bias=1.0, state_is_tuple=True)
            with tf.name_scope("initial_state"):
                self.cell_init_state = lstm_cell.zero_state(BATCH_SIZE, dtype=tf.float32)
            self.cell_outputs, self.cell_final_state = tf.nn.dynamic_rnn(
                lstm_cell, self.l_in_y, initial_state=self.cell_init_state, time_major=False
            )
        with tf.variable_scope("out_hidden"):
            l_out_x = tf.reshape(self.cell_outputs, [-1, CELL_SIZE], name="2_2D")
            self.pred = tf.matmul(l_out_x, self._weight([CELL_SIZE, OUTPUT_SIZE])) + self._bias([OUTPUT_SIZE])
        with tf.name_scope("cost"):
            losses = tf.contrib.legacy_seq2seq.sequence_loss_by_example(
                [tf.reshape(self.pred, [-1], name="reshape_pred")],
                [tf.reshape(self.ys, [-1], name="reshape_target")],
                [tf.ones([BATCH_SIZE * TIME_STEPS], dtype=tf.float32)],
                average_across_timesteps=True,
                softmax_loss_function=self.ms_error,
                name="losses",
            )
            self.cost = tf.div(tf.reduce_sum(losses, name="losses_sum"), BATCH_SIZE, name="average_cost")
        with tf.name_scope("train"):
            self.train_op = tf.train.AdamOptimizer(0.02).minimize(self.cost)

    @staticmethod
    def ms_error(labels, logits):
        return tf.square(tf.subtract(labels, logits))

    def _weight(self, shape, name="weights"):
        return tf.get_variable(shape=shape, initializer=tf.random_normal_initializer(mean=0.0, stddev=1.0, seed=1), name=name)

    def _bias(self, shape, name="biases"):
        return tf.get_variable(name=name, shape=shape, initializer=tf.constant_initializer(0.1))


tf.set_random_seed(1)
model = LSTMRNN()
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for i in range(41):
    seq, res = get_batch()
    feed_dict = {model.xs: seq, model.ys: res}
    if i > 0:
        feed_dict[model.cell_init_state] = state
    _, cost, state, pred = sess.run([model.train_op, model.cost, model.cell_final_state, model.pred], feed_dict)
    if i % 20 == 0:
        print("cost: ", round(float(cost), 4))
print(type(state).__name__, state.h.shape)
