"""Steps with penalties of weights: those that the l1 penalty outweighs are exactly zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.training.steps import Cell, fixed, training_step

_SHAPES = ((2, 3), (), (0, 2))
_RATE, _PENALTY = real(low=0.05, high=0.2), real(low=0.05, high=0.2)


def shrunk(value: Any, by: Any) -> Any:
    """Each element moved towards zero by `by`, and no further than zero."""
    return ops.sign(value) * ops.maximum(ops.abs(value) - by, 0.0)


def has_penalty(strength: Any) -> bool:
    """Return True unless a penalty is known to be none."""
    known = fixed(strength)
    return known is None or known > 0.0


def proximal(value: Any, rate: Any, l1: Any, l2: Any) -> Any:
    """Apply the proximal operator of `rate` times the penalties: l1 leaves few weights, l2 small ones."""
    return (shrunk(value, rate * l1) if has_penalty(l1) else value) / (1.0 + l2 * rate)


def proximal_meaning(value: Any, rate: Any, l1: Any, l2: Any) -> Any:
    """The same by NumPy."""
    return np.sign(value) * np.clip(np.abs(value) - rate * l1, 0, None) / (1 + rate * l2)


@training_step(
    tf="ApplyProximalGradientDescent", variables=1,
    numpy=lambda var, lr, l1, l2, grad, use_locking: (proximal_meaning(var - lr * grad, lr, l1, l2),),
    samples=[Sample(real(*shape), _RATE, _PENALTY, _PENALTY, real(*shape)) for shape in _SHAPES],
)
def apply_proximal_gradient_descent(
    var: Cell, lr: Any, l1: Any, l2: Any, grad: Any, *, use_locking: bool = False
) -> None:
    """The variable after a step along the gradient, then the exact effect of penalties (Duchi and Singer,
    2009).

    `use_locking` has no effect, as a run is one step.
    """
    var.set(proximal(var.value - grad * lr, lr, l1, l2))


def _proximal_adagrad_meaning(
    var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, use_locking: bool
) -> tuple[Any, Any]:
    accum = accum + grad**2
    rate = lr / np.sqrt(accum)
    return proximal_meaning(var - rate * grad, rate, l1, l2), accum


@training_step(
    tf="ApplyProximalAdagrad", variables=2, numpy=_proximal_adagrad_meaning,
    samples=[
        Sample(real(*shape), real(*shape, low=0.3), _RATE, _PENALTY, _PENALTY, real(*shape))
        for shape in _SHAPES
    ],
)
def apply_proximal_adagrad(
    var: Cell, accum: Cell, lr: Any, l1: Any, l2: Any, grad: Any, *, use_locking: bool = False
) -> None:
    """A step of Adagrad, then the exact effect of penalties.

    `use_locking` has no effect, as a run is one step.
    """
    rate = lr * ops.rsqrt(accum.set(accum.value + grad * grad))
    var.set(proximal(var.value - grad * rate, rate, l1, l2))
