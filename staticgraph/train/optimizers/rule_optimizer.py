"""`RuleOptimizer`: an update rule as an optimizer of TF1, with its names of slots and of hyperparameters.

Gradient descent, with momentum; Adam (Kingma and Ba, 2014), and the powers of its decay rates; Adagrad,
Adadelta and RMSProp, with a learning rate for each element. Those with penalties are in `proximal.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import control_dependencies
from staticgraph.building.inputs import group
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import real_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.state.initializers import Constant, Ones, Zeros
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers import rules
from staticgraph.train.optimizers.optimizer import Optimizer
from staticgraph.train.optimizers.rules import Rule

# Parameters of rules by the names of hyperparameters, where these differ.
_PARAMETERS = {
    "learning_rate": "lr",
    "decay": "rho",
    "learning_rate_power": "lr_power",
    "l1_regularization_strength": "l1",
    "l2_regularization_strength": "l2",
    "l2_shrinkage_regularization_strength": "l2_shrinkage",
}


class RuleOptimizer(Optimizer):
    """An optimizer that applies `rule`.

    Args:
        use_locking: Without effect, as all updates of a run are one step.
        name: The name of the operation, and of the slots' variables.
        hyperparameters: Numbers, tensors, or functions that give one, by name: tensors of these names are
            made with each step.
        options: Attributes of the rule's op.
    """

    rule: Rule
    sparse_operations = 8  # of TensorFlow, if rows are updated: those that are listed twice are added up
    slots: Mapping[str, str] = {}  # names by parameters of the rule, in the order in which they are made
    unread: Sequence[str] = ()  # hyperparameters that the rule does not take

    def __init__(self, use_locking: bool, name: str, hyperparameters: dict[str, Any], **options: Any) -> None:
        super().__init__(use_locking, name)
        self._hyperparameters = hyperparameters
        self._options = options

    def _initial(self, slot: str) -> Any:
        """The initializer of a slot."""
        return Zeros()

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            for slot in self.slots.values():
                self._get_or_make_slot_with_initializer(
                    var, self._initial(slot), var.shape, var.dtype, slot, self._name
                )

    def _prepare(self) -> None:
        self._make_tensors(**self._hyperparameters)

    def _numbers(self, like: Any) -> dict[str, Any]:
        """The numbers that the rule takes, in the dtype of `like`."""
        taken = [name for name in self._hyperparameters if name not in self.unread]
        return {_PARAMETERS.get(name, name): self._number(name, like) for name in taken} | self._options

    def _number(self, name: str, like: Any) -> Tensor:
        """A hyperparameter, as `_prepare` made it, in the dtype of `like`."""
        return in_dtype_of(like, self._tensors[name])

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._apply_rule(grad, var)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Operation:
        with counted_as(var.graph, self.sparse_operations):
            return self._apply_rule(grad, var)

    def _apply_rule(self, grad: Tensor | IndexedSlices, var: Variable) -> Operation:
        slots = {parameter: self.get_slot(var, slot) for parameter, slot in self.slots.items()}
        return self.rule.apply(grad, var, slots, self._numbers(grad), self._use_locking)


def in_dtype_of(like: Any, number: Any) -> Tensor:
    """A tensor or variable in the dtype of `like`."""
    return number if number.dtype is like.dtype else ops.cast(number, dtype=like.dtype)


class GradientDescentOptimizer(RuleOptimizer):
    """`variable -= learning_rate * gradient`.

    >>> w = sg.Variable([1.0, 2.0])
    >>> step = sg.train.GradientDescentOptimizer(0.5).minimize(sg.reduce_sum(w * w) / 2.0)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(step)
    ...     sess.run(w)
    array([0.5, 1. ], dtype=float32)
    """

    rule = rules.gradient_descent
    sparse_operations = 2

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name, {"learning_rate": learning_rate})


class MomentumOptimizer(RuleOptimizer):
    """`accumulation = momentum * accumulation + gradient; variable -= learning_rate * accumulation`.

    With `use_nesterov`, `variable -= learning_rate * (gradient + momentum * accumulation)`.

    >>> w = sg.Variable(0.0)
    >>> step = sg.train.MomentumOptimizer(0.1, momentum=0.5).minimize(-w)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     [round(float(sess.run([step, w])[1]), 3) for _ in range(3)]
    [0.1, 0.25, 0.425]
    """

    rule = rules.momentum
    slots: Mapping[str, str] = {"accum": "momentum"}

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        hyperparameters = {"learning_rate": learning_rate, "momentum": momentum}
        super().__init__(use_locking, name, hyperparameters, use_nesterov=use_nesterov)


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


class AdagradOptimizer(RuleOptimizer):
    """`accumulator += gradient ** 2; variable -= learning_rate * gradient / sqrt(accumulator)`.

    ValueError unless `initial_accumulator_value` is positive.

    >>> w = sg.Variable([1.0, 100.0])
    >>> step = sg.train.AdagradOptimizer(0.1).minimize(sg.reduce_sum(w * w))
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(step)
    ...     (sess.run(w) - [1.0, 100.0]).round(3)
    array([-0.099, -0.1  ])
    """

    rule = rules.adagrad
    slots: Mapping[str, str] = {"accum": "accumulator"}

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if real_of(initial_accumulator_value, "initial_accumulator_value") <= 0.0:
            raise misuse(
                ValueError, f"initial_accumulator_value must be positive, not {initial_accumulator_value}"
            )
        super().__init__(use_locking, name, {"learning_rate": learning_rate})
        self._initial_accumulator_value = initial_accumulator_value

    def _initial(self, slot: str) -> Any:
        return Constant(self._initial_accumulator_value)


class AdadeltaOptimizer(RuleOptimizer):
    """Steps as large as the root mean square of past steps, over that of past gradients, times
    `learning_rate`.
    """

    rule = rules.adadelta
    slots: Mapping[str, str] = {"accum": "accum", "accum_update": "accum_update"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name, {"lr": learning_rate, "rho": rho, "epsilon": epsilon})


class RMSPropOptimizer(RuleOptimizer):
    """Gradients over the root of a moving average of their squares, which begins at one, with momentum.

    With `centered`, over their standard deviation: the
    square of the moving average of gradients is taken off.

    >>> w = sg.Variable([1.0, 100.0])
    >>> step = sg.train.RMSPropOptimizer(0.01).minimize(sg.reduce_sum(w * w))
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(step)
    ...     (sess.run(w) - [1.0, 100.0]).round(3)
    array([-0.018, -0.032])
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        numbers = {"learning_rate": learning_rate, "decay": decay, "momentum": momentum, "epsilon": epsilon}
        super().__init__(use_locking, name, numbers)
        self.rule = rules.centered_rmsprop if centered else rules.rmsprop
        self.slots = {"ms": "rms", **({"mg": "mg"} if centered else {}), "mom": "momentum"}

    def _initial(self, slot: str) -> Any:
        return Ones() if slot == "rms" else Zeros()
