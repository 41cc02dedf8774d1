"""Values that are computed twice are the same both times."""

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function
from staticgraph.runtime.cpu.executable import evaluate


def test_softmax_of_means():
    """The greatest mean is found first; less that, none may be positive: exp would overflow."""
    x = Builder().parameter("x", "float32", (1000, 169))
    means = ops.reshape(ops.reduce_mean(x, axis=(1,)), shape=(1, 1000))
    row = np.random.default_rng(0).random((1, 169)).astype(np.float32) * np.float32(1.3e10)
    (result,) = evaluate(Function((x,), (ops.softmax(means, axis=1),)), [np.repeat(row, 1000, 0)])
    np.testing.assert_allclose(result, 0.001, rtol=1e-6)
