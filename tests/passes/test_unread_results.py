"""Positions of the best that nothing reads are not computed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.checks.verify import verify
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.passes.expand import _SAVES, expand
from staticgraph.compiler.passes.unread_results import VECTORS


def ascending(x):
    return (-ops.top_k(-x, k=9)[0],)


def complements(x):
    return (ops.invert(ops.top_k(ops.invert(x), k=9)[0]),)


MAKE = {
    "values": ("float32", lambda x: (ops.top_k(x, k=9)[0],), {"top_values": 1}),
    "ascending": ("float32", ascending, {"top_values": 1}),
    "complements": ("int32", complements, {"top_values": 1}),
    "both": (
        "float32",
        lambda x: (*ops.top_k(x, k=9), -ops.top_k(-x, k=9)[0]),
        {"top_k": 1, "top_values": 1},
    ),
    "opposite of values": ("float32", lambda x: (-ops.top_k(x, k=9)[0],), {"top_values": 1, "negative": 1}),
    "up and down": (
        "float32",
        lambda x: (ops.top_k(-x, k=9)[0], -ops.top_k(-x, k=9)[0]),
        {"top_values": 2, "negative": 1},
    ),
    "positions": ("float32", lambda x: (ops.top_k(x, k=9)[1],), {"top_k": 1}),
    "a few": ("float32", lambda x: (ops.top_k(x, k=1)[0],), {"top_k": 1}),
}


@pytest.mark.parametrize("name", MAKE)
def test_only_what_is_read_is_computed(name: str, rng: np.random.Generator):
    dtype, make, left = MAKE[name]
    build = Builder()
    x = build.parameter("x", dtype, (4, 9))
    function = Function((x,), make(x))
    made = expand(function)
    verify(made)
    assert Counter(node.op.name for node in made.nodes) == {"parameter": 1, **left}
    values = {x: rng.integers(-5, 5, (4, 9)).astype(dtype)}
    if dtype == "float32":
        values[x][:2, ::3] = np.nan, -0.0, -np.inf
    for before, after in zip(interpret(function, values), interpret(made, values), strict=True):
        assert before.tobytes() == after.tobytes()


DECOMPOSE = {
    "values": (lambda x: (ops.self_adjoint_eig(x)[0],), {"compute_v": [False]}),
    "vectors": (lambda x: (ops.self_adjoint_eig(x)[1],), {"compute_v": [True]}),
    "values and vectors": (lambda x: ops.self_adjoint_eig(x), {"compute_v": [True]}),
    "singular values": (lambda x: (ops.svd(x)[0],), {"compute_uv": [False]}),
    "right vectors": (lambda x: (ops.svd(x)[2],), {"compute_uv": [True]}),
    "of a tall matrix": (lambda x: (ops.svd(x[:, :3])[0],), {"compute_uv": [False]}),
}


@pytest.mark.parametrize("name", DECOMPOSE)
def test_vectors_that_nothing_reads_are_not_computed(name: str, rng: np.random.Generator):
    make, wanted = DECOMPOSE[name]
    build = Builder()
    x = build.parameter("x", "float64", (5, 5))
    function = Function((x,), tuple(make(x)))
    made = expand(function)
    verify(made)
    for attribute, found in wanted.items():
        assert [node.attrs[attribute] for node in made.nodes if attribute in node.attrs] == found
    array = rng.normal(size=(5, 5))
    values = {x: array + array.T}
    for before, after in zip(interpret(function, values), interpret(made, values), strict=True):
        np.testing.assert_allclose(before, after, rtol=0, atol=1e-12)


def test_the_pass_is_called_for_the_operations_that_it_is_about():
    assert {"top_k", *VECTORS} == _SAVES
