"""`tf.contrib.mixed_precision`: losses scaled for gradients of float16; steps that overflow are left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


class LossScaleManager:
    """Base of the rules for the scale of a loss."""

    def get_loss_scale(self) -> Any:
        """The scale, a scalar of float32."""
        raise misuse(NotImplementedError, f"{type(self).__name__} does not define get_loss_scale")

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """Return the operation that changes the scale after a step.

        Args:
            finite_grads: A condition: all gradients of the step are finite.
        """
        raise misuse(NotImplementedError, f"{type(self).__name__} does not define update_loss_scale")


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays the same.

    Args:
        loss_scale: A number, 1 or more.

    Raises:
        ValueError: It is less than 1.
    """

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise misuse(
                ValueError, f"FixedLossScaleManager: loss_scale is {loss_scale}, it must be 1 or more"
            )
        self._loss_scale = sg.convert_to_tensor(loss_scale, dtype=sg.float32)

    def get_loss_scale(self) -> Any:
        """The scale."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """An operation that does nothing."""
        return sg.no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A scale that grows while gradients are finite, and falls if they are not.

    Args:
        init_loss_scale: The first scale.
        incr_every_n_steps: The scale grows after so many steps with finite gradients, one after the other.
        decr_every_n_nan_or_inf: It falls after so many without, until it grows or falls.
        incr_ratio: The factor by which it grows, unless it becomes infinite.
        decr_ratio: The factor by which it falls, at the lowest to 1.
    """

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        self._grow_after, self._fall_after = incr_every_n_steps, decr_every_n_nan_or_inf
        self._grow, self._fall = incr_ratio, decr_ratio
        self._scale, self._good, self._bad = (
            sg.Variable(value, trainable=False, dtype=dtype, name=name)
            for name, value, dtype in (
                ("loss_scale", init_loss_scale, sg.float32),
                ("good_steps", 0, sg.int32),
                ("bad_steps", 0, sg.int32),
            )
        )

    def get_loss_scale(self) -> Any:
        """The scale, a variable."""
        return self._scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """Count the step, and let the scale grow or fall if it is time.

        Args:
            finite_grads: A condition: all gradients of the step are finite.
        """
        scale, good, bad = (variable.read_value() for variable in (self._scale, self._good, self._bad))
        grows = sg.logical_and(finite_grads, good + 1 >= self._grow_after)
        falls = sg.logical_and(sg.logical_not(finite_grads), bad + 1 >= self._fall_after)
        changes = sg.logical_or(grows, falls)
        larger = scale * self._grow
        larger = sg.where(sg.is_finite(larger), larger, scale)
        smaller = sg.maximum(1.0, scale * self._fall)
        zero = sg.zeros_like(good)
        new_good = sg.where(sg.logical_or(changes, sg.logical_not(finite_grads)), zero, good + 1)
        new_bad = sg.where(changes, zero, sg.where(finite_grads, bad, bad + 1))
        return sg.group(
            self._scale.assign(sg.where(grows, larger, sg.where(falls, smaller, scale))),
            self._good.assign(new_good),
            self._bad.assign(new_bad),
        )


class LossScaleOptimizer(sg.train.Optimizer):
    """Take gradients of a scaled loss, and make the step of another optimizer if they are finite.

    Args:
        opt: The other optimizer.
        loss_scale_manager: The rule for the scale.

    >>> import staticgraph as sg
    >>> w = sg.Variable(1.0)
    >>> manager = FixedLossScaleManager(128.0)
    >>> step = LossScaleOptimizer(sg.train.GradientDescentOptimizer(0.1), manager).minimize(w * w)
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.global_variables_initializer())
    ...     _ = sess.run(step)
    ...     round(float(sess.run(w)), 4)
    0.8
    """

    def __init__(self, opt: Any, loss_scale_manager: LossScaleManager) -> None:
        super().__init__(use_locking=False, name=type(self).__name__)
        self._opt = opt
        self._manager = loss_scale_manager

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
        scale = sg.convert_to_tensor(self._manager.get_loss_scale())
        pairs = self._opt.compute_gradients(
            value * sg.cast(scale, value.dtype),
            var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        back = sg.reciprocal(scale)
        return [(g if g is None else g * sg.cast(back, g.dtype), v) for g, v in pairs]

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> Any:
        """`Optimizer.apply_gradients` if all gradients are finite, and the update of the scale."""
        pairs = list(grads_and_vars)
        finite = [sg.reduce_all(sg.is_finite(g)) for g, _ in pairs if g is not None]
        is_finite = sg.reduce_all(sg.stack(finite))

        def apply() -> Any:
            return self._opt.apply_gradients(pairs, global_step, name)

        made = sg.cond(is_finite, lambda: sg.group(apply()), sg.no_op)
        return sg.group(made, self._manager.update_loss_scale(is_finite))
