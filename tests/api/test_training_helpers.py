"""Losses, schedules, clipping, moving averages, initializers. Expected numbers are those of TensorFlow
1.15.5.
"""

import math
from typing import ClassVar

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.api.evaluate import State

A = np.array([[0.9, 0.1, 0.4], [0.2, 0.8, 0.5]], np.float32)
B = np.array([[0.7, 0.3, 0.2], [0.6, 0.1, 0.9]], np.float32)


def value(tensor, feeds=None):
    return State().run(tensor, feeds)


class TestLosses:
    def loss(self, name, **options):
        return value(getattr(sg.losses, name)(sg.constant(A), sg.constant(B), **options))

    def test_formulas(self):
        square = (A - B) ** 2
        error = abs(A - B)
        assert self.loss("mean_squared_error") == pytest.approx(square.mean())
        assert self.loss("absolute_difference") == pytest.approx(error.mean())
        assert self.loss("hinge_loss") == pytest.approx(np.maximum(1 - (2 * A - 1) * B, 0).mean())
        huber = np.where(error < 0.3, error**2 / 2, 0.3 * error - 0.045)
        assert self.loss("huber_loss", delta=0.3) == pytest.approx(huber.mean(), rel=1e-5)
        entropy = -(A * np.log(B) + (1 - A) * np.log(1 - B))
        assert self.loss("log_loss") == pytest.approx(entropy.mean(), rel=1e-5)
        assert self.loss("cosine_distance", axis=1) == pytest.approx((1 - (A * B).sum(1)).mean())
        softmax = np.log(np.exp(B).sum(1)) - (A * B).sum(1) / A.sum(1)
        assert self.loss("softmax_cross_entropy") == pytest.approx((softmax * A.sum(1)).mean(), rel=1e-5)

    def test_pairwise(self):
        d = B - A
        pairs = [[(x - y) ** 2 for x in row for y in row] for row in d]
        expected = sum(np.sum(p) / 6 for p in pairs)
        assert self.loss("mean_pairwise_squared_error") == pytest.approx(expected, rel=1e-5)

    @pytest.mark.parametrize(
        ("reduction", "divide"),
        [
            ("weighted_sum", 1),
            ("weighted_mean", 6),
            ("weighted_sum_over_batch_size", 6),
            ("weighted_sum_by_nonzero_weights", 3),
        ],
    )
    def test_weights_and_reductions(self, reduction, divide):
        weights = [[0.0], [2.0]]
        total = ((A - B) ** 2 * np.array(weights)).sum()
        found = self.loss("mean_squared_error", weights=weights, reduction=reduction)
        assert found == pytest.approx(total / divide, rel=1e-5)

    def test_none_keeps_the_shape_and_all_weights_zero_give_zero(self):
        assert self.loss("mean_squared_error", reduction="none").shape == (2, 3)
        assert self.loss("mean_squared_error", weights=0.0) == 0.0

    def test_collection_and_total(self):
        x = sg.placeholder(sg.float32, [None])
        first = sg.losses.mean_squared_error(x, x)
        sg.losses.mean_squared_error(x, x, loss_collection=None)
        sg.get_variable("w", [2], regularizer=sg.nn.l2_loss)
        assert sg.losses.get_losses() == [first]
        assert len(sg.losses.get_total_loss().op.inputs) == 2
        assert len(sg.losses.get_total_loss(add_regularization_losses=False).op.inputs) == 1

    def test_shapes_must_fit(self):
        with pytest.raises(ShapeError, match="labels of shape \\(2,\\) and predictions of shape \\(3,\\)"):
            sg.losses.mean_squared_error(sg.constant([1.0, 2.0]), sg.constant([1.0, 2.0, 3.0]))
        with pytest.raises(ShapeError, match="weights can not be broadcast to values"):
            sg.losses.mean_squared_error(sg.constant(A), sg.constant(B), weights=[1.0, 2.0])
        with pytest.raises(ValueError, match="is not one of none"):
            sg.losses.mean_squared_error(sg.constant(A), sg.constant(B), reduction="mean")


class TestSchedules:
    CASES: ClassVar = {
        "exponential": (lambda s: sg.train.exponential_decay(0.1, s, 7, 0.8), lambda t: 0.1 * 0.8 ** (t / 7)),
        "staircase": (
            lambda s: sg.train.exponential_decay(0.1, s, 7, 0.8, True),
            lambda t: 0.1 * 0.8 ** (t // 7),
        ),
        "natural": (
            lambda s: sg.train.natural_exp_decay(0.1, s, 7, 0.8),
            lambda t: 0.1 * math.exp(-0.8 * t / 7),
        ),
        "inverse": (lambda s: sg.train.inverse_time_decay(0.1, s, 7, 0.8), lambda t: 0.1 / (1 + 0.8 * t / 7)),
        "piecewise": (
            lambda s: sg.train.piecewise_constant(s, [7, 12], [3.0, 2.0, 1.0]),
            lambda t: 3 - (t > 7) - (t > 12),
        ),
        "polynomial": (
            lambda s: sg.train.polynomial_decay(0.1, s, 7, 0.01, 2.0),
            lambda t: 0.09 * (1 - min(t, 7) / 7) ** 2 + 0.01,
        ),
        "cycle": (
            lambda s: sg.train.polynomial_decay(0.1, s, 7, 0.01, 2.0, cycle=True),
            lambda t: 0.09 * (1 - t / (7 * max(1, math.ceil(t / 7)))) ** 2 + 0.01,
        ),
        "cosine": (
            lambda s: sg.train.cosine_decay(0.1, s, 7, 0.1),
            lambda t: 0.1 * (0.45 * (1 + math.cos(math.pi * min(t, 7) / 7)) + 0.1),
        ),
        "restarts": (
            lambda s: sg.train.cosine_decay_restarts(0.1, s, 7, t_mul=1.0, m_mul=0.5),
            lambda t: 0.1 * 0.5 ** (t // 7) * 0.5 * (1 + math.cos(math.pi * (t % 7) / 7)),
        ),
        "linear cosine": (
            lambda s: sg.train.linear_cosine_decay(0.1, s, 7),
            lambda t: 0.1 * ((1 - min(t, 7) / 7) * 0.5 * (1 + math.cos(math.pi * min(t, 7) / 7)) + 0.001),
        ),
    }

    @pytest.mark.parametrize("case", CASES)
    def test_values(self, case):
        schedule, formula = self.CASES[case]
        step = sg.placeholder(sg.int64, [])
        rate = schedule(step)
        for t in (0, 3, 7, 8, 14, 20):
            assert value(rate, {step: t}) == pytest.approx(formula(t), rel=1e-4, abs=1e-7)

    def test_growing_restarts(self):
        step = sg.placeholder(sg.int64, [])
        rate = sg.train.cosine_decay_restarts(0.1, step, 4, t_mul=2.0)
        assert [float(value(rate, {step: t})) for t in (0, 5, 12)] == pytest.approx(
            [0.1, 0.0961940, 0.1], rel=1e-4
        )

    def test_piecewise_needs_one_value_more_than_boundaries(self):
        with pytest.raises(ValueError, match="2 boundaries separate 3 values, 2 were given"):
            sg.train.piecewise_constant(sg.constant(1), [1, 2], [0.1, 0.2])
        with pytest.raises(ValueError, match="a boundary is float32 and x is int32"):
            sg.train.piecewise_constant(sg.constant(1), [1.5], [0.1, 0.2])

    def test_a_global_step_is_needed(self):
        with pytest.raises(ValueError, match="needs a global_step"):
            sg.train.exponential_decay(0.1, None, 7, 0.8)


@pytest.mark.compiled
def test_a_polynomial_ends_where_it_shall_for_every_number_of_steps():
    """1 - n * (1 / n) with one rounding was below 0 for many n."""
    counts = (7, 20, 23, 49, 60, 100, 300)
    step = sg.placeholder(sg.int64, [])
    schedules = [sg.train.polynomial_decay(0.05, step, n, 0.001, power=0.9) for n in counts]
    np.testing.assert_array_equal(sg.Session().run(schedules, {step: 1000}), np.float32(0.001))


class TestClipping:
    def test_by_norm(self):
        clipped = sg.clip_by_norm(sg.constant([3.0, 4.0]), 1.0)
        assert clipped.name == "clip_by_norm:0"
        assert value(clipped).tolist() == pytest.approx([0.6, 0.8])
        assert value(sg.clip_by_norm(sg.constant([0.3, 0.4]), 1.0)).tolist() == pytest.approx([0.3, 0.4])
        assert value(sg.clip_by_norm(sg.constant([0.0, 0.0]), 1.0)).tolist() == [0.0, 0.0]

    def test_by_global_norm(self):
        clipped, norm = sg.clip_by_global_norm([sg.constant([3.0]), None, sg.constant([[4.0]])], 1.0)
        assert clipped[1] is None
        assert value(norm) == pytest.approx(5.0)
        assert [value(clipped[0])[0], value(clipped[2])[0, 0]] == pytest.approx([0.6, 0.8])
        with pytest.raises(TypeError, match="must be a list"):
            sg.clip_by_global_norm(sg.constant([3.0]), 1.0)

    def test_a_norm_that_is_not_finite_is_not_hidden(self):
        clipped, _ = sg.clip_by_global_norm([sg.constant([math.inf, 1.0])], 1.0)
        assert np.isnan(value(clipped[0])).all()

    def test_slices_stay_slices(self):
        slices = sg.IndexedSlices(sg.constant([[3.0, 4.0]]), sg.constant([1]), sg.constant([5, 2]))
        (clipped,), _ = sg.clip_by_global_norm([slices], 1.0)
        assert isinstance(clipped, sg.IndexedSlices)
        assert value(clipped.to_tensor())[1].tolist() == pytest.approx([0.6, 0.8])


class TestMovingAverage:
    def test_of_a_variable(self):
        w = sg.Variable([1.0, 2.0], name="w")
        average = sg.train.ExponentialMovingAverage(0.9)
        change = w.assign([2.0, 4.0])
        with sg.control_dependencies([change]):
            update = average.apply([w])
        shadow = average.average(w)
        assert (update.name, shadow.name) == ("ExponentialMovingAverage", "w/ExponentialMovingAverage:0")
        assert average.variables_to_restore() == {"w/ExponentialMovingAverage": w}
        assert sg.moving_average_variables() == [w]
        state = State()
        state.run(sg.global_variables_initializer())
        state.run(update)
        assert state.run(shadow).tolist() == pytest.approx([1.1, 2.2])

    @pytest.mark.parametrize(("zero_debias", "first"), [(False, 0.5), (True, 5.0)])
    def test_of_a_tensor_begins_at_zero(self, zero_debias, first):
        x = sg.placeholder(sg.float32, [])
        average = sg.train.ExponentialMovingAverage(0.9, zero_debias=zero_debias)
        update = average.apply([x])
        state = State()
        state.run(sg.global_variables_initializer())
        state.run(update, {x: 5.0})
        assert state.run(average.average(x)) == pytest.approx(first, rel=1e-5)

    def test_num_updates_make_the_decay_small(self):
        w = sg.Variable(0.0)
        average = sg.train.ExponentialMovingAverage(0.9, num_updates=sg.constant(0))
        change = w.assign(1.0)
        with sg.control_dependencies([change]):
            update = average.apply([w])
        state = State()
        state.run(sg.global_variables_initializer())
        state.run(update)
        assert state.run(average.average(w)) == pytest.approx(0.9)

    def test_twice(self):
        w = sg.Variable(0.0)
        average = sg.train.ExponentialMovingAverage(0.9)
        first = average.apply([w, w])
        kept = average.average(w)
        again = average.apply([w])
        assert average.average(w) is kept
        state = State()
        state.run(sg.global_variables_initializer())
        state.run(w.assign(1.0))
        state.run(first)
        assert state.run(kept) == pytest.approx(0.1)
        state.run(again)
        assert state.run(kept) == pytest.approx(0.19)


class TestInitializers:
    def test_scales(self):
        glorot = sg.glorot_uniform_initializer()([3, 4])
        assert _bounds(glorot) == pytest.approx([-math.sqrt(6 / 7), math.sqrt(6 / 7)])
        he = sg.initializers.he_uniform()([5, 5, 3, 4])
        assert _bounds(he) == pytest.approx([-math.sqrt(6 / 75), math.sqrt(6 / 75)])

    def test_seeds(self):
        sg.set_random_seed(7)
        made = [sg.random_normal_initializer(seed=3)([2]), sg.random_normal_initializer()([2])]
        drawn = [op for op in sg.get_default_graph().get_operations() if "seed2" in op.attrs]
        assert [(op.attrs["seed"], op.attrs["seed2"]) for op in drawn] == [(7, 3), (7, 9)]
        assert [t.name for t in made] == ["random_normal:0", "random_normal_1:0"]

    def test_orthogonal(self):
        wide = value(sg.orthogonal_initializer(gain=2.0)([2, 2, 3]))
        matrix = wide.reshape(4, 3)
        np.testing.assert_allclose(matrix.T @ matrix, 4 * np.eye(3), atol=1e-5)
        with pytest.raises(ValueError, match="at least two axes"):
            sg.orthogonal_initializer()([3])

    def test_identity_and_constant(self):
        assert value(sg.initializers.identity(gain=2.0)([2, 3])).tolist() == [[2, 0, 0], [0, 2, 0]]
        assert value(sg.constant_initializer([1, 2])([3], sg.int32)).tolist() == [1, 2, 2]

    def test_config(self):
        made = sg.variance_scaling_initializer(2.0, "fan_out", "uniform", seed=1)
        config = made.get_config()
        assert config["dtype"] == "float32"
        assert type(made).from_config(config).get_config() == config

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="must be positive"):
            sg.variance_scaling_initializer(scale=0.0)
        with pytest.raises(ValueError, match="mode='fan'"):
            sg.variance_scaling_initializer(mode="fan")


def _bounds(made):
    names = [f"{made.op.name}/{end}:0" for end in ("min", "max")]
    return [made.graph.get_tensor_by_name(n).op.attrs["value"].array for n in names]
