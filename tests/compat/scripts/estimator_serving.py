"""An estimator with a model of its own on arrays in memory, exported, and used as a SavedModel."""

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
x = np.random.RandomState(4).rand(40, 6).astype("float32")
y = x[:, :3].argmax(1).astype("int32")


def model_fn(features, labels, mode, params):
    hidden = tf.layers.dense(features["x"], params["units"], tf.nn.relu)
    logits = tf.layers.dense(hidden, 3, name="logits")
    predictions = {"classes": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        names = tf.as_string(predictions["classes"])
        outputs = {
            "serving_default": tf.estimator.export.PredictOutput(predictions),
            "classify": tf.estimator.export.ClassificationOutput(predictions["probabilities"], names),
        }
        return tf.estimator.EstimatorSpec(mode, predictions, export_outputs=outputs)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {"accuracy": tf.metrics.accuracy(labels, predictions["classes"])}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


# The weights follow from the seed and from the number of operations that the input made.
config = tf.estimator.RunConfig(tf_random_seed=3)
net = tf.estimator.Estimator(model_fn, "model", config, params={"units": 5})
batches = tf.estimator.inputs.numpy_input_fn({"x": x}, y, batch_size=8, num_epochs=None, shuffle=False)
net.train(batches, steps=12)
once = tf.estimator.inputs.numpy_input_fn({"x": x}, y, batch_size=8, shuffle=False)
print({name: "%.4f" % value for name, value in sorted(net.evaluate(once).items())})

raw = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 6])})
spec = {"x": tf.FixedLenFeature([6], tf.float32)}
parsed = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
feature = tf.train.Feature(float_list=tf.train.FloatList(value=x[0]))
example = tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()

for receiver, fed in ((raw, {"x": x[:1]}), (parsed, {"examples": [example]})):
    folder = net.export_savedmodel("export", receiver)  # bytes
    predict = tf.contrib.predictor.from_saved_model(folder.decode())
    found = predict(fed)
    print(sorted(found), ["%.4f" % value for value in found["probabilities"][0]])
    with tf.Session(graph=tf.Graph()) as sess:
        told = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], folder)
        for name in sorted(told.signature_def):
            signature = told.signature_def[name]
            print(name, signature.method_name, sorted(signature.inputs), sorted(signature.outputs))

begun = tf.estimator.WarmStartSettings("model", vars_to_warm_start="dense.*")
warm = tf.estimator.Estimator(model_fn, "warm", config, params={"units": 5}, warm_start_from=begun)
warm.train(batches, steps=1)
with tf.Graph().as_default(), tf.Session() as sess:
    tf.train.import_meta_graph("warm/model.ckpt-1.meta", clear_devices=True).restore(sess, b"warm/model.ckpt-1")
    print("%.4f" % sess.run("dense/kernel:0").sum())
