"""Random small kernels mean the same when they are placed, scheduled, and run backwards where loops allow."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from staticgraph.compiler.graph.dtypes import DType, bool_, float64, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Reduce, free_indices
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.lower_expressions import place
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu.schedule import schedule
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.kernel.verify import verify
from tests.kernel.cases import filled, unplaced

EXTENTS = st.sampled_from([0, 1, 1, 2, 3, 4, 5])
NAMES = ("i0", "i1", "r", "s", "k0")


@st.composite
def positions(draw: st.DrawFn, extent: int, indices: list[Index]) -> Expr:
    """A position in an axis of `extent`: whatever is drawn is wrapped into the axis if it could leave it."""
    at: Expr = Const(draw(st.integers(0, 3)), Index("", 1).dtype)
    for index in draw(st.lists(st.sampled_from(indices), max_size=3)) if indices else []:
        at = at + index * draw(st.sampled_from([1, 1, 1, -1, 2, 3]))
    match draw(st.sampled_from(["plain", "div", "mod", "clamp"])):
        case "div":
            at = at // draw(st.integers(1, 4))
        case "mod":
            at = at % draw(st.integers(1, 4))
        case "clamp":
            return scalar.minimum(scalar.maximum(at, 0), extent - 1)
    if draw(st.booleans()) and (fitting := [i for i in indices if i.extent <= extent]):
        return draw(st.sampled_from(fitting))
    return at % extent


@st.composite
def values(
    draw: st.DrawFn, buffers: dict[str, Buffer], dtype: DType, indices: list[Index], depth: int
) -> Expr:
    kind = draw(
        st.sampled_from(["load", "load", "const", "index", "two", "two", "select", "reduce", "reduce"])
    )
    if depth == 0 or (kind == "load" and math.prod(b.size for b in buffers.values())):
        kind = "load" if all(b.size for b in buffers.values()) else "const"

    def operand(inside: list[Index] = indices) -> Expr:
        return draw(values(buffers, dtype, inside, depth - 1))

    match kind:
        case "load":
            name = draw(st.sampled_from(sorted(buffers)))
            return Load(name, tuple(draw(positions(n, indices)) for n in buffers[name].shape), dtype)
        case "index" if indices:
            return scalar.cast(draw(st.sampled_from(indices)), dtype)
        case "two":
            op = draw(st.sampled_from(["add", "sub", "mul", "minimum", "maximum"]))
            return scalar.read(op, operand(), operand())
        case "select":
            a, b = operand(), operand()
            if indices and draw(st.booleans()):
                condition = draw(st.sampled_from(indices)) < draw(st.integers(0, 5))
            else:
                condition = a < b
            assert condition.dtype is bool_
            return scalar.select(condition, a, b)
        case "reduce":
            axes = tuple(
                Index(n, draw(EXTENTS)) for n in draw(st.sampled_from([("r",), ("s",), ("r", "s"), ("k0",)]))
            )
            combine = draw(st.sampled_from(["add", "maximum", "minimum", "mul"]))
            visible = [i for i in indices if i.name not in {a.name for a in axes}] + list(axes)
            return Reduce(axes, combine, operand(visible))
    return Const(draw(st.integers(-3, 3)), dtype)


@st.composite
def programs(draw: st.DrawFn):
    dtype = draw(st.sampled_from([int32, int64, float64]))
    inputs = {
        name: Buffer(dtype, tuple(draw(st.lists(st.integers(1, 5), max_size=3))))
        for name in draw(st.sampled_from(["a", "ab"]))
    }
    domain = tuple(Index(f"i{n}", e) for n, e in enumerate(draw(st.lists(EXTENTS, max_size=3))))
    results, stores = {}, []
    for name in draw(st.sampled_from(["y", "y", "yz"])):
        # A result may leave out loops that its value does not read, and have its axes in any order.
        value = draw(values(inputs, dtype, list(domain), 3))
        needed = free_indices(value)
        kept = [i for i in domain if i in needed or i.extent == 0 or draw(st.booleans())]
        at = draw(st.permutations(kept))
        results[name] = Buffer(dtype, tuple(i.extent for i in at), written=True)
        stores.append(Store(name, tuple(at), value))
    return {**inputs, **results}, domain, tuple(stores)


@pytest.mark.takes_long
@settings(max_examples=150)
@given(programs(), st.sampled_from([16, 32, 64]))
def test_place_and_schedule_keep_the_meaning(program, vector_bytes: int):
    buffers, domain, stores = program
    arrays = filled(buffers)
    expected = {name: a.copy() for name, a in arrays.items()}
    interpret(unplaced("meaning", buffers, domain, stores), expected)
    placed = place("random", buffers, domain, stores)
    scheduled = schedule(placed, vector_bytes)
    for kernel, backwards in ((placed, False), (scheduled, False), (scheduled, True)):
        verify(kernel)
        found = {name: a.copy() for name, a in arrays.items()}
        interpret(kernel, found, backwards)
        for name in found:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, err_msg=kernel_text(kernel))
