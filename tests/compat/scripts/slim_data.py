"""Records of pictures as slim's data sets have them: handlers, a provider, a queue ahead of training."""

import numpy as np
import tensorflow as tf

slim = tf.contrib.slim
decoders = slim.tfexample_decoder
draws = np.random.RandomState(0)


def feature(value):
    if isinstance(value[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=value))
    if isinstance(value[0], int):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=value))
    return tf.train.Feature(float_list=tf.train.FloatList(value=value))


def write(path, number):
    with tf.Graph().as_default(), tf.Session() as sess, tf.python_io.TFRecordWriter(path) as writer:
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        encoded = tf.image.encode_png(pixels)
        for i in range(number):
            picture = draws.randint(0, 256, (6, 8, 3)).astype(np.uint8)
            boxes = draws.rand(4, 1 + i % 3).round(3)
            values = {
                "image/encoded": [sess.run(encoded, {pixels: picture})],
                "image/format": [b"png"],
                "label": [int(draws.randint(0, 3))],
                "word": [b"cat" if i % 2 else b"dog"],
                "raw": [picture.tobytes()],
                "height": [2],
                "width": [3],
                "table": [float(number) for number in range(6)],
                "indices": [1, 4],
                "values": [0.5, float(i)],
            }
            for side, row in zip(("ymin", "xmin", "ymax", "xmax"), boxes):
                values["box/" + side] = [float(number) for number in row]
            features = tf.train.Features(feature={key: feature(value) for key, value in values.items()})
            writer.write(tf.train.Example(features=features).SerializeToString())


def data(files, with_backup=True):
    table = tf.contrib.lookup.index_table_from_tensor(["dog", "cat"])
    one = tf.FixedLenFeature([], tf.int64)
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
        "image/format": tf.FixedLenFeature((), tf.string, default_value="raw"),
        "label": tf.FixedLenFeature([], tf.int64, default_value=tf.zeros([], dtype=tf.int64)),
        "word": tf.FixedLenFeature([], tf.string),
        "raw": tf.FixedLenFeature([], tf.string),
        "height": one,
        "width": one,
        "table": tf.VarLenFeature(tf.float32),
        "missing": tf.VarLenFeature(tf.float32),
        "indices": tf.VarLenFeature(tf.int64),
        "values": tf.VarLenFeature(tf.float32),
    }
    features.update({"box/" + side: tf.VarLenFeature(tf.float32) for side in ("ymin", "xmin", "ymax", "xmax")})
    handlers = {
        "image": decoders.Image(),
        "raw": decoders.Image("raw", "format of none", shape=[6, 8, 3]),
        "label": decoders.Tensor("label"),
        "word": decoders.LookupTensor("word", table),
        "table": decoders.Tensor("table", shape_keys=["height", "width"]),
        "sparse": decoders.SparseTensor(shape=[6], densify=True),
        "boxes": decoders.BoundingBox(prefix="box/"),
        "area": decoders.ItemHandlerCallback(["height", "width"], lambda found: found["height"] * found["width"]),
    }
    if with_backup:
        handlers["backup"] = decoders.BackupHandler(decoders.Tensor("missing"), decoders.Tensor("table"))
    features["format of none"] = tf.FixedLenFeature((), tf.string, default_value="raw")
    return slim.dataset.Dataset(
        files, tf.TFRecordReader, decoders.TFExampleDecoder(features, handlers), 9, {"image": "A picture."},
        num_classes=3,
    )


def net(images):
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(1e-3)):
        hidden = slim.flatten(slim.max_pool2d(slim.conv2d(images, 4, [3, 3]), 2))
        return slim.fully_connected(hidden, 3, activation_fn=None)


write("a.rec", 5)
write("b.rec", 4)

with tf.Graph().as_default():
    known = data(["a.rec", "b.rec"])
    provider = slim.dataset_data_provider.DatasetDataProvider(known, shuffle=False, num_epochs=1)
    print(sorted(provider.list_items()), provider.num_samples(), known.num_classes)
    names = ["raw", "word", "table", "backup", "sparse", "boxes", "area"]
    items = provider.get(names)
    pixels = provider.get(["image"])[0]
    print([item.shape for item in [*items, pixels]])
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            try:
                raw, word, table, backup, sparse, boxes, area, image = sess.run([*items, pixels])
            except tf.errors.OutOfRangeError:
                break
            print((raw == image).all(), word, table.tolist(), backup.tolist(), sparse.tolist(), boxes, area)

with tf.Graph().as_default():
    tf.set_random_seed(3)
    image, label = slim.dataset_data_provider.DatasetDataProvider(data("a.rec", False), shuffle=False).get(["image", "label"])
    image = tf.image.resize_images(tf.to_float(image), [4, 4])
    image.set_shape([4, 4, 3])
    images, labels = tf.train.batch([image, label], batch_size=4)
    queue = slim.prefetch_queue.prefetch_queue([images, slim.one_hot_encoding(labels, 3)], capacity=2)
    images, labels = queue.dequeue()
    slim.losses.softmax_cross_entropy(net(images / 255.0), labels)
    train = slim.learning.create_train_op(slim.losses.get_total_loss(), tf.train.MomentumOptimizer(0.1, 0.9))
    losses = []

    def step(sess, op, global_step, settings):
        loss, stop = slim.learning.train_step(sess, op, global_step, settings)
        losses.append("%.4f" % loss)
        return loss, stop

    slim.learning.train(train, "logs", step, number_of_steps=4, save_summaries_secs=0, summary_op=None)
    print(losses)
    print(sorted(t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)))

try:
    provider.get(["no item"])
except ValueError as error:
    print("ValueError", "no item" in str(error))
