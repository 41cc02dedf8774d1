"""Transformations of tf.contrib.data that became arguments of Dataset.batch."""

import tensorflow as tf

numbers = tf.data.Dataset.range
data = tf.contrib.data


def show(name, dataset):
    value = dataset.make_one_shot_iterator().get_next()
    print(name, dataset.output_shapes)
    with tf.Session() as sess:
        while True:
            try:
                print(sess.run(value))
            except tf.errors.OutOfRangeError:
                return


show("whole batches", numbers(7).apply(data.batch_and_drop_remainder(3)))
rows = numbers(5).map(lambda n: tf.fill([n], n))
show("whole padded batches", rows.apply(data.padded_batch_and_drop_remainder(2, [None])))
show("windows", numbers(7).apply(data.sliding_window_batch(3, window_shift=2)))
pairs = tf.data.Dataset.zip((numbers(6), numbers(10, 16)))
show("windows of pairs", pairs.apply(data.sliding_window_batch(2, stride=2, window_stride=2)))
show("interleaved", numbers(3).apply(data.sloppy_interleave(lambda n: numbers(n), 1)))
