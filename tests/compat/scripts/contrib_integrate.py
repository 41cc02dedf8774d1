"""tf.contrib.integrate: differential equations with adaptive and fixed steps."""

import numpy as np
import tensorflow as tf

integrate = tf.contrib.integrate


def predators(y, t):
    return tf.stack([y[0] * (1.0 - 0.5 * y[1]), y[1] * (0.3 * y[0] - 0.8)])


def swing(y, t):
    return tf.stack([y[1], -tf.sin(y[0]) + 0.1 * tf.cast(tf.cos(t), y.dtype)])


times = np.linspace(0, 4, 6)
start = tf.constant([2.0, 1.0], tf.float64)
solved, info = integrate.odeint(predators, start, times, rtol=1e-7, atol=1e-9, full_output=True)
coarse = integrate.odeint(
    swing, tf.constant([1.0, 0.0], tf.float64), [0.0, 0.5, 3.0], 1e-3, 1e-4, "dopri5", {"first_step": 0.1, "safety": 0.8}
)
turning = integrate.odeint(lambda y, t: 1j * y, tf.constant([1.0 + 0j, 2.0j], tf.complex64), [0.0, 1.0, 2.0], 1e-4, 1e-6)
grown = integrate.odeint(lambda y, t: 0.5 * y, tf.ones([2, 2]), tf.constant([0.0, 1.0, 2.0]), 1e-5, 1e-7)
fixed = integrate.odeint_fixed(predators, start, times)
finer = integrate.odeint_fixed(predators, start, times, dt=0.25)
middle = integrate.odeint_fixed(swing, tf.constant([1.0, 0.0]), [0.0, 1.0, 3.0], [0.3, 0.5], method="midpoint")
gradient = tf.gradients(finer[-1], start)[0]
with tf.Session() as sess:
    for value in sess.run([solved, info, coarse, grown, fixed, finer, middle, gradient]):
        for each in [value[key] for key in sorted(value)] if isinstance(value, dict) else [value]:
            print(each.dtype, each.shape, ["%.4f" % x for x in each.ravel()[:12]])
    print(np.round(sess.run(turning).view(np.float32), 3).tolist())
    print(solved.shape, coarse.shape, fixed.shape)
    for wrong in (
        integrate.odeint(lambda y, t: -y, 1.0, [0.0, 1.0, 0.5]),
        integrate.odeint(lambda y, t: y * y, 1.0, [0.0, 5.0]),
        integrate.odeint(lambda y, t: -y, 1.0, [0.0, 9.0], method="dopri5", options={"max_num_steps": 2}),
    ):
        try:
            sess.run(wrong)
        except tf.errors.InvalidArgumentError:
            print("failed")
for wrong in (
    lambda: integrate.odeint(swing, start, times, method="euler"),
    lambda: integrate.odeint(swing, start, times, options={"safety": 1.0}),
    lambda: integrate.odeint(swing, tf.constant([1, 2]), times),
    lambda: integrate.odeint(swing, start, [0, 1]),
    lambda: integrate.odeint_fixed(swing, start, times, method="euler"),
    lambda: integrate.odeint_fixed(swing, start, times, dt=[1.0, 2.0]),
):
    try:
        wrong()
    except (TypeError, ValueError) as error:
        print(type(error).__name__)
