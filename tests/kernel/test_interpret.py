import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import bfloat16, float32, int32
from staticgraph.compiler.kernel.expr import Const, Index, Load, Local, Reduce
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.stmt import Buffer, If, Kernel, Let, Loop, LoopKind, Store, Update, While

i = Index("i", 5)
n = Local("n", int32)


def test_statements():
    """Count how often a number can be halved or turned into 3n+1 before it is 1."""
    steps = Local("steps", int32)
    body = (
        Let(n, Load("x", (i,), int32)),
        Let(steps, Const(0, int32)),
        While(
            n > 1,
            (
                Let(odd := Local("odd", int32), n % 2),
                If(odd > 0, (Update(n, n * 3 + 1),)),
                If(odd < 1, (Update(n, n // 2),)),
                Update(steps, steps + 1),
            ),
        ),
        Store("y", (i,), steps),
    )
    kernel = Kernel(
        "collatz", {"x": Buffer(int32, (5,)), "y": Buffer(int32, (5,), written=True)}, (Loop(i, body),)
    )
    y = np.zeros(5, np.int32)
    interpret(kernel, {"x": np.array([1, 2, 3, 7, 27], np.int32), "y": y})
    assert y.tolist() == [0, 1, 7, 16, 111]


def test_results_are_rounded_after_every_operation():
    """256 + 1 is 256 in bfloat16, so the sum never grows; float32 throughout would give 261."""
    kernel = Kernel(
        "sum",
        {"x": Buffer(bfloat16, (6,)), "y": Buffer(bfloat16, (), written=True)},
        (Store("y", (), Reduce((Index("r", 6),), "add", Load("x", (Index("r", 6),), bfloat16))),),
    )
    y = np.zeros((), np.float32)
    interpret(kernel, {"x": np.array([256, 1, 1, 1, 1, 1], np.float32), "y": y})
    assert y == 256


def test_backwards_only_where_the_order_is_free():
    last = Store("y", (), Load("x", (i,), float32))
    buffers = {"x": Buffer(float32, (5,)), "y": Buffer(float32, (), written=True)}
    x, y = np.arange(5, dtype=np.float32), np.zeros((), np.float32)
    for kind, expected in ((LoopKind.SERIAL, 4), (LoopKind.SIMD, 0), (LoopKind.PARALLEL, 0)):
        interpret(Kernel("last", buffers, (Loop(i, (last,), kind),)), {"x": x, "y": y}, backwards=True)
        assert y == expected


def test_a_position_outside_its_buffer_is_an_error():
    kernel = Kernel(
        "k",
        {"y": Buffer(float32, (5,), written=True)},
        (Loop(i, (Store("y", (i - 1,), Const(1, float32)),)),),
    )
    with pytest.raises(IndexError, match=r"y\[-1\] is outside its shape \[5\]"):
        interpret(kernel, {"y": np.zeros(5, np.float32)})


def test_an_array_that_is_not_contiguous_is_refused():
    kernel = Kernel("k", {"y": Buffer(float32, (6,), written=True)}, ())
    with pytest.raises(ValueError, match="buffer 'y' is not contiguous"):
        interpret(kernel, {"y": np.zeros((3, 2), np.float32).T})
