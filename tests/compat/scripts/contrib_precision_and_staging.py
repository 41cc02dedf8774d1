"""tf.contrib.mixed_precision's scaled losses, and a StagingArea."""

import numpy as np
import tensorflow as tf

precision = tf.contrib.mixed_precision
w = tf.Variable([1.0, 2.0], name="w")
x = tf.placeholder(tf.float32, [2])
step = tf.train.get_or_create_global_step()
manager = precision.ExponentialUpdateLossScaleManager(8.0, incr_every_n_steps=2, decr_every_n_nan_or_inf=2)
optimizer = precision.LossScaleOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), manager)
loss = tf.reduce_sum(w * w * x)
pairs = optimizer.compute_gradients(loss)
train = optimizer.apply_gradients(pairs, global_step=step)
print(sorted(v.op.name for v in tf.global_variables()))
state = {v.op.name: v for v in tf.global_variables()}
good, bad = np.float32([1, 2]), np.float32([1, np.inf])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(pairs[0][0], {x: good}).tolist())
    for each in (good, good, good, bad, good, bad, bad, good):
        sess.run(train, {x: each})
        found = sess.run(state)
        print([(name, np.round(found[name], 4).tolist()) for name in sorted(found)])
fixed = precision.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), precision.FixedLossScaleManager(64.0))
half = tf.Variable(np.float16(0.5))
down = fixed.minimize(tf.square(half) * np.float16(0.25), var_list=[half])
area = tf.contrib.staging.StagingArea([tf.float32, tf.int32], shapes=[[2], []])
put = area.put([x, tf.constant(7)])
got = area.get()
named = tf.contrib.staging.StagingArea([tf.float32], names=["image"], capacity=2)
put_named, got_named = named.put({"image": x}), named.get()
print([t.shape for t in got], sorted(got_named), area.capacity, named.capacity)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(down)
    print(float(sess.run(half)))
    for number in range(3):
        sess.run(put, {x: [number, number]})
    print(int(sess.run(area.size())), [value.tolist() for value in sess.run(got)])
    sess.run(area.clear())
    print(int(sess.run(area.size())))
    sess.run(put_named, {x: [4, 5]})
    print(sess.run(got_named)["image"].tolist())
for wrong in (
    lambda: precision.FixedLossScaleManager(0.5),
    lambda: area.put({"image": x}),
    lambda: named.put([x]),
    lambda: area.put([x, x]),
    lambda: tf.contrib.staging.StagingArea([tf.float32], names=["a", "b"]),
):
    try:
        wrong()
    except ValueError:
        print("refused")
