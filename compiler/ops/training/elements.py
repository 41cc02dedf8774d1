"""Parts of training steps that are one operation each, for every element of a variable.

    average + (sample - average) * part              moving_average
    total * decay + sample                           decaying_total
    average * decay                                  decayed
    variable - mean * rate / (sqrt(squares) + eps)   scaled_descent

Passes and fusion walk over all nodes, and a net has a step for each variable: written with one node for each
sum and product, steps of Adam were a third of the nodes of MobileNetV2.

Averages and totals that are less than the least normal number become zero, as they do with TensorFlow. If the
gradients of a weight are zero from some step on, they would otherwise end at the least number there is, which
times 0.9 rounds to itself, and processors take twenty times as long for numbers that are not normal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, float16, float64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.kinds import elementwise
from staticgraph.compiler.ops.samples import Sample, real

_SHAPES = ((2, 3), (), (0, 2))
_RATE, _EPSILON = real(low=0.05, high=0.2), real(low=0.01, high=0.1)
_LEAST = {4: 2.0**-126, 8: 2.0**-1022}  # the least normal numbers, by bytes of those that are computed with


def _flushed(x: Any) -> Any:
    """`x`, or zero if it is not normal. Numbers of float16 all are, as they are computed in float32."""
    if x.dtype is float16:
        return x
    small = scalar.abs(x) < _LEAST[8 if x.dtype is float64 else 4]
    return scalar.select(small & scalar.ne(x, 0.0), 0.0, x)  # zero itself has the slope of `x`


def _flushed_by_numpy(x: Any) -> Any:
    least = _LEAST.get(x.dtype.itemsize, 0.0)
    return np.where(np.abs(x) < least, np.zeros_like(x), x)


@elementwise(
    numpy=lambda average, sample, part: _flushed_by_numpy(average + (sample - average) * part),
    dtypes=FLOATING,
    samples=[Sample(real(*shape), real(*shape), real()) for shape in _SHAPES],
)
def moving_average(average: Any, sample: Any, part: Any) -> Any:
    """A moving average after a sample, which has the weight `part`."""
    return _flushed(average + (sample - average) * part)


@elementwise(
    numpy=lambda total, sample, decay: _flushed_by_numpy(total * decay + sample),
    dtypes=FLOATING,
    samples=[Sample(real(*shape), real(*shape), real()) for shape in _SHAPES],
)
def decaying_total(total: Any, sample: Any, decay: Any) -> Any:
    """A total of samples after one more, in which earlier ones count `decay` as much."""
    return _flushed(total * decay + sample)


@elementwise(
    tf="Mul", numpy=lambda average, decay: _flushed_by_numpy(average * decay), dtypes=FLOATING,
    samples=[Sample(real(*shape), real()) for shape in _SHAPES],
)
def decayed(average: Any, decay: Any) -> Any:
    """An average after a sample of zeros: that of all rows that a sparse gradient does not touch."""
    return _flushed(average * decay)


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
