# A script as it was written for TensorFlow 1.15 and Horovod.
import os
import sys

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)


def batches(images, labels, size, seed):
    rng = np.random.RandomState(seed)
    while True:
        chosen = rng.randint(0, len(images), size)
        yield images[chosen], labels[chosen]


def main(_):
    hvd.init()
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 4, 400)
    images = rng.randn(400, 8).astype(np.float32) * 0.3
    images[np.arange(400), labels] += 2.0

    with tf.name_scope("input"):
        image = tf.placeholder(tf.float32, [None, 8], name="image")
        label = tf.placeholder(tf.int64, [None], name="label")
    hidden = tf.layers.dense(image, 16, activation=tf.nn.relu)
    logits = tf.layers.dense(hidden, 4)
    loss = tf.losses.sparse_softmax_cross_entropy(label, logits)
    right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), label), tf.float32))
    mean_right = hvd.allreduce(right)

    opt = tf.train.RMSPropOptimizer(0.01 * hvd.size())
    opt = hvd.DistributedOptimizer(opt)
    global_step = tf.train.get_or_create_global_step()
    train_op = opt.minimize(loss, global_step=global_step)
    weights = tf.concat([tf.reshape(v, [-1]) for v in tf.trainable_variables()], 0)
    spread = hvd.allreduce(weights, op=hvd.Max) - hvd.allreduce(weights, op=hvd.Min)

    hooks = [
        hvd.BroadcastGlobalVariablesHook(0),
        tf.train.StopAtStepHook(last_step=240 // hvd.size()),
    ]
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    config.gpu_options.visible_device_list = str(hvd.local_rank())
    checkpoint_dir = sys.argv[1] if hvd.rank() == 0 else None
    data = batches(images, labels, 32, hvd.rank())
    with tf.train.MonitoredTrainingSession(checkpoint_dir=checkpoint_dir, hooks=hooks, config=config) as sess:
        while not sess.should_stop():
            image_, label_ = next(data)
            found = sess.run([train_op, mean_right, spread], feed_dict={image: image_, label: label_})
    line = "rank %d of %d: right %s, apart %s\n" % (hvd.rank(), hvd.size(), found[1] > 0.9, found[2].max())
    os.write(1, line.encode())


if __name__ == "__main__":
    tf.app.run()
