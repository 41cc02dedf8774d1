"""Steps whose length follows, for each element, from the gradients of the past."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.training.steps import Cell, training_step

_SHAPES = ((2, 3), (), (0, 2))
_RATE, _EPSILON = real(low=0.05, high=0.2), real(low=0.01, high=0.1)
_PART = real(low=0.5, high=0.9)


def _positive(*shape: int) -> Any:
    return real(*shape, low=0.3)


def _adagrad_meaning(
    var: Any, accum: Any, lr: Any, grad: Any, use_locking: bool, update_slots: bool
) -> tuple[Any, Any]:
    accum = accum + grad**2 if update_slots else accum
    return var - lr * grad / np.sqrt(accum), accum


@training_step(
    tf="ApplyAdagrad", variables=2, numpy=_adagrad_meaning,
    samples=[
        *[Sample(real(*shape), _positive(*shape), _RATE, real(*shape)) for shape in _SHAPES],
        Sample(real(3, 2), _positive(3, 2), _RATE, real(3, 2), update_slots=False),
    ],
)
def apply_adagrad(
    var: Cell, accum: Cell, lr: Any, grad: Any, *, use_locking: bool = False, update_slots: bool = True
) -> None:
    """The variable after a step along the gradient over the root of the total of its squares (Duchi, Hazan
    and Singer, 2011), and the total.

    Without `update_slots`, the total stays. `use_locking` has no effect, as a run is one step.
    """
    squares = accum.set(accum.value + grad * grad) if update_slots else accum.value
    var.subtract(grad * lr * ops.rsqrt(squares))


def _adadelta_meaning(
    var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, epsilon: Any, grad: Any, use_locking: bool
) -> tuple[Any, Any, Any]:
    accum = rho * accum + (1 - rho) * grad**2
    step = grad * np.sqrt((accum_update + epsilon) / (accum + epsilon))
    return var - lr * step, accum, rho * accum_update + (1 - rho) * step**2


@training_step(
    tf="ApplyAdadelta", variables=3, numpy=_adadelta_meaning,
    samples=[
        Sample(real(*shape), _positive(*shape), _positive(*shape), _RATE, _PART, _EPSILON, real(*shape))
        for shape in _SHAPES
    ],
)
def apply_adadelta(
    var: Cell,
    accum: Cell,
    accum_update: Cell,
    lr: Any,
    rho: Any,
    epsilon: Any,
    grad: Any,
    *,
    use_locking: bool = False,
) -> None:
    """The variable after a step as large as recent steps were, relative to recent gradients (Zeiler, 2012).
    Also the averages of squares of gradients, and of steps.

    `use_locking` has no effect, as a run is one step.
    """
    mean = accum.set(accum.value * rho + grad * grad * (1.0 - rho))
    step = ops.sqrt(accum_update.value + epsilon) * ops.rsqrt(mean + epsilon) * grad
    accum_update.set(accum_update.value * rho + step * step * (1.0 - rho))
    var.subtract(step * lr)


def mean_square(ms: Cell, rho: Any, grad: Any, mg: Cell | None = None) -> Any:
    """Take a gradient into the average `ms` of squares, and into `mg` of gradients; returns the mean square.

    With `mg` that is the variance: the square of the average is taken off.
    """
    squares = ms.average(grad * grad, rho)
    if mg is None:
        return squares
    center = mg.average(grad, rho)
    return squares - center * center


def _rms_step(
    var: Cell, mom: Cell, lr: Any, momentum: Any, epsilon: Any, grad: Any, squares: Any
) -> None:
    step = grad * lr * ops.rsqrt(squares + epsilon)
    var.subtract(mom.add(step, momentum))


def _rms_meaning(
    var: Any,
    ms: Any,
    mom: Any,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
    use_locking: bool,
) -> tuple[Any, Any, Any]:
    ms = rho * ms + (1 - rho) * grad**2
    mom = momentum * mom + lr * grad / np.sqrt(ms + epsilon)
    return var - mom, ms, mom


@training_step(
    tf="ApplyRMSProp", variables=3, numpy=_rms_meaning,
    samples=[
        Sample(
            real(*shape), _positive(*shape), real(*shape), _RATE, _PART, _PART, _EPSILON, real(*shape)
        )
        for shape in _SHAPES
    ],
)
def apply_rms_prop(
    var: Cell,
    ms: Cell,
    mom: Cell,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
    *,
    use_locking: bool = False,
) -> None:
    """The variable after a step along gradients over the root of the average of their squares, with momentum
    (Tieleman and Hinton, 2012). Also that average, and the total of steps.

    `use_locking` has no effect, as a run is one step.
    """
    _rms_step(var, mom, lr, momentum, epsilon, grad, mean_square(ms, rho, grad))


def _centered_meaning(
    var: Any,
    mg: Any,
    ms: Any,
    mom: Any,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
    use_locking: bool,
) -> tuple[Any, Any, Any, Any]:
    mg, ms = rho * mg + (1 - rho) * grad, rho * ms + (1 - rho) * grad**2
    mom = momentum * mom + lr * grad / np.sqrt(ms - mg**2 + epsilon)
    return var - mom, mg, ms, mom


@training_step(
    tf="ApplyCenteredRMSProp", variables=4, numpy=_centered_meaning,
    samples=[
        Sample(
            real(*shape), real(*shape, low=-0.4, high=0.4), real(*shape, low=3.0, high=4.0), real(*shape),
            _RATE, _PART, _PART, _EPSILON, real(*shape),
        )
        for shape in _SHAPES
    ],
)
def apply_centered_rms_prop(
    var: Cell,
    mg: Cell,
    ms: Cell,
    mom: Cell,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
    *,
    use_locking: bool = False,
) -> None:
    """The same as `apply_rms_prop`, with the variance of gradients in place of their mean square.

    `use_locking` has no effect, as a run is one step.
    """
    _rms_step(var, mom, lr, momentum, epsilon, grad, mean_square(ms, rho, grad, mg))
