"""The guard against NaN: what it finds, what it leaves alone, and what a failed run changes."""

import re

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.capture.nan_guard import checked
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.runtime.failures import nan_locator as culprit
from tests.ops.harness import TESTED, Build, dtype_choices, uses


@pytest.fixture
def x():
    return sg.placeholder(sg.float32, [None], name="x")


def told(fetches, feeds=None, sess=None):
    """Return the first line of the error of a run."""
    with sess or sg.Session(check_nan=True) as sess, pytest.raises(InvalidArgumentError) as caught:
        sess.run(fetches, feeds)
    return headline(caught.value)


def headline(error):
    return " ".join(str(error).partition("\n\n")[0].split())


def value(fetches, feeds=None):
    with sg.Session(check_nan=True) as sess:
        return sess.run(fetches, feeds)


# What is found


def test_an_op_before_fused_ones(x):
    assert told(sg.reduce_sum(sg.tanh(sg.log(x) * 2)), {x: [1, -3, 2]}) == (
        "log(x: float32[3]): the result is NaN in 1 of 3 elements, the first at [1], where x is -3"
    )


def test_relu_hides_nothing(x):
    assert "where x is -3" in told(sg.nn.relu(sg.log(x)), {x: [1, -3]})


def test_a_selected_branch(x):
    assert told(sg.where(x < 0, sg.log(x), x), {x: [1, -3]}).startswith("log(")


def test_a_masked_op_is_not_blamed_for_another(x):
    masked = sg.where(x > 0, sg.log(x), sg.zeros_like(x))
    assert told(masked + sg.sqrt(x), {x: [1, -3]}).startswith("sqrt(")


def test_an_element_is_not_blamed_for_another(x):
    assert told(1 / sg.exp(x), {x: [1000, -1000]}) == (
        "realdiv(x: float32[], y: float32[2]): the result is Inf in 1 of 2 elements, the first at [1], "
        "where x is 1 and y is 0"
    )


def test_a_product_that_is_too_large(x):
    row = sg.reshape(x, [1, 2])
    assert told(sg.matmul(row, row, transpose_b=True), {x: [1, 1e30]}) == (
        "matmul(a: float32[1, 2], b: float32[1, 2]): the result is Inf, where a is between 1 and 1e+30 "
        "and b is between 1 and 1e+30"
    )


def test_complex_numbers(x):
    assert told(sg.complex(x, sg.log(x)), {x: [0]}) == "log(x: float32[1]): the result is Inf, where x is 0"


@pytest.mark.parametrize("dtype", [sg.float16, sg.bfloat16, sg.float64])
def test_other_dtypes(x, dtype):
    assert told(sg.sqrt(sg.cast(x, dtype)), {x: [-2]}) == (
        f"sqrt(x: {dtype.name}[1]): the result is NaN, where x is -2"
    )


def test_a_loss_that_is_not_fetched(x):
    v = sg.get_variable("v", initializer=[1.0, 1.0])
    loss = sg.reduce_sum(sg.nn.relu(sg.log(x)) + v)
    step = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
    with sg.Session(check_nan=True) as sess:
        sess.run(v.initializer)
        sess.run(step, {x: [1, 1]})
        with pytest.raises(InvalidArgumentError, match=r"^log\("):
            sess.run(step, {x: [1, -3]})
        np.testing.assert_allclose(sess.run(v), [0.9, 0.9])


def test_a_derivative_of_what_is_masked(x):
    y = sg.where(x > 0, sg.log(x), sg.zeros_like(x))
    text = told(sg.gradients(y, x)[0], {x: [1, 0]})
    assert "a part of Log, or of its derivative, is NaN in 1 of 2 elements, the first at [1]" in text


@pytest.mark.parametrize(
    "optimizer",
    [
        sg.train.GradientDescentOptimizer(0.1),
        sg.train.AdamOptimizer(0.1),
        sg.train.MomentumOptimizer(0.1, 0.9),
        sg.train.RMSPropOptimizer(0.1),
    ],
)
def test_an_update(x, optimizer):
    v = sg.get_variable("v", initializer=[1.0, 0.0])
    step = optimizer.minimize(sg.reduce_sum(sg.sqrt(v) * x))
    with sg.Session(check_nan=True) as sess:
        sess.run(sg.global_variables_initializer())
        states = sg.global_variables()
        before = sess.run(states)
        with pytest.raises(InvalidArgumentError, match="a part of Sqrt, or of its derivative") as caught:
            sess.run(step, {x: [1, 1]})
        assert "sg.sqrt(v) * x" in str(caught.value)
        for old, new in zip(before, sess.run(states), strict=True):
            np.testing.assert_array_equal(old, new)


def test_an_optimizer_that_divides_by_zero():
    v = sg.get_variable("v", initializer=[1.0, 2.0])
    step = sg.train.AdamOptimizer(0.1, epsilon=0.0).minimize(sg.reduce_sum(v[0] * 3))
    with sg.Session(check_nan=True) as sess:
        sess.run(sg.global_variables_initializer())
        with pytest.raises(InvalidArgumentError, match="NaN in 1 of 2 elements") as caught:
            sess.run(step)
        assert "AdamOptimizer(0.1, epsilon=0.0).minimize" in str(caught.value)


# Loops and branches


def test_rounds_of_loops_in_each_other(x):
    def outer(i, y):
        return i + 1, sg.while_loop(lambda j, z: j < 4, lambda j, z: (j + 1, sg.sqrt(z - 1)), [0, y])[1] + 3.0

    y = sg.while_loop(lambda i, y: i < 5, outer, [0, x])[1]
    found = re.search(r"in rounds (\d), (\d) of the loops around it, the result is NaN", told(y, {x: [9]}))
    z, rounds = 9.0, None
    for i in range(1, 6):
        for j in range(1, 5):
            rounds = (i, j) if rounds is None and z < 1 else rounds
            z = np.sqrt(abs(z - 1))
        z += 3
    assert found is not None and tuple(map(int, found.groups())) == rounds


def test_a_scan(x):
    totals = sg.scan(lambda a, b: a / b, x, initializer=sg.constant(1.0))
    text = told(totals, {x: [1, 2, 0, 4]})
    assert "in round 3 of its loop, the result is Inf, where x is 0.5 and y is 0" in text


def test_a_loop_that_would_not_end_among_repaired_numbers(x):
    def body(y):
        hidden = sg.where(y > 100, sg.log(-y), sg.zeros_like(y))  # NaN, and not selected
        return sg.sqrt(y - 3) + hidden

    y = sg.while_loop(lambda y: y > 0.5, body, [x[0]])
    assert "in round 3 of its loop, the result is NaN" in told(y, {x: [90]})


def test_the_derivative_of_a_loop(x):
    y = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, sg.sqrt(y)), [0, x])[1]
    text = told(sg.gradients(y, x)[0], {x: [1, 0]})
    assert re.search(r"in round \d of its loop, a part of while/Sqrt, or of its derivative, is Inf", text)


def test_the_branch_that_is_taken(x):
    y = sg.cond(x[0] > 0, lambda: sg.log(x), lambda: sg.sqrt(x))
    assert told(y, {x: [1, -2]}).startswith("log(x: float32[2])")
    assert told(y, {x: [-1, 2]}).startswith("sqrt(x: float32[2])")
    np.testing.assert_array_equal(value(y, {x: [1, 1]}), [0, 0])


# Decisions


@pytest.mark.parametrize(
    "decide",
    [
        lambda y: sg.argmax(y),
        lambda y: sg.argmin(y),
        lambda y: sg.nn.top_k(y).indices,
        lambda y: sg.nn.in_top_k(sg.stack([y]), [0], 1),
        lambda y: sg.multinomial(sg.stack([y]), 3),
        lambda y: sg.random.stateless_multinomial(sg.stack([y]), 3, [1, 2]),
    ],
)
def test_decisions_by_nan(x, decide):
    chosen = decide(sg.log(x))
    assert told(chosen, {x: [1, -3, 2]}).startswith("log(x: float32[3])")
    value(chosen, {x: [1, 0, 2]})  # by minus infinity they are made on purpose


def test_decisions_in_a_loop(x):
    def body(i, total):
        return i + 1, total + sg.argmax(sg.log(x - sg.cast(i, sg.float32)))

    total = sg.while_loop(lambda i, total: i < 5, body, [0, sg.constant(0, sg.int64)])[1]
    assert "in round 3 of its loop, the result is NaN in 1 of 2 elements" in told(total, {x: [9, 1.5]})
    assert value(total, {x: [9, 8]}) == 0


def test_decisions_in_a_branch(x):
    chosen = sg.cond(x[0] > 0, lambda: sg.argmax(sg.log(x)), lambda: sg.constant(7, sg.int64))
    assert told(chosen, {x: [1, -3]}).startswith("log(")
    assert value(chosen, {x: [-1, -3]}) == 7


# What is left alone


def test_branches_that_are_not_selected(x):
    y = sg.where(x > 0, sg.log(x), sg.zeros_like(x))
    np.testing.assert_array_equal(value(y, {x: [1, 0, -3]}), [0, 0, 0])


def test_masked_logits(x):
    mask = sg.constant([0, -np.inf, 0], sg.float32)
    np.testing.assert_allclose(value(sg.nn.softmax(x + mask), {x: [1, 2, 1]}), [0.5, 0, 0.5])
    np.testing.assert_allclose(value(sg.nn.softmax(x), {x: [1, -np.inf, 1]}), [0.5, 0, 0.5])


def test_all_logits_are_masked(x):
    mask = sg.constant([-np.inf, -np.inf], sg.float32)
    assert "where logits is -inf" in told(sg.nn.softmax(x + mask), {x: [1, 2]})


def test_infinite_constants_are_wanted(x):
    y = sg.where(x > 0, x, sg.fill(sg.shape(x), np.inf))
    np.testing.assert_array_equal(value([y, sg.reduce_min(y)], {x: [3, -1]})[0], [3, np.inf])


def test_greatest_of_nothing(x):
    assert value(sg.reduce_max(x), {x: []}) == -np.inf


def test_what_is_not_computed(x):
    best = sg.get_variable("best", initializer=np.float32(np.inf))
    better = sg.assign(best, sg.minimum(best, x[0]))
    with sg.Session(check_nan=True) as sess:
        sess.run(sg.global_variables_initializer())
        assert sess.run(best) == np.inf
        np.testing.assert_array_equal(sess.run(sg.identity(x), {x: [np.nan]}), [np.nan])
        assert sess.run(better, {x: [3]}) == 3


def test_random_initial_values():
    sg.get_variable("w", [50, 50], initializer=sg.glorot_uniform_initializer())
    with sg.Session(check_nan=True) as sess:
        sess.run(sg.global_variables_initializer())


# Runs


def test_runs_without_python(x):
    v = sg.get_variable("v", initializer=[1.0, 2.0])
    step = sg.assign_add(v, sg.sqrt(x))
    with sg.Session(check_nan=True) as sess:
        sess.run(v.initializer)
        add = sess.make_callable(step, [x])
        for _ in range(20):
            add(np.float32([1, 1]))
        for _ in range(3):
            with pytest.raises(InvalidArgumentError, match="where x is -1"):
                add(np.float32([1, -1]))
            with pytest.raises(InvalidArgumentError, match="where x is -4"):
                sess.run(step, {x: [-4, 1]})
        np.testing.assert_array_equal(sess.run(v), [21, 22])
        np.testing.assert_array_equal(add(np.float32([4, 4])), [23, 24])


def test_random_ops_draw_the_same_after_a_failure(x):
    drawn = sg.random_normal([2], seed=5)
    y = drawn + sg.log(x)
    results = []
    for guarded in (True, False):
        with sg.Session(check_nan=guarded) as sess:
            sess.run(y, {x: [1, 1]})
            if guarded:
                with pytest.raises(InvalidArgumentError, match="log"):
                    sess.run(y, {x: [1, -1]})
            results.append(sess.run(y, {x: [1, 1]}))
    np.testing.assert_array_equal(*results)


def test_random_values_of_the_failed_run_are_found_again():
    drawn = sg.random_uniform([1000], -1, 1, seed=7)
    y = sg.log(drawn)
    with sg.Session() as sess:
        first = sess.run(drawn)
    index = np.argmax(first <= 0)
    assert f"the first at [{index}], where x is {first[index]:.6g}" in told(y)


def test_two_sessions(x):
    y = sg.log(x)
    with sg.Session() as plain, sg.Session(check_nan=True) as guarded:
        for _ in range(4):
            assert np.isnan(plain.run(y, {x: [-1]})).all()
            with pytest.raises(InvalidArgumentError):
                guarded.run(y, {x: [-1]})
            assert guarded.run(y, {x: [1]}) == 0


def test_without_the_switch_the_code_is_the_same(x):
    y = sg.reduce_sum(sg.log(x) * 2)
    plain, guarded, after = sg.Session(), sg.Session(check_nan=True), sg.Session()
    codes = [[c.text for c in s.executable(y, {x: [1, 2]}).compiled.codes] for s in (plain, guarded, after)]
    assert codes[0] == codes[2] != codes[1]


def test_the_switch_in_context_and_environment(x, monkeypatch):
    y = sg.log(x)
    with sg.options(check_nan=True):
        sess = sg.Session()
    assert "where x is -1" in told(y, {x: [-1]}, sess)
    monkeypatch.setenv("SG_CHECK_NAN", "1")
    assert "where x is -1" in told(y, {x: [-1]}, sg.Session())
    assert np.isnan(sg.Session(check_nan=False).run(y, {x: [-1]})).all()


def test_a_plan_tells(x):
    y = sg.log(x)
    with sg.Session(check_nan=True) as sess:
        plan = sess.plan(y, shapes={x: [3]})
        assert plan.check_nan and "check_nan: " in str(plan)
    with sg.Session() as sess:
        plan = sess.plan(y, shapes={x: [3]})
        assert not plan.check_nan and "check_nan: " not in str(plan)


def test_training_needs_one_kernel_more():
    features = sg.placeholder(sg.float32, [64, 100])
    loss = sg.reduce_mean(sg.square(sg.layers.dense(sg.layers.dense(features, 50, sg.tanh), 10)))
    step = sg.train.AdamOptimizer(0.1).minimize(loss)
    plain, guarded = (sg.Session(check_nan=on).plan([loss, step]) for on in (False, True))
    assert len(guarded.kernels) <= len(plain.kernels) + 1
    variables = sum(4 * v.shape.num_elements() for v in sg.global_variables())
    assert guarded.bytes - plain.bytes <= 2.1 * variables  # not overwritten in place, and looked at


def test_in_a_profile(x):
    y = sg.log(x)
    with sg.Session(check_nan=True) as sess, sess.profile() as profile:
        for _ in range(5):
            sess.run(y, {x: [1, 2]})
            with pytest.raises(InvalidArgumentError, match="log"):
                sess.run(y, {x: [1, -2]})
    assert profile.steps[0].runs >= 5


def test_stages(x):
    y = sg.py_func(lambda a: a * 2, [sg.log(x)], sg.float32)
    y.set_shape([None])
    assert told(y + 1, {x: [-1]}).startswith("log(")
    kept = sg.boolean_mask(sg.log(x), sg.is_finite(sg.log(x)))
    np.testing.assert_array_equal(value(kept, {x: [1, -1, 0]}), [0])
    half = sg.py_func(lambda a: a * np.float32(np.inf), [x], sg.float32)
    half.set_shape([1])
    assert told(half - 1, {x: [1]}) == "what Python gives as PyFunc_1 (float32[1]) is Inf"


def test_a_print_is_not_repeated(x, capfd):
    y = sg.log(sg.Print(x, [x], "printed"))
    told(y, {x: [-1]})
    assert capfd.readouterr().err.count("printed") == 1


def test_a_monitored_session(x):
    v = sg.get_variable("v", initializer=1.0)
    step = sg.assign_add(v, sg.log(x[0]))
    with sg.options(check_nan=True), sg.train.MonitoredSession() as sess:
        sess.run(step, {x: [1]})
        with pytest.raises(InvalidArgumentError, match="where x is -1"):
            sess.run(step, {x: [-1]})
        assert sess.run(v) == 1


def test_machine_code_from_a_file_is_not_used(tmp_path, x):
    x.set_shape([1])
    sg.save(tmp_path / "net.sg", inputs={"x": x}, outputs={"y": sg.log(x)}, kernels=["native"])
    assert np.isnan(sg.load(tmp_path / "net.sg", trusted=True)(x=[-1])["y"]).all()  # it does not look
    with sg.options(check_nan=True):
        net = sg.load(tmp_path / "net.sg", trusted=True)
        assert net(x=[1])["y"] == 0
        with pytest.raises(InvalidArgumentError, match="where x is -1"):
            net(x=[-1])


def test_a_search_that_takes_long_tells_a_terminal(x, monkeypatch):
    class Terminal:
        text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    terminal = Terminal()
    monkeypatch.setattr("staticgraph.runtime.reports.compile_log.PATIENCE", -1.0)
    monkeypatch.setattr("sys.stderr", terminal)
    told(sg.log(x), {x: [-1]})
    searched = terminal.text[terminal.text.index("check_nan") :]  # a compile tells how far it is, too
    line = r"check_nan: looking for the op at fault, \d+ done"
    assert re.fullmatch(rf"({line}\r *\r)+", searched)


def test_many_sources(x, monkeypatch):
    monkeypatch.setattr(culprit, "TRIALS", 2)
    y = sum(sg.where(x > 0, sg.log(x - i), sg.zeros_like(x)) for i in range(1, 5)) + sg.sqrt(x)
    assert told(y, {x: [-1]}).startswith(("log(", "sqrt("))


@pytest.mark.takes_long
@pytest.mark.parametrize("op", [op for op in TESTED if op.reference is not None], ids=lambda op: op.name)
def test_every_op_can_be_searched(op):
    choice = next(dtype_choices(op))
    for use in uses(op, choice):
        build = Build()
        _, results = build.add(use)
        if any(d is sg.string for d in use.dtypes) or not any(d.is_floating for d in use.dtypes):
            continue
        arrays = [a.copy() for a in build.arrays]
        for array, dtype in zip(arrays, use.dtypes, strict=True):
            if dtype.is_floating and array.size:
                array.flat[0] = np.nan
        step = checked(Step(build.function(results), (), (), (), (), len(results), ()))
        found = culprit.culprit(step.function, arrays, lambda: None)
        assert found is None or found.node.op.name == "parameter", found
        for node in step.function.nodes:
            assert len(culprit._names(node)) == len(node.inputs) or node.op.name in ("loop", "branch")
