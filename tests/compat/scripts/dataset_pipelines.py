"""Datasets: mapped, batched, repeated, zipped, with one-shot, initializable and exchangeable iterators."""
import numpy as np
import tensorflow as tf

npx = np.linspace(-1, 1, 10)[:, np.newaxis]
npy = np.power(npx, 2)
tfx, tfy = tf.placeholder(npx.dtype, npx.shape), tf.placeholder(npy.dtype, npy.shape)
dataset = tf.data.Dataset.from_tensor_slices((tfx, tfy)).batch(4).repeat(2)
iterator = dataset.make_initializable_iterator()
bx, by = iterator.get_next()
print(bx.shape, bx.dtype.name)
l1 = tf.layers.dense(bx, 6, tf.nn.relu, kernel_initializer=tf.initializers.random_normal(seed=3))
out = tf.layers.dense(l1, 1, kernel_initializer=tf.initializers.random_normal(seed=4))
loss = tf.losses.mean_squared_error(by, out)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

sess = tf.Session()
sess.run([iterator.initializer, tf.global_variables_initializer()], feed_dict={tfx: npx, tfy: npy})
while True:
    try:
        _, trainl = sess.run([train, loss])
        print("loss %.4f" % trainl)
    except tf.errors.OutOfRangeError:
        print("Finish the last epoch.")
        break

numbers = tf.data.Dataset.range(20).filter(lambda x: tf.equal(x % 3, 0)).map(lambda x: x * x, num_parallel_calls=2)
words = tf.data.Dataset.from_tensor_slices(["a", "b", "c", "d"]).shuffle(10, seed=1).prefetch(1)
pairs = tf.data.Dataset.zip((numbers, words)).make_one_shot_iterator().get_next()
found = [sess.run(pairs) for _ in range(4)]
print([int(n) for n, _ in found], sorted(w.decode() for _, w in found))

train_data = tf.data.Dataset.from_tensors([1.0, 2.0]).repeat()
test_data = tf.data.Dataset.from_generator(lambda: iter([[5.0, 6.0], [7.0, 8.0]]), tf.float32, tf.TensorShape([2]))
either = tf.data.Iterator.from_structure(train_data.output_types, train_data.output_shapes)
element = either.get_next()
for data in (train_data, test_data):
    sess.run(either.make_initializer(data))
    print(sess.run(element).tolist(), sess.run(element).tolist())
padded = tf.data.Dataset.range(1, 5).map(lambda n: tf.fill([n], n)).padded_batch(4, padded_shapes=[None])
print(sess.run(padded.make_one_shot_iterator().get_next()).tolist())
