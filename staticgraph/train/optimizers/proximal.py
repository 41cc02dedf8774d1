"""Optimizers with penalties in their steps: weights that the l1 penalty outweighs are exactly zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.arrays.casts import cast
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import real_of
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.initializers import Constant, Zeros
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers import rules
from staticgraph.train.optimizers.rule_optimizer import AdagradOptimizer, RuleOptimizer


def _penalties(l1: float, l2: float) -> dict[str, Any]:
    return {"l1_regularization_strength": l1, "l2_regularization_strength": l2}


class ProximalGradientDescentOptimizer(RuleOptimizer):
    """Gradient descent with penalties: weights that the l1 penalty outweighs are exactly zero."""

    rule = rules.proximal_descent

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        penalties = _penalties(l1_regularization_strength, l2_regularization_strength)
        super().__init__(use_locking, name, {"learning_rate": learning_rate, **penalties})


class ProximalAdagradOptimizer(AdagradOptimizer):
    """Adagrad with penalties: weights that the l1 penalty outweighs are exactly zero.

    ValueError unless `initial_accumulator_value` is positive.
    """

    rule = rules.proximal_adagrad

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._hyperparameters |= _penalties(l1_regularization_strength, l2_regularization_strength)


class AdagradDAOptimizer(RuleOptimizer):
    """Weights follow from the sums of all gradients and of their squares, not from the weights before.

    The penalties grow with the number of steps, `global_step + 1`. ValueError unless
    `initial_gradient_squared_accumulator_value` is positive.
    """

    rule = rules.dual_averaging
    slots: Mapping[str, str] = {
        name: name for name in ("gradient_accumulator", "gradient_squared_accumulator")
    }

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            given = initial_gradient_squared_accumulator_value
            raise misuse(
                ValueError, f"initial_gradient_squared_accumulator_value must be positive, not {given}"
            )
        super().__init__(use_locking, name, {"learning_rate": learning_rate})
        self._penalties = {"l1": l1_regularization_strength, "l2": l2_regularization_strength}
        self._global_step = global_step
        self._squares = initial_gradient_squared_accumulator_value

    def _initial(self, slot: str) -> Any:
        return Constant(self._squares) if "squared" in slot else Zeros()

    def _prepare(self) -> None:
        super()._prepare()
        self._tensors["steps"] = ops.identity(convert_to_tensor(self._global_step)) + 1

    def _numbers(self, like: Any) -> dict[str, Any]:
        steps = ops.identity(self._tensors["steps"])
        steps = steps if steps.dtype is int64 else cast(steps, int64)
        penalties = {name: cast(strength, like.dtype) for name, strength in self._penalties.items()}
        return super()._numbers(like) | penalties | {"global_step": steps}


class FtrlOptimizer(RuleOptimizer):
    """Follow the regularized leader: weights that the l1 penalty outweighs are exactly zero.

    `l2_shrinkage_regularization_strength` penalises large weights, while the l2 strength only steadies the
    update. ValueError for negative strengths or accumulator, or a positive `learning_rate_power`.
    """

    slots: Mapping[str, str] = {"accum": "accum", "linear": "linear"}

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        not_negative = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        for what, value in not_negative.items():
            if real_of(value, what) < 0.0:
                raise misuse(ValueError, f"{what} must not be negative, it is {value}")
        if real_of(learning_rate_power, "learning_rate_power") > 0.0:
            raise misuse(ValueError, f"learning_rate_power must not be positive, it is {learning_rate_power}")
        hyperparameters = {
            "learning_rate": learning_rate,
            **_penalties(l1_regularization_strength, l2_regularization_strength),
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
            "learning_rate_power": learning_rate_power,
        }
        super().__init__(use_locking, name, hyperparameters)
        shrinks = l2_shrinkage_regularization_strength > 0.0
        self.rule = rules.ftrl_with_shrinkage if shrinks else rules.ftrl
        self.unread = () if shrinks else ("l2_shrinkage_regularization_strength",)
        self._initial_accumulator_value = initial_accumulator_value
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            initial = constant(self._initial_accumulator_value, var.dtype, var.shape)
            self._get_or_make_slot(var, initial, "accum", self._accum_name or self._name)
            self._zeros_slot(var, "linear", self._linear_name or self._name)
