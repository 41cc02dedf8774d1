"""A TensorFlow 1 script as people wrote them, unmodified: a recurrent net that learns a rhyme by heart.

    python -m staticgraph run examples/legacy_char_rnn.py

It has a stack of LSTM cells, `dynamic_rnn`, clipped gradients, summaries and checkpoints. TensorFlow 1.15
runs the same file.
"""

import os
import tempfile

import numpy as np
import tensorflow as tf

TEXT = """
Loops within loops, and each in its place,
carry a state through a bounded space;
what they have learned they will hand to the next,
letter by letter, the whole of the text.
"""
UNITS, LENGTH, BATCH, STEPS = 96, 24, 16, 240

letters = sorted(set(TEXT))
codes = np.array([letters.index(letter) for letter in TEXT * 2], np.int32)

tf.set_random_seed(1)
inputs = tf.placeholder(tf.int32, [None, None], name="inputs")
targets = tf.placeholder(tf.int32, [None, None], name="targets")
keep_prob = tf.placeholder_with_default(1.0, [], name="keep_prob")

with tf.variable_scope("net"):
    embedding = tf.get_variable("embedding", [len(letters), 32])
    cells = [
        tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicLSTMCell(UNITS), output_keep_prob=keep_prob)
        for _ in range(2)
    ]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    start = cell.zero_state(tf.shape(inputs)[0], tf.float32)
    outputs, end = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(embedding, inputs), initial_state=start)
    logits = tf.layers.dense(outputs, len(letters))

loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits))
probabilities = tf.nn.softmax(logits[:, -1])

global_step = tf.train.get_or_create_global_step()
variables = tf.trainable_variables()
gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
train = tf.train.AdamOptimizer(0.01).apply_gradients(zip(gradients, variables), global_step=global_step)

tf.summary.scalar("loss", loss)
tf.summary.scalar("gradient_norm", norm)
tf.summary.histogram("logits", logits)
summaries = tf.summary.merge_all()


def batch(random):
    """Pieces of the text, and the same pieces one letter later."""
    starts = random.randint(0, len(TEXT), BATCH)
    pieces = np.stack([codes[s : s + LENGTH + 1] for s in starts])
    return pieces[:, :-1], pieces[:, 1:]


def recite(session, beginning, count):
    """Return what the net says after `beginning`, always the likeliest letter."""
    said, state = list(beginning), None
    given = [letters.index(letter) for letter in beginning]
    for _ in range(count):
        feed = {inputs: [given]}
        if state is not None:
            feed[start] = state
        chances, state = session.run([probabilities, end], feed)
        given = [int(np.argmax(chances))]
        said.append(letters[given[0]])
    return "".join(said)


def main(_):
    random = np.random.RandomState(0)
    folder = tempfile.mkdtemp()
    saver = tf.train.Saver()
    writer = tf.summary.FileWriter(folder, tf.get_default_graph())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(STEPS):
            x, y = batch(random)
            value, _ = session.run([loss, train], {inputs: x, targets: y, keep_prob: 0.9})
            if step % 40 == 0 or step == STEPS - 1:
                print("step %3d  loss %.4f" % (step, value))
                writer.add_summary(session.run(summaries, {inputs: x, targets: y}), step)
        saver.save(session, os.path.join(folder, "model.ckpt"), global_step=global_step)
    writer.close()

    with tf.Session() as session:
        saver.restore(session, tf.train.latest_checkpoint(folder))
        print(recite(session, "\nLoops", 84).strip())


if __name__ == "__main__":
    tf.app.run()
