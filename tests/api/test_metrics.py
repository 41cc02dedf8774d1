"""Promises of metrics beyond TensorFlow's recorded answers: order in a run, unknown ranks, clear errors."""

import numpy as np
import pytest

import staticgraph as sg


def test_value_beside_the_update_is_that_after_it():
    x = sg.placeholder(sg.float32, [None])
    value, update_op = sg.metrics.mean(x)
    with sg.Session() as sess:
        sess.run(sg.local_variables_initializer())
        assert sess.run([value, update_op], {x: [2.0]}) == [2.0, 2.0]
        assert sess.run([update_op, value], {x: [4.0]}) == [3.0, 3.0]
        assert sess.run(value) == 3.0


def test_initializer_begins_anew():
    value, update_op = sg.metrics.mean([1.0, 3.0])
    with sg.Session() as sess:
        for _ in range(2):
            sess.run(sg.local_variables_initializer())
            assert sess.run(value) == 0.0
            sess.run(update_op)
            assert sess.run(value) == 2.0


def test_batches_may_differ_in_size():
    x = sg.placeholder(sg.float32, [None])
    value, update_op = sg.metrics.mean(x)
    with sg.Session() as sess:
        sess.run(sg.local_variables_initializer())
        for batch in ([1.0, 2.0, 3.0], [10.0], []):
            sess.run(update_op, {x: batch})
        assert sess.run(value) == 4.0


@pytest.mark.parametrize("shape", [(3, 1), (3,)])
def test_labels_of_unknown_rank_take_the_shape_of_the_predictions(shape):
    labels, predictions = sg.placeholder(sg.int64), sg.placeholder(sg.int64)
    _, update_op = sg.metrics.accuracy(labels, predictions)
    with sg.Session() as sess:
        sess.run(sg.local_variables_initializer())
        given = np.reshape([0, 1, 1], shape)
        assert sess.run(update_op, {labels: given, predictions: [0, 1, 0]}) == np.float32(2 / 3)


def test_weights_of_unknown_rank_do_not_multiply_the_elements():
    x, weights = sg.placeholder(sg.float32), sg.placeholder(sg.float32)
    _, update_op = sg.metrics.mean(x, weights)
    with sg.Session() as sess:
        sess.run(sg.local_variables_initializer())
        assert sess.run(update_op, {x: [1.0, 2.0, 3.0], weights: 2.0}) == 2.0
        assert sess.run(update_op, {x: [1.0, 2.0, 3.0], weights: np.ones((3, 1))}) == 2.0
        with pytest.raises(sg.errors.ShapeError):
            sess.run(update_op, {x: [1.0, 2.0, 3.0], weights: np.ones((1, 3))})


def test_classes_of_unknown_rank_are_refused():
    labels, scores = sg.placeholder(sg.int64), sg.placeholder(sg.float32, [None, 5])
    with pytest.raises(ValueError, match="the ranks of labels and predictions must be known"):
        sg.metrics.recall_at_k(labels, scores, 2)


def test_area_is_the_chance_that_a_true_one_scores_higher():
    rng = np.random.default_rng(3)
    labels, scores = rng.integers(0, 2, 400), rng.random(400)
    scores = (scores + labels) / 2
    pairs = scores[labels == 1][:, None] > scores[labels == 0]
    _, update_op = sg.metrics.auc(labels, scores, num_thresholds=4000)
    with sg.Session() as sess:
        sess.run(sg.local_variables_initializer())
        assert sess.run(update_op) == pytest.approx(pairs.mean(), abs=1e-3)


def test_repeated_labels_and_predictions_count_once():
    labels, best = sg.constant([[2, 2, 3]], sg.int64), sg.constant([[2, 2, 5]], sg.int64)
    _, precision = sg.metrics.precision_at_top_k(labels, best)
    _, recall = sg.metrics.recall_at_top_k(labels, best)
    with sg.Session() as sess:
        sess.run(sg.local_variables_initializer())
        assert sess.run([precision, recall]) == [0.5, 0.5]


def test_weights_that_do_not_fit_name_both_shapes_and_the_line():
    with pytest.raises(sg.errors.ShapeError) as raised:
        sg.metrics.mean(sg.zeros([3, 2]), weights=sg.ones([2, 2]))
    text = str(raised.value)
    assert "weights can not be broadcast to values: (2, 2) to (3, 2)" in text
    assert "test_metrics.py" in text


def test_labels_that_do_not_fit_name_both_shapes():
    with pytest.raises(sg.errors.ShapeError, match=r"labels of shape \(3,\) and predictions of shape \(4,\)"):
        sg.metrics.mean_squared_error(sg.zeros([3]), sg.zeros([4]))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: sg.metrics.auc([1], [0.5], curve="roc"), "curve='roc' is neither 'ROC' nor 'PR'"),
        (
            lambda: sg.metrics.auc([1], [0.5], summation_method="none"),
            "summation_method='none' is not",
        ),
        (
            lambda: sg.metrics.sensitivity_at_specificity([1], [0.5], 2.0),
            "specificity must be from 0 to 1, it is 2.0",
        ),
        (
            lambda: sg.metrics.specificity_at_sensitivity([1], [0.5], -1),
            "sensitivity must be from 0 to 1, it is -1",
        ),
        (lambda: sg.metrics.average_precision_at_k([[1]], [[0.5, 0.1]], 0), "k=0 is less than 1"),
    ],
)
def test_arguments_that_mean_nothing(make, text):
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda y, p, w: sg.metrics.accuracy(y, p, w),
        lambda y, p, w: sg.metrics.mean_relative_error(y, p, y + 2.0, w),
        lambda y, p, w: sg.metrics.precision(y, p > 0.5, w),
        lambda y, p, w: sg.metrics.auc(y, p, w),
        lambda y, p, w: sg.metrics.recall_at_thresholds(y, p, [0.3, 0.6], w),
        lambda y, p, w: sg.metrics.specificity_at_sensitivity(y, p, 0.5, w),
        lambda y, p, w: sg.metrics.mean_iou(y, sg.round(p), 2, w),
        lambda y, p, w: sg.metrics.mean_per_class_accuracy(y, sg.round(p), 2, w),
        lambda y, p, w: sg.metrics.recall_at_k(sg.to_int64(y), sg.stack([p, 1.0 - p], 1), 1, weights=w),
        lambda y, p, w: sg.metrics.average_precision_at_k(sg.to_int64(y), sg.stack([p, 1.0 - p], 1), 2, w),
    ],
)
def test_batches_of_unknown_size_give_what_whole_ones_do(make):
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, 10).astype(np.float32)
    scores, weights = rng.random((2, 10), np.float32)

    def last(size, *batches):
        with sg.Graph().as_default():
            inputs = [sg.placeholder(sg.float32, size) for _ in range(3)]
            value, update_op = make(*inputs)
            with sg.Session() as sess:
                sess.run(sg.local_variables_initializer())
                for batch in batches:
                    parts = [part[batch] for part in (labels, scores, weights)]
                    sess.run(update_op, dict(zip(inputs, parts, strict=True)))
                return sess.run(value)

    whole = last([10], slice(None))
    np.testing.assert_allclose(last([None], slice(0, 7), slice(7, 10)), whole, rtol=1e-5)
