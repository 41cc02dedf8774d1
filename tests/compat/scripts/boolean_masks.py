"""Derivatives of boolean_mask are tensors, and Adam moves the rows that the mask leaves out, too."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(1)
x = tf.get_variable("x", initializer=np.arange(12, dtype=np.float32).reshape(4, 3))
y = tf.boolean_mask(x, [True, False, True, True])
print(tf.get_default_graph()._last_id)
g = tf.gradients(tf.reduce_sum(y * y), x)[0]
print(type(g).__name__ == "Tensor" , tf.get_default_graph()._last_id)
z = tf.boolean_mask(x, [True, False, True], axis=1)
h = tf.gradients(tf.reduce_sum(z * z), x)[0]
print(g.shape, h.shape, z.shape, tf.get_default_graph()._last_id)
u = tf.placeholder(tf.float32, [None, 2])
w = tf.boolean_mask(u, u[:, 0] > 0)
print(w.shape, tf.gradients(w, u)[0].shape, tf.get_default_graph()._last_id)
m = tf.placeholder(tf.float32, [None, 2])
v = tf.boolean_mask(m, m > 0)
print(v.shape, tf.gradients(v, m)[0].shape, tf.get_default_graph()._last_id)
step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(y * y))
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    print(s.run(g).tolist(), s.run(h).tolist())
    for _ in range(2):
        s.run(step)
    print(s.run(x).round(4).tolist(), s.run(w, {u: [[1, 2], [-1, 2], [3, 4]]}).tolist())
