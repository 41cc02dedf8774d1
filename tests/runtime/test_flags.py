"""Feeds whose values decide which program is right: flags such as `training`, and sizes."""

import numpy as np
import pytest

import staticgraph as sg


@pytest.fixture
def sess():
    with sg.Graph().as_default(), sg.Session() as session:
        yield session


FORMS = [bool, np.bool_, np.array]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("choose", [sg.cond, lambda p, t, f: sg.where(p, t(), f())])
def test_a_step_is_compiled_for_each_value_of_a_flag(sess, choose, form):
    x, flag = sg.placeholder(sg.float32, [3]), sg.placeholder(sg.bool, [])
    y = choose(sg.logical_not(flag), lambda: x + 1.0, lambda: sg.reduce_sum(x * x) * x)
    run = sess.make_callable(y, [x, flag])
    for turn in range(10):
        chosen = turn % 3 == 0
        expected = [14.0, 28.0, 42.0] if chosen else [2.0, 3.0, 4.0]
        assert run(np.array([1, 2, 3], np.float32), form(chosen)).tolist() == expected
        assert sess.run(y, {x: [1, 2, 3], flag: form(chosen)}).tolist() == expected
    true = sess.executable(y, {x: [1, 2, 3], flag: True}).compiled
    false = sess.executable(y, {x: [1, 2, 3], flag: False}).compiled
    names = [{n.op.name for n in c.step.function.nodes} for c in (true, false)]
    assert "reduce_sum" in names[0] and "reduce_sum" not in names[1]
    assert not {"select", "branch"} & (names[0] | names[1])


def test_a_condition_that_depends_on_numbers_is_decided_in_the_step(sess):
    x, flag = sg.placeholder(sg.float32, []), sg.placeholder(sg.bool, [])
    y = sg.cond(sg.logical_and(flag, x > 0), lambda: x * 2.0, lambda: x)
    compiled = sess.executable(y, {x: 1.0, flag: True}).compiled
    assert any(n.op.name == "branch" for n in compiled.step.function.nodes)
    assert [sess.run(y, {x: v, flag: f}) for v, f in ((3, True), (3, False), (-3, True))] == [6, 3, -3]


def test_sizes_that_are_fed(sess):
    count, x = sg.placeholder(sg.int32, []), sg.placeholder(sg.float32, [])
    run = sess.make_callable(sg.fill([count, 2], x), [count, x])
    for _ in range(4):
        for n in (1, 3, np.int32(2)):
            assert run(n, 5.0).tolist() == [[5.0, 5.0]] * int(n)


def test_evaluation_leaves_out_what_training_needs(sess):
    x, training = sg.placeholder(sg.float32, [None, 8]), sg.placeholder_with_default(False, [])
    normal = sg.layers.batch_normalization(sg.layers.dense(x, 4), training=training)
    y = sg.reduce_mean(sg.layers.dropout(normal, 0.5, training=training))
    sess.run(sg.global_variables_initializer())
    batch = np.ones((6, 8))
    assert not sess.executable(y, {x: batch}).compiled.step.counters
    assert sess.executable(y, {x: batch, training: True}).compiled.step.counters
