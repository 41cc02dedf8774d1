import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from staticgraph.compiler.graph.dtypes import bool_, float32, int8, int32, int64
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Index,
    Load,
    Local,
    Scalar,
    free_indices,
    substitute,
    walk,
)
from staticgraph.compiler.kernel.indices.affine import Affine, affine, bounds, linear
from staticgraph.compiler.kernel.indices.index import offset, simplify_index
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.printer import expression_text
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Store

i, j, f = Index("i", 4), Index("j", 6), Index("f", 120)
at = Local("at", int64)
row = scalar.cast(Load("rows", (i,), int32), int64)


def value(expr: Expr, point: dict[Expr, Expr]) -> int:
    out = np.zeros((), np.int64)
    store = Store("out", (), substitute(expr, point))
    interpret(Kernel("value", {"out": Buffer(int64, (), written=True)}, (store,)), {"out": out})
    return int(out)


@pytest.mark.parametrize(
    "before, after",
    [
        ((i * 6 + j) // 6, "i"),
        ((i * 6 + j) % 6, "j"),
        ((i * 6 + j) // 3, "i * 2 + j // 3"),
        ((i * 6 + j) % 3, "j % 3"),
        (f // 4 // 3, "f // 12"),
        ((f * 6 + j) // 24, "f // 4"),
        ((f * 6 + j) % 24, "f % 4 * 6 + j"),
        ((f * 6 + i * 2 + 1) // 24, "(f * 3 + i) // 12"),
        (f % 12 % 4, "f % 4"),
        (f // 12 * 12 + f // 4 % 3 * 4 + f % 4, "f"),
        ((f // 12 * 12 + f // 4 % 3 * 4 + f % 4) // 10, "f // 10"),
        ((i * 4 + 130) // 2, "i * 2 + 65"),
        ((i * 2 + 1) % 4, "i % 2 * 2 + 1"),
        (3 - i, "3 - i"),
        (i - i, "0"),
        (j + i - j, "i"),
        (scalar.minimum(scalar.maximum(i, 0), 3), "i"),
        (scalar.minimum(i, 2), "minimum(i, 2)"),
        (scalar.select(i < 4, i, j), "i"),
        (scalar.select(i < 3, i, j), "select(i < 3, i, j)"),
        (scalar.select((i >= 0) & (j < 3), i, j), "select(j < 3, i, j)"),
        (scalar.cast(scalar.cast(f, int32), int64), "f"),
        (scalar.cast(scalar.cast(f, int32) * 128 + scalar.cast(j, int32), int64), "f * 128 + j"),
        (scalar.cast(scalar.cast(f, int8) - scalar.cast(j * 2, int8), int64), "f - j * 2"),
        (scalar.cast(scalar.cast(f, int8) * 2, int64), "int64(int8(f) * 2)"),  # may wrap around
        (row * 6 + j - j, "int64(rows[i]) * 6"),
        ((row * 6 + j) // 6, "int64(rows[i])"),
        (Load("x", (f // 4 * 4 + f % 4,), float32), "x[f]"),
        (Index("one", 1) + j, "j"),
        (-f // 120, "-f // 120"),
        (-f - i * 2 - 1, "-(i * 2) - f - 1"),
    ],
)
def test_simplified(before: Expr, after: str):
    assert expression_text(simplify_index(before)) == after


@st.composite
def index_expressions(draw: st.DrawFn, depth: int = 4) -> Expr:
    if depth == 0:
        return draw(st.sampled_from([i, j, Index("one", 1), Const(draw(st.integers(-7, 7)), int64)]))
    a = draw(index_expressions(depth - 1))
    match draw(st.sampled_from(["leaf", "add", "sub", "scale", "div", "mod", "min", "max", "select", "neg"])):
        case "add":
            return a + draw(index_expressions(depth - 1))
        case "sub":
            return a - draw(index_expressions(depth - 1))
        case "scale":
            return a * draw(st.integers(-6, 6))
        case "div":
            return scalar.read(draw(st.sampled_from(["floordiv", "truncdiv"])), a, draw(st.integers(1, 9)))
        case "mod":
            return scalar.read(draw(st.sampled_from(["floormod", "truncmod"])), a, draw(st.integers(1, 9)))
        case "min":
            return scalar.minimum(a, draw(index_expressions(depth - 1)))
        case "max":
            return scalar.maximum(a, draw(index_expressions(depth - 1)))
        case "select":
            compare = draw(st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]))
            b = draw(index_expressions(depth - 1))
            return scalar.select(scalar.read(compare, a, b), b, a)
        case "neg":
            return -a
    return a


@pytest.mark.takes_long
@given(index_expressions())
def test_simplification_keeps_every_value_and_bounds_hold(expr: Expr):
    simple = simplify_index(expr)
    low, high = bounds(expr)
    form = linear(expr)
    for a, b in itertools.product(range(i.extent), range(j.extent)):
        point: dict[Expr, Expr] = {i: Const(a, int64), j: Const(b, int64), Index("one", 1): Const(0, int64)}
        expected = value(expr, point)
        assert value(simple, point) == expected
        assert value(form.expr, point) == expected
        assert low <= expected <= high


@given(index_expressions())
def test_simplification_is_done_at_once(expr: Expr):
    simple = simplify_index(expr)
    assert free_indices(simple) <= free_indices(expr)
    if not any(isinstance(e, Scalar) and e.op not in ("add", "sub", "mul", "neg") for e in walk(expr)):
        assert simplify_index(simple) is simple


def test_affine_forms():
    assert affine(i * 6 + j + 2) == Affine({i: 6, j: 1}, 2)
    assert affine(i // 2) is None
    assert affine(row) is None
    assert linear(row * 6 + j) == Affine({row: 6, j: 1})


def test_offset_of_an_element():
    assert offset(Buffer(float32, (4, 6)), (i, 5 - j)) == Affine({i: 6, j: -1}, 5)
    assert offset(Buffer(float32, ()), ()) == Affine({})


def test_strides():
    form = offset(Buffer(float32, (9, 6)), (row, j))
    assert form.stride(j) == 1
    assert form.stride(i) is None  # the row is loaded from a place that depends on i
    assert form.stride(f) == 0
    assert linear(f // 2).stride(f) is None
    assert linear(f * 3).stride(f) == 3
    assert linear(at).stride(f) == linear(at // 2).stride(f) == 0
    assert linear(at).stride(f, {at}) is linear(at // 2).stride(f, {at}) is None  # both vary with it


def test_ranges_of_what_is_not_known():
    assert bounds(Load("n", (), int64)) == (-float("inf"), float("inf"))
    assert bounds(scalar.maximum(Load("n", (), int64), 0)) == (0, float("inf"))
    assert bounds(Load("n", (), int32)) == (-(2**31), 2**31 - 1)
    assert bounds(scalar.cast(Load("n", (), bool_), int64)) == (0, 1)
    size = symbol("size")  # may be 0, which times anything is 0
    assert Affine({Load("n", (), int64): size}).range == (-float("inf"), float("inf"))
    assert Affine({scalar.maximum(Load("n", (), int64), 0): size}).range == (0, float("inf"))
    # A sum of narrow integers may wrap.
    assert bounds(Load("n", (), int32) + Const(1, int32)) == (-(2**31), 2**31 - 1)


def test_sums_with_neutral_numbers_are_not_made():
    assert i * 1 is i
    assert 1 * i + 0 is i
    assert 0 + i - 0 is i
    number = Load("x", (i,), float32)
    assert number + 0 is not number  # -0.0 + 0 is 0.0
    zero, one = Const(0, int64), Const(1, int64)
    made = Scalar("add", (zero, Scalar("mul", (one, i), int64)), int64)
    assert simplify_index(made) is i
    assert simplify_index(Scalar("mul", (zero, i), int64)) is zero
    assert simplify_index(Scalar("sub", (zero, i), int64)) is not i
    assert value(simplify_index(Scalar("sub", (one, Const(3, int64)), int64)), {}) == -2
