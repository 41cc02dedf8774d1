"""The table of update rules: each is one formula, for all optimizers that are known by it.

Most are ops of `compiler/ops/training/`, which have the formula. The rest, of optimizers that are several
operations in TensorFlow too, are here. A formula gets the cells of the variable and of its slots, the
gradient, and hyperparameters. An optimizer of `train`, of Keras or of contrib names a rule, and has its own
names and defaults.

A cell is the place of an update: a whole variable, or the rows of it that a sparse gradient touches. So a
rule is one formula for dense and sparse gradients. A function of `cells.py` chooses the cells for a sparse
gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.inputs import group
from staticgraph.compiler import ops
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.training.steps import FORMULAS, Cell
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.state.variables import Variable


@dataclass(frozen=True)
class Rule:
    """Change of a variable and its slots by a gradient.

    Attributes:
        step: The name of the op, or a formula where there is none.
        sparse: The function of `cells.py` that chooses the cells for a sparse gradient.
    """

    step: str | Callable[..., None]
    sparse: str = "touched_rows"

    def apply(
        self,
        gradient: Tensor | IndexedSlices,
        variable: Variable,
        slots: Mapping[str, Variable],
        numbers: Mapping[str, Any],
        use_locking: bool = False,
    ) -> Operation:
        """Make the operation of one update.

        Args:
            gradient: The gradient of the loss by `variable`.
            variable: The variable that is updated.
            slots: The variables that belong to it, by the names of the formula's parameters.
            numbers: The other arguments of the formula. Tensors among them have the dtype of the gradient.
            use_locking: An attribute of TensorFlow's op.
        """
        if isinstance(self.step, str) and not isinstance(gradient, IndexedSlices):
            changed = {name: slot.handle for name, slot in slots.items()}
            given = {"var": variable.handle, **changed, "grad": gradient, "use_locking": use_locking}
            return OPS[self.step](**given, **numbers).op
        from staticgraph.train.optimizers import cells as places  # few programs need it

        place: Callable[[Variable], Any] = places.Whole
        slot_place: Callable[[Variable], Any] = places.Whole
        if isinstance(gradient, IndexedSlices):
            gradient, place, slot_place = getattr(places, self.sparse)(gradient, variable)
        target = place(variable)
        cells = {name: slot_place(slot) for name, slot in slots.items()}
        self._formula(target, **cells, grad=gradient, **numbers)
        writes = [cell.write() for cell in (*cells.values(), target)]
        return writes[0] if len(writes) == 1 else group(*writes)

    @property
    def _formula(self) -> Callable[..., None]:
        return FORMULAS[OPS[self.step].name] if isinstance(self.step, str) else self.step


gradient_descent = Rule("apply_gradient_descent", "touched_rows_in_place")
momentum = Rule("apply_momentum")
adam = Rule("apply_adam", "decaying_rows")
lazy_adam = Rule("apply_adam")
nesterov_adam = Rule("apply_adam", "touched_rows_of_decaying")
adamax = Rule("apply_ada_max")
rmsprop = Rule("apply_rms_prop")
centered_rmsprop = Rule("apply_centered_rms_prop")
adagrad = Rule("apply_adagrad")
adadelta = Rule("apply_adadelta")
ftrl = Rule("apply_ftrl")
ftrl_with_shrinkage = Rule("apply_ftrl_v2")
proximal_descent = Rule("apply_proximal_gradient_descent")
proximal_adagrad = Rule("apply_proximal_adagrad")
dual_averaging = Rule("apply_adagrad_da")
add_sign = Rule("apply_add_sign", "all_rows")
power_sign = Rule("apply_power_sign", "all_rows")


def _momentum_of_steps(
    var: Cell, accum: Cell, lr: Any, grad: Tensor, momentum: Any, use_nesterov: bool
) -> None:
    """Along a decaying total of the steps that plain descent would make."""
    OPS["apply_momentum"]
    FORMULAS["apply_momentum"](var, accum, -1.0, grad * -lr, momentum, use_nesterov=use_nesterov)


momentum_of_steps = Rule(_momentum_of_steps)


def _largest_adam(var: Cell, m: Cell, v: Cell, largest: Cell, **given: Any) -> None:
    from staticgraph.compiler.ops.training.adam import adam_step  # few programs need it

    adam_step(var, m, v, largest=largest, **given)


adam_by_largest = Rule(_largest_adam, "decaying_rows")


def _nadam(
    var: Cell,
    m: Cell,
    v: Cell,
    grad: Tensor,
    lr: Any,
    beta1: Any,
    beta2: Any,
    beta2_power: Any,
    epsilon: Any,
    now: Any,
    following: Any,
    product: Any,
) -> None:
    """Adam with Nesterov's momentum on a schedule (Dozat, 2016).

    `now` and `following` are the momenta of this step and of the next, `product` that of all up to now.
    """
    mean, squares = m.average(grad, beta1), v.average(grad * grad, beta2)
    ahead = (1.0 - now) * grad / (1.0 - product) + following * mean / (1.0 - product * following)
    var.subtract(lr * ahead / (ops.sqrt(squares / (1.0 - beta2_power)) + epsilon))


nadam = Rule(_nadam, "touched_rows_of_decaying")


def _rmsprop_without_momentum(
    var: Cell, ms: Cell, grad: Tensor, lr: Any, rho: Any, epsilon: Any, mg: Cell | None = None
) -> None:
    """Gradients over the root of the average of their squares, with epsilon outside of the root."""
    from staticgraph.compiler.ops.training.adaptive import mean_square  # few programs need it

    var.subtract(grad * lr / (ops.sqrt(mean_square(ms, rho, grad, mg)) + epsilon))


rmsprop_without_momentum = Rule(_rmsprop_without_momentum, "touched_rows_of_decaying")


def _adagrad_with_epsilon(var: Cell, accum: Cell, grad: Tensor, lr: Any, epsilon: Any) -> None:
    """Gradients over the root of the total of their squares, with epsilon outside of the root."""
    var.subtract(grad * lr / (ops.sqrt(accum.set(accum.value + grad * grad)) + epsilon))


adagrad_with_epsilon = Rule(_adagrad_with_epsilon)
