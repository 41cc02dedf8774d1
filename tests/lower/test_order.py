"""The order of kernels: what only reads arguments waits until it is needed, and takes no memory before."""

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.lower.lower import lower
from staticgraph.runtime.cpu.executable import evaluate

SIZE, COUNT = 64, 8


def test_what_is_made_of_arguments_waits_for_its_reader(rng):
    build = Builder()
    x = build.parameter("x", "float32", (SIZE, SIZE))
    weights = [build.parameter(f"w{i}", "float32", (SIZE, SIZE)) for i in range(COUNT)]
    y, made = x, [ops.exp(w) for w in weights]  # all before the first product
    for each in made:
        y = ops.matmul(y, each)
    function = Function((x, *weights), (y, made[-1]))
    assert lower(fuse(function), 2, {}).arena <= 3 * 4 * SIZE * SIZE
    values = [rng.normal(size=(SIZE, SIZE)).astype(np.float32) / SIZE for _ in range(COUNT + 1)]
    expected = interpret(function, dict(zip(function.params, values, strict=True)))
    for found, right in zip(evaluate(function, values), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-4)
