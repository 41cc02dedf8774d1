"""A script from before TensorFlow 1.0 had its names settled."""
import numpy as np
import tensorflow as tf

x_data = np.linspace(0, 1, 20).astype(np.float32)
W = tf.Variable(tf.zeros([1]), name="W")
b = tf.Variable(tf.zeros([1]), name="b")
y = W * x_data + b
loss = tf.reduce_mean(tf.square(y - (x_data * 0.1 + 0.3)), reduction_indices=0)
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
init = tf.initialize_all_variables()
sess = tf.Session()
sess.run(init)
for step in range(101):
    sess.run(train)
    if step % 50 == 0:
        print(step, sess.run(W), sess.run(b))
print([v.name for v in tf.all_variables()], len(tf.trainable_variables()))
print(sess.run(tf.reduce_sum(tf.to_float(tf.constant([1, 2, 3])))), sess.run(tf.to_int32(2.7)))
