"""Operations with hundreds of inputs: trees that give the same bits, and kernels of bounded size."""

from __future__ import annotations

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.checks.verify import verify
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.passes.expand import MOST_INPUTS, expand

MAKE = {
    "add_n": ops.add_n,
    "concat": lambda xs: ops.concat(xs, axis=0),
    "concat of columns": lambda xs: ops.concat(xs, axis=-1),
    "stack": lambda xs: ops.stack(xs, axis=0),
    "stack of columns": lambda xs: ops.stack(xs, axis=1),
}


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("count", [MOST_INPUTS, MOST_INPUTS + 1, 3 * MOST_INPUTS + 5])
def test_trees_give_the_same_bits(name: str, count: int, rng: np.random.Generator):
    build = Builder()
    xs = [build.parameter(f"x{n}", "float32", (2, 3)) for n in range(count)]
    function = Function(tuple(xs), (MAKE[name](xs),))
    narrow = expand(function)
    verify(narrow)
    assert (narrow is function) == (count <= MOST_INPUTS)
    assert max(len(node.inputs) for node in narrow.nodes) <= MOST_INPUTS
    values = {x: rng.normal(size=(2, 3)).astype(np.float32) for x in xs}
    (before,), (after,) = interpret(function, values), interpret(narrow, values)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", MAKE)
def test_no_kernel_has_more_buffers_than_twice_the_limit(name: str):
    build = Builder()
    xs = [build.parameter(f"x{n}", "float32", (4,) if "columns" not in name else (4, 4)) for n in range(1000)]
    fusion = fuse(expand(Function(tuple(xs), (MAKE[name](xs) * 2.0,))))
    read = [{v for node in group.nodes for v in node.inputs} for group in fusion.groups]
    assert max(map(len, read)) <= 2 * MOST_INPUTS + 2
