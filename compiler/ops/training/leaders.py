"""Steps that follow from all gradients so far and from penalties, more than from the weights before."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.ops.samples import Draw, Sample, real
from staticgraph.compiler.ops.training.penalties import has_penalty, shrunk
from staticgraph.compiler.ops.training.steps import Cell, fixed, training_step

_SHAPES = ((2, 3), (), (0, 2))
_RATE, _PENALTY = real(low=0.05, high=0.2), real(low=0.05, high=0.2)
_SQUARE_ROOT, _OTHER_ROOT = Draw((), fixed=(-0.5,)), real(low=-0.9, high=-0.6)


def _dual_averaging_meaning(
    var: Any,
    gradient_accumulator: Any,
    gradient_squared_accumulator: Any,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    global_step: Any,
    use_locking: bool,
) -> tuple[Any, Any, Any]:
    total, squares = gradient_accumulator + grad, gradient_squared_accumulator + grad**2
    steps = global_step.astype(var.dtype)
    pull = np.sign(total) * np.clip(np.abs(total) - l1 * steps, 0, None)
    return -lr * pull / (l2 * steps * lr + np.sqrt(squares)), total, squares


@training_step(
    tf="ApplyAdagradDA", variables=3, numpy=_dual_averaging_meaning, vars={"global_step": "int64"},
    samples=[
        Sample(
            real(*shape), real(*shape), real(*shape, low=0.3), real(*shape), _RATE, _PENALTY, _PENALTY,
            Draw((), 1, 5),
        )
        for shape in _SHAPES
    ],
)
def apply_adagrad_da(
    var: Cell,
    gradient_accumulator: Cell,
    gradient_squared_accumulator: Cell,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    global_step: Any,
    *,
    use_locking: bool = False,
) -> None:
    """Adagrad on the totals of all gradients, not on the weights before (Duchi, Hazan and Singer, 2011).

    `use_locking` has no effect, as a run is one step.
    """
    pull = gradient_accumulator.set(gradient_accumulator.value + grad)
    squares = gradient_squared_accumulator.set(gradient_squared_accumulator.value + grad * grad)
    size, steps = ops.sqrt(squares), ops.cast(global_step, dtype=grad.dtype)
    if has_penalty(l1):
        pull = shrunk(pull, steps * l1)
    var.set(-lr * pull / (l2 * steps * lr + size))


def _ftrl_step(
    var: Cell, accum: Cell, linear: Cell, pull: Any, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any
) -> None:
    """`pull`: the gradient with what large weights add to it."""

    def root(total: Any) -> Any:
        return ops.sqrt(total) if fixed(lr_power) == -0.5 else ops.pow(total, -lr_power)

    before = accum.value
    after = root(accum.set(before + grad * grad))
    total = linear.set(linear.value + pull - (after - root(before)) / lr * var.value)
    held = ops.minimum(ops.maximum(total, -l1), l1)
    var.set((held - total) / (after / lr + 2.0 * l2))


def _ftrl_meaning(
    var: Any,
    accum: Any,
    linear: Any,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    l2_shrinkage: Any,
    lr_power: Any,
    use_locking: bool,
) -> tuple[Any, Any, Any]:
    total = accum + grad**2
    power, before = total**-lr_power, accum**-lr_power
    linear = linear + grad + 2 * l2_shrinkage * var - (power - before) / lr * var
    moved = (np.sign(linear) * l1 - linear) / (power / lr + 2 * l2)
    return np.where(np.abs(linear) > l1, moved, np.zeros_like(moved)), total, linear


def _plain_ftrl_meaning(
    var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any, use_locking: bool
) -> tuple[Any, Any, Any]:
    nothing = lr_power.dtype.type(0)
    return _ftrl_meaning(var, accum, linear, grad, lr, l1, l2, nothing, lr_power, use_locking)


def _ftrl_sample(power: Draw, numbers: int, *shape: int) -> Sample:
    numbers_drawn = [_RATE, *[_PENALTY] * (numbers - 2), power]
    return Sample(real(*shape), real(*shape, low=0.3), real(*shape), real(*shape), *numbers_drawn)


@training_step(
    tf="ApplyFtrl", variables=3, numpy=_plain_ftrl_meaning,
    samples=[
        *[_ftrl_sample(_SQUARE_ROOT, 4, *shape) for shape in _SHAPES], _ftrl_sample(_OTHER_ROOT, 4, 3, 2),
    ],
)
def apply_ftrl(
    var: Cell,
    accum: Cell,
    linear: Cell,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    lr_power: Any,
    *,
    use_locking: bool = False,
) -> None:
    """The leader that follows from all gradients, with penalties (McMahan et al., 2013).

    `use_locking` has no effect, as a run is one step.
    """
    _ftrl_step(var, accum, linear, grad, grad, lr, l1, l2, lr_power)


@training_step(
    tf="ApplyFtrlV2", variables=3, numpy=_ftrl_meaning,
    samples=[
        *[_ftrl_sample(_SQUARE_ROOT, 5, *shape) for shape in _SHAPES], _ftrl_sample(_OTHER_ROOT, 5, 3, 2),
    ],
)
def apply_ftrl_v2(
    var: Cell,
    accum: Cell,
    linear: Cell,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    l2_shrinkage: Any,
    lr_power: Any,
    *,
    use_locking: bool = False,
) -> None:
    """The same as `apply_ftrl`, with a penalty `l2_shrinkage` of large weights.

    `use_locking` has no effect, as a run is one step.
    """
    pull = grad + 2.0 * l2_shrinkage * var.value
    _ftrl_step(var, accum, linear, pull, grad, lr, l1, l2, lr_power)
