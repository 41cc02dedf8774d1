"""Steps that are longer if the gradient has the sign of its average (Bello et al., 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.training.steps import Cell, training_step

_SHAPES = ((2, 3), (), (0, 2))
_RATE = real(low=0.05, high=0.2)


def _sign_average(m: Cell, beta: Any, sign_decay: Any, grad: Any) -> Any:
    """Take the gradient into its average `m`; returns how well the signs of both agree, from -1 to 1."""
    mean = m.set(m.value * beta + grad * (1.0 - beta))
    return sign_decay * ops.sign(grad) * ops.sign(mean)


def _add_sign_meaning(
    var: Any, m: Any, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Any, use_locking: bool
) -> tuple[Any, Any]:
    m = beta * m + (1 - beta) * grad
    return var - lr * grad * (alpha + sign_decay * np.sign(grad * m)), m


def _power_sign_meaning(
    var: Any, m: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Any, use_locking: bool
) -> tuple[Any, Any]:
    m = beta * m + (1 - beta) * grad
    return var - lr * grad * np.exp(logbase * sign_decay * np.sign(grad * m)), m


_SIGNED = [
    Sample(
        real(*shape), real(*shape), _RATE, real(low=0.5, high=1.5), real(low=0.5, high=1.0),
        real(low=0.5, high=0.9), real(*shape),
    )
    for shape in _SHAPES
]  # fmt: skip


@training_step(tf="ApplyAddSign", variables=2, numpy=_add_sign_meaning, samples=_SIGNED)
def apply_add_sign(
    var: Cell,
    m: Cell,
    lr: Any,
    alpha: Any,
    sign_decay: Any,
    beta: Any,
    grad: Any,
    *,
    use_locking: bool = False,
) -> None:
    """The variable after a step that is longer if the gradient has the sign of its average, and that (Bello
    et al., 2017).

    `use_locking` has no effect, as a run is one step.
    """
    var.subtract(lr * (alpha + _sign_average(m, beta, sign_decay, grad)) * grad)


@training_step(tf="ApplyPowerSign", variables=2, numpy=_power_sign_meaning, samples=_SIGNED)
def apply_power_sign(
    var: Cell,
    m: Cell,
    lr: Any,
    logbase: Any,
    sign_decay: Any,
    beta: Any,
    grad: Any,
    *,
    use_locking: bool = False,
) -> None:
    """The same as `apply_add_sign`, where agreement is the exponent of the factor of a step.

    `use_locking` has no effect, as a run is one step.
    """
    var.subtract(lr * ops.exp(logbase * _sign_average(m, beta, sign_decay, grad)) * grad)
