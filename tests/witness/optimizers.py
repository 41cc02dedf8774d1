"""Steps of optimizers for the witness, from the documentation of TensorFlow's `Apply...` operations.

Each takes the variable, its slots and the other inputs, and returns what the variable and the slots become.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]


def _descent(var: Any, lr: Any, grad: Any, **_: Any) -> Arrays:
    return (var - lr * grad,)


def _momentum(
    var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, use_nesterov: bool, **_: Any
) -> Arrays:
    accum = accum * momentum + grad
    return var - lr * (grad + accum * momentum if use_nesterov else accum), accum


def _adam(
    var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any,
    epsilon: Any, grad: Any, use_nesterov: bool, **_: Any,
) -> Arrays:  # fmt: skip
    m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad * grad
    along = beta1 * m + (1 - beta1) * grad if use_nesterov else m
    return var - lr * np.sqrt(1 - beta2_power) / (1 - beta1_power) * along / (np.sqrt(v) + epsilon), m, v


def _rms_prop(
    var: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any, **_: Any
) -> Arrays:
    ms = rho * ms + (1 - rho) * grad * grad
    mom = momentum * mom + lr * grad / np.sqrt(ms + epsilon)
    return var - mom, ms, mom


def _adagrad(var: Any, accum: Any, lr: Any, grad: Any, update_slots: bool = True, **_: Any) -> Arrays:
    accum = accum + grad * grad if update_slots else accum
    return var - lr * grad / np.sqrt(accum), accum


def _of_rows(step: Callable[..., Arrays], slots: int, indices_at: int) -> Callable[..., Arrays]:
    """The step for the rows that `indices` list. Gradients of a row that is listed twice add up."""

    def apply(*inputs: Any, **attrs: Any) -> Arrays:
        given = list(inputs)
        indices = given.pop(indices_at)
        rows, number = np.unique(indices, return_inverse=True)
        grad = np.zeros((len(rows), *given[indices_at - 1].shape[1:]), given[indices_at - 1].dtype)
        np.add.at(grad, number.reshape(-1), given[indices_at - 1])
        given[indices_at - 1] = grad
        changed = [array.copy() for array in given[: slots + 1]]
        made = step(*(array[rows] for array in changed), *given[slots + 1 :], **attrs)
        for array, new in zip(changed, made, strict=True):
            array[rows] = new
        return tuple(changed)

    return apply


STEPS: dict[str, Callable[..., Arrays]] = {
    "apply_gradient_descent": _descent,
    "apply_momentum": _momentum,
    "apply_adam": _adam,
    "apply_rms_prop": _rms_prop,
    "apply_adagrad": _adagrad,
    "sparse_apply_momentum": _of_rows(_momentum, 1, indices_at=4),
    "sparse_apply_rms_prop": _of_rows(_rms_prop, 2, indices_at=8),
    "sparse_apply_adagrad": _of_rows(_adagrad, 1, indices_at=4),
}
