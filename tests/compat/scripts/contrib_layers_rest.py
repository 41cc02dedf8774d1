"""Layers and losses of tf.contrib that are rarer: volumes, embeddings, summaries, normalization, distances."""

import numpy as np
import tensorflow as tf

layers, losses, learning = tf.contrib.layers, tf.contrib.losses, tf.contrib.losses.metric_learning
rng = np.random.RandomState(0)


def floats(*shape):
    return tf.constant(rng.randn(*shape), tf.float32)


def values(shape, dtype=None, partition_info=None):
    return tf.reshape(tf.sin(tf.range(int(np.prod(shape)), dtype=tf.float32)), shape)


volumes, images, steps = floats(2, 4, 4, 4, 2), floats(2, 5, 6, 3), floats(2, 7, 3)
ids = tf.constant([[1, 2, 0], [3, 3, 0], [0, 0, 0]])
sparse = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 4, -1], [3, 2])
table = floats(6, 4)
options = dict(weights_initializer=values, biases_initializer=tf.ones_initializer())
fetches = {
    "pool3": layers.max_pool3d(volumes, 2),
    "mean3": layers.avg_pool3d(volumes, [2, 2, 2], stride=1, padding="SAME"),
    "conv1": layers.convolution(steps, 4, 3, **options),
    "conv2": layers.convolution(images, 4, 3, stride=2, scope="two", **options),
    "conv3": layers.convolution(volumes, 2, 2, activation_fn=None, **options),
    "plane": layers.conv2d_in_plane(images, [3, 2], stride=2, **options),
    "columns": layers.images_to_sequence(images),
    "columns_first": layers.images_to_sequence(images, data_format="NCHW"),
    "back": layers.sequence_to_images(layers.images_to_sequence(images), 5),
    "first": layers.sequence_to_images(layers.images_to_sequence(images), 5, "channels_first"),
    "legacy": layers.legacy_fully_connected(steps, 4, tf.nn.relu, weight_init=values),
    "linear": layers.legacy_linear(images[0, 0], 2, weight_init=values, name="old"),
    "unique": layers.embedding_lookup_unique(table, ids),
    "safe": layers.safe_embedding_lookup_sparse(table, sparse),
    "safe_sum": layers.safe_embedding_lookup_sparse([table], sparse, combiner="sum", default_id=2),
    "bag": layers.bow_encoder(ids, 6, 4, initializer=values),
    "bag_dense": layers.bow_encoder(ids, 6, 4, sparse_lookup=False, initializer=values, scope="dense_bag"),
}
normal = layers.gdn(images, beta_min=0.3, gamma_init=0.2, name="gdn")
inverse = layers.GDN(inverse=True, gamma_init=0.3, name="igdn").apply(images)
beta, gamma = [v for v in tf.trainable_variables() if v.op.name.startswith("gdn/")]
fetches.update(gdn=normal, igdn=inverse)
for number, each in enumerate(tf.gradients(normal * images, [images, beta, gamma])):
    fetches["gdn_gradient_%d" % number] = each
print([(v.op.name, v.shape.as_list()) for v in tf.global_variables()])
print(sorted(v.op.name for v in tf.get_collection(tf.GraphKeys.WEIGHTS) + tf.get_collection(tf.GraphKeys.BIASES)))
print([layers.max_pool3d(tf.placeholder(tf.float32, [None, 4, None, 4, 1]), 2).shape.as_list()])

labels = tf.constant([0, 1, 0, 2, 1, 0, 2, 3])
rows, others = floats(8, 5), floats(8, 5)
unit = tf.nn.l2_normalize(rows, 1)
of_rows = {
    "contrastive": learning.contrastive_loss(labels % 2, rows, others, margin=3.0),
    "semihard": learning.triplet_semihard_loss(labels, unit),
    "semihard_far": learning.triplet_semihard_loss(labels, unit, margin=0.2),
    "lifted": learning.lifted_struct_loss(labels, rows),
    "pairs": learning.npairs_loss(labels, rows, others),
}
several = [tf.SparseTensor([[int(i % 4)], [int(4 + i % 3)]], [1, 1], [8]) for i in range(8)]
of_rows["multi"] = learning.npairs_loss_multilabel(several, rows, others, reg_lambda=0.1)
fetches.update(of_rows)
for name in sorted(of_rows):
    fetches[name + "_gradient"] = tf.gradients(of_rows[name], rows)[0]
predicted, wanted = floats(4, 3), floats(4, 3)
fetches["pairwise"] = losses.mean_pairwise_squared_error(predicted, wanted)
fetches["pairwise_weighted"] = losses.mean_pairwise_squared_error(predicted, wanted, tf.constant([1.0, 0.0, 2.0, 0.5]))
fetches["pairwise_half"] = losses.mean_pairwise_squared_error(predicted, wanted, 0.5)
fetches["total"] = losses.get_total_loss()

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    found = sess.run(fetches)
    for name in sorted(found):
        flat = found[name].ravel()
        print(name, found[name].shape, "%.3f" % np.abs(flat).sum(), ["%.4f" % x for x in flat[:6]])

with tf.Graph().as_default(), tf.Session() as sess:
    x = tf.constant([-1.0, 7.0, 2.0, -3.0], name="x")
    for activation in (tf.nn.relu(x), tf.nn.relu6(x, name="six"), tf.nn.tanh(x)):
        layers.summarize_activation(activation)
        tf.add_to_collection(tf.GraphKeys.ACTIVATIONS, activation)
    print(layers.summarize_tensor(tf.constant("s")), layers.summarize_tensor(tf.reduce_sum(x)).op.name)
    layers.summarize_tensors([x, tf.constant(2.0, name="two")])
    print([s.op.name for s in layers.summarize_activations(name_filter="six")])
    print([s.op.name for s in layers.summarize_collection(tf.GraphKeys.ACTIVATIONS)])
    text = sess.run(tf.summary.merge_all())
    for one in tf.Summary.FromString(text).value:
        print(one.tag, "%.3f" % one.simple_value, "%.3f" % one.histo.sum)
