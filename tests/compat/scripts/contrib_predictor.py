"""tf.contrib.predictor.from_estimator: predictions of a trained model without a SavedModel."""

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)


def model_fn(features, labels, mode):
    slope = tf.get_variable("slope", [], initializer=tf.constant_initializer(0.0))
    line = features["x"] * slope
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"line": line, "twice": 2.0 * line}
        exported = {
            "serving_default": tf.estimator.export.PredictOutput(outputs),
            "value": tf.estimator.export.PredictOutput({"value": line}),
        }
        return tf.estimator.EstimatorSpec(mode, predictions=outputs, export_outputs=exported)
    loss = tf.losses.mean_squared_error(labels, line)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def input_fn():
    x = np.float32([[0.5], [1.0]])
    return tf.data.Dataset.from_tensors(({"x": x}, 3.0 * x)).repeat()


def receiver_fn():
    x = tf.placeholder(tf.float32, [None, 1], name="given")
    return tf.estimator.export.ServingInputReceiver({"x": x + 1.0}, {"numbers": x})


estimator = tf.estimator.Estimator(model_fn, "model")
estimator.train(input_fn, steps=30)
predict = tf.contrib.predictor.from_estimator(estimator, receiver_fn)
print(sorted(predict.feed_tensors), sorted(predict.fetch_tensors))
found = predict({"numbers": [[0.0], [1.0]]})
print([(name, np.round(found[name], 3).tolist()) for name in sorted(found)])
other = tf.contrib.predictor.from_estimator(estimator, receiver_fn, output_key="value")
print({name: np.round(value, 3).tolist() for name, value in other({"numbers": [[2.0]]}).items()})
try:
    tf.contrib.predictor.from_estimator(estimator, receiver_fn, output_key="nothing")
except KeyError:
    print("refused")
