"""Sums over grids: Mandelbrot's set, drops in a pond, and pictures turned and cut."""
import numpy as np
import tensorflow as tf

Y, X = np.mgrid[-1.3:1.3:0.2, -2:1:0.2]
xs = tf.constant((X + 1j * Y).astype(np.complex64))
zs = tf.Variable(xs)
ns = tf.Variable(tf.zeros_like(xs, tf.float32))
zs_ = zs * zs + xs
not_diverged = tf.abs(zs_) < 4
step = tf.group(zs.assign(zs_), ns.assign_add(tf.cast(not_diverged, tf.float32)))
with tf.Session() as sess:
    tf.global_variables_initializer().run()
    for _ in range(8):
        step.run()
    print("mandelbrot", ns.eval().sum())


def laplace(x):
    kernel = np.array([[0.5, 1.0, 0.5], [1.0, -6.0, 1.0], [0.5, 1.0, 0.5]], np.float32).reshape(3, 3, 1, 1)
    return tf.nn.depthwise_conv2d(x[None, :, :, None], kernel, [1, 1, 1, 1], padding="SAME")[0, :, :, 0]


u_init = np.zeros([12, 12], np.float32)
u_init[3, 4], u_init[8, 8] = 1.0, -0.5
eps, damping = tf.placeholder(tf.float32, shape=()), tf.placeholder(tf.float32, shape=())
U, Ut = tf.Variable(u_init), tf.Variable(np.zeros_like(u_init))
pond = tf.group(U.assign(U + eps * Ut), Ut.assign(Ut + eps * (laplace(U) - damping * Ut)))
picture = tf.constant(np.arange(48).reshape(4, 4, 3).astype(np.uint8))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(20):
        sess.run(pond, {eps: 0.03, damping: 0.04})
    print("pond", np.round(sess.run(U)[3, 2:6], 4).tolist())
    print(sess.run(tf.image.transpose_image(picture))[0, 1], sess.run(tf.image.flip_left_right(picture))[0, 0])
    print(sess.run(tf.image.rgb_to_grayscale(picture)).ravel()[:4], sess.run(tf.image.central_crop(picture, 0.5)).shape)
    print(np.round(sess.run(tf.image.resize_images(picture, [2, 2])), 2)[:, :, 0].tolist())
    print(np.round(sess.run(tf.image.per_image_standardization(picture)), 3)[0, 0].tolist())
    encoded = tf.image.encode_png(picture)
    print((sess.run(tf.image.decode_png(encoded)) == sess.run(picture)).all())
