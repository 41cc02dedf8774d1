"""Words into other words: an encoder's last state begins the decoder's."""
import numpy as np
import tensorflow as tf

char_arr = [c for c in "SEPabcdefghijklmnop"]
num_dic = {n: i for i, n in enumerate(char_arr)}
dic_len = len(num_dic)
seq_data = [["abc", "kl"], ["cab", "lm"], ["ddo", "no"], ["pip", "pa"]]


def make_batch(pairs):
    inputs, outputs, targets = [], [], []
    for source, goal in pairs:
        inputs.append(np.eye(dic_len)[[num_dic[n] for n in source]])
        outputs.append(np.eye(dic_len)[[num_dic[n] for n in ("S" + goal)]])
        targets.append([num_dic[n] for n in (goal + "E")])
    return inputs, outputs, targets


tf.set_random_seed(4)
n_hidden = 32
enc_input = tf.placeholder(tf.float32, [None, None, dic_len])
dec_input = tf.placeholder(tf.float32, [None, None, dic_len])
targets = tf.placeholder(tf.int64, [None, None])
with tf.variable_scope("encode"):
    enc_cell = tf.nn.rnn_cell.BasicRNNCell(n_hidden)
    enc_cell = tf.nn.rnn_cell.DropoutWrapper(enc_cell, output_keep_prob=0.9)
    outputs, enc_states = tf.nn.dynamic_rnn(enc_cell, enc_input, dtype=tf.float32)
with tf.variable_scope("decode"):
    dec_cell = tf.nn.rnn_cell.BasicRNNCell(n_hidden)
    outputs, dec_states = tf.nn.dynamic_rnn(dec_cell, dec_input, initial_state=enc_states, dtype=tf.float32)
model = tf.layers.dense(outputs, dic_len, activation=None)
cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=model, labels=targets))
optimizer = tf.train.AdamOptimizer(0.02).minimize(cost)

sess = tf.Session()
sess.run(tf.global_variables_initializer())
input_batch, output_batch, target_batch = make_batch(seq_data)
feed = {enc_input: input_batch, dec_input: output_batch, targets: target_batch}
for epoch in range(80):
    _, loss = sess.run([optimizer, cost], feed_dict=feed)
prediction = tf.argmax(model, 2)
for word, goal in seq_data:
    one_in, one_out, one_target = make_batch([[word, "P" * len(goal)]])
    result = sess.run(prediction, {enc_input: one_in, dec_input: one_out, targets: one_target})
    decoded = [char_arr[i] for i in result[0]]
    print(word, "->", decoded[0])
print("learned", bool(loss < 0.2))
