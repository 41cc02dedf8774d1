"""Loops, branches, maps and scans."""
import tensorflow as tf

x = tf.placeholder(tf.float32, [], name="x")
out = tf.cond(x > 0, lambda: x * 2, lambda: x - 1)
y = tf.constant(5.0)
chosen = tf.case({tf.less(x, 0): lambda: y + 1, tf.greater(x, 2): lambda: y * 2}, default=lambda: y, exclusive=True)
i, total = tf.while_loop(lambda i, s: tf.less(i, 10), lambda i, s: (i + 1, s + tf.cast(i, tf.float32) * x), [0, 0.0])
slope = tf.gradients(total, x)[0]
_, a, b = tf.while_loop(lambda n, a, b: n < 20, lambda n, a, b: (n + 1, b, a + b), (0, 0, 1))
squares = tf.map_fn(lambda v: v * v, tf.range(5))
sums = tf.scan(lambda acc, v: acc + v, tf.constant([1.0, 2.0, 3.0, 4.0]))
product = tf.foldl(lambda acc, v: acc * v, tf.constant([1.0, 2.0, 3.0, 4.0]), initializer=tf.constant(1.0))
array = tf.TensorArray(tf.float32, size=4)
_, array = tf.while_loop(lambda i, _: i < 4, lambda i, t: (i + 1, t.write(i, tf.cast(i, tf.float32) ** 2)), (0, array))
stacked = array.stack()
root = tf.while_loop(lambda g: tf.abs(g * g - 2.0) > 1e-5, lambda g: [0.5 * (g + 2.0 / g)], [tf.constant(1.0)])
with tf.Session() as sess:
    for value in (-1.0, 1.0, 3.0):
        print("%g %g %g %g" % tuple(sess.run([out, chosen, total, slope], {x: value})))
    count, fibonacci = sess.run([i, a], {x: 0.0})
    print(count, fibonacci, sess.run(squares), sess.run(sums), sess.run(product), sess.run(stacked), "%.4f" % sess.run(root))
