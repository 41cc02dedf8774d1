"""A small convolutional net that reads handwritten digits: real data, trained, tested, saved and drawn.

The data are scikit-learn's 1,797 scanned digits of 8 by 8 pixels. Run it:

    python examples/digits_cnn.py [--epochs 30] [--save digits.sg] [--svg digits_cnn.svg]

It prints the accuracy on digits that training has not seen. `serve_saved.py` uses the saved file.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import staticgraph as sg

BATCH = 50


def load_digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images and labels, then those kept for the test: every sixth digit."""
    try:
        from sklearn.datasets import load_digits as read
    except ImportError:
        sys.exit('this example reads its data from scikit-learn: pip install "staticgraph[examples]"')
    digits = read()
    images = (digits.images / 16.0).astype(np.float32)[..., None]
    labels = digits.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(images))
    test, train = order[::6], np.delete(order, np.s_[::6])
    return images[train], labels[train], images[test], labels[test]


def build(images: sg.Tensor, training: sg.Tensor) -> sg.Tensor:
    """Two rounds of convolution and pooling, then two dense layers: scores for the ten digits."""
    net = sg.layers.conv2d(images, 32, 3, padding="same", activation=sg.nn.relu, name="conv1")
    net = sg.layers.max_pooling2d(net, 2, 2, name="pool1")
    net = sg.layers.conv2d(net, 64, 3, padding="same", activation=sg.nn.relu, name="conv2")
    net = sg.layers.max_pooling2d(net, 2, 2, name="pool2")
    net = sg.layers.flatten(net, name="flatten")
    net = sg.layers.dense(net, 128, activation=sg.nn.relu, name="dense")
    net = sg.layers.dropout(net, 0.3, training=training, name="dropout")
    return sg.layers.dense(net, 10, name="scores")


def progress(done: int, total: int, text: str) -> None:
    """One line that is drawn over itself on a terminal, and nothing but the last line elsewhere."""
    if sys.stdout.isatty() or done == total:
        filled = 24 * done // total
        end = "\n" if done == total else ""
        print(f"\r[{'#' * filled}{'.' * (24 - filled)}] {text}", end=end, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a convolutional net on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training digits (default 30)")
    parser.add_argument("--save", default="digits.sg", help="file for the trained net (default digits.sg)")
    parser.add_argument(
        "--svg", default="digits_cnn.svg", help="file for the drawing (default digits_cnn.svg)"
    )
    args = parser.parse_args()
    x_train, y_train, x_test, y_test = load_digits()
    print(f"{len(x_train)} digits to learn from, {len(x_test)} to be tested on")

    sg.set_random_seed(1)
    images = sg.placeholder(sg.float32, [None, 8, 8, 1], name="images")
    labels = sg.placeholder(sg.int64, [None], name="labels")
    training = sg.placeholder_with_default(False, [], name="training")
    scores = build(images, training)
    probabilities = sg.nn.softmax(scores, name="probabilities")
    digit = sg.argmax(scores, axis=1, name="digit")
    loss = sg.losses.sparse_softmax_cross_entropy(labels, scores)
    accuracy = sg.reduce_mean(sg.cast(sg.equal(digit, labels), sg.float32), name="accuracy")
    train = sg.train.AdamOptimizer(1e-3).minimize(loss)

    rng = np.random.default_rng(0)
    start = time.perf_counter()
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for epoch in range(args.epochs):
            order = rng.permutation(len(x_train))
            losses = []
            for first in range(0, len(order) - BATCH + 1, BATCH):
                batch = order[first : first + BATCH]
                feeds = {images: x_train[batch], labels: y_train[batch], training: True}
                losses.append(sess.run([loss, train], feed_dict=feeds)[0])
            text = f"epoch {epoch + 1}/{args.epochs}  loss {np.mean(losses):.4f}"
            progress(epoch + 1, args.epochs, f"{text}  {time.perf_counter() - start:.1f} s")
        tested = sess.run(accuracy, feed_dict={images: x_test, labels: y_test})
        print(f"accuracy on the test digits: {tested:.2%}")
        outputs = {"digit": digit, "probabilities": probabilities}
        sg.save(args.save, outputs=outputs, inputs={"images": images}, session=sess)
        print(f"saved as {args.save}; examples/serve_saved.py reads it")
    if args.svg:
        sg.visualize([probabilities, train], args.svg)
        print(f"drawn in {args.svg}")


if __name__ == "__main__":
    main()
