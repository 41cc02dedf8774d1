"""`RuleOptimizer`: an update rule as an optimizer of TF1, with its names of slots and of hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.compiler import ops
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.state.initializers import Zeros
from staticgraph.state.variables import Variable
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
