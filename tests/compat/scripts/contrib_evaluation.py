"""Evaluation of checkpoints by tf.contrib.training and tf.contrib.slim."""

import glob

import numpy as np
import tensorflow as tf

slim, training = tf.contrib.slim, tf.contrib.training
data = np.random.RandomState(0).rand(40, 3).astype(np.float32)


def model(rows):
    weights = tf.get_variable("weights", [3], initializer=tf.constant_initializer(2.0))
    return tf.reduce_sum(rows * weights, 1)


with tf.Graph().as_default(), tf.Session() as sess:
    model(tf.constant(data))
    step = tf.train.get_or_create_global_step()
    sess.run(tf.global_variables_initializer())
    saver = tf.train.Saver()
    for number in (3, 7):
        sess.run([tf.assign(step, number), tf.assign(tf.trainable_variables()[0], [1.0, 0.5, number])])
        path = saver.save(sess, "model/net", global_step=number)
    print(path, training.wait_for_new_checkpoint("model", timeout=5))
    print(training.wait_for_new_checkpoint("model", path, seconds_to_sleep=0.01, timeout=0.02))
    print(list(training.checkpoints_iterator("model", timeout=0)))


def built():
    rows = tf.train.batch([tf.train.slice_input_producer([data], shuffle=False)[0]], 10)
    value, update = tf.metrics.mean(model(rows))
    step = tf.train.get_or_create_global_step()
    tf.summary.scalar("mean", value)
    return value, update, step


def tags(folder):
    for path in sorted(glob.glob(folder + "/events*")):
        for event in tf.train.summary_iterator(path):
            for one in event.summary.value:
                if one.tag == "mean":  # how full a queue is depends on its threads
                    print(event.step, one.tag, "%.4f" % one.simple_value)


with tf.Graph().as_default():
    value, update, step = built()
    print(training.get_or_create_eval_step() is training.get_or_create_eval_step())
    hooks = [training.StopAfterNEvalsHook(4), training.SummaryAtEndHook("logs")]
    found = training.evaluate_once(
        "model/net-3", eval_ops=[update], final_ops={"mean": value, "step": step}, hooks=hooks
    )
    print(sorted((key, float(found[key])) for key in found), len(hooks))
    tf.summary.FileWriterCache.clear()
    tags("logs")

for ops in ("one", "dictionary"):
    with tf.Graph().as_default():
        value, update, step = built()
        fetches = update if ops == "one" else {"update": update}
        found = training.evaluate_repeatedly(
            "model",
            eval_ops=fetches,
            final_ops=[value, step],
            hooks=[training.StopAfterNEvalsHook(2)],
            max_number_of_evaluations=1,
        )
        print([float(each) for each in found])

with tf.Graph().as_default():
    value, update, step = built()
    found = slim.evaluation.evaluate_once("", "model/net-7", "slim", 3, eval_op=update, final_op=value)
    print(float(found))
    tf.summary.FileWriterCache.clear()
    tags("slim")
with tf.Graph().as_default():
    value, update, step = built()
    calls = []
    found = slim.evaluation.evaluation_loop(
        "",
        "model",
        "loop",
        num_evals=2,
        eval_op=[update],
        final_op=value,
        summary_op=None,
        variables_to_restore=slim.get_variables_to_restore(exclude=["nothing"]),
        max_number_of_evaluations=2,
        eval_interval_secs=0,
        timeout=0,
        timeout_fn=lambda: calls.append(1) or len(calls) > 2,
    )
    print(float(found), len(calls), glob.glob("loop/*"))
with tf.Graph().as_default():
    value, update, step = built()
    print(training.evaluate_repeatedly("no_model", eval_ops=update, final_ops=value, timeout=0))
try:
    training.SummaryAtEndHook()
except ValueError:
    print("refused")
