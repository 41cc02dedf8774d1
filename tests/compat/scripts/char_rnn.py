"""A character model: stacked cells, an embedding, clipped gradients, and text that goes on by itself."""
import collections

import numpy as np
import tensorflow as tf

text = "the cat sat on the mat. " * 12
counter = collections.Counter(text)
chars, _ = zip(*sorted(counter.items(), key=lambda x: (-x[1], x[0])))
vocab = dict(zip(chars, range(len(chars))))
tensor = np.array([vocab[c] for c in text])
batch_size, seq_length, rnn_size, num_layers = 4, 12, 24, 2


class Model:
    def __init__(self, training=True):
        steps, rows = (seq_length, batch_size) if training else (1, 1)
        cells = []
        for _ in range(num_layers):
            cell = tf.contrib.rnn.BasicLSTMCell(rnn_size)
            if training:
                cell = tf.contrib.rnn.DropoutWrapper(cell, output_keep_prob=1.0)
            cells.append(cell)
        self.cell = cell = tf.contrib.rnn.MultiRNNCell(cells, state_is_tuple=True)
        self.input_data = tf.placeholder(tf.int32, [rows, steps])
        self.targets = tf.placeholder(tf.int32, [rows, steps])
        self.initial_state = cell.zero_state(rows, tf.float32)
        with tf.variable_scope("rnnlm"):
            softmax_w = tf.get_variable("softmax_w", [rnn_size, len(chars)])
            softmax_b = tf.get_variable("softmax_b", [len(chars)])
        embedding = tf.get_variable("embedding", [len(chars), rnn_size])
        inputs = tf.nn.embedding_lookup(embedding, self.input_data)
        inputs = tf.split(inputs, steps, 1)
        inputs = [tf.squeeze(input_, [1]) for input_ in inputs]
        outputs, last_state = tf.contrib.legacy_seq2seq.rnn_decoder(
            inputs, self.initial_state, cell, loop_function=None, scope="rnnlm"
        )
        output = tf.reshape(tf.concat(outputs, 1), [-1, rnn_size])
        self.logits = tf.matmul(output, softmax_w) + softmax_b
        self.probs = tf.nn.softmax(self.logits)
        loss = tf.contrib.legacy_seq2seq.sequence_loss_by_example(
            [self.logits], [tf.reshape(self.targets, [-1])], [tf.ones([rows * steps])]
        )
        self.cost = tf.reduce_sum(loss) / rows / steps
        self.final_state = last_state
        self.lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, _ = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), 5.0)
        self.train_op = tf.train.AdamOptimizer(self.lr).apply_gradients(zip(grads, tvars))


tf.get_variable_scope().set_initializer(tf.glorot_uniform_initializer(seed=5))
model = Model()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    saver = tf.train.Saver(tf.trainable_variables())
    width = len(tensor) // batch_size
    x = tensor[: width * batch_size].reshape(batch_size, -1)
    y = np.roll(tensor, -1)[: width * batch_size].reshape(batch_size, -1)
    for epoch in range(12):
        sess.run(tf.assign(model.lr, 0.02 * (0.97**epoch)))
        state = sess.run(model.initial_state)
        for b in range(width // seq_length):
            part = slice(b * seq_length, (b + 1) * seq_length)
            feed = {model.input_data: x[:, part], model.targets: y[:, part]}
            for i, (c, h) in enumerate(model.initial_state):
                feed[c] = state[i].c
                feed[h] = state[i].h
            train_loss, state, _ = sess.run([model.cost, model.final_state, model.train_op], feed)
        if epoch in (0, 1):
            print("epoch %d train_loss = %.3f" % (epoch, train_loss))
    path = saver.save(sess, "./char_rnn.ckpt")

tf.reset_default_graph()
model = Model(training=False)
with tf.Session() as sess:
    tf.train.Saver(tf.trainable_variables()).restore(sess, tf.train.latest_checkpoint("."))
    state = sess.run(model.cell.zero_state(1, tf.float32))
    ret = char = "t"
    for _ in range(30):
        feed = {model.input_data: [[vocab[char]]], model.initial_state: state}
        probs, state = sess.run([model.probs, model.final_state], feed)
        char = chars[int(np.argmax(probs[0]))]
        ret += char
    print(ret)
