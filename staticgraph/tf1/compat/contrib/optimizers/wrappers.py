"""`tf.contrib.opt`: what is added to another optimizer: weight decay, averages, bounded norms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.checkpoints.saver import Saver
from staticgraph.train.optimizers.optimizer import Optimizer
from staticgraph.train.optimizers.rule_optimizer import AdamOptimizer, MomentumOptimizer

__all__ = [
    "AdamWOptimizer",
    "DecoupledWeightDecayExtension",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "VariableClippingOptimizer",
    "extend_with_decoupled_weight_decay",
]

Pairs = Iterable[tuple[Any, sg.Variable]]


class DecoupledWeightDecayExtension(Optimizer):
    """Takes `weight_decay * variable` off each variable before its step (Loshchilov and Hutter, 2017).

    To be inherited before an optimizer: `class AdamW(DecoupledWeightDecayExtension, AdamOptimizer)`. The
    weight decay is not multiplied by the learning rate. A sparse gradient decays the rows that it touches.
    """

    def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._weight_decay = weight_decay
        self._decay_var_list: Sequence[Any] = ()

    def minimize(
        self,
        loss: sg.Tensor,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Sequence[Any] | None = None,
    ) -> sg.Operation:
        """`Optimizer.minimize`, which decays only `decay_var_list`, if that is given."""
        pairs = self.compute_gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )
        return self.apply_gradients(pairs, global_step, name, decay_var_list)

    def apply_gradients(
        self,
        grads_and_vars: Pairs,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Sequence[Any] | None = None,
    ) -> sg.Operation:
        """`Optimizer.apply_gradients`, which decays only `decay_var_list`, if that is given."""
        self._decay_var_list = list(decay_var_list or ())
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _prepare(self) -> None:
        self._make_tensors(weight_decay=self._weight_decay)
        super()._prepare()

    def _decays(self, var: sg.Variable) -> bool:
        return not self._decay_var_list or any(var is each for each in self._decay_var_list)

    def _decay(self, var: sg.Variable) -> Any:
        return sg.cast(self._tensors["weight_decay"], var.dtype)

    def _apply_dense(self, grad: sg.Tensor, var: sg.Variable) -> sg.Operation:
        decayed = [var.assign_sub(self._decay(var) * var)] if self._decays(var) else []
        with sg.control_dependencies(decayed):
            return super()._apply_dense(grad, var)

    def _apply_sparse_duplicate_indices(self, grad: sg.IndexedSlices, var: sg.Variable) -> sg.Operation:
        decayed = []
        if self._decays(var):
            before = sg.gather(var, grad.indices)  # which may list a row several times
            decayed.append(sg.scatter_update(var, grad.indices, before - self._decay(var) * before))
        with sg.control_dependencies(decayed):
            return super()._apply_sparse_duplicate_indices(grad, var)


def extend_with_decoupled_weight_decay(base_optimizer: type[Optimizer]) -> type[Optimizer]:
    """An optimizer's class with weight decay, which its constructor takes first."""
    name = f"{base_optimizer.__name__}WithDecoupledWeightDecay"
    return type(name, (DecoupledWeightDecayExtension, base_optimizer), {})


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(weight_decay, learning_rate, beta1, beta2, epsilon, use_locking, name)


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with decoupled weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(weight_decay, learning_rate, momentum, use_locking, name, use_nesterov)


class WrappedOptimizer(Optimizer):
    """Another optimizer, `_optimizer`, to which a subclass adds something."""

    def __init__(self, opt: Optimizer, name: str) -> None:
        super().__init__(False, name)
        self._optimizer = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, sg.Variable]]:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Pairs, global_step: Any = None, name: str | None = None
    ) -> sg.Operation:
        return self._optimizer.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, var: sg.Variable, name: str) -> Any:
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._optimizer.get_slot_names()

    def variables(self) -> list[sg.Variable]:
        return self._optimizer.variables()


class MovingAverageOptimizer(WrappedOptimizer):
    """Another optimizer, which keeps the moving averages of what it trains.

    `swapping_saver` saves the averages under the names of the variables, so that an evaluation uses them.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: Any = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(opt, "MovingAverage")
        self._average = sg.train.ExponentialMovingAverage(average_decay, num_updates)
        self._other: dict[str, str] = {}

    def apply_gradients(
        self, grads_and_vars: Pairs, global_step: Any = None, name: str | None = None
    ) -> sg.Operation:
        """The other optimizer's step, and then the averages."""
        pairs = list(grads_and_vars)
        trained = [var for grad, var in pairs if grad is not None]
        step = self._optimizer.apply_gradients(pairs, global_step, name)
        with sg.control_dependencies([step]):
            averaged = self._average.apply(trained)
        for var in trained:
            names = var.op.name, self._average.average_name(var)
            self._other |= dict([names, names[::-1]])
        return sg.group(step, averaged, name="train_with_avg")

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Saver:
        """A Saver in which each variable and its average have changed places.

        RuntimeError before `minimize`; ValueError if one of the two is not saved.
        """
        if not self._other:
            raise misuse(
                RuntimeError, "swapping_saver() needs the averages that minimize() makes: call that first"
            )
        listed = sg.global_variables() if var_list is None else var_list
        by_name = dict(listed) if isinstance(listed, Mapping) else {var.op.name: var for var in listed}
        absent = [other for key in by_name if (other := self._other.get(key, key)) not in by_name]
        if absent:
            raise misuse(ValueError, f"swapping_saver(): {', '.join(absent)} must be saved too")
        return Saver({key: by_name[self._other.get(key, key)] for key in by_name}, name=name, **kwargs)


class VariableClippingOptimizer(WrappedOptimizer):
    """Another optimizer, after which variables are scaled down to a norm of at most `max_norm`.

    `vars_to_clip_dims` maps variables to the axes over which a norm is taken: [1] for each row of a matrix.
    """

    def __init__(
        self,
        opt: Optimizer,
        vars_to_clip_dims: Mapping[Any, Sequence[int]],
        max_norm: Any,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(opt, name)
        self._axes = {var: list(axes) for var, axes in vars_to_clip_dims.items()}
        self._max_norm = max_norm

    def apply_gradients(
        self, grads_and_vars: Pairs, global_step: Any = None, name: str | None = None
    ) -> sg.Operation:
        """The other optimizer's step, and then the norms."""
        pairs = list(grads_and_vars)
        with sg.name_scope(name, self._name) as scope:
            step = self._optimizer.apply_gradients(pairs, global_step)
            with sg.control_dependencies([step]):
                clipped = [
                    self._clip(grad, var) for grad, var in pairs if grad is not None and var in self._axes
                ]
            return sg.group(step, *clipped, name=scope)

    def _clip(self, grad: Any, var: sg.Variable) -> Any:
        """Only rows that a sparse gradient touches have changed."""
        axes = self._axes[var]
        if not isinstance(grad, sg.IndexedSlices) or 0 in axes:
            return var.assign(sg.clip_by_norm(var.read_value(), self._max_norm, axes))
        rows = grad.indices
        return sg.scatter_update(var, rows, sg.clip_by_norm(sg.gather(var, rows), self._max_norm, axes))
