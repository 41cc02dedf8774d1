"""Derivatives as operations of the graph, and as one that the compiler expands: the same numbers."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import GradientError
from staticgraph.compiler.graph.opdef import Effect, OpDef
from staticgraph.differentiation import backward
from tests.ops.harness import TESTED, Use, dtype_choices, uses

FORMULAS = [op for op in TESTED if op.grad_takes is not None and op.effect is Effect.PURE]


@pytest.fixture
def in_graph(monkeypatch):
    """Sets the way in which derivatives are made."""
    return lambda on: monkeypatch.setattr(backward, "IN_GRAPH", on)


def derivatives(ys, xs, weights):
    """The first derivatives, and the second ones."""
    first = [g for g in sg.gradients(ys, xs, weights) if g is not None]
    known = [sg.convert_to_tensor(g) for g in first]
    try:
        sums = [sg.reduce_sum(sg.square(g)) for g in known]
        second = sg.gradients(sums, [*xs, *weights], unconnected_gradients="zero") if known else []
    except GradientError:
        second = []
    return first, second


def told(operations) -> list[str]:
    return [op.name for op in operations if op.definition.name == "symbolic_gradients"]


@pytest.mark.parametrize("open_sizes", [False, True], ids=["known sizes", "open sizes"])
@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in FORMULAS])
def test_of_an_op(op: OpDef, open_sizes: bool, in_graph):
    for use in uses(op, next(dtype_choices(op))):
        compare(use, open_sizes, in_graph)


def compare(use: Use, open_sizes: bool, in_graph) -> None:
    rng = np.random.default_rng(0)
    with sg.Graph().as_default() as graph, sg.Session() as session:
        shapes = [[None] * a.ndim if open_sizes else a.shape for a in use.arrays]
        inputs = [sg.placeholder(d, s) for d, s in zip(use.dtypes, shapes, strict=True)]
        feeds = dict(zip(inputs, use.arrays, strict=True))
        ys = [y for y in use.call(inputs) if y.dtype.is_differentiable]
        xs = [x for x in inputs if x.dtype.is_differentiable]
        if not ys or not xs or any(y.shape.ndims is None for y in ys):
            return
        values = session.run(ys, feeds)
        weights = [sg.placeholder(y.dtype, y.shape) for y in ys]
        feeds |= {w: rng.normal(size=v.shape).astype(v.dtype) for w, v in zip(weights, values, strict=True)}
        in_graph(False)
        wanted = derivatives(ys, xs, weights)
        before = graph.version
        in_graph(True)
        made = derivatives(ys, xs, weights)
        names = told(graph.get_operations()[before:])
        assert all("/gradients" in name for name in names), "those of first derivatives are plain operations"
        [first, second], [expected, more] = session.run(made, feeds), session.run(wanted, feeds)
        for one, other in zip(first, expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=str(use), strict=True)
        for one, other in zip(second, more, strict=True):  # products may be fused with another sum of two
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=str(use))
