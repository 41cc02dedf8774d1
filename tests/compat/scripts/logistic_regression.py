"""Softmax regression on three clouds of points, with batches from feeds."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
labels = rng.randint(0, 3, 300)
points = (rng.randn(300, 2) * 0.7 + np.array([[0, 0], [3, 0], [0, 3]])[labels]).astype(np.float32)
one_hot = np.eye(3, dtype=np.float32)[labels]

learning_rate = 0.1
training_epochs = 5
batch_size = 50

x = tf.placeholder("float", [None, 2])
y = tf.placeholder("float", [None, 3])
W = tf.Variable(tf.zeros([2, 3]))
b = tf.Variable(tf.zeros([3]))
pred = tf.nn.softmax(tf.matmul(x, W) + b)
cost = tf.reduce_mean(-tf.reduce_sum(y * tf.log(pred), reduction_indices=1))
optimizer = tf.train.GradientDescentOptimizer(learning_rate).minimize(cost)
init = tf.global_variables_initializer()

with tf.Session() as sess:
    sess.run(init)
    for epoch in range(training_epochs):
        avg_cost = 0.0
        total_batch = len(points) // batch_size
        for i in range(total_batch):
            part = slice(i * batch_size, (i + 1) * batch_size)
            _, c = sess.run([optimizer, cost], feed_dict={x: points[part], y: one_hot[part]})
            avg_cost += c / total_batch
        print("Epoch:", "%04d" % (epoch + 1), "cost=", "{:.6f}".format(avg_cost))
    correct_prediction = tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1))
    accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))
    print("Accuracy: %.3f" % accuracy.eval({x: points, y: one_hot}))
