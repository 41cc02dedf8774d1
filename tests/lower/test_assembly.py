"""Kernels that go over the pieces of an assembly."""

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.compile import optimize
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.kernel.stmt import Kernel, Loop, Store, statements
from staticgraph.compiler.lower.lower import lower
from staticgraph.runtime.cpu.executable import evaluate


def check(function: Function, rtol: float = 1e-5) -> None:
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=p.shape).astype(np.float32) for p in function.params]
    made = evaluate(function, arguments)
    expected = interpret(function, dict(zip(function.params, arguments, strict=True)))
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-5)


def test_sums_that_are_long_enough_for_several_threads():
    """Each piece is a sum in chunks of its own."""
    build = Builder()
    params = [build.parameter(f"x{n}", "float32", (size,)) for n, size in enumerate((12288, 60000, 3, 90000))]
    squares = [ops.reduce_sum(p * p) for p in params]
    check(Function(tuple(params), (ops.stack(squares, axis=0),)), rtol=1e-4)


@pytest.mark.parametrize("shape", [(6, 7), (1, 5), (300, 400)])
def test_arithmetic_on_a_padded_tensor_is_done_piece_by_piece(shape):
    build = Builder()
    inner = build.parameter("x", "float32", shape)
    whole = build.parameter("y", "float32", (shape[0] + 2, shape[1] + 3))
    padded = ops.pad(inner * 2.0, paddings=((1, 1), (2, 1)))
    function = Function((inner, whole), (ops.tanh(whole + padded * 0.5) - whole,))
    assert len(optimize(function).groups) == 1
    check(function)


def test_a_padded_tensor_that_others_need_too():
    build = Builder()
    x = build.parameter("x", "float32", (5, 4))
    padded = ops.pad(x, paddings=((1, 1), (0, 0)))
    check(Function((x,), (padded + 1.0, ops.reduce_sum(padded, axis=0), ops.transpose(padded, perm=(1, 0)))))


def test_the_sum_of_two_padded_tensors():
    build = Builder()
    x, y = (build.parameter(name, "float32", (5, 4)) for name in "xy")
    above, below = ops.pad(x, paddings=((0, 3), (0, 0))), ops.pad(y, paddings=((3, 0), (0, 0)))
    check(Function((x, y), (above + below,)))


def test_the_beginning_of_a_padded_tensor():
    """A slice has elements at the same positions, but fewer: nothing may be written beyond its end."""
    build = Builder()
    x, y = (build.parameter(name, "float32", (5, 4)) for name in "xy")
    sums = ops.pad(x, paddings=((0, 3), (0, 0))) + ops.pad(y, paddings=((3, 0), (0, 0)))
    check(Function((x, y), (ops.slice(sums, begin=(0, 0), size=(4, 4)),)))


def test_pieces_that_read_the_same_are_done_in_one_loop():
    """Beside others of the same shape; they need not be joined afterwards."""
    build = Builder()
    x, y = (build.parameter(name, "float32", (40, 6)) for name in "xy")
    differences = [x - ops.reverse(x, axis=(0,)), x * 2.0, y * 2.0, x[::-1] * 3.0]
    function = Function((x, y), (ops.stack(differences, axis=0),))
    (launch,) = lower(optimize(function), 1, {}).instructions
    assert isinstance(launch.work, Kernel)
    outer = [s for s in launch.work.body if isinstance(s, Loop)]
    assert [sum(isinstance(s, Store) for s in statements((loop,))) for loop in outer] == [3, 1]
    check(function)
