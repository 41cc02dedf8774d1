"""Assertions and checks, beside what is compared with TensorFlow's answers in tests/golden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg

Invalid = sg.errors.InvalidArgumentError


@pytest.fixture
def session() -> Any:
    with sg.Session() as sess:
        yield sess


class TestAssert:
    def test_shows_texts_and_tensors(self, session: Any):
        x, word = sg.placeholder(sg.int32, [None]), sg.placeholder(sg.string, [])
        check = sg.Assert(sg.reduce_all(x > 0), ["x is", x, word, b"bytes", sg.constant(["a", "b"])])
        with pytest.raises(Invalid) as caught:
            session.run(check, {x: [0, 1, 2, 3], word: "word"})
        first, *rest = str(caught.value).split("\n")
        assert first == "Assert/Assert (Assert): assertion failed: [x is] [0 1 2...] [word] [bytes] [a b]"
        assert "in test_shows_texts_and_tensors" in rest[1]
        assert caught.value.op.name == "Assert/Assert"

    def test_says_nothing_where_it_holds(self, session: Any):
        assert session.run(sg.Assert(sg.constant(True), ["text"])) is None

    def test_comes_before_what_depends_on_it(self, session: Any):
        x = sg.placeholder(sg.float32, [])
        v = sg.get_variable("v", initializer=1.0)
        with sg.control_dependencies([sg.Assert(x > 0.0, [x])]):
            change = v.assign(x)
        session.run(v.initializer)
        with pytest.raises(Invalid):
            session.run(change, {x: -1.0})
        assert session.run(v) == 1.0
        assert session.run(change, {x: 2.0}) == 2.0

    def test_the_first_of_several_is_told(self, session: Any):
        x = sg.placeholder(sg.float32, [])
        checks = [sg.Assert(x > limit, [f"limit {limit}"]) for limit in (1.0, 2.0, 3.0)]
        for value, told in ((2.5, "limit 3.0"), (1.5, "limit 2.0"), (0.0, "limit 1.0")):
            with pytest.raises(Invalid, match=told):
                session.run(checks, {x: value})
        session.run(checks, {x: 4.0})

    def test_in_a_branch_only_where_it_is_taken(self, session: Any):
        x = sg.placeholder(sg.float32, [])

        def guarded() -> Any:
            with sg.control_dependencies([sg.Assert(x < 0.0, ["inside", x])]):
                return -x

        y = sg.cond(x > 1.0, guarded, lambda: x)
        assert session.run(y, {x: 0.5}) == 0.5
        with pytest.raises(
            Invalid, match=r"cond/Assert/Assert \(Assert\): assertion failed: \[inside\] \[2\]"
        ):
            session.run(y, {x: 2.0})

    def test_the_round_in_which_it_fails_is_shown(self, session: Any):
        def body(i: Any) -> Any:
            with sg.control_dependencies([sg.assert_less(i, 3, message="round")]):
                return i + 1

        with pytest.raises(Invalid, match=r"\[round\] .* \[3\]"):
            session.run(sg.while_loop(lambda i: i < 10, body, [0]))

    def test_a_derivative_flows_around_it(self, session: Any):
        x = sg.placeholder(sg.float32, [])
        with sg.control_dependencies([sg.assert_positive(x)]):
            y = x * x
        (grad,) = sg.gradients(y, [x])
        assert session.run([y, grad], {x: 3.0}) == [9.0, 6.0]


class TestNames:
    def test_root_and_module_have_the_same(self):
        for name in (
            "assert_equal",
            "assert_rank",
            "check_numerics",
            "Assert",
            "is_numeric_tensor",
            "is_nan",
        ):
            assert getattr(sg, name) is getattr(sg.debugging, name)
        assert sg.verify_tensor_all_finite is sg.debugging.assert_all_finite
        assert sg.math.is_non_decreasing is sg.debugging.is_non_decreasing


class TestNumerics:
    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
    def test_every_floating_dtype(self, session: Any, dtype: str):
        x = sg.placeholder(dtype, [2])
        y = sg.check_numerics(x, "here")
        assert session.run(y, {x: [1, 2]}).shape == (2,)
        for value, what in (([1, np.nan], "NaN"), ([np.inf, 1], "Inf"), ([-np.inf, np.nan], "Inf and NaN")):
            with pytest.raises(Invalid, match=f"here : Tensor had {what} values"):
                session.run(y, {x: value})

    def test_everything_of_a_graph(self, session: Any):
        x = sg.placeholder(sg.float32, [], name="x")
        y = sg.log(x, name="y") * 2.0
        v = sg.get_variable("v", initializer=1.0)
        check = sg.add_check_numerics_ops()
        session.run(v.initializer)
        assert session.run([y, check], {x: 1.0}) == [0.0, None]
        with pytest.raises(Invalid, match="y:0 : Tensor had Inf values"):
            session.run(check, {x: 0.0})
        with pytest.raises(Invalid, match="x:0 : Tensor had NaN values"):
            session.run(check, {x: np.nan})


class TestShapes:
    def test_sizes_that_are_fed(self, session: Any):
        x, y = sg.placeholder(sg.float32, [None, 2]), sg.placeholder(sg.float32, [None])
        check = sg.debugging.assert_shapes([(x, ("n", "d")), (y, ("n",)), (sg.zeros([2]), ("d",))])
        session.run(check, {x: np.zeros([3, 2]), y: np.zeros(3)})
        with pytest.raises(Invalid, match=r"dimension 0 must have size\] \[3\] \[Received shape: \] \[4\]"):
            session.run(check, {x: np.zeros([3, 2]), y: np.zeros(4)})

    def test_unknown_ranks(self, session: Any):
        x = sg.placeholder(sg.float32)
        check = sg.debugging.assert_shapes({x: (..., "n", 2)})
        session.run(check, {x: np.zeros([5, 3, 2])})
        with pytest.raises(Invalid, match="rank at least"):
            session.run(check, {x: np.zeros([2])})
        scalar = sg.debugging.assert_shapes([(x, (1,))])
        session.run(scalar, {x: 3.0})
        session.run(scalar, {x: [3.0]})
        with pytest.raises(Invalid, match="must have size"):
            session.run(scalar, {x: [3.0, 4.0]})

    def test_ranks_that_are_computed(self, session: Any):
        x, rank = sg.placeholder(sg.float32), sg.placeholder(sg.int32, [])
        check = sg.assert_rank(x, rank)
        session.run(check, {x: np.zeros([2, 3]), rank: 2})
        with pytest.raises(Invalid, match=r"must have rank\] \[1\] \[Received shape: \] \[2 3\]"):
            session.run(check, {x: np.zeros([2, 3]), rank: 1})


def test_numbers_that_are_near_in_bfloat16():
    """One and its neighbour differ by 2**-7, the machine epsilon; tolerances are ten times that."""
    x = sg.cast(sg.constant([1.0]), sg.bfloat16)
    with sg.Session() as sess:
        sess.run(sg.assert_near(x, sg.cast(sg.constant([1.125]), sg.bfloat16)))
        with pytest.raises(sg.errors.InvalidArgumentError):
            sess.run(sg.assert_near(x, sg.cast(sg.constant([1.25]), sg.bfloat16)))
