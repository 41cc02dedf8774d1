"""A queue filled by threads of a QueueRunner and by one's own, until it is closed."""
import threading

import tensorflow as tf

N_SAMPLES, NUM_THREADS = 12, 2
all_data = tf.range(N_SAMPLES * 2, dtype=tf.float32)
all_data = tf.reshape(all_data, [N_SAMPLES, 2])
all_target = tf.range(N_SAMPLES)
queue = tf.FIFOQueue(capacity=50, dtypes=[tf.float32, tf.int32], shapes=[[2], []])
enqueue_op = queue.enqueue_many([all_data, all_target])
data_sample, label_sample = queue.dequeue()
qr = tf.train.QueueRunner(queue, [enqueue_op] * NUM_THREADS)

with tf.Session() as sess:
    coord = tf.train.Coordinator()
    enqueue_threads = qr.create_threads(sess, coord=coord, start=True)
    try:
        labels = []
        for step in range(10):
            if coord.should_stop():
                break
            data_batch, label_batch = sess.run([data_sample, label_sample])
            labels.append(data_batch[0] == 2 * label_batch)
        print("pairs stay together:", all(labels), len(labels))
    except Exception as e:
        coord.request_stop(e)
    finally:
        coord.request_stop()
        coord.join(enqueue_threads)

with tf.Session(graph=tf.Graph()) as sess:
    q = tf.FIFOQueue(10, "int32")
    item = tf.placeholder(tf.int32)
    put, size, close, get = q.enqueue(item), q.size(), q.close(), q.dequeue()
    ended = []

    def worker():
        try:
            while True:
                ended.append(int(sess.run(get)))
        except tf.errors.OutOfRangeError:
            ended.append("closed")

    thread = threading.Thread(target=worker)
    thread.start()
    for i in range(5):
        sess.run(put, {item: i * i})
    sess.run(close)
    thread.join()
    print(ended, sess.run(size))
