"""Gradient functions of scripts, in every place where a graph runs, in bodies, and in files.

What TensorFlow 1.15 gives is in the golden cases of `gradient_functions`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import GradientError, UnimplementedError
from tests.everywhere import Refused, check_everywhere
from tests.sessions import run

X = np.float32([1, -2, 3])


def doubled(forward: Any, backward: Any) -> Any:
    """A function of one tensor with this gradient function."""
    return sg.custom_gradient(lambda x: (forward(x), backward))


class TestEverywhere:
    def test_loops_in_gradients_and_gradients_in_loops(self):
        def build() -> dict[str, sg.Tensor]:
            x = sg.placeholder(sg.float32, [3], name="x")
            sine = doubled(sg.sin, lambda dy: sg.scan(lambda a, e: a + e * 2.0, dy, initializer=0.0))
            square = sg.custom_gradient(lambda x: (x * x, lambda dy: dy * x * 3.0))
            y = sine(x) * x
            z = sg.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, square(a) * 0.1 + a), [0, x])[1]
            first = sg.gradients(y, x)[0]
            return {
                "y": y,
                "first": first,
                "through": sg.gradients(z, x)[0],
                "second": sg.gradients(square(x) * x, x)[0],
            }

        found = check_everywhere(build, {"x": X}, {"x": -X})
        assert not any(isinstance(each, Refused) for each in found.values())
        result = found["session"][0].results
        np.testing.assert_allclose(result["first"], np.sin(X) + 2 * np.cumsum(X), rtol=1e-6)
        np.testing.assert_allclose(result["second"], X**2 + 3 * X**2, rtol=1e-6)
        by, at = np.ones(3), X.astype(np.float64)
        for _ in range(3):
            by, at = by * (0.3 * at + 1), 0.1 * at * at + at
        np.testing.assert_allclose(result["through"], by, rtol=1e-5)

    def test_training_through_a_rounded_weight(self):
        def build() -> dict[str, Any]:
            w = sg.Variable([0.4, 1.6, 2.2], name="w")
            straight = doubled(sg.round, lambda dy: dy)
            loss = sg.reduce_sum(sg.square(straight(w) - [1.0, 3.0, 0.0]))
            return {"w": w, "step": sg.train.GradientDescentOptimizer(0.1).minimize(loss)}

        w, rows = np.float32([0.4, 1.6, 2.2]), []
        for _ in range(3):
            w = w - 0.2 * (np.round(w) - [1, 3, 0])
            rows.append({"w": w.copy()})
        check_everywhere(build, {}, {}, {}, expected=rows)

    def test_ops_whose_size_the_data_decide(self):
        def build() -> dict[str, sg.Tensor]:
            x = sg.placeholder(sg.float32, [3], name="x")

            def masked(dy: sg.Tensor) -> sg.Tensor:
                return sg.scatter_nd(sg.where(dy > 0.0), sg.boolean_mask(dy, dy > 0.0) * 2.0, [3])

            return {"g": sg.gradients(doubled(sg.sin, masked)(x) * x, x)[0]}

        check_everywhere(
            build, {"x": X}, expected=[{"g": np.sin(X) + 2 * np.maximum(X, 0)}], places=["session", "file"]
        )


class TestInBodies:
    def gradient(self, backward: Any) -> sg.Tensor:
        x = sg.placeholder(sg.float32, [3], name="x")
        sine = doubled(sg.sin, backward)
        y = sg.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, sine(a)), [0, x])[1]
        np.testing.assert_allclose(run(y, {x: X}), np.sin(np.sin(X)), rtol=1e-6)  # needs no gradient
        return sg.gradients(y, x)[0]

    @pytest.mark.parametrize(
        ("name", "backward"),
        [
            ("PyFunc", lambda dy: sg.py_func(lambda v: v * 2, [dy], sg.float32)),
            ("Assert", lambda dy: checked(dy)),
            ("Unique", lambda dy: dy * sg.reduce_sum(sg.unique(dy)[0])),
            ("GatherV2", lambda dy: dy * sg.gather([1.0, 2.0], sg.cast(dy, sg.int32))),
            ("RandomUniform", lambda dy: dy * sg.random_uniform([3])),
        ],
    )
    def test_what_only_computes_later_is_an_error(self, name: str, backward: Any):
        grad = self.gradient(backward)
        with pytest.raises(GradientError, match=rf"is in a loop or a branch.*cannot use.*\({name}\)") as told:
            run(grad, {"x:0": X})
        assert "test_gradient_functions.py" in str(told.value)

    def test_indices_that_are_in_range_whatever_the_cotangent(self):
        grad = self.gradient(lambda dy: dy * sg.gather([1.0, 2.0], sg.cast(dy > 0.0, sg.int32)))
        np.testing.assert_array_equal(run(grad, {"x:0": X}), [4] * 3)

    def test_two_gradients_of_one_operation(self):
        """The loops in them are different loops."""
        x = sg.placeholder(sg.float32, [3])

        def grown(dy: sg.Tensor) -> sg.Tensor:
            return sg.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * 2.0), [0, dy])[1]

        sine = doubled(sg.sin, grown)
        y = sg.cond(sg.reduce_sum(x) > 0.0, lambda: sine(x), lambda: x)
        grads = [sg.gradients(y * k, x)[0] for k in (1.0, 3.0)]
        np.testing.assert_array_equal(run(grads, {x: X}), [[4] * 3, [12] * 3])

    def test_gradients_in_the_same_body(self):
        x = sg.placeholder(sg.float32, [3])
        square = sg.custom_gradient(lambda x: (x * x, lambda dy: sg.py_func(np.copy, [dy * x], sg.float32)))
        stepped = sg.map_fn(lambda e: sg.gradients(square(e), e)[0], x)
        np.testing.assert_array_equal(run(stepped, {x: X}), X)

    def test_a_name_that_is_not_registered(self):
        x = sg.placeholder(sg.float32, [3])

        def body(i: sg.Tensor, a: sg.Tensor) -> Any:
            with sg.get_default_graph().gradient_override_map({"Sin": "NeverRegistered"}):
                return i + 1, sg.sin(a)

        y = sg.while_loop(lambda i, a: i < 2, body, [0, x])[1]
        np.testing.assert_allclose(run(y, {x: X}), np.sin(np.sin(X)), rtol=1e-6)
        with pytest.raises(LookupError, match="CustomGradient"):
            run(sg.gradients(y, x)[0], {x: X})


def checked(dy: sg.Tensor) -> sg.Tensor:
    with sg.control_dependencies([sg.Assert(sg.reduce_all(dy < 100.0), [dy])]):
        return sg.identity(dy)


class TestValues:
    def test_numpy_of_a_cotangent(self):
        x = sg.placeholder(sg.float32, [3])
        y = doubled(sg.sin, lambda dy: np.asarray(dy) * 2)(x)
        with pytest.raises(TypeError, match="cannot be an array"):
            sg.gradients(y, x)

    def test_second_derivative_through_a_gradient_penalty(self):
        """Against central differences of the first."""
        x = sg.placeholder(sg.float64, [3])
        bent = sg.custom_gradient(lambda x: (sg.tanh(x), lambda dy: dy * (1.0 - sg.tanh(x) ** 2)))
        slope = sg.gradients(sg.reduce_sum(bent(x * 1.3) ** 3), x)[0]
        second = sg.gradients(sg.reduce_sum(slope**2), x)[0]
        at, step = np.array([0.3, -0.8, 1.1]), 1e-6
        with sg.Session() as session:

            def penalty(v: np.ndarray) -> float:
                return float((session.run(slope, {x: v}) ** 2).sum())

            wanted = [(penalty(at + step * e) - penalty(at - step * e)) / (2 * step) for e in np.eye(3)]
            np.testing.assert_allclose(session.run(second, {x: at}), wanted, rtol=1e-6)

    def test_rows_update_only_themselves(self):
        """As IndexedSlices do in optimizers that look at rows."""
        w = sg.Variable(np.ones([4, 2], np.float32))

        @sg.custom_gradient
        def looked_up(w: sg.Tensor) -> Any:
            rows = sg.constant([0, 2, 0])
            return sg.gather(w, rows), lambda dy: sg.IndexedSlices(dy, rows, sg.shape(w))

        both = sg.reduce_sum(looked_up(w)) + sg.reduce_sum(sg.gather(w, [3]))
        grad = sg.gradients(both, w)[0]
        assert isinstance(grad, sg.IndexedSlices)
        step = sg.train.MomentumOptimizer(1.0, 0.5).apply_gradients([(grad, w)])
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            session.run([step])
            session.run([step])
            np.testing.assert_array_equal(session.run(w)[:, 0], [1 - 2 - 3, 1, 1 - 1 - 1.5, 1 - 1 - 1.5])

    def test_a_structure_of_results(self):
        x = sg.placeholder(sg.float32, [3])
        made = sg.custom_gradient(lambda x: ({"a": x * 2.0, "b": [x * 3.0]}, lambda da, db: da + 10.0 * db))(
            x
        )
        assert list(made) == ["a", "b"]
        np.testing.assert_array_equal(run(sg.gradients(made["b"][0], x)[0], {x: X}), [10] * 3)

    def test_keras_layer(self):
        @sg.custom_gradient
        def reversal(x: sg.Tensor) -> Any:
            return sg.identity(x), lambda dy: -dy

        layer = sg.keras.layers.Lambda(reversal)
        x = sg.placeholder(sg.float32, [None, 3])
        np.testing.assert_array_equal(run(sg.gradients(layer(x), x)[0], {x: [X]}), [[-1] * 3])


class TestFiles:
    def test_a_loaded_operation_has_no_function(self):
        x = sg.placeholder(sg.float32, [3], name="x")
        doubled(sg.sin, lambda dy: dy * 2.0)(x)
        written = sg.get_default_graph().as_graph_def()
        with sg.Graph().as_default():
            x, y = sg.import_graph_def(written, return_elements=["x:0", "CustomGradient:0"], name="")
            with pytest.raises(LookupError, match="no gradient is registered as 'CustomGradient'"):
                sg.gradients(y, x)

    def test_a_registered_gradient_is_found_again(self):
        sg.RegisterGradient("SeenInFiles")(lambda op, dy: dy * 5.0)
        x = sg.placeholder(sg.float32, [3], name="x")
        with sg.get_default_graph().gradient_override_map({"Sin": "SeenInFiles"}):
            sg.sin(x, name="y")
        written = sg.get_default_graph().as_graph_def()
        assert written.node[-1].attr["_gradient_op_type"].s == b"SeenInFiles"
        with sg.Graph().as_default():
            x, y = sg.import_graph_def(written, return_elements=["x:0", "y:0"], name="")
            np.testing.assert_array_equal(run(sg.gradients(y, x)[0], {x: X}), [5] * 3)

    def test_a_cotangent_of_an_older_file_is_never_zeros(self):
        """A cotangent whose value decides a size has no value yet."""
        x = sg.placeholder(sg.float32, [3])
        y = sg.sin(x)
        cotangent = ops.cotangent(y, key="1")
        made = sg.scatter_nd(sg.where(cotangent > 0.0), sg.boolean_mask(cotangent, cotangent > 0.0), [3])
        y = ops.custom_gradient([y, x, made, cotangent], ys=1, xs=1)
        with pytest.raises(UnimplementedError, match="of an older version"):
            run(sg.gradients(y * x, x)[0], {x: X})
