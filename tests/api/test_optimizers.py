"""Optimizers: updates by the published formulas, for whole variables and for rows; names, slots, errors."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import GradientError
from tests.api.evaluate import State


def momentum(w, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + g
    return w - 0.1 * s["m"]


def nesterov(w, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + g
    return w - 0.1 * (g + 0.9 * s["m"])


def adagrad(w, g, s, t):
    s["a"] = s.get("a", 0.1) + g * g
    return w - 0.1 * g / np.sqrt(s["a"])


def adadelta(w, g, s, t):
    s["a"] = 0.95 * s.get("a", 0) + 0.05 * g * g
    step = np.sqrt(s.get("u", 0) + 1e-8) / np.sqrt(s["a"] + 1e-8) * g
    s["u"] = 0.95 * s.get("u", 0) + 0.05 * step * step
    return w - step


def rmsprop(w, g, s, t, centered=False):
    s["a"] = 0.9 * s.get("a", 1.0) + 0.1 * g * g
    s["g"] = 0.9 * s.get("g", 0.0) + 0.1 * g
    spread = s["a"] - s["g"] ** 2 if centered else s["a"]
    s["m"] = 0.5 * s.get("m", 0) + 0.01 * g / np.sqrt(spread + 1e-10)
    return w - s["m"]


def adam(w, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    return w - 0.01 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * s["m"] / (np.sqrt(s["v"]) + 1e-8)


def ftrl(w, g, s, t):
    old = s.get("n", 0.1)
    s["n"] = old + g * g
    s["z"] = s.get("z", 0) + g - (np.sqrt(s["n"]) - np.sqrt(old)) / 0.1 * w
    return np.where(abs(s["z"]) > 0.05, (0.05 * np.sign(s["z"]) - s["z"]) / (np.sqrt(s["n"]) / 0.1 + 0.2), 0)


T = sg.train
CLOSE = {"rtol": 1e-5, "atol": 1e-6}  # as in TF1, hyperparameters are float32 whatever the variables are
CASES = {
    "descent": (lambda: T.GradientDescentOptimizer(0.1), lambda w, g, s, t: w - 0.1 * g),
    "momentum": (lambda: T.MomentumOptimizer(0.1, 0.9), momentum),
    "nesterov": (lambda: T.MomentumOptimizer(0.1, 0.9, use_nesterov=True), nesterov),
    "adagrad": (lambda: T.AdagradOptimizer(0.1), adagrad),
    "adadelta": (lambda: T.AdadeltaOptimizer(1.0), adadelta),
    "rmsprop": (lambda: T.RMSPropOptimizer(0.01, momentum=0.5), rmsprop),
    "centered": (
        lambda: T.RMSPropOptimizer(0.01, momentum=0.5, centered=True),
        lambda w, g, s, t: rmsprop(w, g, s, t, centered=True),
    ),
    "adam": (lambda: T.AdamOptimizer(0.01), adam),
    "ftrl": (
        lambda: T.FtrlOptimizer(0.1, l1_regularization_strength=0.05, l2_regularization_strength=0.1),
        ftrl,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_whole_variables(case, rng):
    make, rule = CASES[case]
    w = sg.Variable(rng.normal(size=(4, 3)), dtype=sg.float64)
    g = sg.placeholder(sg.float64, [4, 3])
    step = make().apply_gradients([(g, w)])
    state, slots = State(), {}
    state.run(sg.global_variables_initializer())
    expected = state.run(w)
    for t in range(1, 6):
        gradient = rng.normal(size=(4, 3))
        state.run(step, {g: gradient})
        expected = rule(expected, gradient, slots, t)
        np.testing.assert_allclose(state.run(w), expected, **CLOSE)


@pytest.mark.parametrize("session", [State, sg.Session])
@pytest.mark.parametrize("case", CASES)
def test_rows(case, session, rng):
    """A row that is listed twice moves once, by its sum; rows that are not listed stay (but for Adam) as they
    are, and a row that does not exist is an error.
    """
    make, rule = CASES[case]
    w = sg.Variable(rng.normal(size=(4, 3)), dtype=sg.float64)
    values, indices = sg.placeholder(sg.float64, [None, 3]), sg.placeholder(sg.int32, [None])
    step = make().apply_gradients([(sg.IndexedSlices(values, indices, sg.constant([4, 3])), w)])
    state = session()
    state.run(sg.global_variables_initializer())
    expected = state.run(w).copy()
    slots = [{} for _ in expected]
    for t in range(1, 6):
        rows, gradient = rng.integers(0, 4, size=5), rng.normal(size=(5, 3))
        with pytest.raises(sg.errors.InvalidArgumentError, match=r"indices\[1\] = \[?4\b"):
            state.run(step, {values: gradient, indices: [0, 4, 1, 1, 5]})
        state.run(step, {values: gradient, indices: rows})
        for row in range(4) if case == "adam" else set(rows.tolist()):
            expected[row] = rule(expected[row], gradient[rows == row].sum(axis=0), slots[row], t)
        np.testing.assert_allclose(state.run(w), expected, **CLOSE)


class TestMinimize:
    def test_adam_names(self):
        w = sg.Variable([1.0, 2.0], name="w")
        optimizer = T.AdamOptimizer()
        step = optimizer.minimize(sg.reduce_sum(sg.square(w)))
        assert step.name == "Adam"
        names = ["w:0", "beta1_power:0", "beta2_power:0", "w/Adam:0", "w/Adam_1:0"]
        assert [v.name for v in sg.global_variables()] == names
        assert optimizer.get_slot_names() == ["m", "v"]
        assert optimizer.get_slot(w, "m").name == "w/Adam:0"
        assert optimizer.get_slot(w, "other") is None
        assert sg.trainable_variables() == [w]
        assert sg.get_collection(sg.GraphKeys.TRAIN_OP) == [step]

    def test_slots_are_in_the_open_variable_scope(self):
        w = sg.get_variable("w", [2])
        with sg.variable_scope("o"):
            T.MomentumOptimizer(0.1, 0.9).minimize(sg.reduce_sum(w))
        T.MomentumOptimizer(0.1, 0.9).minimize(sg.reduce_sum(w))
        assert [v.name for v in sg.global_variables()] == ["w:0", "o/w/Momentum:0", "w/Momentum:0"]

    def test_global_step(self):
        w = sg.Variable(1.0)
        g = sg.placeholder(sg.float32, [])
        count = T.get_or_create_global_step()
        step = T.GradientDescentOptimizer(0.5).apply_gradients([(g, w)], count)
        assert (step.name, step.type) == ("GradientDescent", "AssignAdd")
        state = State()
        state.run(sg.global_variables_initializer())
        state.run(step, {g: 1.0})
        assert state.run([w, count]) == [0.5, 1]

    def test_constraint(self):
        w = sg.Variable([1.0, -1.0], constraint=lambda v: sg.maximum(v, 0.0))
        g = sg.placeholder(sg.float32, [2])
        step = T.GradientDescentOptimizer(1.0).apply_gradients([(g, w)])
        state = State()
        state.run(sg.global_variables_initializer())
        state.run(step, {g: [2.0, -3.0]})
        assert state.run(w).tolist() == [0.0, 2.0]

    def test_hyperparameters_may_be_tensors_and_functions(self):
        w = sg.Variable(1.0)
        g, rate = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
        step = T.MomentumOptimizer(rate, lambda: 0.5).apply_gradients([(g, w)])
        state = State()
        state.run(sg.global_variables_initializer())
        state.run(step, {g: 1.0, rate: 0.25})
        assert state.run(w) == 0.75

    def test_an_optimizer_of_ones_own(self):
        class Sign(T.Optimizer):
            def __init__(self):
                super().__init__(False, "Sign")

            def _apply_dense(self, grad, var):
                return var.assign_sub(sg.sign(grad), read_value=False)

        w = sg.Variable([0.0, 0.0])
        slices = sg.IndexedSlices(sg.constant([[3.0]]), sg.constant([0]), sg.constant([2, 1]))
        rows = sg.Variable([[0.0], [0.0]])
        step = Sign().apply_gradients([(sg.constant([3.0, -3.0]), w), (slices, rows)])
        state = State()
        state.run(sg.global_variables_initializer())
        state.run(step)
        assert [v.tolist() for v in state.run([w, rows])] == [[-1.0, 1.0], [[-1.0], [0.0]]]


class TestErrors:
    def test_nothing_to_optimize(self):
        with pytest.raises(ValueError, match="No variables to optimize"):
            T.AdamOptimizer().minimize(sg.constant(1.0))

    def test_no_gradient_says_where_the_way_is_cut(self):
        w = sg.Variable(1.0, name="w")
        with pytest.raises(ValueError, match="No gradients provided for any variable") as error:
            T.AdamOptimizer().minimize(sg.floor(w, name="cut") * 2.0)
        assert "cut (Floor) has no gradient" in str(error.value)

    def test_integer_loss(self):
        w = sg.Variable(1.0)
        with pytest.raises(GradientError, match="is int32"):
            T.AdamOptimizer().minimize(sg.cast(w, sg.int32))

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="must be positive"):
            T.AdagradOptimizer(0.1, initial_accumulator_value=0.0)
        with pytest.raises(ValueError, match="must not be positive"):
            T.FtrlOptimizer(0.1, learning_rate_power=1.0)
        with pytest.raises(ValueError, match="given no variables"):
            T.AdamOptimizer().apply_gradients([])


class TestStatistics:
    """`minimize` runs the updates of batch normalization by itself."""

    def network(self):
        x = sg.placeholder(sg.float32, [None, 4])
        return sg.reduce_mean(sg.square(sg.layers.batch_normalization(x, training=True)))

    def test_they_are_run(self):
        step = T.GradientDescentOptimizer(0.1).minimize(self.network())
        updates = sg.get_collection(sg.GraphKeys.UPDATE_OPS)
        assert len(updates) == 2
        assert set(updates) <= set(step.control_inputs)

    def test_not_those_that_need_other_inputs(self):
        first, second = self.network(), self.network()
        variables = [v for v in sg.trainable_variables() if v.name.startswith("batch_normalization_1")]
        step = T.GradientDescentOptimizer(0.1).minimize(second, var_list=variables)
        names = [op.name for op in step.control_inputs if "AssignMovingAvg" in op.name]
        assert names == ["batch_normalization_1/AssignMovingAvg", "batch_normalization_1/AssignMovingAvg_1"]
        assert first is not second

    def test_not_those_of_layers_that_the_step_does_not_train(self):
        """TensorFlow's step of a discriminator leaves the statistics of the generator alone, too."""
        with sg.variable_scope("generator"):
            made = sg.layers.dense(sg.random_normal([8, 3]), 4)
            made = sg.layers.batch_normalization(made, training=True)
        with sg.variable_scope("critic"):
            told = sg.layers.batch_normalization(sg.layers.dense(made, 4), training=True)
        loss = sg.reduce_mean(told * sg.layers.dense(told, 1))
        for scope, count in (
            ("critic", 2),
            ("generator", 4),
        ):  # what the generator makes changes the critic's
            step = T.AdamOptimizer().minimize(loss, var_list=sg.trainable_variables(scope))
            names = [op.name for op in step.control_inputs if "AssignMovingAvg" in op.name]
            assert len(names) == count, names

    def test_a_program_that_runs_them_itself_is_left_alone(self):
        loss = self.network()
        chosen = sg.get_collection(sg.GraphKeys.UPDATE_OPS)[:1]
        with sg.control_dependencies(chosen):
            step = T.GradientDescentOptimizer(0.1).minimize(loss)
        assert not [op for op in step.control_inputs if op.name.endswith("AssignMovingAvg_1")]

    def test_not_those_inside_of_a_loop(self):
        w, seen = sg.Variable(2.0), sg.Variable(0.0, trainable=False)

        def body(i, x):
            sg.add_to_collection(sg.GraphKeys.UPDATE_OPS, seen.assign(x).op)
            return i + 1, x * w

        loss = sg.while_loop(lambda i, x: i < 3, body, [0, sg.constant(1.0)])[1]
        step = T.GradientDescentOptimizer(0.1).minimize(loss)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run(step)
            assert sess.run(w) == pytest.approx(2.0 - 0.1 * 3 * 2.0**2)


def test_variables_may_be_the_values_of_a_dictionary():
    weights = {"w": sg.Variable(2.0, name="w"), "b": sg.Variable(1.0, name="b")}
    loss = sg.square(weights["w"]) + weights["b"]
    pairs = sg.train.GradientDescentOptimizer(0.1).compute_gradients(loss, weights.values())
    assert [variable for _, variable in pairs] == [*weights.values()]
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        assert sess.run(sg.gradients(loss, weights.values())) == [4.0, 1.0]


def test_slots_are_called_after_variable_scopes_and_not_after_name_scopes():
    """As in TensorFlow: so a checkpoint does not depend on where a training step was made."""
    w = sg.get_variable("w", [2])
    with sg.name_scope("head"):
        sg.train.MomentumOptimizer(0.1, 0.9).minimize(sg.reduce_sum(w))
    with sg.variable_scope("net"), sg.name_scope("train"):
        sg.train.MomentumOptimizer(0.1, 0.9).minimize(sg.reduce_sum(w))
        sg.train.ExponentialMovingAverage(0.9).apply([w])
    names = [v.op.name for v in sg.global_variables()]
    assert names == ["w", "w/Momentum", "net/w/Momentum", "net/w/ExponentialMovingAverage"]


def test_an_update_is_one_operation():
    a, b = sg.Variable(1.0, name="a"), sg.Variable([1.0], name="b")
    sg.train.AdamOptimizer(0.1).minimize(a * sg.reduce_sum(b))
    names = [op.name for op in a.graph.get_operations() if op.name.startswith("Adam/update")]
    assert names == ["Adam/update_a/ApplyAdam", "Adam/update_b/ApplyAdam"]
