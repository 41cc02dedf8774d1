"""Losses and normalisation at their edges."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from tests.ops.meaning import gradients, meaning


def test_softmax_does_not_overflow():
    y = meaning(ops.softmax, np.float32([[1000, 1000], [-1000, 0]]))
    assert y.tolist() == [[0.5, 0.5], [0, 1]]


def test_gradient_of_the_cross_entropy_takes_labels_for_a_distribution():
    """As in TensorFlow: softmax - labels, even for a row of zeros."""
    (by_logits,) = gradients(
        lambda x, z: ops.softmax_cross_entropy(x, z)[0], np.float32([[0, 0]]), np.float32([[0, 0]])
    )
    assert by_logits.tolist() == [[0.5, 0.5]]


def test_label_that_is_no_class_gives_nan():
    loss, _ = meaning(ops.sparse_softmax_cross_entropy, np.zeros((3, 2), np.float32), np.int32([0, 2, -1]))
    np.testing.assert_allclose(loss, [np.log(2), np.nan, np.nan], rtol=1e-6)


@pytest.mark.parametrize(
    "loss",
    [
        sg.nn.softmax_cross_entropy_with_logits,
        sg.nn.sparse_softmax_cross_entropy_with_logits,
        sg.nn.sigmoid_cross_entropy_with_logits,
    ],
)
def test_cross_entropies_take_their_arguments_by_name(loss):
    with pytest.raises(ValueError, match="by name"):
        loss(sg.zeros([2, 3]), sg.zeros([2, 3]))


def test_fused_batch_norm_returns_the_unbiased_variance():
    x = np.float64([1, 3]).reshape(2, 1, 1, 1)
    one, none = np.ones(1), np.zeros(0)
    y, mean, variance = meaning(lambda *v: ops.fused_batch_norm(*v, epsilon=0.0), x, one, 0 * one, none, none)
    assert (y.ravel().tolist(), mean.tolist(), variance.tolist()) == ([-1, 1], [2], [2])


def moments_of_images(x: np.ndarray, data_format: str = "NHWC") -> tuple[np.ndarray, ...]:
    """Normalised float32 images, and the mean and the variance of each channel."""
    channels = x.shape[3 if data_format == "NHWC" else 1]
    images = sg.placeholder(sg.float32, x.shape)
    scale, offset = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    found = sg.nn.fused_batch_norm(images, scale, offset, data_format=data_format)
    with sg.Session() as session:
        return session.run(found, {images: x})


SHAPE = (16, 12, 12, 4)
NEAR = np.random.default_rng(0).normal(size=SHAPE)
FAR = [
    1e4 + NEAR,
    1e6 + NEAR,
    np.where(np.arange(16).reshape(-1, 1, 1, 1) % 16 == 0, 1e4, 0) + NEAR,  # the image that is sampled
    np.where(np.arange(SHAPE[0] * 144).reshape(16, 12, 12, 1) == 0, 0, 1e4) + NEAR,
]


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("case", range(len(FAR)))
def test_a_large_mean_costs_the_variance_no_digits(case: int, data_format: str):
    x = FAR[case].astype(np.float32)
    given = x if data_format == "NHWC" else x.transpose(0, 3, 1, 2)
    _, mean, variance = moments_of_images(given, data_format)
    wide = x.astype(np.float64).reshape(-1, 4)
    np.testing.assert_allclose(mean, wide.mean(0), rtol=3e-6)
    np.testing.assert_allclose(variance, wide.var(0, ddof=1), rtol=1e-5)


def test_images_of_one_value_are_zero_when_they_are_normalised():
    y, mean, variance = moments_of_images(np.full(SHAPE, 1234.567, np.float32))
    assert not y.any() and not variance.any() and (mean == np.float32(1234.567)).all()


def test_the_mean_of_what_is_infinite_is_infinite():
    x = NEAR.astype(np.float32)
    x[0, 0, 0, 1], x[0, 0, 0, 2] = np.inf, -np.inf
    _, mean, variance = moments_of_images(x)
    assert mean[1] == np.inf and mean[2] == -np.inf and np.isfinite(mean[[0, 3]]).all()
    assert np.isnan(variance).tolist() == [False, True, True, False]


def test_dropout_of_nothing_is_the_input():
    x = sg.placeholder(sg.float32, [2])
    assert sg.nn.dropout(x, rate=0.0) is x
    assert sg.nn.dropout(x, keep_prob=1.0) is x


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2])
def test_dropout_refuses_rates(rate):
    with pytest.raises(ValueError, match="rate"):
        sg.nn.dropout(sg.zeros([2]), rate=rate)


def test_names_that_are_two_for_one_argument():
    with pytest.raises(ValueError, match="axis and dim"):
        sg.nn.softmax(sg.zeros([2, 3]), axis=1, dim=1)


def test_embedding_lookup_deals_rows_out_in_turn():
    tables = [sg.placeholder(sg.float32, [2, 1]), sg.placeholder(sg.float32, [1, 1])]
    rows = sg.nn.embedding_lookup(tables, [0, 1, 2])
    with sg.Session() as session:
        found = session.run(rows, {tables[0]: [[0.0], [2.0]], tables[1]: [[1.0]]})
    assert found.tolist() == [[0.0], [1.0], [2.0]]


@pytest.mark.parametrize("size, stride", [(2, 2), (3, 2), (2, 3), (5, 2)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_the_first_of_the_largest_gets_the_gradient(size, stride, padding, rng):
    """For windows that tile the image, overlap, leave gaps, and for large ones."""
    image = rng.integers(0, 3, size=(2, 8, 8, 3)).astype(np.float32)
    x = sg.placeholder(sg.float32, image.shape)
    y = sg.nn.max_pool(x, size, stride, padding)
    with sg.Session() as sess:
        pooled, found = sess.run([y, sg.gradients(y, x)[0]], {x: image})
    missing = (pooled.shape[1] - 1) * stride + size - 8
    before = missing // 2 if padding == "SAME" and missing > 0 else 0
    wanted = np.zeros_like(image)
    for n, row, column, channel in np.ndindex(pooled.shape):
        rows, columns = (
            slice(max(i * stride - before, 0), i * stride - before + size) for i in (row, column)
        )
        seen = image[n, rows, columns, channel]
        first = np.unravel_index(seen.argmax(), seen.shape)
        wanted[n, rows.start + first[0], columns.start + first[1], channel] += 1
    np.testing.assert_array_equal(found, wanted)
