"""Parts of training steps that are one operation each, for every element of a variable.

    variable + (sample - variable) * part            moving_average
    variable - mean * rate / (sqrt(squares) + eps)   scaled_descent

Passes and fusion walk over all nodes, and a net has a step for each variable: written with one node for each
sum and product, steps of Adam were a third of the nodes of MobileNetV2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.kinds import elementwise
from staticgraph.compiler.ops.samples import Sample, real

_SHAPES = ((2, 3), (), (0, 2))
_RATE, _EPSILON = real(low=0.05, high=0.2), real(low=0.01, high=0.1)


@elementwise(
    numpy=lambda average, sample, part: average + (sample - average) * part,
    dtypes=FLOATING,
    samples=[Sample(real(*shape), real(*shape), real()) for shape in _SHAPES],
)
def moving_average(average: Any, sample: Any, part: Any) -> Any:
    """A moving average after a sample, which has the weight `part`."""
    return average + (sample - average) * part


@elementwise(
    numpy=lambda var, mean, squares, rate, epsilon: var - mean * rate / (np.sqrt(squares) + epsilon),
    dtypes=FLOATING,
    samples=[
        Sample(real(*shape), real(*shape), real(*shape, low=0.2), _RATE, _EPSILON) for shape in _SHAPES
    ],
)
def scaled_descent(var: Any, mean: Any, squares: Any, rate: Any, epsilon: Any) -> Any:
    """A variable after a step along a mean of gradients, divided by the root of that of their squares."""
    return var - mean * rate / (scalar.sqrt(squares) + epsilon)
