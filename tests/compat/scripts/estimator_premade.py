"""A linear and a deep classifier over columns of numbers and of words."""
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(1)
size = rng.rand(80).astype(np.float32)
kind = np.array(["small", "big"])[(size > 0.5).astype(int)]
label = (size > 0.5).astype(np.int32)


def input_fn(repeat=None):
    data = tf.data.Dataset.from_tensor_slices(({"size": size, "kind": kind}, label))
    return data.repeat(repeat).batch(40)


columns = [
    tf.feature_column.numeric_column("size"),
    tf.feature_column.indicator_column(tf.feature_column.categorical_column_with_vocabulary_list("kind", ["small", "big"])),
]
linear = tf.estimator.LinearClassifier(feature_columns=columns[:1], optimizer=tf.train.FtrlOptimizer(0.5))
linear.train(input_fn, steps=10)
print("linear loss %.4f" % linear.evaluate(lambda: input_fn(1))["average_loss"])
seeded = tf.estimator.RunConfig(tf_random_seed=1)
deep = tf.estimator.DNNClassifier([8, 4], columns, n_classes=2, optimizer="Adagrad", config=seeded)
deep.train(input_fn=input_fn, steps=60)
print("deep over 0.9:", deep.evaluate(lambda: input_fn(1))["accuracy"] > 0.9)
