"""Proofs that kernels stay in their buffers: what is proven, what is refused, and what is clamped."""

from typing import Any

import pytest

from staticgraph.compiler.capture.guards import Answers
from staticgraph.compiler.graph.dtypes import bool_, float32, int32, int64, uint32
from staticgraph.compiler.graph.size_contexts import answering
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Load, Local, Reduce
from staticgraph.compiler.kernel.form import Scan, Selection, StagedForm
from staticgraph.compiler.kernel.indices.in_bounds import OutOfBoundsError, in_bounds
from staticgraph.compiler.kernel.printer import statement_text
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, Span, Stmt, Store, Update, While
from staticgraph.compiler.lower.routine_forms import is_proven as form_is_proven

i, j = Index("i", 4), Index("j", 6)
at, other = Local("at", int64), Local("other", int64)
value = Local("value", float32)
BUFFERS = {
    "x": Buffer(float32, (4,)),
    "n": Buffer(int64, (4,), written=True),
    "m": Buffer(int32, (4,)),
    "out": Buffer(float32, (4,), written=True),
}
one = Const(1, float32)


def x(place: Expr) -> Load:
    return Load("x", (place,), float32)


def n(place: Expr) -> Load:
    return Load("n", (place,), int64)


def store(place: Expr, value: Expr = one) -> Store:
    return Store("out", (place,), value)


def is_proven(*body: Stmt) -> bool:
    """Return True if nothing is clamped: the body is given back as it is."""
    return in_bounds(body, BUFFERS) is body


CLAMPED = scalar.minimum(scalar.maximum(n(i), 0), 3)


@pytest.mark.parametrize(
    "body",
    [
        Loop(i, (store(i, x(i)),)),
        Loop(i, (store(i, x((i * 3 + 2) // 4)),)),
        Loop(i, (store(i, x(CLAMPED)),)),
        Loop(i, (If((n(i) >= 0) & (n(i) < 4), (store(n(i)),)),)),
        Loop(i, (Let(at, CLAMPED), If(at > 0, (store(at - 1),)))),
        Loop(i, (store(i, Reduce((Index("none", 0),), "add", x(j + 9))),)),
        Loop(Index("none", 0), (store(j + 9),)),
        Loop(i, (store(scalar.minimum(scalar.maximum(i - 1, 1 - i), 2)),)),
    ],
    ids=["affine", "quotient", "clamp", "condition", "local", "empty sum", "empty loop", "mirror"],
)
def test_proven(body: Stmt):
    assert is_proven(body)


def test_a_sequence_that_is_reversed():
    """The difference of the two is what the condition is about."""
    length = scalar.minimum(n(i), 6)
    wide = {**BUFFERS, "x": Buffer(float32, (6,))}
    place = scalar.select(j < length, length - j - 1, j)
    body = (Loop(i, (Loop(j, (store(i, x(place)),)),)),)
    assert in_bounds(body, wide) is body


def test_a_loop_that_counts_until_a_condition():
    step = (If(one > 0.0, (store(at), Update(at, at + 1))),)
    assert is_proven(Let(at, Const(0, int64)), While(at < 4, step))


def test_a_hole_that_sinks_in_a_heap():
    """The next index is no larger than the condition lets pass."""
    child = scalar.minimum(other, 3)
    step = (Update(at, child), store(at), Update(other, other * 2 + 1))
    assert is_proven(Let(at, Const(0, int64)), Let(other, Const(1, int64)), While(other < 4, step), store(at))


@pytest.mark.parametrize("place", [i - 1, i + 1, j, i * 2, Const(4, int64), Const(-1, int64)])
def test_refused(place: Expr):
    with pytest.raises(OutOfBoundsError, match=r"axis 0 of x has the positions 0\.\.3, but .* runs from"):
        in_bounds((Loop(i, (Loop(j, (store(i, x(place)),)),)),), BUFFERS)
    with pytest.raises(OutOfBoundsError, match="axis 0 of out"):
        in_bounds((Loop(i, (Loop(j, (store(place),)),)),), BUFFERS)


@pytest.mark.parametrize(
    "body",
    [
        Loop(i, (store(n(i)),)),
        Loop(i, (If(n(i) < 4, (store(n(i)),)),)),
        Loop(i, (If(n(i) >= 0, (store(n(i) + 1),)),)),
        Loop(i, (If((n(i) >= 0) & (n(i) < 4), (Store("n", (i,), Const(9, int64)), store(n(i)))),)),
        Loop(i, (Let(at, n(i)), If((at >= 0) & (at < 4), (Update(at, n(i)), store(at))))),
        While(one > 0.0, (store(at), Update(at, at + 1))),
        Loop(i, (store(i, x(scalar.minimum(scalar.maximum(n(i), 0) + 1, 3))),)),
        Loop(i, (If(n(i) + 1 < 4, (If(n(i) >= 0, (store(n(i)),)),)),)),
        Loop(i, (If(i < 2, (store(j),)),)),
        While(x(at) > 0.0, (Update(at, at + 1),)),
        Loop(i, (If(x(n(i)) > 0.0, (store(i),)),)),
        Loop(i, (Let(value, x(n(i))), store(i))),
        Loop(i, (Let(value, one), Update(value, x(n(i))), store(i))),
        Loop(i, (store(i, Reduce((Index("none", 0),), "add", x(j)) + x(n(i))),)),
    ],
    ids=[
        "data",
        "half a condition",
        "a sum after the condition",
        "changed in memory",
        "changed",
        "without end",
        "a sum that overflows",
        "a condition that overflows",
        "guarded by another",
        "in the condition of a loop",
        "in a condition",
        "in what is given a name",
        "in what is assigned",
        "beside an empty sum",
    ],
)
def test_clamped(body: Stmt):
    made = in_bounds((Let(at, Const(0, int64)), Loop(j, (body,))), BUFFERS)
    assert "minimum(maximum(" in "".join(map(statement_text, made))


@pytest.mark.parametrize("step", [1, -1, 7, -7])
@pytest.mark.parametrize("condition", [one > 0.0, other < 9], ids=["data", "another counter"])
def test_a_counter_without_end_leaves_a_large_buffer_on_either_side(step: int, condition: Expr):
    """However many of its iterations are followed: the range that they have is widened until it holds."""
    wide = {"out": Buffer(float32, (1000,), written=True)}
    round = While(condition, (store(at), Update(at, at + step)))
    [*_, made] = in_bounds((Let(other, Const(0, int64)), Let(at, Const(500, int64)), round), wide)
    assert "out[minimum(maximum(at, 0), 999)]" in statement_text(made)


def test_a_buffer_without_elements_has_none_to_read_instead():
    """There is no memory at its position 0, either."""

    def without(name: str, stmt: Stmt) -> list[str]:
        none = {**BUFFERS, name: Buffer(float32, (0,), written=True)}
        return [*map(statement_text, in_bounds((Loop(i, (stmt,)),), none))]

    assert without("x", store(i, x(n(i)) + one)) == [
        statement_text(Loop(i, (store(i, Const(0, float32) + one),)))
    ]
    assert without("out", store(n(i))) == [
        statement_text(Loop(i, (If(Const(False, bool_), (store(n(i)),)),)))
    ]


def test_an_axis_of_an_open_size_is_asked_for_an_element():
    """One that has some is clamped to them: zeros are read in place of those that are not there alone."""
    size = symbol("size")
    open_buffers = {**BUFFERS, "x": Buffer(float32, (size,))}
    body = (Loop(i, (store(i, x(n(i))),)),)
    for elements, text in ((5, "out[i] = x[minimum(maximum(n[i], 0), size - 1)]"), (0, "out[i] = 0")):
        with answering(Answers({"size": elements})):
            [made] = in_bounds(body, open_buffers)
        assert text in statement_text(made)


def test_the_clamp():
    [made] = in_bounds((Loop(i, (store(n(i), x(n(i))),)),), BUFFERS)
    place = scalar.minimum(scalar.maximum(n(i), 0), 3)
    [stored] = made.body
    assert (stored.at, stored.value) == ((place,), x(place))


def selection(place: Expr) -> Selection:
    key = scalar.bitcast(x(place), uint32)
    return Selection("out", "n", (), i, x(place), key, 4)


@pytest.mark.parametrize(
    ("place", "proven"), [(i, True), (3 - i, True), (n(i), False), (i + 1, False)], ids=str
)
def test_a_form_is_proven_by_what_it_reads(place: Expr, proven: bool):
    """Whatever its kernel's loops read."""
    total = Scan("out", (i,), 0, x(place), value, Local("other value", float32), value)
    for form in (
        selection(place),
        total,
        StagedForm((selection(place),), {}),
        StagedForm(((Loop(i, (store(place),)),),), {}),
    ):
        assert form_is_proven(form, BUFFERS) is proven


@pytest.mark.parametrize(("rows", "proven"), [(3, True), (4, False)])
@pytest.mark.parametrize("lanes", [symbol("m"), 16], ids=["open", "known"])
def test_two_conditions_together_prove_a_place(lanes: Any, rows: int, proven: bool):
    """`at + 3 * width <= m` and `i < width`: then `at + 2 * width + i` is below m."""
    m, width, at = symbol("m") + 1, Local("width", int64), Local("at", int64)
    i = Index("i", lanes)
    most = Extent(m)

    def clamped(value: Expr) -> Expr:
        return scalar.minimum(scalar.maximum(value, 0), most)

    place = at + width * (rows - 1) + i
    inner = Loop(i, (Store("out", (place,), one),), share=Span(Const(0, int64), width))
    body = (
        Let(width, clamped(n(Const(0, int64)))),
        Let(at, clamped(n(Const(1, int64)))),
        If(at + width * 3 <= most, (inner,)),
    )
    buffers = {"n": Buffer(int64, (2,)), "out": Buffer(float32, (m,), written=True)}
    assert (in_bounds(body, buffers) is body) == proven
