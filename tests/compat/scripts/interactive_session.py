"""First steps: constants, variables, slices and matrices in an interactive session."""
import numpy as np
import tensorflow as tf

sess = tf.InteractiveSession()
a = tf.constant([[1, 2], [3, 4]], dtype=tf.float32, name="a")
b = tf.Variable(tf.ones([2, 2]))
b.initializer.run()
print((a + b).eval().tolist(), (a * 2 - 1).eval()[0], tf.matmul(a, b).eval().tolist())
print(a[:, 1].eval(), a[tf.newaxis, 0, ::-1].eval(), tf.transpose(a).eval()[1])
print(b.assign_add(a).eval().tolist(), b.eval()[1, 1])
print(tf.linspace(0.0, 1.0, 5).eval(), tf.range(3, 18, 3).eval(), tf.zeros_like(a).eval().sum())
print(tf.reduce_mean(a, 0).eval(), tf.reduce_max(a).eval(), tf.argmax(a, 1).eval())
x = tf.placeholder(tf.float32, shape=[3])
print((x + tf.constant([5, 5, 5], tf.float32)).eval({x: [1, 2, 3]}))
print(sess.run(a, feed_dict={a: np.zeros([2, 2])}).sum(), tf.get_default_session() is sess)
print(tf.where([True, False, True]).eval().ravel(), tf.unique([1, 1, 2])[0].eval())
print(tf.cast(tf.constant([1.9, -1.9]), tf.int32).eval(), tf.matrix_inverse(a).eval().round(2).tolist())
print(tf.div(7, 2).eval(), tf.truediv(7, 2).eval(), tf.floordiv(-7, 2).eval(), tf.mod(-7, 3).eval())
my_const = tf.constant([1.0, 2.0], name="my_const")
print("my_const" in str(tf.get_default_graph().as_graph_def()))
sess.close()
