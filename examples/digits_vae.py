"""Handwritten digits that nobody wrote: the map of a variational autoencoder (Kingma and Welling 2014).

    python examples/digits_vae.py [--epochs 60] [--picture digits_vae.png]

It learns from scikit-learn's 1,797 digits of 8 by 8 pixels. The picture is what the decoder draws over its
two hidden numbers, from -2 to 2 standard deviations.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from digits_cnn import load_digits, progress

import staticgraph as sg

BATCH, HIDDEN, SIDE = 50, 256, 14


def encode(images: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
    """Means and logarithms of the variances of the two hidden numbers of each image."""
    net = sg.layers.dense(images, HIDDEN, activation=sg.nn.relu, name="encoder1")
    net = sg.layers.dense(net, HIDDEN, activation=sg.nn.relu, name="encoder2")
    mean, log_variance = sg.split(sg.layers.dense(net, 4, name="code"), 2, axis=1)
    return mean, log_variance


def decode(code: sg.Tensor) -> sg.Tensor:
    """Logits of the 64 pixels."""
    net = sg.layers.dense(code, HIDDEN, activation=sg.nn.relu, name="decoder1")
    net = sg.layers.dense(net, HIDDEN, activation=sg.nn.relu, name="decoder2")
    return sg.layers.dense(net, 64, name="pixels")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a variational autoencoder on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=60, help="passes over the training digits (default 60)")
    parser.add_argument("--picture", default="digits_vae.png", help="file for the picture")
    args = parser.parse_args()
    x_train, _, x_test, _ = load_digits()
    x_train, x_test = x_train.reshape(-1, 64), x_test.reshape(-1, 64)

    sg.set_random_seed(0)
    images = sg.placeholder(sg.float32, [None, 64], name="images")
    mean, log_variance = encode(images)
    noise = sg.random_normal(sg.shape(mean))
    code = sg.identity(mean + sg.exp(log_variance / 2) * noise, name="hidden")
    logits = decode(code)
    pixels = sg.nn.sigmoid_cross_entropy_with_logits(labels=images, logits=logits)
    divergence = 0.5 * sg.reduce_sum(sg.square(mean) + sg.exp(log_variance) - log_variance - 1.0, axis=1)
    loss = sg.reduce_mean(sg.reduce_sum(pixels, axis=1) + divergence)
    train = sg.train.AdamOptimizer(1e-3).minimize(loss)
    drawn = sg.nn.sigmoid(logits)

    rng = np.random.default_rng(0)
    start = time.perf_counter()
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        before = sess.run(loss, feed_dict={images: x_test})
        for epoch in range(args.epochs):
            order = rng.permutation(len(x_train))
            for first in range(0, len(order), BATCH):
                sess.run(train, feed_dict={images: x_train[order[first : first + BATCH]]})
            progress(epoch + 1, args.epochs, f"epoch {epoch + 1}  {time.perf_counter() - start:.1f} s")
        after = sess.run(loss, feed_dict={images: x_test})
        print(f"loss on digits that training has not seen: {before:.1f} -> {after:.1f}")
        across = np.linspace(-2, 2, SIDE)
        grid = np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2)
        tiles = sess.run(
            drawn, feed_dict={code: grid}
        )  # the hidden numbers are fed in place of the encoder's

    import matplotlib.image

    framed = np.pad(tiles.reshape(SIDE, SIDE, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    picture = framed.transpose(0, 2, 1, 3).reshape(SIDE * 10, SIDE * 10)
    matplotlib.image.imsave(args.picture, picture.repeat(4, 0).repeat(4, 1), cmap="gray_r")
    print(f"drawn in {args.picture}")


if __name__ == "__main__":
    main()
