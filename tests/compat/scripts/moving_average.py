"""Averages of variables that move, and their use in place of the variables."""
import tensorflow as tf

w = tf.Variable(0.0, name="w")
u = tf.Variable([1.0, 2.0], name="u")
step = tf.Variable(0, trainable=False, name="step")
ema = tf.train.ExponentialMovingAverage(0.9, step)
grow = tf.group(tf.assign_add(w, 1.0), tf.assign(u, u * 1.5), tf.assign_add(step, 1))
with tf.control_dependencies([grow]):
    maintain = ema.apply([w, u])
print(ema.average_name(w), ema.average(u).op.name, sorted(ema.variables_to_restore()))
saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(5):
        sess.run(maintain)
        print("%.4f %.4f" % (sess.run(w), sess.run(ema.average(w))), sess.run(ema.average(u)))
    path = saver.save(sess, "./averaged")
with tf.Session() as sess:
    tf.train.Saver(ema.variables_to_restore()).restore(sess, path)
    print("restored %.4f" % sess.run(w))
