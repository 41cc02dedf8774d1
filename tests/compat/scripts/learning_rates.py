"""Learning rates that change with the step, and the optimizers in a race."""
import numpy as np
import tensorflow as tf

global_step = tf.Variable(0, trainable=False)
rates = {
    "exponential": tf.train.exponential_decay(0.1, global_step, 3, 0.5, staircase=True),
    "piecewise": tf.train.piecewise_constant(global_step, [2, 5], [1.0, 0.5, 0.1]),
    "polynomial": tf.train.polynomial_decay(0.1, global_step, 6, 0.01, power=2.0),
    "inverse": tf.train.inverse_time_decay(0.1, global_step, 2, 0.5),
    "cosine": tf.train.cosine_decay(0.1, global_step, 8),
}
names = sorted(rates)
add = tf.assign_add(global_step, 1)
x = np.linspace(-1, 1, 20)[:, None].astype(np.float32)
y = x**2 + 0.1


def net(name, optimizer):
    with tf.variable_scope(name, initializer=tf.glorot_uniform_initializer(seed=2)):
        out = tf.layers.dense(tf.layers.dense(x, 8, tf.nn.relu), 1)
        loss = tf.losses.mean_squared_error(y, out)
        return loss, optimizer.minimize(loss)


racers = {
    "sgd": tf.train.GradientDescentOptimizer(0.1),
    "momentum": tf.train.MomentumOptimizer(0.1, momentum=0.8, use_nesterov=True),
    "rmsprop": tf.train.RMSPropOptimizer(0.01, decay=0.9),
    "adam": tf.train.AdamOptimizer(0.01, beta1=0.9, beta2=0.99),
    "adagrad": tf.train.AdagradOptimizer(0.1),
    "adadelta": tf.train.AdadeltaOptimizer(1.0),
    "ftrl": tf.train.FtrlOptimizer(0.1),
}
nets = {name: net(name, racers[name]) for name in sorted(racers)}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(names)
    for _ in range(7):
        print(np.round(sess.run([rates[name] for name in names]), 5))
        sess.run(add)
    for _ in range(20):
        sess.run([step for _, step in nets.values()])
    for name, (loss, _) in nets.items():
        print(name, "%.5f" % sess.run(loss))
