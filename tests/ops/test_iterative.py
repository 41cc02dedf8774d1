"""Functions by series and continued fractions, compiled: exact, in vector lanes, the same bits everywhere."""

from pathlib import Path

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.expr import Const, Index, Load, Local
from staticgraph.compiler.kernel.loops.dependence import obstacle
from staticgraph.compiler.kernel.stmt import Buffer, Let, Loop, Store, Update, While
from tests.sessions import computed

RECORDED = np.load(Path(__file__).with_name("special.npz"))  # by tools/record/special.py
GAMMA = (ops.igamma, ops.igammac, ops.igamma_grad_a)


@pytest.mark.parametrize("column", [0, 1, 2], ids=["P", "Q", "dP/da"])
@pytest.mark.parametrize(("dtype", "most"), [("float64", 1e-13), ("float32", 0.6 * 2.0**-23)])
def test_incomplete_gamma_functions_are_exact(column, dtype, most):
    a, x = RECORDED["a"].astype(dtype), RECORDED["x"].astype(dtype)
    wanted = RECORDED["gamma"][:, column]
    if dtype == "float32":
        wanted = GAMMA[column].reference(a.astype(np.float64), x.astype(np.float64))
    known = np.abs(wanted) > 1e-20
    assert known.sum() > 200
    np.testing.assert_allclose(computed(GAMMA[column], a, x)[known], wanted[known], rtol=most)


@pytest.mark.takes_long
@pytest.mark.parametrize("op", GAMMA, ids=lambda op: op.name)
def test_ends_and_arguments_outside(op):
    ends = np.array([-1.0, -0.0, 0.0, 1e-300, 0.5, 30.0, 1e10, 1e300, np.inf, -np.inf, np.nan])
    a, x = (each.ravel() for each in np.meshgrid(ends, ends))
    with np.errstate(all="ignore"):
        wanted = op.reference(a, x)
    np.testing.assert_allclose(computed(op, a, x), wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.takes_long
@pytest.mark.parametrize("op", GAMMA, ids=lambda op: op.name)
def test_bits_depend_on_no_neighbour_and_on_no_number_of_threads(op, monkeypatch):
    a, x = (np.tile(RECORDED[name], 300) for name in ("a", "x"))
    alone = np.concatenate([computed(op, a[k : k + 7], x[k : k + 7]) for k in range(0, 35, 7)])
    found = computed(op, a, x)
    np.testing.assert_array_equal(found[:35].view(np.int64), alone.view(np.int64))
    monkeypatch.setenv("SG_THREADS", "1")
    np.testing.assert_array_equal(computed(op, a, x).view(np.int64), found.view(np.int64))


def test_a_loop_runs_in_lanes_if_those_inside_it_touch_no_memory():
    i, total = Index("i", 8), Local("total", float32)
    buffers = {"x": Buffer(float32, (8,)), "y": Buffer(float32, (8,), written=True)}
    start, store = Let(total, Load("x", (i,), float32)), Store("y", (i,), total)
    for step, lanes in ((total + 1.0, True), (total + Load("x", (i,), float32), False)):
        body = start, While(total < Const(9.0, float32), (Update(total, step),)), store
        assert (obstacle(Loop(i, body), buffers) is None) == lanes
    outside = (
        Let(total, Const(0.0, float32)),
        While(total < Const(9.0, float32), (Update(total, total + 1.0),)),
    )
    assert obstacle(Loop(i, outside[1:]), buffers) is not None  # a loop that all iterations continue


def arguments(name):
    """Arguments over the range of a function, and those where it ends."""
    rng = np.random.default_rng(3)
    ends = np.array([-3.0, -2.5, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 1e300, np.inf, -np.inf, np.nan])
    pairs = [each.ravel() for each in np.meshgrid(ends, ends)]
    match name:
        case "zeta":
            return [
                np.r_[rng.uniform(1.01, 40, 300), pairs[0]],
                np.r_[10 ** rng.uniform(-3, 3, 300), pairs[1]],
            ]
        case "polygamma":
            return [np.r_[rng.integers(0, 8, 300), pairs[0]], np.r_[10 ** rng.uniform(-2, 3, 300), pairs[1]]]
        case "betainc":
            shares = np.r_[
                rng.uniform(0, 1, 300), np.resize([-1.0, 0.0, 0.3, 1.0, 2.0, np.nan], len(ends) ** 2)
            ]
            return [np.r_[10 ** rng.uniform(-2, 2, 300), p] for p in pairs] + [shares]
    return [np.r_[10 * rng.normal(size=300), 1e-300, ends]]


@pytest.mark.takes_long
@pytest.mark.parametrize("name", ["zeta", "polygamma", "betainc", "bessel_i0e", "bessel_i1e"])
@pytest.mark.parametrize(("dtype", "most"), [("float64", 5e-12), ("float32", 0.6 * 2.0**-23)])
def test_other_functions_equal_their_meaning(name, dtype, most):
    op = getattr(ops, name)
    with np.errstate(all="ignore"):
        arrays = [a.astype(dtype) for a in arguments(name)]
        wanted = op.reference(*(a.astype(np.float64) for a in arrays)).astype(dtype)
    if name.startswith("bessel") and dtype == "float32":
        most = 2.0**-23  # docs/accuracy.md: one unit in the last place
    np.testing.assert_allclose(computed(op, *arrays), wanted, rtol=most, atol=1e-37)


def test_zeta_far_below_zero_ends():
    assert np.isnan(computed(ops.zeta, np.array([2.0]), np.array([-1e9 - 0.5])))
