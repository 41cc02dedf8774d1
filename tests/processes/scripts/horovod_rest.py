# What scripts for Horovod use besides training: exchanges of rows, sparse gradients, models from files.
import os
import sys

import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras
import numpy as np
import tensorflow as tf

hvd.init()
rank = hvd.rank()
assert hvd.mpi_built() and not hvd.gloo_enabled()


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


# Each process has another number of rows.
x = tf.placeholder(tf.float32, [None, 2])
rows = hvd.allgather(x)
with tf.Session() as sess:
    say("ROWS", sess.run(rows, {x: np.full([rank + 1, 2], rank)})[:, 0].tolist())

# The last batch of a process is smaller.
with tf.Graph().as_default():
    ids = tf.placeholder(tf.int32, [None])
    table = tf.get_variable("table", [4, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids))
    opt = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(1.0), sparse_as_dense=True)
    step = opt.minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step, {ids: range(rank + 1)})
        say("TABLE", sess.run(table).ravel().tolist())

say("NOW", hvd_keras.allreduce([1.0, 2.0 + rank]).tolist(), hvd_keras.broadcast(5 * rank, 1).item())
say("ALL", hvd_keras.allgather(np.arange(rank + 1)).tolist())

model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, input_shape=(1,))])
sgd = tf.keras.optimizers.SGD(0.5, momentum=0.9)
model.compile(hvd_keras.DistributedOptimizer(sgd), "mae")
model.set_weights([np.float32([[rank]])])
hvd_keras.broadcast_global_variables(0)
model.fit(np.ones([1, 1]), np.full([1, 1], 9.0), verbose=0)
file = sys.argv[1] + "/model%d" % rank
model.save(file)
again = hvd_keras.load_model(file)
again.fit(np.ones([1, 1]), np.full([1, 1], 9.0 if rank else -9.0), verbose=0)
say("WEIGHT", round(again.get_weights()[0].item(), 4), type(again.optimizer).__name__)
