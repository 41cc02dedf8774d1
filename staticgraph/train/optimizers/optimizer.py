"""`Optimizer`: from a loss to one operation that takes a training step.

Before gradients are applied, a function may exchange them with other processes. The scope of a strategy sets
it, and so does a server of a cluster; without either, there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, ValuesView
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import (
    GraphKeys,
    control_dependencies,
    get_default_graph,
    init_scope,
    name_scope,
)
from staticgraph.building.inputs import convert_to_tensor, group
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import text_of
from staticgraph.compiler.graph.dtypes import FLOATING, DType
from staticgraph.compiler.graph.errors import GradientError, misuse, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Operation, Tensor, ancestors, may_use
from staticgraph.differentiation.gradients import gradients, no_gradients_error
from staticgraph.state import replicas
from staticgraph.state.initializers import Zeros
from staticgraph.state.slots import make_slot
from staticgraph.state.variable_lists import trainable_variables
from staticgraph.state.variables import Variable

Pairs = list[tuple[Any, Any]]
Exchange = Callable[[Pairs], Pairs]

_exchange: ContextVar[Exchange | None] = ContextVar("exchange_of_gradients", default=None)


def present() -> Exchange | None:
    """Return the function that is set here, or None."""
    return _exchange.get()


def set_for_all(exchange: Exchange | None) -> None:
    """Set the function for the rest of the program."""
    _exchange.set(exchange)


@contextmanager
def exchanging(exchange: Exchange | None) -> Iterator[None]:
    """Context in which optimizers call `exchange`, or nothing if it is None."""
    token = _exchange.set(exchange)
    try:
        yield
    finally:
        _exchange.reset(token)


def exchanged(pairs: Pairs) -> Pairs:
    """Return pairs of gradients and variables as optimizers are to apply them."""
    exchange = _exchange.get()
    return pairs if exchange is None else exchange(pairs)


Gradient = Tensor | IndexedSlices


class Optimizer:
    """The base of all optimizers.

    `minimize` is `compute_gradients`, then `apply_gradients`; between the two, gradients can be clipped. A
    subclass defines `_create_slots(variables)`, `_prepare()`, `_apply_dense(gradient, variable)` and
    `_apply_sparse(slices, variable)`. Slots are variables that belong to a variable, such as its momentum.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if name is None or not text_of(name, "the name of an optimizer"):
            raise misuse(ValueError, "an optimizer needs a name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Variable, Variable]] = {}
        self._non_slots: dict[tuple[str, Graph], Variable] = {}
        self._tensors: dict[str, Tensor] = {}

    def get_name(self) -> str:
        return self._name

    def minimize(
        self,
        loss: Tensor,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """An operation that changes `var_list`, the trainable variables by default, so that `loss` falls.

        It adds one to `global_step`, and runs the updates in the collection UPDATE_OPS that belong to the
        loss and to layers that it trains (moving averages of batch normalization), unless the program made
        them run by a control dependency already. GradientError (a ValueError) where the loss depends on no
        variable. A function of no arguments that returns the loss may stand for it: it is called once.

        >>> import staticgraph as sg
        >>> w = sg.Variable(3.0, name="w")
        >>> step = sg.train.GradientDescentOptimizer(0.1).minimize(w * w)
        >>> step.name
        'GradientDescent'
        """
        if callable(loss):
            loss = loss()
        grads_and_vars = self.compute_gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )
        if all(g is None for g, _ in grads_and_vars):
            raise no_gradients_error(loss, [v for _, v in grads_and_vars])
        return self.apply_gradients(grads_and_vars, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Variable]]:
        """Return the gradient of `loss` by each variable, as pairs (gradient, variable).

        The gradient is None for a variable that `loss` does not depend on, and for one of integers. If
        `loss` is a function of no arguments that returns the loss, and there is no `var_list`, only the
        variables that the loss depends on are listed.
        """
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise misuse(
                ValueError,
                f"gate_gradients={gate_gradients!r} is not Optimizer.GATE_NONE, GATE_OP or GATE_GRAPH",
            )
        only_connected = callable(loss) and var_list is None
        if callable(loss):
            loss = loss()
        if not isinstance(loss, Tensor) and not hasattr(loss, "to_tensor"):
            hint = "it is a tensor made from variables, in the graph; not what Session.run gave"
            raise misuse(TypeError, f"the loss is {shown(loss)}, and no tensor", hint)
        loss = convert_to_tensor(loss)
        listed = trainable_variables() if var_list is None else _listed(var_list)
        if not listed:
            raise misuse(ValueError, "No variables to optimize.", "make a Variable first")
        _check_floating([loss])
        if (replica := replicas.present()) is not None:
            loss = replica.scaled(loss)
        found = gradients(
            loss,
            listed,
            grad_ys=None if grad_loss is None else [grad_loss],
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            gate_gradients=gate_gradients == Optimizer.GATE_OP,
        )
        pairs = list(zip(found, listed, strict=True))
        if only_connected:
            pairs = [pair for pair in pairs if pair[0] is not None]
        _check_floating([variable for gradient, variable in pairs if gradient is not None])
        if gate_gradients == Optimizer.GATE_GRAPH:
            count_more(loss.graph, 1 + sum(gradient is not None for gradient in found))  # all wait for all
        return pairs

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """An operation that changes each variable by its gradient. Pairs whose gradient is None are left out.

        ValueError if there is no pair, GradientError if all gradients are None.
        """
        if (replica := replicas.present()) is not None:
            return replica.apply(lambda p: self.apply_gradients(p, global_step, name), list(grads_and_vars))
        pairs = exchanged(list(grads_and_vars))
        if not pairs:
            raise misuse(ValueError, "apply_gradients() was given no variables")
        given = [(_converted(g), v) for g, v in pairs if g is not None]
        if not given:
            names = ", ".join(v.op.name for _, v in pairs)
            hint = "print(sg.why_no_gradient(loss, variable)) tells where the way to it is cut"
            raise misuse(GradientError, f"No gradients provided for any variable: {names}", hint)
        with init_scope():
            self._create_slots([v for _, v in given])
        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = [self._update(grad, var) for grad, var in given]
            updates += statistics_of(given, updates)
            if global_step is None:
                step: Any = self._finish(updates, scope)
            else:
                if not hasattr(global_step, "handle"):
                    text = f"global_step is {shown(global_step)}, and must be a variable"
                    raise misuse(TypeError, text, "pass sg.train.get_or_create_global_step()")
                with control_dependencies([self._finish(updates, "update")]):
                    step = ops.assign_add(global_step.handle, 1, name=scope)
        operation: Operation = getattr(step, "op", step)
        train_ops = operation.graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if operation not in train_ops:
            train_ops.append(operation)
        return operation

    def _update(self, grad: Gradient, var: Variable) -> Operation:
        with name_scope(f"update_{var.op.name}"):
            if isinstance(grad, IndexedSlices):
                if var.constraint is not None:
                    raise misuse(
                        RuntimeError, f"{var.name} has a constraint, which sparse gradients cannot keep"
                    )
                return self._apply_sparse_duplicate_indices(grad, var)
            update = self._apply_dense(grad, var)
            if var.constraint is None:
                return update
            with control_dependencies([update]):
                return ops.assign(var.handle, var.constraint(var)).op

    # Slots

    def get_slot(self, var: Variable, name: str) -> Any:
        """The slot `name` of `var`, or None."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """The names of the slots, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """The optimizer's own variables in the default graph."""
        graph = get_default_graph()
        own = [v for (_, g), v in self._non_slots.items() if g is graph]
        own += [slot for by_var in self._slots.values() for slot in by_var.values() if slot.graph is graph]
        return sorted(own, key=lambda v: v.op.name)

    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        """Return the variables that a `Checkpoint` saves besides the slots, by name."""
        graph = get_default_graph()
        own = [(name, v) for (name, g), v in self._non_slots.items() if g is graph]
        return sorted(own, key=lambda pair: pair[0])

    def _slot_dict(self, name: str) -> dict[Variable, Variable]:
        return self._slots.setdefault(name, {})

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Variable:
        """A slot that begins at zero."""
        return self._get_or_make_slot_with_initializer(var, Zeros(), var.shape, var.dtype, slot_name, op_name)

    def _get_or_make_slot(self, var: Variable, val: Tensor, slot_name: str, op_name: str) -> Variable:
        """A slot that begins as the tensor `val`."""
        return self._slot(var, slot_name, op_name, val)

    def _get_or_make_slot_with_initializer(
        self, var: Variable, initializer: Any, shape: Any, dtype: DType, slot_name: str, op_name: str
    ) -> Variable:
        """A slot that begins as `initializer(shape, dtype)`."""
        return self._slot(var, slot_name, op_name, lambda: initializer(shape, dtype=dtype))

    def _slot(self, var: Variable, slot_name: str, op_name: str, initial: Any) -> Variable:
        slots = self._slot_dict(slot_name)
        if var not in slots:
            slots[var] = make_slot(var, initial, op_name)
        return slots[var]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Variable) -> Variable:
        """A variable of the optimizer that belongs to no variable in particular."""
        key = name, colocate_with.graph
        if key not in self._non_slots:
            self._non_slots[key] = Variable(initial_value, trainable=False, name=name)
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Any:
        return self._non_slots.get((name, graph or get_default_graph()))

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _make_tensors(self, **hyperparameters: Any) -> None:
        """Hyperparameters, numbers or tensors or functions that give one, as tensors of these names."""
        for name, value in hyperparameters.items():
            tensor = convert_to_tensor(self._call_if_callable(value), name=name)
            if not (tensor.dtype.is_floating or tensor.dtype.is_integer):
                raise misuse(TypeError, f"{name} is {shown(value)}, and must be a number")
            self._tensors[name] = tensor

    # For subclasses

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Make the slots of the variables that are going to be updated."""

    def _prepare(self) -> None:
        """Make the tensors that all updates share, such as the learning rate."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        """The operation that updates `var`."""
        raise NotImplementedError

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Operation:
        """The operation that updates rows of `var`, where a row may be listed more than once."""
        return self._apply_sparse(grad, var)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        """The operation that updates rows of `var`. By default the gradient is made dense."""
        return self._apply_dense(grad.to_tensor(), var)

    def _finish(self, update_ops: Sequence[Operation], name_scope: str) -> Operation:
        """The operation that stands for all updates."""
        return group(*update_ops, name=name_scope)


def _check_floating(items: Iterable[Any]) -> None:
    """Raise GradientError for the first tensor or variable that is not floating."""
    for item in items:
        if item.dtype not in FLOATING:
            text = f"{item.name} is {item.dtype}, and only floating tensors can be optimized"
            raise misuse(GradientError, text, made=[("it", item.op.where)])


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | ValuesView) else [value]


def _converted(grad: Any) -> Gradient:
    return grad if isinstance(grad, IndexedSlices) else convert_to_tensor(grad)


def statistics_of(
    grads_and_vars: Sequence[tuple[Gradient, Any]], updates: Sequence[Operation]
) -> list[Operation]:
    """Return the operations in UPDATE_OPS that a training step runs.

    These are the ones whose inputs its gradients need, of layers that it trains: the step of a discriminator
    leaves the statistics of the generator alone. None if some of them are run by a control dependency: then
    the program has decided which. Those inside of loops and branches are left out, too: nothing outside can
    run them.
    """
    graph = updates[0].graph
    listed = [getattr(u, "op", u) for u in graph.get_collection(GraphKeys.UPDATE_OPS)]
    collected = dict.fromkeys(u for u in listed if may_use(graph.region, u.region))
    if not collected:
        return []
    training = ancestors([*updates, *(g.op for g, _ in grads_and_vars)])
    if not training.isdisjoint(collected):
        return []
    trained = {v.handle.op for _, v in grads_and_vars}
    others = {v.handle.op for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)} - trained

    def belongs(update: Operation) -> bool:
        needed = ancestors([update])
        fixed = needed.isdisjoint(trained) and not needed.isdisjoint(others)
        return _inputs(needed) <= _inputs(training) and not fixed

    return [u for u in collected if belongs(u)]


def _inputs(operations: set[Operation]) -> set[Operation]:
    return {op for op in operations if op.definition.name == "placeholder"}
