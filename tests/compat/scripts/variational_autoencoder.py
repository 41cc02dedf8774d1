"""A variational autoencoder: a drawn code, a loss of two terms, and new samples."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(9)
data = (rng.rand(100, 1) > 0.5).astype(np.float32).repeat(8, 1)
data = np.abs(data - (rng.rand(100, 8) < 0.05)).astype(np.float32)
latent = 2


def glorot_init(shape):
    return tf.random_normal(shape=shape, stddev=1.0 / tf.sqrt(shape[0] / 2.0), seed=len(shape) + shape[-1])


weights = {
    "encoder_h1": tf.Variable(glorot_init([8, 12])),
    "z_mean": tf.Variable(glorot_init([12, latent])),
    "z_std": tf.Variable(glorot_init([12, latent])),
    "decoder_h1": tf.Variable(glorot_init([latent, 12])),
    "decoder_out": tf.Variable(glorot_init([12, 8])),
}
input_image = tf.placeholder(tf.float32, shape=[None, 8])
encoder = tf.nn.tanh(tf.matmul(input_image, weights["encoder_h1"]))
z_mean = tf.matmul(encoder, weights["z_mean"])
z_std = tf.matmul(encoder, weights["z_std"])
eps = tf.random_normal(tf.shape(z_std), dtype=tf.float32, mean=0.0, stddev=1.0, seed=21, name="epsilon")
z = z_mean + tf.exp(z_std / 2) * eps


def decode(code):
    return tf.nn.sigmoid(tf.matmul(tf.nn.tanh(tf.matmul(code, weights["decoder_h1"])), weights["decoder_out"]))


def vae_loss(x_reconstructed, x_true):
    encode_decode_loss = x_true * tf.log(1e-10 + x_reconstructed) + (1 - x_true) * tf.log(1e-10 + 1 - x_reconstructed)
    encode_decode_loss = -tf.reduce_sum(encode_decode_loss, 1)
    kl_div_loss = -0.5 * tf.reduce_sum(1 + z_std - tf.square(z_mean) - tf.exp(z_std), 1)
    return tf.reduce_mean(encode_decode_loss + kl_div_loss)


loss_op = vae_loss(decode(z), input_image)
train_op = tf.train.RMSPropOptimizer(learning_rate=0.01).minimize(loss_op)
noise_input = tf.placeholder(tf.float32, shape=[None, latent])
samples = decode(noise_input)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(1, 61):
        _, l = sess.run([train_op, loss_op], feed_dict={input_image: data})
        if i % 20 == 0:
            print("Step %i, Loss: %.2f" % (i, l))
    print(sess.run(samples, {noise_input: np.zeros([1, latent])}).shape)
