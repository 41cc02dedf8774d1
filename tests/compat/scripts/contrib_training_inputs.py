"""tf.contrib.training: buckets of sequences, and samples of examples."""

import numpy as np
import tensorflow as tf

training = tf.contrib.training
LENGTHS = [1, 5, 2, 7, 3, 6, 4, 8, 2, 9]


def batches(fetches):
    """The batches of a session until the input ends, in no order."""
    found = []
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while len(found) < 40:
                found.append(sess.run(fetches))
        except tf.errors.OutOfRangeError:
            pass
        coord.request_stop()
        coord.join(threads, ignore_live_threads=True)
    return found


for pad, smaller, size in ((True, False, 2), (True, True, [3, 2, 4])):
    with tf.Graph().as_default():
        length = tf.train.slice_input_producer([LENGTHS], num_epochs=1, shuffle=False)[0]
        row = {"steps": tf.range(length), "twice": length * 2}
        found, rows = training.bucket_by_sequence_length(
            length, row, size, [4, 7], dynamic_pad=pad, allow_smaller_final_batch=smaller
        )
        print(found.shape, rows["steps"].shape, rows["twice"].shape, sorted(rows))
        for lengths, value in sorted(batches([found, rows]), key=lambda each: each[0].tolist()):
            print(lengths.tolist(), value["steps"].tolist(), value["twice"].tolist())

with tf.Graph().as_default():
    number = tf.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue()
    which, pair = training.bucket(
        [number, tf.cast(number, tf.float32) / 2], number % 3, 2, 3, keep_input=number < 10
    )
    print([t.shape for t in pair], which.shape)
    for kind, (numbers, halves) in sorted(batches([which, pair]), key=str):
        print(kind, numbers.tolist(), halves.tolist())
    print(sorted(op.name.split("/")[-1] for op in tf.get_collection(tf.GraphKeys.SUMMARIES))[:4])

with tf.Graph().as_default():
    number = tf.train.range_input_producer(20, num_epochs=1, shuffle=False).dequeue()
    kept = training.rejection_sample(
        [number, -number], lambda x: tf.cast(x[0] % 4 < 2, tf.float32), 5, runtime_checks=True
    )
    for value in batches(kept):
        print(value)
with tf.Graph().as_default():
    rows = tf.reshape(tf.range(12), [6, 2])
    kept = training.rejection_sample([rows, rows + 1], lambda x: tf.cast(x[0][0] > 3, tf.float32), 4, enqueue_many=True)
    print(kept[0].shape, np.unique(batches(kept)[0]).tolist())

with tf.Graph().as_default():
    number = tf.train.range_input_producer(30, num_epochs=1, shuffle=False).dequeue()
    data, labels = training.stratified_sample(
        [number], number % 3, [0.5, 0.5, 0.0], 5, init_probs=[0.5, 0.5, 0.0]
    )
    for value in batches(data + [labels]):
        print(value)
with tf.Graph().as_default():
    data, labels = training.stratified_sample(
        [tf.range(8.0)], tf.range(8) % 2, [1.0, 0.0], 4, enqueue_many=True
    )
    print(data[0].shape, labels.shape, np.unique(batches(data + [labels])[0][1]).tolist())

with tf.Graph().as_default(), tf.Session() as sess:
    tf.set_random_seed(1)
    x, rates = tf.reshape(tf.range(8000), [4000, 2]), tf.constant([0.0] * 2000 + [3.0] * 2000)
    kept = training.resample_at_rate([x, x + 1], rates)
    first, second = sess.run(kept)
    print(first.shape[1], np.array_equal(first + 1, second), first.min() >= 4000, np.diff(first[:, 0]).min())
    print(abs(len(first) - 6000) < 400)
    weights = tf.concat([tf.fill([2000], 1.0), tf.fill([2000], 3.0)], 0)
    rows, rates = training.weighted_resample([x], weights, 0.5, scope="w")
    sess.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
    rows, rates = sess.run([rows[0], rates])
    print(abs(len(rows) - 2000) < 250, np.unique(rates).tolist(), [v.op.name for v in tf.local_variables()])

for wrong in (
    lambda: training.bucket([1], 0, [2], 2),
    lambda: training.bucket([1], 0, 2, 2, bucket_capacities=[1]),
    lambda: training.bucket_by_sequence_length(1, [1], 2, []),
    lambda: training.bucket_by_sequence_length(1, [1], 2, [3, 2]),
    lambda: training.bucket_by_sequence_length(1, [1], 2, 3),
    lambda: training.bucket([tf.placeholder(tf.int32, [None])], 0, 2, 2),
):
    try:
        wrong()
    except (ValueError, TypeError) as error:
        print(type(error).__name__)

choose = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
ops = [tf.placeholder(tf.float32, [n], name="p%d" % n).op for n in (4, 1, 2, 8, 1)]
print([int(choose(op)) for op in ops], [training.RandomStrategy(3)(op) for op in ops])
