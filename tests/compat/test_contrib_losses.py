"""`contrib.losses` and `contrib.metrics` take what was predicted first."""

import inspect

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf

LOGITS = np.array([[2.0, -1.0, 0.5], [0.1, 0.2, -3.0]], np.float32)
ONE_HOT = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], np.float32)
SHARES = np.array([[0.2, 0.7, 0.4], [0.9, 0.6, 0.1]], np.float32)  # predictions between 0 and 1


def value(tensor: sg.Tensor) -> np.ndarray:
    with sg.Session() as sess:
        return sess.run(tensor)


def log_softmax(x: np.ndarray) -> np.ndarray:
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def test_softmax_cross_entropy():
    expected = -(ONE_HOT * log_softmax(LOGITS)).sum(-1).mean()
    for losses in (tf.contrib.losses, tf.contrib.slim.losses):
        np.testing.assert_allclose(value(losses.softmax_cross_entropy(LOGITS, ONE_HOT)), expected, rtol=1e-6)
    sparse = tf.contrib.losses.sparse_softmax_cross_entropy(LOGITS, ONE_HOT.argmax(-1))
    np.testing.assert_allclose(value(sparse), expected, rtol=1e-6)
    assert len(tf.get_collection(tf.GraphKeys.LOSSES)) == 3


def test_weights_of_the_first_axes_are_for_each_example():
    """The numbers are TensorFlow 1.15.5's."""
    losses = tf.contrib.losses
    a, b = np.arange(8, dtype=np.float32).reshape(2, 4), np.full((2, 4), 0.5, np.float32)
    w = np.float32([1, 3])
    made = [
        losses.mean_squared_error(a, b, w),
        losses.sigmoid_cross_entropy(a, b, w),
        losses.softmax_cross_entropy(a, b, w),
        losses.absolute_difference(a, b, np.float32([[0], [2]])),
        losses.log_loss(tf.nn.sigmoid(a), b, w),
        losses.cosine_distance(a, b, 1, w),
        losses.compute_weighted_loss(a, w),
    ]
    wanted = [40.5, 4.65834, 7.76076, 10.0, 4.65831, -16.0, 9.0]
    np.testing.assert_allclose([value(loss) for loss in made], wanted, rtol=1e-5)


def test_sigmoid_cross_entropy():
    probability = 1 / (1 + np.exp(-LOGITS))
    expected = -(ONE_HOT * np.log(probability) + (1 - ONE_HOT) * np.log(1 - probability)).mean()
    found = tf.contrib.losses.sigmoid_cross_entropy(LOGITS, multi_class_labels=ONE_HOT)
    np.testing.assert_allclose(value(found), expected, rtol=1e-5)


def test_log_loss():
    expected = -(ONE_HOT * np.log(SHARES + 1e-7) + (1 - ONE_HOT) * np.log(1 - SHARES + 1e-7)).mean()
    np.testing.assert_allclose(value(tf.contrib.losses.log_loss(SHARES, ONE_HOT)), expected, rtol=1e-5)


def test_hinge_loss_is_not_reduced():
    found = tf.contrib.losses.hinge_loss(LOGITS, ONE_HOT)
    np.testing.assert_allclose(value(found), np.maximum(0, 1 - (2 * ONE_HOT - 1) * LOGITS), rtol=1e-6)
    assert not tf.get_collection(tf.GraphKeys.LOSSES)


@pytest.mark.parametrize("name", sorted(set(sg.losses.__all__) & set(dir(tf.contrib.losses))))
def test_order_of_arguments(name: str):
    ours = list(inspect.signature(getattr(sg.losses, name)).parameters)
    old = list(inspect.signature(getattr(tf.contrib.losses, name)).parameters)
    if "labels" in ours[0]:
        assert old[:2] == [ours[1], ours[0]]


def test_accuracy_is_of_one_batch():
    predicted, labels = np.array([1, 2, 3, 4]), np.array([1, 0, 3, 0])
    assert value(tf.contrib.metrics.accuracy(predicted, labels)) == 0.5
    weighted = tf.contrib.metrics.accuracy(predicted, labels, weights=[1.0, 0.0, 1.0, 0.0])
    assert value(weighted) == 1.0
    with pytest.raises(ValueError, match="cast one of them"):
        tf.contrib.metrics.accuracy(predicted, labels.astype(np.float32))


def test_streaming_precision():
    predicted, labels = np.array([True, True, True, False]), np.array([True, False, False, True])
    found, update = tf.contrib.metrics.streaming_precision(predicted, labels)
    with sg.Session() as sess:
        sess.run(sg.local_variables_initializer())
        sess.run(update)
        np.testing.assert_allclose(sess.run(found), 1 / 3, rtol=1e-6)


def test_hinge_loss_of_labels_of_another_shape():
    """They would broadcast to a matrix."""
    with pytest.raises(ValueError, match="incompatible"):
        tf.contrib.losses.hinge_loss([[-1.0], [2.1]], [0.0, 1.0])


@pytest.mark.parametrize(
    ("precision", "strict", "recall"), [(0.9, False, 1), (0.9, True, 0), (0.2, True, 2 / 3)]
)
def test_recall_at_the_least_precision_that_is_enough(precision, strict, recall):
    """As TensorFlow's own test has it: precisions are 0.3, 2 / 9 and 1 / 8 at the first thresholds."""
    scores = np.float32([0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.9, 0.9, 0.1])
    labels = np.array([1, 1, 0, 0, 0, 0, 0, 0, 0, 1])
    options = {"num_thresholds": 11, "strict_mode": strict}
    result, update = tf.contrib.metrics.recall_at_precision(labels, scores, precision, **options)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        np.testing.assert_allclose([session.run(update), session.run(result)], recall, rtol=1e-6)
