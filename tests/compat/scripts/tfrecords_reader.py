"""Examples written to a file of records, read back by a queue and by an iterator of Python."""
import numpy as np
import tensorflow as tf


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


pictures = (np.arange(5 * 2 * 3).reshape(5, 2, 3) * 3).astype(np.uint8)
writer = tf.python_io.TFRecordWriter("pictures.tfrecord")
for number, picture in enumerate(pictures):
    features = tf.train.Features(
        feature={
            "label": _int64_feature(number % 3),
            "shape": _bytes_feature(np.array(picture.shape, np.int32).tobytes()),
            "image": _bytes_feature(picture.tobytes()),
            "mean": tf.train.Feature(float_list=tf.train.FloatList(value=[picture.mean()])),
        }
    )
    writer.write(tf.train.Example(features=features).SerializeToString())
writer.close()

for record in list(tf.python_io.tf_record_iterator("pictures.tfrecord"))[:1]:
    example = tf.train.Example()
    example.ParseFromString(record)
    print(sorted(example.features.feature), example.features.feature["label"].int64_list.value)

filename_queue = tf.train.string_input_producer(["pictures.tfrecord"], num_epochs=1)
reader = tf.TFRecordReader()
_, serialized_example = reader.read(filename_queue)
features = tf.parse_single_example(
    serialized_example,
    features={
        "label": tf.FixedLenFeature([], tf.int64),
        "shape": tf.FixedLenFeature([], tf.string),
        "image": tf.FixedLenFeature([], tf.string),
        "mean": tf.FixedLenFeature([1], tf.float32),
    },
)
image = tf.reshape(tf.decode_raw(features["image"], tf.uint8), tf.decode_raw(features["shape"], tf.int32))
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    try:
        while not coord.should_stop():
            label, picture, mean = sess.run([features["label"], image, features["mean"]])
            print(label, picture.shape, picture.sum(), mean)
    except tf.errors.OutOfRangeError:
        print("done")
    finally:
        coord.request_stop()
    coord.join(threads)
