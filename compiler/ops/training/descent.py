"""Steps along the gradient, or along a moving total of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.training.steps import Cell, fixed, training_step

_SHAPES = ((2, 3), (), (0, 2))
_RATE = real(low=0.05, high=0.2)


@training_step(
    tf="ApplyGradientDescent", variables=1,
    numpy=lambda var, lr, grad, use_locking: (var - lr * grad,),
    samples=[Sample(real(*shape), _RATE, real(*shape)) for shape in _SHAPES],
)
def apply_gradient_descent(var: Cell, lr: Any, grad: Any, *, use_locking: bool = False) -> None:
    """The variable after a step along the gradient; `use_locking` has no effect, as a run is one step."""
    var.subtract(grad * lr)


def _momentum_meaning(
    var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, use_locking: bool, use_nesterov: bool
) -> tuple[Any, Any]:
    accum = momentum * accum + grad
    return var - lr * (grad + momentum * accum if use_nesterov else accum), accum


@training_step(
    tf="ApplyMomentum", variables=2, numpy=_momentum_meaning,
    samples=[
        Sample(real(*shape), real(*shape), _RATE, real(*shape), real(low=0.5, high=0.9), use_nesterov=ahead)
        for shape, ahead in zip(_SHAPES, (False, True, False), strict=True)
    ] + [Sample(real(3, 2), real(3, 2), _RATE, real(3, 2), real(low=0.5, high=0.9), use_nesterov=True)],
)
def apply_momentum(
    var: Cell,
    accum: Cell,
    lr: Any,
    grad: Any,
    momentum: Any,
    *,
    use_locking: bool = False,
    use_nesterov: bool = False,
) -> None:
    """The variable after a step along a decaying total of gradients, and the total.

    With `use_nesterov`, the step goes along the total of the next step as far as it is known. `use_locking`
    has no effect, as a run is one step.
    """
    new = accum.set(accum.value * momentum + grad)
    var.subtract(grad * lr + new * momentum * lr if use_nesterov else new * lr)


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


_PENALTY = real(low=0.05, high=0.2)


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
