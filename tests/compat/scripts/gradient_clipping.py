"""Gradients computed, changed and applied by hand; second derivatives; stop_gradient."""
import numpy as np
import tensorflow as tf

W = tf.Variable(tf.constant([[1.0, -2.0], [3.0, 0.5]]), name="W")
x = tf.constant([[1.0, 2.0]])
loss = tf.reduce_sum(tf.exp(tf.matmul(x, W)))
optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.1)
gvs = optimizer.compute_gradients(loss, tf.trainable_variables())
capped = [(tf.clip_by_value(grad, -1.0, 1.0), var) for grad, var in gvs]
apply_capped = optimizer.apply_gradients(capped)
grads, variables = zip(*gvs)
clipped, norm = tf.clip_by_global_norm(grads, 5.0)
apply_clipped = optimizer.apply_gradients(zip(clipped, variables))
t = tf.placeholder(tf.float64, [])
f = tf.sin(t) * t**3
first = tf.gradients(f, t)[0]
second = tf.gradients(first, [t])[0]
half = tf.gradients(tf.stop_gradient(t) * t, t)[0]
hessian = tf.hessians(tf.reduce_sum(W**3), W)[0]

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print("norm %.3f" % sess.run(norm))
    sess.run(apply_capped)
    print(np.round(sess.run(W), 3).tolist())
    sess.run(apply_clipped)
    print(np.round(sess.run(W), 3).tolist())
    print("%.6f %.6f %.6f" % tuple(sess.run([first, second, half], {t: 1.5})))
    print(np.round(np.diag(sess.run(hessian).reshape(4, 4)), 3).tolist())
