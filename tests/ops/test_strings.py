"""Ops that take strings: they move them as they move numbers, and compare and join them."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.opdef import Effect, OpDef
from tests.ops.harness import TESTED, as_tuple, dtype_choices, tensor_params, uses

OTHERS = {
    "add",
    "equal",
    "not_equal",
    "scatter_nd",
    "tensor_array_grow",
    "zeros_like",
}  # they do more than move
MOVING = [op for op in TESTED if op.strings and op.effect is Effect.PURE and op.name not in OTHERS]


def names(array: np.ndarray) -> np.ndarray:
    """A string for each number."""
    out = np.empty(array.shape, object)
    out.reshape(-1)[:] = [f"{v:.9g}".encode() for v in array.flat]
    return out


@pytest.mark.takes_long
@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in MOVING])
def test_strings_go_where_numbers_go(op: OpDef):
    for use in uses(op, next(dtype_choices(op))):
        letters = [p.var for p, n in tensor_params(op, len(use.arrays)) for _ in range(n)]
        moved = [var == "T" for var in letters]
        numbers = [sg.placeholder(d, a.shape) for a, d in zip(use.arrays, use.dtypes, strict=True)]
        texts = [
            sg.placeholder(string, a.shape) if m else x
            for a, m, x in zip(use.arrays, moved, numbers, strict=True)
        ]
        feeds = dict(zip(numbers, use.arrays, strict=True))
        feeds |= {t: names(a) for t, a, m in zip(texts, use.arrays, moved, strict=True) if m}
        wanted, made = as_tuple(use.call(numbers)), as_tuple(use.call(texts))
        assert [t.type.shape for t in made] == [t.type.shape for t in wanted]
        with sg.Session() as sess:
            try:
                results = [np.asarray(want) for want in sess.run(wanted, feeds)]
            except sg.errors.InvalidArgumentError:  # an index is out of range
                with pytest.raises(sg.errors.InvalidArgumentError, match=r"is not in|does not index"):
                    sess.run(made, feeds)
                continue
            for want, got in zip(results, sess.run(made, feeds), strict=True):
                np.testing.assert_array_equal(np.asarray(got, object), names(want))


def test_there_are_such_ops():
    assert len(MOVING) >= 15


def test_arithmetic_refuses_strings():
    with pytest.raises(TypeError, match="must be"):
        ops.multiply(sg.constant("a"), sg.constant("b"))
