"""Steps along the gradient, or along a moving total of gradients."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.training.steps import Cell, training_step

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
    new = accum.add(grad, momentum)
    var.subtract(grad * lr + new * momentum * lr if use_nesterov else new * lr)
