"""`tf.contrib.layers.optimize_loss`: a training step with clipping, noise and multipliers in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Any]] = {
    "Adagrad": sg.train.AdagradOptimizer,
    "Adam": sg.train.AdamOptimizer,
    "Ftrl": sg.train.FtrlOptimizer,
    "Momentum": partial(sg.train.MomentumOptimizer, momentum=0.9),
    "RMSProp": sg.train.RMSPropOptimizer,
    "SGD": sg.train.GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]
_USUAL_SUMMARIES = ["loss", "learning_rate", "global_gradient_norm"]

Pairs = list[tuple[Any, Any]]


def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Any = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Any = None,
    update_ops: Sequence[Any] | None = None,
    variables: Sequence[Any] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> sg.Tensor:
    """The loss as a tensor that takes a training step whenever it is computed.

    `optimizer` is a name in OPTIMIZER_CLS_NAMES, an optimizer, its class, or a function of the learning rate.
    `clip_gradients` is a bound on their global norm, or a function of the pairs (gradient, variable).
    `gradient_multipliers` maps variables or their names to factors. `update_ops` run first, by default those
    of the collection UPDATE_OPS. ValueError for what is none of these, and for a negative learning rate.

    `summaries` names some of OPTIMIZER_SUMMARIES, by default the loss, the learning rate, if
    `learning_rate_decay_fn` gives it, and the global norms of gradients, before they are clipped and after.
    """
    loss = sg.convert_to_tensor(loss)
    if loss.shape.ndims not in (0, None):
        raise misuse(ValueError, f"optimize_loss: the loss must be a number, not of shape {loss.shape}")
    global_step = sg.train.get_global_step() if global_step is None else global_step
    wanted_summaries = _wanted(summaries)
    with sg.variable_scope(name, "OptimizeLoss", [loss, global_step]):
        first = sg.get_collection(sg.GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
        if first:
            with sg.control_dependencies(first):
                loss = sg.identity(loss)
        rate = _rate(learning_rate)
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                _refuse("learning_rate_decay_fn needs a global_step")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in wanted_summaries:
                sg.summary.scalar("learning_rate", rate)
        made = _optimizer(optimizer, rate)
        trained = sg.trainable_variables() if variables is None else variables
        pairs = made.compute_gradients(loss, trained)
        if gradient_noise_scale is not None:
            pairs = [(_noisy(grad, gradient_noise_scale), var) for grad, var in pairs]
        if gradient_multipliers is not None:
            pairs = [(_multiplied(grad, var, gradient_multipliers), var) for grad, var in pairs]
        _summarize_global_norm("gradient_norm", pairs, wanted_summaries)
        pairs = _clipped(pairs, clip_gradients)
        if "loss" in wanted_summaries:
            sg.summary.scalar("loss", loss)
        _summarize_gradients(pairs, wanted_summaries)
        if clip_gradients is not None:
            _summarize_global_norm("clipped_gradient_norm", pairs, wanted_summaries)
        step = made.apply_gradients(pairs, global_step if increment_global_step else None, name="train")
        with sg.control_dependencies([step]):
            return sg.identity(loss)


def _wanted(summaries: Sequence[str] | None) -> Sequence[str]:
    for each in summaries or ():
        if each not in OPTIMIZER_SUMMARIES:
            _refuse(f"there is no summary {each!r}; there are {', '.join(OPTIMIZER_SUMMARIES)}")
    return _USUAL_SUMMARIES if summaries is None else summaries


def _refuse(text: str) -> None:
    raise misuse(ValueError, f"optimize_loss: {text}")


def _rate(learning_rate: Any) -> Any:
    """A given number becomes a variable, so that it is saved and can be changed."""
    if learning_rate is None or (isinstance(learning_rate, sg.Tensor) and learning_rate.shape.ndims == 0):
        return learning_rate
    if not isinstance(learning_rate, float):
        _refuse(f"the learning rate must be a float or a scalar tensor, not {learning_rate!r}")
    if learning_rate < 0.0:
        _refuse(f"the learning rate {learning_rate} is negative")
    initial = sg.constant_initializer(learning_rate)
    return sg.get_variable("learning_rate", [], trainable=False, initializer=initial)


def _optimizer(given: Any, rate: Any) -> Any:
    if isinstance(given, sg.train.Optimizer):
        return given
    is_class = isinstance(given, type) and issubclass(given, sg.train.Optimizer)
    if rate is None and (is_class or isinstance(given, str)):
        _refuse(f"the optimizer {given!r} needs a learning rate")
    if isinstance(given, str) and given not in OPTIMIZER_CLS_NAMES:
        _refuse(f"there is no optimizer {given!r}; there are {', '.join(OPTIMIZER_CLS_NAMES)}")
    maker = OPTIMIZER_CLS_NAMES[given] if isinstance(given, str) else given
    made = None
    if callable(maker):
        made = maker() if rate is None else maker(rate)
    if not isinstance(made, sg.train.Optimizer):
        _refuse(f"{given!r} is no optimizer, and does not make one")
    return made


def _noisy(grad: Any, scale: float) -> Any:
    if grad is None:
        return None
    grad = sg.convert_to_tensor(grad)
    return grad + sg.truncated_normal(grad.shape, dtype=grad.dtype) * scale


def _multiplied(grad: Any, var: Any, multipliers: Any) -> Any:
    factor = multipliers.get(var, multipliers.get(var.name))
    if grad is None or factor is None:
        return grad
    if isinstance(grad, sg.IndexedSlices):
        return sg.IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape)
    return grad * sg.cast(factor, grad.dtype)


def _summarize_global_norm(name: str, pairs: Pairs, wanted: Sequence[str]) -> None:
    if "global_gradient_norm" in wanted or "gradient_norm" in wanted:
        sg.summary.scalar(f"global_norm/{name}", sg.global_norm([grad for grad, _ in pairs]))


def _summarize_gradients(pairs: Pairs, wanted: Sequence[str]) -> None:
    """Write the gradient of each variable as a histogram, and its norm, as far as they are wanted."""
    for grad, var in pairs:
        values = grad.values if isinstance(grad, sg.IndexedSlices) else grad
        name = var.name.replace(":", "_")
        if values is not None and "gradients" in wanted:
            sg.summary.histogram(f"gradients/{name}", values)
        if values is not None and "gradient_norm" in wanted:
            sg.summary.scalar(f"gradient_norm/{name}", sg.global_norm([values]))


def _clipped(pairs: Pairs, clip_gradients: Any) -> Pairs:
    if isinstance(clip_gradients, float):
        grads, variables = zip(*pairs, strict=True)
        return list(zip(sg.clip_by_global_norm(grads, clip_gradients)[0], variables, strict=True))
    if callable(clip_gradients):
        return list(clip_gradients(pairs))
    if clip_gradients is not None:
        _refuse(f"clip_gradients is a float or a function, not {clip_gradients!r}")
    return pairs
