"""Adam (Kingma and Ba, 2014), and the powers of its decay rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.building.framework import control_dependencies
from staticgraph.building.inputs import group
from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers import rules
from staticgraph.train.optimizers.rule_optimizer import RuleOptimizer, in_dtype_of


class AdamOptimizer(RuleOptimizer):
    """Moving averages `m` of gradients and `v` of their
    squares; `variable -= rate * m / (sqrt(v) + epsilon)`.

    `rate` is `learning_rate * sqrt(1 - beta2 ** t) / (1 - beta1 ** t)` in step t, which takes out that the
    averages begin at zero. A sparse gradient adds to the rows that it touches, and all rows decay and move,
    as in TF1.

    >>> import staticgraph as sg
    >>> w = sg.Variable([1.0, 2.0], name="w")
    >>> optimizer = sg.train.AdamOptimizer(0.1)
    >>> step = optimizer.minimize(sg.reduce_sum(w * w))
    >>> [v.name for v in optimizer.variables()]
    ['beta1_power:0', 'beta2_power:0', 'w/Adam:0', 'w/Adam_1:0']
    """

    rule = rules.adam
    sparse_operations = 33
    slots: Mapping[str, str] = {"m": "m", "v": "v"}
    powers: tuple[str, ...] = ("beta1", "beta2")  # decay rates of which the rule needs the power of the step

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        numbers = {"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        super().__init__(use_locking, name, numbers)

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        first = min(var_list, key=lambda v: v.name)
        for rate in self.powers:
            initial = self._call_if_callable(self._hyperparameters[rate])
            self._create_non_slot_variable(initial, f"{rate}_power", first)
        super()._create_slots(var_list)

    def _numbers(self, like: Any) -> dict[str, Any]:
        names = [f"{rate}_power" for rate in self.powers]
        powers = {name: in_dtype_of(like, self._get_non_slot_variable(name)) for name in names}
        return powers | super()._numbers(like)

    def _finish(self, update_ops: Sequence[Operation], name_scope: str) -> Operation:
        powers = {rate: self._get_non_slot_variable(f"{rate}_power") for rate in self.powers}
        with control_dependencies(update_ops):
            further = [
                ops.assign(power.handle, power * self._number(rate, power)) for rate, power in powers.items()
            ]
        return group(*update_ops, *further, name=name_scope)
