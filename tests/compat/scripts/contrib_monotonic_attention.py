"""Monotonic attention of tf.contrib.seq2seq, alone and in an AttentionWrapper."""

import numpy as np
import tensorflow as tf

seq2seq = tf.contrib.seq2seq
rng = np.random.RandomState(0)
memory = tf.constant(rng.randn(2, 5, 3), tf.float32)
query = tf.constant(rng.randn(2, 4), tf.float32)
stops = tf.constant(rng.rand(2, 5), tf.float32)
before = tf.one_hot([0, 2], 5)
fetches = {"cumprod": seq2seq.safe_cumprod(stops, axis=1, exclusive=True)}
for mode in ("recursive", "parallel"):
    made = seq2seq.monotonic_attention(stops, before, mode)
    fetches[mode], fetches[mode + "_gradient"] = made, tf.gradients(made[:, 3], stops)[0]
fetches["hard"] = seq2seq.monotonic_attention(tf.cast(stops > 0.6, tf.float32), before, "hard")


def values(shape, dtype=None, partition_info=None):
    return tf.reshape(tf.sin(tf.range(int(np.prod(shape)), dtype=tf.float32)), shape)


with tf.variable_scope("attention", initializer=values):
    lengths = [5, 3]
    kinds = {
        "bahdanau": seq2seq.BahdanauMonotonicAttention(4, memory, lengths),
        "bahdanau_hard": seq2seq.BahdanauMonotonicAttention(4, memory, lengths, normalize=True, mode="hard"),
        "luong": seq2seq.LuongMonotonicAttention(4, memory, scale=True, score_bias_init=-0.5, mode="recursive"),
        "luong_noise": seq2seq.LuongMonotonicAttention(4, memory, sigmoid_noise=0.5, sigmoid_noise_seed=3),
    }
    for name in sorted(kinds):
        state = kinds[name].initial_state(2, tf.float32)
        first, state = kinds[name](query, state)
        fetches[name + "_first"], fetches[name + "_second"] = first, kinds[name](query + 1.0, state)[0]
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.BasicRNNCell(4), kinds["bahdanau"], attention_layer_size=3)
    inputs = tf.constant(rng.randn(2, 6, 2), tf.float32)
    outputs, last = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    fetches.update(outputs=outputs, last=last.alignments)
print([(v.op.name, v.shape.as_list()) for v in tf.global_variables()])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    found = sess.run(fetches)
    for name in sorted(found):
        print(name, found[name].shape, ["%.4f" % value for value in np.ravel(found[name])[:12]])
try:
    seq2seq.monotonic_attention(stops, before, "soft")
except ValueError:
    print("refused")
