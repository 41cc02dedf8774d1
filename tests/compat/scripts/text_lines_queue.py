"""Lines of files through queues: a reader, a decoder, batches and their threads."""
import tensorflow as tf

for number in (1, 2):
    with open("data-%02d.csv" % number, "w") as f:
        f.write("# a,b,c,y\n" + "".join("%d,%d,%d,%d\n" % (i, 2 * i, 3 * i, 6 * i + number) for i in range(6)))

filename_queue = tf.train.string_input_producer(["data-01.csv", "data-02.csv"], shuffle=False, name="filename_queue")
reader = tf.TextLineReader(skip_header_lines=1)
key, value = reader.read(filename_queue)
record_defaults = [[0.0], [0.0], [0.0], [0.0]]
xy = tf.decode_csv(value, record_defaults=record_defaults)
train_x_batch, train_y_batch = tf.train.batch([xy[0:-1], xy[-1:]], batch_size=4)
print(train_x_batch.shape, train_y_batch.shape)

X = tf.placeholder(tf.float32, shape=[None, 3])
Y = tf.placeholder(tf.float32, shape=[None, 1])
W = tf.Variable(tf.ones([3, 1]), name="weight")
b = tf.Variable(tf.zeros([1]), name="bias")
cost = tf.reduce_mean(tf.square(tf.matmul(X, W) + b - Y))
train = tf.train.GradientDescentOptimizer(learning_rate=1e-3).minimize(cost)

sess = tf.Session()
sess.run(tf.global_variables_initializer())
coord = tf.train.Coordinator()
threads = tf.train.start_queue_runners(sess=sess, coord=coord)
for step in range(7):
    x_batch, y_batch = sess.run([train_x_batch, train_y_batch])
    cost_val, _ = sess.run([cost, train], feed_dict={X: x_batch, Y: y_batch})
    print(step, y_batch[:, 0].tolist(), "%.4f" % cost_val)
coord.request_stop()
coord.join(threads)
sess.close()
