"""Separable convolutions of slim, device functions, averages without bias, and a SavedModel as a function."""

import numpy as np
import tensorflow as tf
from tensorflow.python.training import moving_averages

slim = tf.contrib.slim
images = tf.constant(np.random.RandomState(0).rand(2, 9, 9, 3), tf.float32, name="images")
initializer = tf.random_normal_initializer(0.0, 0.3, seed=1)
with slim.arg_scope(
    [slim.separable_conv2d], weights_initializer=initializer, weights_regularizer=slim.l2_regularizer(0.1)
):
    both = slim.separable_conv2d(images, 5, [3, 3], depth_multiplier=2, stride=2, scope="both")
    deep = slim.separable_conv2d(images, None, 3, rate=2, normalizer_fn=slim.batch_norm, scope="deep")
    plain = tf.contrib.layers.separable_conv2d(
        images, 4, 3, padding="VALID", activation_fn=None, biases_initializer=None
    )


def place(op):
    node = op if isinstance(op, tf.NodeDef) else op.node_def
    return "/job:a" if node.op in ("Variable", "VariableV2", "VarHandleOp") else "/job:b"


with tf.Graph().as_default(), tf.device(place):
    v = tf.get_variable("v", [2])
    print(v.device, (v * 2.0).device)
    with tf.device(lambda op: "/job:c" if op.type == "Const" else ""):
        print(tf.constant(1.0).device)

total = tf.reduce_sum(plain)
tf.train.ExponentialMovingAverage(0.9, zero_debias=True).apply([total])
mean = tf.get_variable("mean", [], initializer=tf.zeros_initializer(), trainable=False)
first, second = [moving_averages.assign_moving_average(mean, 3.0, 0.9) for _ in range(2)]
scoped = tf.make_template("scoped", lambda: tf.get_variable("s", []))
scoped()
print(scoped.var_scope.name)
for variable in tf.global_variables():
    print(variable.op.name, variable.shape.as_list())
print(len(tf.losses.get_regularization_losses()), [v.op.name for v in slim.get_model_variables()])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for value in sess.run([both, deep, plain]):
        print(value.shape, value.sum((1, 2)).tolist())
    print([float(sess.run(first)) for _ in range(3)], float(sess.run(second)))
    tf.saved_model.simple_save(sess, "model", {"images": images}, {"plain": plain, "both": both})
predict = tf.contrib.predictor.from_saved_model("model")
result = predict({"images": np.ones([2, 9, 9, 3])})
print(
    {name: float(result[name].sum()) for name in sorted(result)},
    sorted(predict.feed_tensors),
    sorted(predict.fetch_tensors),
)
