"""Views of a region: its captures, and what the operation that it is a part of must fit."""

from __future__ import annotations

import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.tensor import Region, may_use, regions_of, whole, with_inner


def test_regions_use_what_is_around_them():
    outer = Region(None)
    inner, other = Region(outer), Region(outer)
    assert inner.around == [inner, outer]
    seen = {(a, b) for a in (None, outer, inner, other) for b in (None, outer, inner, other) if may_use(a, b)}
    assert seen == {
        (None, None),
        (outer, None),
        (outer, outer),
        (inner, None),
        (inner, outer),
        (inner, inner),
        (other, None),
        (other, outer),
        (other, other),
    }


def names(items) -> list[str]:
    return [getattr(item, "op", item).name for item in items]


def test_captures_are_tensors_and_operations_of_the_world_outside():
    x, y, unused = (sg.placeholder(sg.float32, [], name=name) for name in ("x", "y", "unused"))
    before, beside = sg.no_op(name="before"), sg.no_op(name="beside")
    region = Region(None)
    with get_default_graph().inside(region):
        with sg.control_dependencies([before]):
            product = sg.multiply(x, 2.0, name="product")
        with sg.control_dependencies([beside]):
            sg.negative(unused, name="dead")
    region.results = (product, y)
    assert names(region.operations()) == ["product/y", "product"]
    tensors, controls = region.captures()
    assert (names(tensors), names(controls)) == (["x", "y"], ["before"])


def test_operations_that_are_wanted_too():
    region = Region(None)
    with get_default_graph().inside(region):
        first, second = sg.constant(1.0, name="first"), sg.constant(2.0, name="second")
        both = sg.add(first, second, name="both")
    region.results = (first,)
    assert names(region.operations()) == ["first"]
    assert names(region.operations((both.op,))) == ["first", "second", "both"]


def test_the_operations_of_a_loop_are_found_at_any_depth():
    x = sg.placeholder(sg.float32, [], name="x")
    y = sg.while_loop(
        lambda y, unused: y < 9, lambda y, unused: (sg.cond(y > 1, lambda: sg.exp(y), lambda: y), 1), [x, 0]
    )[0]
    loop = y.op.inputs[0].op
    found = with_inner([loop])
    assert {op.type for op in found} == {"While", "If", "Exp", "Greater", "Less", "Const", "Identity"}
    params = {p.op for region in regions_of(loop) for p in region.params}
    assert params - set(found)  # those that nothing uses
    assert set(whole([loop])) == set(found) | params
    assert [op.id for op in whole([loop])] == sorted(op.id for op in whole([loop]))


def test_regions_fit_what_holds_them():
    x = sg.placeholder(sg.float32, [], name="x")
    cond, body = Region(None), Region(None)
    for region in (cond, body):
        with get_default_graph().inside(region):
            region.params = (ops.region_parameter(dtype=sg.float32, shape=()),)
    with get_default_graph().inside(cond):
        cond.results = (cond.params[0] < 1.0,)
    body.results = (x,)
    ops.while_region([x], cond=cond, body=body)
    body.results = (x, x)
    with pytest.raises(sg.errors.ShapeError, match="the body gives"):
        ops.while_region([x], cond=cond, body=body)
    body.results = (sg.cast(x, sg.int32),)
    with pytest.raises(sg.errors.ShapeError, match="the body gives"):
        ops.while_region([x], cond=cond, body=body)
    body.results = (x,)
    with pytest.raises(sg.errors.ShapeError, match="the loop gets"):
        ops.while_region([sg.constant(1)], cond=cond, body=body)
    with pytest.raises(sg.errors.ShapeError, match="chooses no branch"):
        ops.branch_region(x, [], branches=(Region(None),))
