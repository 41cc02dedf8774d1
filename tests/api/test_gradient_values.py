"""Values in sessions of derivatives and training steps that the API puts together."""

import numpy as np
import pytest

import staticgraph as sg
from tests.sessions import run


def test_a_custom_gradient_takes_the_place_of_the_symbolic_one():
    @sg.custom_gradient
    def scaled(x):
        w = sg.get_variable("w", [], initializer=sg.constant_initializer(3.0))
        return x * w, lambda dy, variables=None: (dy * 5.0, [dy * 7.0 for _ in variables])

    x = sg.placeholder(sg.float32, [])
    y = scaled(x) * 2.0
    assert run([y, *sg.gradients(y, [x, *sg.trainable_variables()])], {x: 2.0}) == [12.0, 10.0, 14.0]


def test_a_custom_gradient_of_two_results():
    @sg.custom_gradient
    def both(a, b):
        return [a + b, a * b], lambda da, db: (da * 10.0 + db, da + db * 100.0)

    a, b = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
    total, product = both(a, b)
    of_both, of_one = sg.gradients(total + 3.0 * product, [a, b]), sg.gradients(total, [a, b])
    assert run([*of_both, *of_one], {a: 2.0, b: 3.0}) == [13.0, 301.0, 10.0, 1.0]


def test_a_custom_gradient_can_be_differentiated():
    @sg.custom_gradient
    def log1pexp(x):
        e = sg.exp(x)
        return sg.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))

    x = sg.placeholder(sg.float32, [])
    (first,) = sg.gradients(log1pexp(x), [x])
    (second,) = sg.gradients(first, [x])
    assert run([first, second], {x: 0.0}) == [0.5, 0.25]
    assert run(first, {x: 100.0}) == 1.0


def test_slices_are_the_dense_gradient(rng):
    w = sg.Variable(rng.normal(size=(5, 2)).astype(np.float32))
    ids = sg.placeholder(sg.int32, [None, 2])
    loss = sg.reduce_sum(sg.square(sg.gather(w, ids))) + sg.reduce_sum(sg.gather(w, [4]))
    sparse, dense = sg.gradients(loss, w)[0], sg.gradients(loss + 0.0 * sg.reduce_sum(w), w)[0]
    assert isinstance(sparse, sg.IndexedSlices)
    found, expected = run([sparse.to_tensor(), dense], {ids: [[1, 1], [3, 0]]})
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_momentum_moves_the_rows_that_were_gathered():
    w = sg.Variable(np.ones([4, 2], np.float32))
    ids = sg.placeholder(sg.int32, [None])
    step = sg.train.MomentumOptimizer(0.1, 0.9).minimize(sg.reduce_sum(sg.square(sg.gather(w, ids))))
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        session.run(step, {ids: [1, 1, 3]})
        assert session.run(w)[:, 0].tolist() == pytest.approx([1.0, 0.6, 1.0, 0.8])


def test_weights_and_dtypes():
    x, d = sg.placeholder(sg.float32, [2]), sg.placeholder(sg.float64, [2])
    y = sg.cast(x, sg.float64) * d
    found = run(sg.gradients(y, [x, d]), {x: [1, 2], d: [3, 4]})
    assert [g.tolist() for g in found] == [[3.0, 4.0], [1.0, 2.0]]
    assert [g.dtype for g in found] == [np.float32, np.float64]
    weighted = sg.gradients(x * x, [x], grad_ys=sg.constant([1.0, 10.0]))
    assert run(weighted, {x: [1, 2]})[0].tolist() == [2.0, 40.0]


def test_hessian():
    x = sg.placeholder(sg.float32, [2])
    y = sg.reduce_sum(x * x * x) + x[0] * x[1]
    assert run(sg.hessians(y, x), {x: [1.0, 2.0]})[0].tolist() == [[6.0, 1.0], [1.0, 12.0]]


def test_clipping_between_the_two_halves_of_minimize():
    w = sg.Variable([3.0, 4.0])
    optimizer = sg.train.GradientDescentOptimizer(1.0)
    grads, variables = zip(*optimizer.compute_gradients(sg.reduce_sum(w * w)), strict=True)
    clipped, norm = sg.clip_by_global_norm(grads, 1.0)
    step = optimizer.apply_gradients(zip(clipped, variables, strict=True))
    before, _, after = run([norm, step, w])
    assert before == 10.0
    assert after.tolist() == pytest.approx([2.4, 3.2])


def test_batch_normalization_follows_its_input_when_trained(rng):
    x = sg.placeholder(sg.float32, [None, 4])
    training = sg.placeholder(sg.bool, [])
    layer = sg.layers.BatchNormalization(momentum=0.5)
    loss = sg.reduce_mean(sg.square(layer(x, training=training)))
    step = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
    batch = rng.normal(3.0, size=(8, 4)).astype(np.float32)
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        session.run(step, {x: batch, training: False})
        assert not session.run(layer.moving_mean).any()
        session.run(step, {x: batch, training: True})
        np.testing.assert_allclose(session.run(layer.moving_mean), batch.mean(0) / 2, rtol=1e-5)


def test_load_sets_a_value_without_an_operation():
    w = sg.Variable([1.0, 2.0])
    count = sg.get_default_graph().version
    with sg.Session() as session:
        session.run(w.initializer)
        w.load([5.0, 6.0], session)
        assert w.eval().tolist() == [5.0, 6.0]
    assert sg.get_default_graph().version == count
