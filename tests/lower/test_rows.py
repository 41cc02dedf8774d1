"""Values that go from row to row in one kernel, and the number of kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.lower.program import Launch, Loops
from tests.passes.steps import run

ROWS, COLUMNS = 48, 70
Made = tuple[list, dict]


def real(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def matrix(rows: int = ROWS, columns: int = COLUMNS) -> tuple[sg.Tensor, dict]:
    x = sg.placeholder(sg.float32, [rows, columns])
    return x, {x: real(rows, columns)}


def normalized(x: sg.Tensor, axes: list[int], keepdims: bool = False) -> sg.Tensor:
    mean, variance = sg.nn.moments(x, axes, keepdims=keepdims)
    return (x - mean) * sg.rsqrt(variance + 1e-5)


def softmax() -> Made:
    x, feeds = matrix()
    return [sg.nn.softmax(x)], feeds


def softmax_along_few_columns() -> Made:
    x, feeds = matrix(1000, 3)
    return [sg.nn.softmax(x)], feeds


def softmax_along_the_first_axis() -> Made:
    x, feeds = matrix()
    return [sg.nn.softmax(x, axis=0)], feeds


def log_softmax_and_gradient() -> Made:
    x, feeds = matrix()
    y = sg.nn.log_softmax(x)
    return [y, *sg.gradients(y, [x], [sg.constant(real(ROWS, COLUMNS))])], feeds


def layer_norm_and_gradients() -> Made:
    x, feeds = matrix()
    scale, shift = sg.placeholder(sg.float32, [COLUMNS]), sg.placeholder(sg.float32, [COLUMNS])
    y = normalized(x, [1], keepdims=True) * scale + shift
    feeds |= {scale: real(COLUMNS), shift: real(COLUMNS)}
    return [y, *sg.gradients(y, [x, scale, shift], [sg.constant(real(ROWS, COLUMNS))])], feeds


def layer_norm_gelu_softmax_and_gradient() -> Made:
    x, feeds = matrix()
    h = normalized(x, [1], keepdims=True)
    y = sg.nn.softmax(0.5 * h * (1.0 + sg.erf(h * 0.7071)))
    return [y, *sg.gradients(sg.reduce_sum(y * real(ROWS, COLUMNS)), [x])], feeds


def attention_and_gradient() -> Made:
    x = sg.placeholder(sg.float32, [3, 2, 16, 16])
    y = sg.nn.softmax(x * 0.25 + real(3, 1, 1, 16))
    return [y, *sg.gradients(y, [x], [sg.constant(real(3, 2, 16, 16))])], {x: real(3, 2, 16, 16)}


def batch_norm_relu_and_gradients() -> Made:
    x = sg.placeholder(sg.float32, [6, 5, 7, 33])
    scale = sg.placeholder(sg.float32, [33])
    y = sg.nn.relu(normalized(x, [0, 1, 2]) * scale)
    gradients = sg.gradients(y, [x, scale], [sg.constant(real(6, 5, 7, 33))])
    return [y, *gradients], {x: real(6, 5, 7, 33), scale: real(33)}


def cross_entropy_and_gradient() -> Made:
    x, feeds = matrix()
    labels = np.arange(ROWS) % COLUMNS
    loss = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
    return [sg.reduce_mean(loss), *sg.gradients(sg.reduce_mean(loss), [x])], feeds


def dense_cross_entropy_and_gradient() -> Made:
    x, feeds = matrix()
    labels = np.eye(ROWS, COLUMNS, dtype=np.float32)
    loss = sg.reduce_mean(sg.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=x))
    return [loss, *sg.gradients(loss, [x])], feeds


def one_hot_of_positions() -> Made:
    """Constants that count: 0, 1, 2, ... along the rows, and rows gathered from the last to the first."""
    x, feeds = matrix()
    marked = sg.cast(sg.equal(sg.constant(np.arange(COLUMNS)), 3), sg.float32) * sg.exp(x)
    return [sg.reduce_sum(marked, 1) + sg.gather(sg.reduce_max(x, 1), np.arange(ROWS)[::-1].copy())], feeds


def column_sums_on_the_way() -> Made:
    x, feeds = matrix()
    y = sg.tanh(x)
    return [y, sg.reduce_sum(y, 0), sg.reduce_max(y * x, 0), sg.reduce_sum(y)], feeds


def wide_column_sums() -> Made:
    x, feeds = matrix(ROWS, 300)
    return [sg.reduce_sum(x, 0) * 2.0], feeds


def column_sums_of_a_prime_number_of_rows() -> Made:
    x, feeds = matrix(97, 160)
    return [sg.reduce_sum(sg.square(x), 0)], feeds


def columns_centred_by_their_sums() -> Made:
    x, feeds = matrix(64, 256)
    y = sg.exp(x)
    return [y - sg.reduce_sum(y, 0), y], feeds


def column_sums_beside_sums_of_all() -> Made:
    x, feeds = matrix(64, 501)
    return [sg.reduce_sum(x, 0), normalized(x, [0, 1])], feeds


def softmax_of_what_is_scaled_by_all() -> Made:
    """The largest of all elements is the same in all rows: it must not be looked for in each."""
    x, feeds = matrix()
    return [sg.nn.softmax(x / sg.reduce_max(sg.abs(x)))], feeds


def rows_beside_sums_in_turn() -> Made:
    """The largest of all rows is known after the last of them only, and the sum needs it."""
    x, feeds = matrix()
    y = sg.nn.log_softmax(x)
    return [y, sg.reduce_logsumexp(y)], feeds


def rows_beside_sums_of_what_is_centred_by_sums() -> Made:
    """Centred values are known after all rows too: the second sum has to wait for them."""
    x, feeds = matrix()
    centred = x - sg.reduce_mean(x)
    return [sg.nn.softmax(x), centred, sg.reduce_sum(sg.square(centred))], feeds


def rows_of_rows() -> Made:
    """Sums along both inner axes, and over everything inside each batch."""
    x = sg.placeholder(sg.float32, [20, 6, 9])
    inner = x / sg.reduce_sum(sg.exp(x), 2, keepdims=True)
    return [inner - sg.reduce_mean(inner, [1, 2], keepdims=True)], {x: real(20, 6, 9)}


def transposed_within_rows() -> Made:
    x = sg.placeholder(sg.float32, [20, 8, 9])
    y = sg.exp(x)
    return [sg.transpose(y, [0, 2, 1]) + sg.reduce_sum(y, [1, 2], keepdims=True)], {x: real(20, 8, 9)}


KERNELS: list[tuple[Callable[[], Made], int]] = [
    (softmax, 1),
    (softmax_along_few_columns, 1),
    (softmax_along_the_first_axis, 3),
    (log_softmax_and_gradient, 1),
    (layer_norm_and_gradients, 1),
    (layer_norm_gelu_softmax_and_gradient, 1),
    (attention_and_gradient, 1),
    (batch_norm_relu_and_gradients, 4),
    (cross_entropy_and_gradient, 1),
    (dense_cross_entropy_and_gradient, 1),
    (one_hot_of_positions, 1),
    (column_sums_on_the_way, 1),
    (wide_column_sums, 1),
    (column_sums_of_a_prime_number_of_rows, 1),
    (columns_centred_by_their_sums, 2),
    (column_sums_beside_sums_of_all, 2),
    (softmax_of_what_is_scaled_by_all, 2),
    (rows_beside_sums_in_turn, 2),
    (rows_beside_sums_of_what_is_centred_by_sums, 2),
    (rows_of_rows, 1),
    (transposed_within_rows, 1),
]


@pytest.mark.parametrize(("make", "kernels"), KERNELS, ids=[make.__name__ for make, _ in KERNELS])
def test_rows(make: Callable[[], Made], kernels: int):
    fetches, feeds = make()
    with sg.Session() as sess:
        found = sess.run(fetches, feeds)
        launches = sess.executable(fetches, feeds).compiled.program.instructions
    for value, expected in zip(found, run(fetches, feeds), strict=True):
        np.testing.assert_allclose(value, expected, rtol=2e-4, atol=2e-5)
    assert sum(isinstance(i, Launch) for i in launches) == kernels


def test_what_only_a_row_needs_is_not_written_to_memory():
    x, feeds = matrix()
    with sg.Session() as sess:
        program = sess.executable([sg.nn.softmax(x)], feeds).compiled.program
    (launch,) = program.instructions
    assert isinstance(launch, Launch) and isinstance(launch.work, Loops)
    assert [b.shape for _, b in launch.work.buffers if b.local] == [(COLUMNS,)]
    assert program.arena == 0


def test_a_constant_that_counts_is_no_memory():
    fetches, feeds = one_hot_of_positions()
    with sg.Session() as sess:
        program = sess.executable(fetches, feeds).compiled.program
    assert len(program.constants) < 8 * ROWS


def test_a_row_that_is_too_long_for_the_cache_goes_through_memory():
    x = sg.placeholder(sg.float32, [16, 100_000])
    with sg.Session() as sess:
        program = sess.executable(
            [sg.nn.softmax(x)], {x: np.zeros((16, 100_000), np.float32)}
        ).compiled.program
    work = [i.work for i in program.instructions if isinstance(i, Launch)]
    assert not any(b.local for w in work for _, b in w.buffers if b.size > 1)
