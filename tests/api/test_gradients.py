"""`gradients`: which derivatives exist, in what form, and what is said where they do not."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import GradientError


@pytest.fixture
def x():
    return sg.placeholder(sg.float32, [3], name="x")


class TestReach:
    def test_one_sum_for_all_ys(self, x):
        y = sg.placeholder(sg.float32, [3])
        made = sg.gradients([x * y, x + y], [x, y])
        assert [g.name for g in made] == ["gradients/AddN:0", "gradients/AddN_1:0"]
        assert [g.shape.as_list() for g in made] == [[3], [3]]

    def test_unconnected(self, x):
        other = sg.placeholder(sg.float32, [3])
        assert sg.gradients(x * 2.0, [other, x])[0] is None
        zeros = sg.gradients(x * 2.0, [other], unconnected_gradients="zero")
        assert zeros[0].op.type == "ZerosLike"

    def test_integers_have_none(self, x):
        i = sg.placeholder(sg.int32, [3])
        assert sg.gradients(x * sg.cast(i, sg.float32), [i]) == [None]
        assert sg.gradients(i * 2, [i]) == [None]

    @pytest.mark.parametrize(
        "cut", [sg.floor, sg.stop_gradient, lambda t: sg.cast(sg.cast(t, sg.int32), sg.float32)]
    )
    def test_cut(self, x, cut):
        assert sg.gradients(cut(x) * 2.0, [x]) == [None]

    def test_stop_gradients(self, x):
        middle = x * 2.0
        end = middle * 3.0
        assert sg.gradients(end, [x], stop_gradients=[middle]) == [None]
        assert sg.gradients(end + x, [x], stop_gradients=[middle])[0] is not None

    def test_a_fed_result_counts_in_its_own_derivative(self):
        """The derivative of y = exp(x) is y, as it is fed. The numbers are TensorFlow's."""
        x = sg.placeholder(sg.float64, [])
        y = sg.exp(x)
        (slope,) = sg.gradients(y * y, x)
        (second,) = sg.gradients(slope, x)
        p = sg.nn.softmax(sg.stack([x, 2.0 * x]))
        with sg.Session() as session:
            assert session.run([slope, second, sg.gradients(y, x)[0]], {x: 2.0, y: 1.0}) == [2.0, 4.0, 1.0]
            assert session.run(sg.gradients(p[0], x)[0], {x: 2.0, p: [0.5, 0.5]}) == -0.25

    def test_every_read_of_a_variable_is_the_variable(self):
        w = sg.Variable([1.0, 2.0])
        assert sg.gradients(w.read_value() * 2.0, [w])[0] is not None

    def test_a_weight_per_y(self, x):
        (g,) = sg.gradients([x, x], [x], grad_ys=[None, [1.0, 2.0, 3.0]])
        with sg.Session() as session:
            assert session.run(g, {x: [0, 0, 0]}).tolist() == [2.0, 3.0, 4.0]
        with pytest.raises(ValueError, match="1 grad_ys for 2 ys"):
            sg.gradients([x, x], [x], grad_ys=[x])
        with pytest.raises(TypeError, match="is float64 and ys\\[0\\] is float32"):
            sg.gradients(x, [x], grad_ys=[np.ones(3)])

    def test_dtypes_may_differ(self, x):
        d = sg.placeholder(sg.float64, [3])
        y = sg.cast(x, sg.float64) * d
        assert [g.dtype for g in sg.gradients(y, [x, d])] == [sg.float32, sg.float64]

    def test_of_gradients(self, x):
        (first,) = sg.gradients(x * x * x, [x])
        assert sg.gradients(first, [x])[0] is not None

    def test_a_long_chain_needs_no_deep_stack(self, x):
        y = x
        for _ in range(5000):
            y = y + x
        assert sg.gradients(y, [x])[0] is not None


class TestSparse:
    def test_gathers_alone(self):
        w = sg.Variable(np.zeros([10, 4], np.float32), name="w")
        ids = sg.placeholder(sg.int32, [None, 2])
        loss = sg.reduce_sum(sg.gather(w, ids)) + sg.reduce_sum(sg.gather(w, [1, 2]))
        (g,) = sg.gradients(loss, [w])
        assert isinstance(g, sg.IndexedSlices)
        assert g.values.shape.as_list() == [None, 4]
        assert g.indices.shape.as_list() == [None]
        assert sg.convert_to_tensor(g).shape.as_list() == [10, 4]

    @pytest.mark.parametrize(
        "use",
        [
            lambda w: sg.reduce_sum(sg.gather(w, [0])) + sg.reduce_sum(w),
            lambda w: sg.reduce_sum(sg.gather(w, [0], axis=1)),
            lambda w: sg.reduce_sum(sg.gather(w * 2.0, [0])),
        ],
    )
    def test_other_uses_are_dense(self, use):
        w = sg.Variable(np.zeros([10, 4], np.float32))
        assert isinstance(sg.gradients(use(w), [w])[0], sg.Tensor)

    def test_a_gather_that_does_not_lead_to_y_does_not_count(self):
        w = sg.Variable(np.zeros([10, 4], np.float32))
        sg.reduce_sum(w)
        assert isinstance(sg.gradients(sg.gather(w, [0]), [w])[0], sg.IndexedSlices)


class TestWhy:
    def test_there_is_one(self, x):
        assert sg.why_no_gradient(x * 2.0, x) == ""

    def test_an_operation_without_gradient(self, x):
        y = sg.floor(x * 2.0, name="cut") + 1.0
        text = sg.why_no_gradient(y, x)
        assert text.startswith("cut (Floor) has no gradient")
        assert 'sg.floor(x * 2.0, name="cut")' in text

    def test_stopped(self, x):
        assert "(StopGradient) stops gradients" in sg.why_no_gradient(sg.stop_gradient(x) * 2.0, x)

    def test_through_integers(self, x):
        i = sg.cast(x, sg.int32)
        text = sg.why_no_gradient(sg.cast(i, sg.float32), x)
        assert "only floating tensors have gradients" in text
        assert "Cast:0, which is int32" in text

    def test_by_one_input(self):
        i = sg.placeholder(sg.float32, [2], name="i")
        p = sg.placeholder(sg.float32, [3], name="p")
        y = sg.gather(p, sg.cast(i, sg.int32))
        assert "only floating" in sg.why_no_gradient(y, i)

    def test_not_connected(self, x):
        assert sg.why_no_gradient(sg.constant(1.0), x).startswith("Const:0 does not depend on x")

    def test_integer_y(self):
        i = sg.placeholder(sg.int32, [], name="i")
        assert sg.why_no_gradient(i * 2, i).startswith("mul:0 is int32")


class TestCustomGradient:
    def test_operation(self, x):
        @sg.custom_gradient
        def twice(t):
            return t * 2.0, lambda dy: dy * 5.0

        y = twice(x)
        assert (y.op.type, y.shape.as_list()) == ("CustomGradient", [3])
        assert sg.gradients(y, [x])[0] is not None

    def test_several_results(self, x):
        @sg.custom_gradient
        def both(a, b):
            return [a + b, a * b], lambda da, db: (da, db)

        made = both(x, x)
        assert [t.name for t in made] == ["CustomGradient:0", "CustomGradient:1"]

    def test_variables(self, x):
        @sg.custom_gradient
        def scaled(t):
            w = sg.get_variable("w", [3])
            return t * w, lambda dy, variables=None: (dy, [dy * 2.0 for _ in variables])

        y = scaled(x)
        assert all(g is not None for g in sg.gradients(y, [x, *sg.trainable_variables()]))

    def test_a_variable_that_the_gradient_does_not_take(self, x):
        w = sg.Variable(1.0, name="w")

        @sg.custom_gradient
        def scaled(t):
            return t * w, lambda dy: dy

        with pytest.raises(TypeError, match="uses the variables w"):
            scaled(x)

    def test_wrong_number_of_derivatives(self, x):
        @sg.custom_gradient
        def twice(t):
            return t * 2.0, lambda dy: (dy, dy)

        y = twice(x)
        with pytest.raises(ValueError, match="2 derivatives for 1 arguments"):
            sg.gradients(y, x)


def test_hessian_shapes(x):
    assert sg.hessians(sg.reduce_sum(x * x * x), [x])[0].shape.as_list() == [3, 3]
    with pytest.raises(GradientError, match="not fully known"):
        sg.hessians(sg.constant(1.0), sg.placeholder(sg.float32, [None]))
    with pytest.raises(GradientError, match="does not depend"):
        sg.hessians(sg.constant(1.0), x)
