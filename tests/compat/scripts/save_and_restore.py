"""Checkpoints: by step, the last few, some variables, into another graph, and with the graph beside them."""
import os

import tensorflow as tf

W = tf.Variable([[1.0, 2.0]], name="weights")
b = tf.get_variable("bias", initializer=tf.constant([0.5]))
global_step = tf.Variable(0, trainable=False, name="global_step")
bump = tf.group(tf.assign_add(W, [[1.0, 1.0]]), tf.assign_add(global_step, 1))
saver = tf.train.Saver(max_to_keep=2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(4):
        sess.run(bump)
        path = saver.save(sess, os.path.join("checkpoints", "model") if os.makedirs("checkpoints", exist_ok=True) is None else "", global_step=global_step)
    print(path, sorted(os.path.basename(p) for p in saver.last_checkpoints))

ckpt = tf.train.get_checkpoint_state("checkpoints")
print(bool(ckpt and ckpt.model_checkpoint_path), os.path.basename(ckpt.model_checkpoint_path))
for name, shape in tf.train.list_variables(ckpt.model_checkpoint_path):
    print(name, shape)

with tf.Graph().as_default(), tf.Session() as sess:
    other = tf.Variable(tf.zeros([1, 2]), name="other_name")
    fresh = tf.Variable([9.0], name="fresh")
    tf.train.Saver({"weights": other}).restore(sess, tf.train.latest_checkpoint("checkpoints"))
    sess.run(tf.variables_initializer([fresh]))
    print(sess.run(other), sess.run(fresh), sess.run(tf.report_uninitialized_variables()).tolist())

reader = tf.train.NewCheckpointReader(ckpt.model_checkpoint_path)
print(reader.get_tensor("weights"), reader.has_tensor("nothing"))
with tf.Session() as sess:
    try:
        saver.restore(sess, "checkpoints/none")
    except ValueError as e:
        print("no such checkpoint")
