"""Steps of Adam (Kingma and Ba, 2014) and of its relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.training.steps import Cell, training_step

_SHAPES = ((2, 3), (), (0, 2))
_RATE, _EPSILON = real(low=0.05, high=0.2), real(low=0.01, high=0.1)
_PART, _POWER = real(low=0.5, high=0.9), real(low=0.2, high=0.5)


def adam_step(
    var: Cell,
    m: Cell,
    v: Cell,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    use_nesterov: bool = False,
    largest: Cell | None = None,
) -> None:
    """The formula of `apply_adam`. `largest`: of the averages of squares, to divide by (AMSGrad)."""
    rate = lr * ops.sqrt(1.0 - beta2_power) / (1.0 - beta1_power)
    mean, squares = m.average(grad, beta1), v.average(grad * grad, beta2)
    if largest is not None:
        squares = largest.set(ops.maximum(largest.value, squares))
    if use_nesterov:
        mean = mean * beta1 + grad * (1.0 - beta1)
    var.descend(mean, squares, rate, epsilon)


def _adam_meaning(
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    use_locking: bool,
    use_nesterov: bool,
) -> tuple[Any, Any, Any]:
    m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad**2
    ahead = beta1 * m + (1 - beta1) * grad if use_nesterov else m
    return var - lr * np.sqrt(1 - beta2_power) / (1 - beta1_power) * ahead / (np.sqrt(v) + epsilon), m, v


def _adam_sample(*shape: int, **attrs: Any) -> Sample:
    return Sample(
        real(*shape), real(*shape), real(*shape, low=0.2), _POWER, _POWER, _RATE, _PART, _PART, _EPSILON,
        real(*shape), **attrs,
    )  # fmt: skip


@training_step(
    tf="ApplyAdam", variables=3, numpy=_adam_meaning,
    samples=[*[_adam_sample(*shape) for shape in _SHAPES], _adam_sample(3, 2, use_nesterov=True)],
)
def apply_adam(
    var: Cell,
    m: Cell,
    v: Cell,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    *,
    use_locking: bool = False,
    use_nesterov: bool = False,
) -> None:
    """The variable after a step, the average of gradients and that of their squares.

    With `use_nesterov`, the step takes the gradient's part of the average twice (Dozat, 2016). `use_locking`
    has no effect, as a run is one step.
    """
    adam_step(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov)


def _ada_max_meaning(
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    use_locking: bool,
) -> tuple[Any, Any, Any]:
    m, v = beta1 * m + (1 - beta1) * grad, np.maximum(beta2 * v, np.abs(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


@training_step(
    tf="ApplyAdaMax", variables=3, numpy=_ada_max_meaning,
    samples=[
        Sample(
            real(*shape), real(*shape), real(*shape, low=0.2), _POWER, _RATE, _PART, _PART, _EPSILON,
            real(*shape),
        )
        for shape in _SHAPES
    ],
)
def apply_ada_max(
    var: Cell,
    m: Cell,
    v: Cell,
    beta1_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    *,
    use_locking: bool = False,
) -> None:
    """Adam with the largest of recent gradients in place of the root of their mean square.

    `use_locking` has no effect, as a run is one step.
    """
    mean = m.average(grad, beta1)
    largest = v.set(ops.maximum(v.value * beta2, ops.abs(grad)))
    var.subtract(mean * (lr / (1.0 - beta1_power)) / (largest + epsilon))
