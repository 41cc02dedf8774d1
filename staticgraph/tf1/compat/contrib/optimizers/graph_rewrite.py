"""`tf.train.experimental`: losses scaled for mixed precision.

TensorFlow rewrites the graph of a program that asks for it, so that products are of float16 on GPUs with
tensor cores. Here a graph has the types that the program gives it. Only the scaling of the loss remains: it
leaves out steps whose gradients are not finite.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.log import log

__all__ = [
    "DynamicLossScale",
    "FixedLossScale",
    "LossScale",
    "MixedPrecisionLossScaleOptimizer",
    "disable_mixed_precision_graph_rewrite",
    "enable_mixed_precision_graph_rewrite",
]


class LossScale:
    """Base of the scales of a loss. A call gives the scale, a float32 scalar."""

    def __call__(self) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} defines no __call__()")

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Return the operation that changes the scale, and if the gradients are to be applied.

        Args:
            grads: The gradients, divided by the scale already. Those that are None do not count.
        """
        raise misuse(NotImplementedError, f"{type(self).__name__} defines no update(grads)")

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal scale."""
        raise misuse(NotImplementedError, f"{type(self).__name__} defines no get_config()")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LossScale:
        """The scale of a `get_config`."""
        return cls(**config)


class FixedLossScale(LossScale):
    """A scale that stays the same.

    Args:
        loss_scale_value: A number, 1 or more.

    Raises:
        ValueError: It is less than 1, or no number.
    """

    def __init__(self, loss_scale_value: float) -> None:
        if not isinstance(loss_scale_value, int | float):
            raise misuse(ValueError, "loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise misuse(ValueError, "loss_scale_value must be at least 1.")
        self._value = float(loss_scale_value)

    def __call__(self) -> Any:
        return sg.convert_to_tensor(self._value)

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Do nothing, and apply the gradients."""
        return sg.no_op(), True

    def get_config(self) -> dict[str, Any]:
        return {"loss_scale_value": self._value}

    def __repr__(self) -> str:
        return f"FixedLossScale({self._value})"


class DynamicLossScale(LossScale):
    """A scale that grows while gradients are finite, and falls if they are not.

    Args:
        initial_loss_scale: The first scale.
        increment_period: The scale grows after so many steps with finite gradients, one after the other.
        multiplier: The factor by which it grows and falls; it never falls below 1.
    """

    def __init__(
        self, initial_loss_scale: float = 2**15, increment_period: int = 2000, multiplier: float = 2.0
    ) -> None:
        self._config = float(initial_loss_scale), int(increment_period), float(multiplier)
        self._scale = sg.Variable(self._config[0], trainable=False, name="current_loss_scale")
        self._good = sg.Variable(0, trainable=False, dtype=sg.int64, name="good_steps")

    @property
    def initial_loss_scale(self) -> float:
        """The first scale."""
        return self._config[0]

    @property
    def increment_period(self) -> int:
        """The number of steps with finite gradients after which the scale grows."""
        return self._config[1]

    @property
    def multiplier(self) -> float:
        """The factor by which the scale changes."""
        return self._config[2]

    def __call__(self) -> Any:
        return self._scale.read_value()

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Count the step and change the scale if it is time; apply the gradients if all are finite."""
        finite = [sg.reduce_all(sg.is_finite(_dense(g))) for g in sg.nest.flatten(grads) if g is not None]
        is_finite = sg.reduce_all(sg.stack(finite))
        scale, good = self._scale.read_value(), self._good.read_value()
        grows = sg.logical_and(is_finite, good + 1 >= self.increment_period)
        larger = scale * self.multiplier
        larger = sg.where(sg.is_finite(larger), larger, scale)
        smaller = sg.maximum(scale / self.multiplier, 1.0)
        zero = sg.zeros_like(good)
        starts_anew = sg.logical_or(grows, sg.logical_not(is_finite))
        update = sg.group(
            self._scale.assign(sg.where(grows, larger, sg.where(is_finite, scale, smaller))),
            self._good.assign(sg.where(starts_anew, zero, good + 1)),
        )
        return update, is_finite

    def get_config(self) -> dict[str, Any]:
        names = ("initial_loss_scale", "increment_period", "multiplier")
        return dict(zip(names, self._config, strict=True))

    def __repr__(self) -> str:
        return (
            f"DynamicLossScale(initial_loss_scale={self._config[0]}, "
            f"increment_period={self._config[1]}, multiplier={self._config[2]})"
        )


def _dense(gradient: Any) -> Any:
    return gradient.values if isinstance(gradient, sg.IndexedSlices) else gradient


class MixedPrecisionLossScaleOptimizer(sg.train.Optimizer):
    """Take gradients of a scaled loss, and make the step of another optimizer if they are finite.

    Args:
        opt: The other optimizer.
        loss_scale: A `LossScale`, a number, or "dynamic".

    Raises:
        ValueError: `opt` is no optimizer, or `loss_scale` is something else.
    """

    def __init__(self, opt: Any, loss_scale: Any) -> None:
        if not isinstance(opt, sg.train.Optimizer):
            raise misuse(ValueError, f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(use_locking=False, name=opt.get_name())
        self._optimizer = opt
        self._loss_scale = _as_scale(loss_scale)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = sg.train.Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """`Optimizer.compute_gradients` of the scaled loss, scaled back."""
        value = loss() if callable(loss) else loss
        scale = self._loss_scale()
        pairs = self._optimizer.compute_gradients(
            value * sg.cast(scale, value.dtype),
            var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        back = 1 / scale
        return [(g if g is None else _scaled(g, back), v) for g, v in pairs]

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> Any:
        """`Optimizer.apply_gradients` if all gradients are finite, and the update of the scale."""
        pairs = list(grads_and_vars)
        update, applies = self._loss_scale.update([g for g, _ in pairs])
        if applies is True:
            return sg.group(self._optimizer.apply_gradients(pairs, global_step, name), update)

        def apply() -> Any:
            return sg.group(self._optimizer.apply_gradients(pairs, global_step, name))

        return sg.group(sg.cond(applies, apply, sg.no_op), update)

    def variables(self) -> Any:
        """The variables of the other optimizer."""
        return self._optimizer.variables()


def _scaled(gradient: Any, factor: Any) -> Any:
    if isinstance(gradient, sg.IndexedSlices):
        values = gradient.values * sg.cast(factor, gradient.values.dtype)
        return sg.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return gradient * sg.cast(factor, gradient.dtype)


def _as_scale(loss_scale: Any) -> LossScale:
    if isinstance(loss_scale, LossScale):
        return loss_scale
    if loss_scale == "dynamic":
        return DynamicLossScale()
    if isinstance(loss_scale, int | float):
        return FixedLossScale(loss_scale)
    raise misuse(ValueError, f"loss_scale is {loss_scale!r}", "a LossScale, a number or 'dynamic'")


def enable_mixed_precision_graph_rewrite(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """Return an optimizer that scales the loss.

    The graph keeps its types: what is float32 stays so. A Keras optimizer is returned as it is.

    Args:
        opt: An optimizer of `tf.train` or of Keras.
        loss_scale: A `LossScale`, a number, or "dynamic".

    Raises:
        ValueError: `opt` is no optimizer, or scales the loss already.

    >>> import staticgraph.compat.tf1 as tf
    >>> w = tf.Variable(1.0)
    >>> opt = tf.train.GradientDescentOptimizer(0.1)
    >>> opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)
    >>> step = opt.minimize(w * w)
    >>> with tf.Session() as sess:
    ...     _ = sess.run(tf.global_variables_initializer())
    ...     _ = sess.run(step)
    ...     round(float(sess.run(w)), 4)
    0.8
    """
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        text = '"opt" must not already be an instance of a MixedPrecisionLossScaleOptimizer.'
        raise misuse(ValueError, text)
    if isinstance(opt, sg.keras.optimizers.Optimizer):
        log.warning("enable_mixed_precision_graph_rewrite: the graph keeps its types, the loss its scale")
        return opt
    if not isinstance(opt, sg.train.Optimizer):
        text = '"opt" must be an instance of a tf.train.Optimizer or a tf.keras.optimizers.Optimizer'
        raise misuse(ValueError, f"{text}, but got: {opt}")
    return MixedPrecisionLossScaleOptimizer(opt, loss_scale)


def disable_mixed_precision_graph_rewrite() -> None:
    """Nothing: the graph keeps its types."""
