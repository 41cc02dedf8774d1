from dataclasses import replace

import pytest

from staticgraph.compiler.graph.dtypes import bool_, float32, float64, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Index, Load, Local, Reduce, Scalar
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    Update,
    While,
)
from staticgraph.compiler.kernel.verify import KernelError, verify

i, j = Index("i", 4), Index("j", 6)
acc, t = Local("acc", float32), Local("t", float32)
zero, one = Const(0, float32), Const(1, float32)
BUFFERS = {"x": Buffer(float32, (4, 6)), "n": Buffer(int32, (4,)), "out": Buffer(float32, (4,), written=True)}
x = Load("x", (i, j), float32)


def kernel(*body: Stmt) -> Kernel:
    return Kernel("k", BUFFERS, body)


GOOD = (
    Loop(
        i,
        (
            Let(acc, zero),
            Loop(j, (Update(acc, acc + x, "add"),), LoopKind.SIMD),
            If(acc > 1.0, (Store("out", (i,), acc),)),
            While(acc > 0.0, (Update(acc, acc - 1.0),)),
        ),
    ),
)


def test_a_valid_kernel_passes():
    verify(kernel(*GOOD))


BAD = {
    "a local before its definition": (Loop(i, (Store("out", (i,), acc),)), "acc is not defined here"),
    "a local out of its scope": (
        (Loop(i, (Let(t, one),)), Loop(i, (Store("out", (i,), t),))),
        "t is not defined here",
    ),
    "an index without a loop": (Store("out", (i,), one), "i has no loop here"),
    "a name twice": ((Let(t, one), Let(t, zero)), "t is defined already"),
    "an index twice": (Loop(i, (Loop(i, ()),)), "i is defined already"),
    "an update of nothing": (Update(acc, one), "acc is not defined here"),
    "no such buffer": (Loop(i, (Store("y", (i,), one),)), "there is no buffer y"),
    "a store to an input": (Loop(i, (Loop(j, (Store("x", (i, j), one),)),)), "x is not a written buffer"),
    "the rank": (Loop(i, (Store("out", (i, i), one),)), "2 positions in out, which has rank 1"),
    "the dtype of a store": (
        Loop(i, (Store("out", (i,), Const(1, float64)),)),
        "float64 where float32 is needed",
    ),
    "the dtype of a load": (Loop(i, (Let(t, Load("n", (i,), float32)),)), "float32 where int32 is needed"),
    "the dtype of a position": (
        Let(t, Load("out", (Const(1, int32),), float32)),
        "int32 where int64 is needed",
    ),
    "the dtype of a local": (Let(t, Const(1, int32)), "int32 where float32 is needed"),
    "a condition": (If(one, ()), "float32 where bool is needed"),
    "above the axis": (Loop(i, (Store("out", (i + 1,), one),)), "i + 1 runs from 1 to 4"),
    "below the axis": (Loop(i, (Store("out", (i - 1,), one),)), "i - 1 runs from -1 to 2"),
    "a Reduce": (Loop(i, (Store("out", (i,), Reduce((j,), "add", x)),)), "a Reduce is left"),
    "a step that is none": (
        (Let(acc, zero), Loop(j, (Update(acc, one, "add"),))),
        "not a step of a reduction by add",
    ),
    "a step of another kind": (
        (Let(acc, zero), Loop(j, (Update(acc, acc * one, "add"),))),
        "reduction by add",
    ),
    "a step that reads the sum": ((Let(acc, zero), Update(acc, acc + acc, "add")), "reduction by add"),
    "lanes that assign": (
        (Let(acc, zero), Loop(j, (Update(acc, one),), LoopKind.SIMD)),
        "marked simd, but the update of acc is not a step of a reduction",
    ),
    "lanes that read the sum": (
        (Let(acc, zero), Loop(i, (Update(acc, acc + one, "add"), Store("out", (i,), acc)), LoopKind.SIMD)),
        "marked simd, but acc is read while it is being reduced",
    ),
    "lanes that meet": (
        Loop(i, (Store("out", (i // 2,), one),), LoopKind.PARALLEL),
        "marked parallel, but iterations may meet at one element of out",
    ),
    "lanes in lanes": (
        Loop(i, (Loop(j, (Let(t, x),), LoopKind.SIMD),), LoopKind.SIMD),
        "a SIMD loop inside a SIMD loop",
    ),
    "lanes that branch": (
        Loop(i, (If(i < 2, (Store("out", (i,), one),)),), LoopKind.SIMD),
        "it contains an If",
    ),
}


@pytest.mark.parametrize("body, expected", BAD.values(), ids=BAD)
def test_an_invalid_kernel_is_refused(body: Stmt | tuple[Stmt, ...], expected: str):
    with pytest.raises(KernelError) as caught:
        verify(kernel(*(body if isinstance(body, tuple) else (body,))))
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    "wrong, expected",
    [
        (Scalar("add", (one, Const(1, int32)), float32), "operands of float32, int32"),
        (Scalar("add", (one, one), int32), "the result is float32, not int32"),
        (Scalar("lt", (one, one), float32), "the result is bool, not float32"),
        (Scalar("add", (one,), float32), "1 operands instead of 2"),
        (Scalar("select", (one, one, one), float32), "the condition is float32"),
        (Scalar("exp", (Const(1, int32),), int32), "exp does not work on int32"),
        (Scalar("and", (one, one), float32), "and does not work on float32"),
        (Scalar("shl", (one, one), float32), "shl does not work on float32"),
        (Scalar("add", (Const(True, bool_),) * 2, bool_), "add does not work on bool"),
        (Scalar("bitcast", (one,), int64), "float32 and int64 differ in size"),
        (Scalar("cube", (one,), float32), "there is no primitive cube"),
    ],
)
def test_dtypes_of_operations_are_checked(wrong: Scalar, expected: str):
    with pytest.raises(KernelError, match=expected):
        verify(kernel(Let(Local("t", wrong.dtype), wrong)))


def test_the_message_names_the_statement():
    with pytest.raises(KernelError) as caught:
        verify(kernel(Loop(i, (Loop(j, (Store("out", (j,), scalar.exp(x)),)),))))
    assert str(caught.value) == (
        "kernel k: axis 0 of out has the positions 0..3, but j runs from 0 to 5, in\n"
        "    out[j] = exp(x[i, j])"
    )


def test_what_never_runs_may_be_out_of_bounds():
    nothing = Index("e", 0)
    verify(kernel(Loop(nothing, (Store("out", (nothing + 9,), one),))))
    verify(kernel(Loop(j, (If(j < 4, (Store("out", (j,), one),)),))))


def test_a_fresh_kernel_may_hold_reductions():
    fresh = kernel(Loop(i, (Store("out", (i,), Reduce((j,), "add", x)),)))
    verify(fresh, placed=False)
    with pytest.raises(KernelError, match="an axis twice"):
        verify(
            replace(fresh, body=(Store("out", (Const(0, int64),), Reduce((j, j), "add", one)),)), placed=False
        )
