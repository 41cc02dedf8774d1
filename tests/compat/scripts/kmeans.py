"""Clusters by repeated assignment: state in variables, and a loop until nothing changes."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)
centers = np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 6.0]])
samples = np.concatenate([rng.randn(30, 2) * 0.5 + c for c in centers]).astype(np.float32)
N, K = len(samples), 3

points = tf.Variable(samples, trainable=False)
assignments = tf.Variable(tf.zeros([N], dtype=tf.int64), trainable=False)
centroids = tf.Variable(tf.slice(points.initialized_value(), [28, 0], [K, 2]), trainable=False)

rep_centroids = tf.reshape(tf.tile(centroids, [N, 1]), [N, K, 2])
rep_points = tf.reshape(tf.tile(points, [1, K]), [N, K, 2])
sum_squares = tf.reduce_sum(tf.square(rep_points - rep_centroids), axis=2)
best = tf.argmin(sum_squares, 1)
did_change = tf.reduce_any(tf.not_equal(best, assignments))


def bucket_mean(values, bucket_ids, num_buckets):
    total = tf.unsorted_segment_sum(values, bucket_ids, num_buckets)
    count = tf.unsorted_segment_sum(tf.ones_like(values), bucket_ids, num_buckets)
    return total / count


means = bucket_mean(points, best, K)
with tf.control_dependencies([did_change]):
    do_updates = tf.group(centroids.assign(means), assignments.assign(best))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    changed, iterations = True, 0
    while changed and iterations < 50:
        iterations += 1
        changed, _ = sess.run([did_change, do_updates])
    found, sizes = sess.run([centroids, assignments])
    print("iterations", iterations, "sizes", np.bincount(sizes))
    for center in found:
        print("center %.3f %.3f" % tuple(center))
