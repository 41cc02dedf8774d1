"""Replicas of a net, as written for TensorFlow 1.15: there each has a device of one process."""

import json
import os
import sys

import numpy as np
import tensorflow as tf

devices = sys.argv[1].split(",")
strategy = tf.distribute.MirroredStrategy(devices)
config = tf.ConfigProto(device_count={"CPU": len(devices)})
rng = np.random.RandomState(0)
BATCH = 8
rows = rng.randn(24, 3).astype(np.float32)
targets = (rows @ np.float32([[1.0], [-2.0], [0.5]]) + 0.3).astype(np.float32)
found = {"replicas": strategy.num_replicas_in_sync}


def net(x):
    with tf.variable_scope("net"):
        h = tf.layers.dense(x, 4, activation=tf.tanh, kernel_initializer=tf.constant_initializer(0.3))
        h = tf.layers.batch_normalization(h, training=True, momentum=0.9)
        w = tf.get_variable("w", [4, 1], initializer=tf.constant_initializer(0.5))
    b = tf.Variable([0.1], name="b")
    return tf.matmul(h, w) + b


def replica(batch):
    x, y = batch
    context = tf.distribute.get_replica_context()
    loss = tf.reduce_sum(tf.square(net(x) - y)) / BATCH
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = optimizer.minimize(loss, global_step=step)
    count = tf.cast(tf.shape(x)[0], tf.float32)
    of_all = context.all_reduce(tf.distribute.ReduceOp.SUM, count)
    merged = context.merge_call(
        lambda s, v: s.reduce(tf.distribute.ReduceOp.MEAN, v, axis=None), args=[count]
    )
    with tf.control_dependencies([train]):
        return (
            tf.identity(loss),
            tf.cast(context.replica_id_in_sync_group, tf.int32),
            of_all,
            merged,
            tf.reduce_sum(x),
        )


with tf.Graph().as_default(), strategy.scope():
    data = tf.data.Dataset.from_tensor_slices((rows, targets)).batch(BATCH).repeat()
    iterator = strategy.make_dataset_iterator(data)
    loss, number, of_all, merged, sums = strategy.experimental_run(replica, iterator)
    total = strategy.reduce(tf.distribute.ReduceOp.SUM, loss, axis=None)
    parts = [strategy.experimental_local_results(each) for each in (number, of_all, sums)]
    with tf.Session(config=config) as sess:
        sess.run(iterator.initialize())
        sess.run(tf.global_variables_initializer())
        steps = [sess.run([total, merged, *parts]) for _ in range(7)]
        found["losses"] = [float(each[0]) for each in steps]
        found["merged"] = float(steps[0][1])
        found["parts"] = [[np.asarray(p).tolist() for p in part] for part in steps[0][2:]]
        found["step"] = int(sess.run(tf.train.get_global_step()))
        names = ["net/dense/kernel", "net/dense/bias", "net/batch_normalization/gamma", "net/w", "b"]
        names += ["net/batch_normalization/moving_mean", "net/batch_normalization/moving_variance"]
        known = {v.name.split(":")[0]: v for v in tf.global_variables()}
        found["values"] = {name: np.asarray(sess.run(known[name])).ravel().tolist() for name in names}


def counted(x):
    seen = tf.get_variable(
        "seen",
        [],
        initializer=tf.zeros_initializer(),
        trainable=False,
        aggregation=tf.VariableAggregation.SUM,
    )
    largest = tf.get_variable(
        "largest",
        [],
        initializer=tf.zeros_initializer(),
        trainable=False,
        aggregation=tf.VariableAggregation.MEAN,
    )
    return seen.assign_add(tf.reduce_sum(x)), largest.assign(tf.reduce_max(x))


with tf.Graph().as_default(), strategy.scope():

    def numbers(context):
        found["context"] = [context.num_input_pipelines, context.num_replicas_in_sync]
        found["each"] = context.get_per_replica_batch_size(BATCH)
        return tf.data.Dataset.range(12).map(lambda n: tf.cast(n, tf.float32)).batch(3)

    iterator = strategy.make_input_fn_iterator(numbers)
    done = strategy.group(strategy.experimental_run(counted, iterator))
    inside = strategy.experimental_run_v2(
        lambda: (
            tf.identity([1.0, 3.0])
            * (1.0 + tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32))
        )
    )
    along = strategy.reduce(tf.distribute.ReduceOp.SUM, inside, axis=0)
    variables = {v.name.split(":")[0]: v for v in tf.global_variables()}
    with tf.Session(config=config) as sess:
        sess.run(iterator.initialize())
        sess.run(tf.global_variables_initializer())
        for _ in range(2):
            sess.run(done)
        found["counted"] = [float(sess.run(variables[name])) for name in ("seen", "largest")]
        found["along"] = float(sess.run(along))


def model_fn(features, labels, mode, params):
    kernel = tf.get_variable("kernel", [3, 1], initializer=tf.zeros_initializer())
    if params["sum"]:
        loss = tf.losses.mean_squared_error(
            labels, tf.matmul(features, kernel), reduction=tf.losses.Reduction.SUM
        )
    else:
        loss = tf.reduce_mean(tf.square(tf.matmul(features, kernel) - labels))
    train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def input_fn():
    return tf.data.Dataset.from_tensor_slices((rows, targets)).batch(4).repeat()


class Values(tf.train.SessionRunHook):
    def __init__(self, name):
        self.name = name

    def begin(self):
        self.read = [tf.identity(tf.trainable_variables()[0]), tf.identity(tf.train.get_global_step())]

    def end(self, session):
        kernel, step = session.run(self.read)
        found[self.name], found[self.name + " step"] = kernel.ravel().tolist(), int(step)


run = tf.estimator.RunConfig(train_distribute=strategy, session_config=config, log_step_count_steps=None)
for name in ("mean", "sum"):
    params = {"sum": name == "sum"}
    estimator = tf.estimator.Estimator(model_fn, sys.argv[2] + "/" + name, run, params)
    estimator.train(input_fn, hooks=[Values("estimator " + name)], steps=5)

layers, constant = tf.keras.layers, tf.constant_initializer
tf.keras.backend.set_session(tf.Session(config=config))
with strategy.scope():
    model = tf.keras.Sequential()
    model.add(layers.Dense(4, activation="tanh", kernel_initializer=constant(0.3), input_shape=(3,)))
    model.add(layers.BatchNormalization(momentum=0.9))
    penalty = tf.keras.regularizers.l2(0.01)
    model.add(layers.Dense(1, kernel_initializer=constant(0.5), kernel_regularizer=penalty))
    model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.05, momentum=0.9), metrics=["mae"])
history = model.fit(rows, targets, batch_size=BATCH, epochs=2, shuffle=False, verbose=0).history
found["fit"] = {str(n): np.ravel(w).tolist() for n, w in enumerate(model.get_weights())}
found["history"] = [float(v) for name in ("loss", "mean_absolute_error") for v in history[name]]
with open("%s/found_%d.json" % (sys.argv[2], os.getpid()), "w") as file:
    json.dump(found, file)
