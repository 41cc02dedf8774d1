"""Elements that are zero outside of an array."""

import pytest

from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.contraction import analyse
from staticgraph.compiler.kernel.expr import Const, Index, Load, Reduce
from staticgraph.compiler.kernel.indices.affine import affine
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.predicated_loads import padded_load, unpadded
from staticgraph.compiler.kernel.stmt import Buffer, Store

ROW, COLUMN, TAP = Index("i", 6), Index("j", 5), Index("t", 3)
BUFFERS = {"x": Buffer(float32, (6, 5))}


def element(*at):
    return padded_load(lambda place: Load("x", place, float32), at, (6, 5))


def test_a_position_that_is_always_inside_is_not_tested():
    assert element(ROW, COLUMN) == Load("x", (ROW, COLUMN), float32)


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 4])
def test_what_is_written_is_recognised_also_when_simplified(shift):
    place = ROW + TAP + shift
    load, inside = unpadded(simplify_index(element(place, COLUMN)), BUFFERS)
    assert [affine(p) for p in load.at] == [affine(place), affine(COLUMN)]
    assert [(x.place, x.extent) for x in inside] == [(affine(place), 6)]


def test_an_array_without_elements_is_zeros():
    """No position is in it: a selection would still have one, and be refused."""
    made = padded_load(lambda place: Load("x", place, float32), (ROW + TAP - 1, COLUMN), (0, 5))
    assert made == Const(0, float32)


def test_both_axes():
    load, inside = unpadded(element(ROW + TAP - 1, COLUMN - TAP), BUFFERS)
    assert [affine(p) for p in load.at] == [affine(ROW + TAP - 1), affine(COLUMN - TAP)]
    assert [x.extent for x in inside] == [6, 5]


def test_other_selections_are_none():
    load = Load("x", (ROW, COLUMN), float32)
    clamped = Load("x", (scalar.minimum(ROW + TAP, 5), COLUMN), float32)
    zero, one = Const(0, float32), Const(1, float32)
    assert unpadded(scalar.select(scalar.lt(ROW + TAP, 6), clamped, one), BUFFERS) is None
    assert unpadded(scalar.select(scalar.lt(ROW + TAP, 5), clamped, zero), BUFFERS) is None
    assert unpadded(scalar.select(scalar.eq(ROW, COLUMN), load, zero), BUFFERS) is None
    assert unpadded(clamped, BUFFERS)[0] is clamped


def test_a_contraction_knows_the_limits_of_its_sum():
    q, o, c, v = Index("q", 12), Index("o", 4), Index("c", 7), Index("v", 3)
    buffers = {
        "x": Buffer(float32, (12, 7)),
        "w": Buffer(float32, (3, 7, 4)),
        "y": Buffer(float32, (12, 4), True),
    }
    seen = padded_load(lambda at: Load("x", at, float32), (q + v - 1, c), (12, 7))
    total = Reduce((v, c), "add", seen * Load("w", (v, c, o), float32))
    found = analyse((q, o), (Store("y", (q, o), total),), buffers)
    (limit,) = found.limits
    assert (limit.k.extent, limit.place.extent) == (3, 12)
    assert [limit.span(limit.offset + q) for q in (0, 1, 10, 11)] == [(1, 3), (0, 3), (0, 3), (0, 2)]
    assert limit.span(-9) == (3, 3)
