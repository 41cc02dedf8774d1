"""A generator and a discriminator, each with an optimizer of its own variables."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
tf.set_random_seed(13)


def generator(z):
    with tf.variable_scope("generator"):
        hidden = tf.layers.dense(z, 16, tf.nn.relu)
        return tf.layers.dense(hidden, 1)


def discriminator(x, reuse=None):
    with tf.variable_scope("discriminator", reuse=reuse):
        hidden = tf.layers.dense(x, 16, tf.nn.leaky_relu)
        return tf.layers.dense(hidden, 1)


Z = tf.placeholder(tf.float32, [None, 4])
X = tf.placeholder(tf.float32, [None, 1])
G = generator(Z)
D_real = discriminator(X)
D_fake = discriminator(G, reuse=True)
D_loss = tf.reduce_mean(
    tf.nn.sigmoid_cross_entropy_with_logits(logits=D_real, labels=tf.ones_like(D_real))
) + tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=D_fake, labels=tf.zeros_like(D_fake)))
G_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=D_fake, labels=tf.ones_like(D_fake)))

vars_D = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="discriminator")
vars_G = [var for var in tf.trainable_variables() if var.name.startswith("generator")]
print(len(vars_D), len(vars_G))
train_D = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(D_loss, var_list=vars_D)
train_G = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(G_loss, var_list=vars_G)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(151):
        batch = rng.randn(32, 1) * 0.5 + 3
        noise = rng.uniform(-1, 1, (32, 4))
        _, d = sess.run([train_D, D_loss], {X: batch, Z: noise})
        _, g = sess.run([train_G, G_loss], {Z: noise})
        if step == 10:
            print("D %.3f G %.3f" % (d, g))
    mean = sess.run(G, {Z: rng.uniform(-1, 1, (500, 4))}).mean()
    print("generated near 3:", 1.5 < mean < 4.5)
