"""The witness: carries out the user's graph, one operation after the other, in plain Python and NumPy.

It reads operations, inputs, attributes, control inputs, regions and the order of construction, and nothing
of the compiler. The rules are those of the documentation:

* A run executes what its fetches need, in the order in which it was built. A run that fails changes nothing.
* An explicit read of a variable (`read_value()`, `value()`, `convert_to_tensor`) takes place at its turn. An
  operation that takes the variable itself reads at its own turn. A fetched variable is read after all else.
* The result of an assignment is the value after it.
* A derivative by a variable reaches all its reads, before and after assignments. Nothing flows through an
  assignment into what was assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from tests.witness import structures, tape
from tests.witness.meanings import MEANINGS
from tests.witness.optimizers import STEPS
from tests.witness.tape import Node, leaf

assert structures  # it fills the table of meanings


def _at_rows(old: np.ndarray, indices: np.ndarray, updates: np.ndarray, change: Any) -> np.ndarray:
    """One update after the other; indices are positions of rows."""
    made = old.copy()
    updates = np.broadcast_to(updates, indices.shape + old.shape[1:])
    for at in np.ndindex(indices.shape):
        row = int(indices[at])
        if not 0 <= row < len(old):
            raise IndexError(f"row {row} of {len(old)}")
        made[row] = change(made[row], updates[at])
    return made


def _at_places(old: np.ndarray, indices: np.ndarray, updates: np.ndarray, change: Any) -> np.ndarray:
    """The same; the last axis of the indices is a position."""
    rows = np.arange(old.size).reshape(old.shape)[tuple(np.moveaxis(indices, -1, 0))]
    flat = _at_rows(old.reshape(-1), rows, updates, change)
    return flat.reshape(old.shape)


_CHANGES: dict[str, Callable[..., Any]] = {
    "update": lambda old, new: new,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}
# From the variables that an op changes, then its other inputs: the new values.
WRITES: dict[str, Callable[..., Any]] = (
    {
        "assign": lambda old, value: value.copy(),
        "assign_add": np.add,
        "assign_sub": np.subtract,
    }
    | {
        f"scatter_{name}": lambda old, at, new, change=change: _at_rows(old, at, new, change)
        for name, change in _CHANGES.items()
    }
    | {
        f"scatter_nd_{name}": lambda old, at, new, change=_CHANGES[name]: _at_places(old, at, new, change)
        for name in ("update", "add", "sub")
    }
    | STEPS
)


DERIVATIVES = ("symbolic_gradients", "seed")


class Scope:
    """Values of tensors: of a region, and of those around it."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.values: dict[Tensor, Node] = {}
        self.outer = outer

    def find(self, tensor: Tensor) -> Node | None:
        scope: Scope | None = self
        while scope is not None:
            if tensor in scope.values:
                return scope.values[tensor]
            scope = scope.outer
        return None


class Witness:
    """Runs a graph, and holds the values of its variables by the name of their operation.

    Args:
        graph: The user's graph.
        nudge: Changes what each operation makes, as rounding might, to see what that does to the results.
    """

    def __init__(self, graph: Graph, nudge: Callable[[np.ndarray], np.ndarray] | None = None) -> None:
        self.graph = graph
        self.nudge = nudge
        self.state: dict[str, np.ndarray] = {}
        self._before: dict[str, np.ndarray] = {}

    def run(self, fetches: Sequence[Any], feeds: Mapping[Tensor, Any] | None = None) -> list[Any]:
        """Execute what the fetches need.

        Args:
            fetches: Tensors, operations and variables of the graph.
            feeds: Values of tensors.

        Returns:
            An array for each fetch, None for operations.
        """
        elements = [f.handle if hasattr(f, "handle") else f for f in fetches]
        fed = {t: np.asarray(value, t.dtype.numpy) for t, value in (feeds or {}).items()}
        roots = [f if isinstance(f, Operation) else f.op for f in elements]
        order = _needed(roots, fed)
        if any(op.definition.name == "symbolic_gradients" for op in order):
            order = _needed(roots, {})  # derivatives pass through what is fed
        scope, self._before = Scope(), dict(self.state)
        scope.values.update((t, leaf(value)) for t, value in fed.items())
        try:
            with np.errstate(all="ignore"):
                for op in order:
                    self._execute(op, scope, fed)
                return [None if isinstance(e, Operation) else self._value(e, scope).value for e in elements]
        except BaseException:
            self.state = self._before
            raise

    # One operation

    def _execute(self, op: Operation, scope: Scope, fed: Mapping[Tensor, np.ndarray]) -> None:
        if any(map(self._is_whole, op.outputs)) or (
            op.definition.name == "placeholder" and op.outputs[0] in fed
        ):
            return
        made = self._made(op, scope)
        assert len(made) == len(op.outputs), op
        taken = {id(self._value(t, scope)) for t in op.all_inputs if not self._is_whole(t)}
        if op.definition.name not in DERIVATIVES:  # their results may be a tensor that is there
            made = [_alias(node) if id(node) in taken else node for node in made]
        made = [_fed(node, fed[t]) if t in fed else node for t, node in zip(op.outputs, made, strict=True)]
        if self.nudge is not None and op.definition.name != "constant":
            for node in made:
                node.value = self.nudge(node.value)
        scope.values.update(zip(op.outputs, made, strict=True))

    def _made(self, op: Operation, scope: Scope) -> Sequence[Node]:
        name = op.definition.name
        special = getattr(self, f"_do_{name}", None)
        if special is not None:
            return special(op, scope)
        inputs = [self._value(t, scope) for t in op.tensors]
        if name in WRITES:
            made = WRITES[name](*(n.value for n in inputs), **op.attrs)
            values = made if isinstance(made, tuple) else (made,)
            for tensor, value in zip(op.tensors, values, strict=False):  # variables come first
                self.state[tensor.op.name] = value.astype(self._read(tensor.op).value.dtype)
            return [self._read(op.tensors[0].op)]
        if name not in MEANINGS:
            raise NotImplementedError(f"the witness does not know {name} ({op.name})")
        operands = {param: self._value(t, scope).value for param, t in op.operands.items()}
        made = MEANINGS[name](*inputs, **op.attrs, **operands)
        return made if isinstance(made, tuple) else [made]

    def _value(self, tensor: Tensor, scope: Scope) -> Node:
        if self._is_whole(tensor):
            return self._read(self._variable(tensor))
        found = scope.find(tensor)
        assert found is not None, tensor
        return found

    # State

    def _is_whole(self, tensor: Tensor) -> bool:
        """Return True if a tensor is the variable itself, which is read where it is used."""
        return tensor.op.definition.name in ("variable", "read_variable")

    def _variable(self, tensor: Tensor) -> Operation:
        return tensor.op if tensor.op.definition.name == "variable" else tensor.op.tensors[0].op

    def _read(self, variable: Operation) -> Node:
        if variable.name not in self.state:
            raise RuntimeError(f"{variable.name} has no value")
        return Node(self.state[variable.name], variable=variable)

    def _do_assign(self, op: Operation, scope: Scope) -> list[Node]:
        variable, value = op.tensors[0].op, self._value(op.tensors[1], scope).value
        self.state[variable.name] = value.astype(variable.outputs[0].dtype.numpy)
        return [self._read(variable)]

    def _do_read_value(self, op: Operation, scope: Scope) -> list[Node]:
        return [self._read(op.tensors[0].op)]

    def _do_is_variable_initialized(self, op: Operation, scope: Scope) -> list[Node]:
        return [leaf(np.bool_(self._variable(op.tensors[0]).name in self.state))]

    def _do_initialized_value(self, op: Operation, scope: Scope) -> list[Node]:
        variable = self._variable(op.tensors[0])
        return [self._read(variable) if variable.name in self.state else self._value(op.tensors[1], scope)]

    # Effects

    def _do_placeholder(self, op: Operation, scope: Scope) -> list[Node]:
        raise ValueError(f"{op.name} needs a value")

    def _do_assert_true(self, op: Operation, scope: Scope) -> list[Node]:
        if not self._value(op.tensors[0], scope).value.all():
            raise ValueError(f"{op.name} fails")
        return []

    def _do_py_func(self, op: Operation, scope: Scope) -> list[Node]:
        made = op.attrs["func"](*(self._value(t, scope).value for t in op.tensors))
        listed = list(made) if isinstance(made, list | tuple) else [made]
        return [leaf(np.asarray(v, t.dtype.numpy)) for v, t in zip(listed, op.outputs, strict=False)]

    _do_py_func_stateless = _do_py_func

    # Loops and branches

    def _do_while_region(self, op: Operation, scope: Scope) -> list[Node]:
        cond, body = op.attrs["cond"], op.attrs["body"]
        carried = [self._value(t, scope) for t in op.tensors[: len(body.params)]]
        while self._region(cond, carried, scope)[0].value:
            carried = self._region(body, carried, scope)
        return [*map(_alias, carried), leaf(np.int32(0))]

    def _do_branch_region(self, op: Operation, scope: Scope) -> list[Node]:
        pred, branches = self._value(op.tensors[0], scope).value, op.attrs["branches"]
        number = (0 if pred else 1) if pred.dtype == bool else int(pred)
        chosen = branches[number if 0 <= number < len(branches) else -1]
        return [*map(_alias, self._region(chosen, [], scope))]

    def _region(self, region: Region, given: Sequence[Node], outer: Scope) -> list[Node]:
        scope = Scope(outer)
        for param, node in zip(region.params, given, strict=True):
            scope.values[param] = Node(node.value, (node,), lambda g: (g,), region=region)
        for op in _needed([t.op for t in region.results], {}, region):
            if op.definition.name != "region_parameter":
                self._execute(op, scope, {})
        return [self._value(t, scope) for t in region.results]

    # Derivatives

    def _do_symbolic_gradients(self, op: Operation, scope: Scope) -> list[Node]:
        ys, seeds, xs = op.attrs["ys"], op.attrs["seeds"], op.attrs["xs"]
        targets = [self._value(t, scope) for t in op.tensors[:ys]]
        weights: list[Any] = [self._value(t, scope) for t in op.tensors[ys : ys + seeds]] or [None] * ys
        at, stops = op.tensors[ys + seeds :][:xs], op.tensors[ys + seeds + xs :]
        around = [] if op.region is None else op.region.around
        made = tape.gradients(
            targets,
            weights,
            [self._at(t, scope) for t in at],
            [self._value(t, scope) for t in stops if not self._is_whole(t)],
            lambda node: node.region is not None and node.region in around,
        )
        values = [self._value(t, scope) for t in at]
        return [leaf(np.zeros_like(x.value)) if g is None else g for x, g in zip(values, made, strict=True)]

    def _at(self, tensor: Tensor, scope: Scope) -> Callable[[Node], bool]:
        """Which nodes a derivative by `tensor` is taken at."""
        if self._is_whole(tensor):
            variable = self._variable(tensor)
            return lambda node: node.variable is variable
        found = self._value(tensor, scope)
        return lambda node: node is found

    def _do_custom_gradient(self, op: Operation, scope: Scope) -> list[Node]:
        """The results, cut off: outside of regions `gradients` goes on with what the user's function made."""
        ys, xs, derivative = op.attrs["ys"], op.attrs["xs"], op.attrs["derivative"]
        values = [self._value(t, scope).value for t in op.tensors[:ys]]
        if derivative is None:
            return [leaf(value) for value in values]
        assert ys == 1, "the witness knows custom gradients of one result"
        parents = [self._value(t, scope) for t in op.tensors[ys : ys + xs]]
        return [Node(values[0], parents, lambda g: self._region(derivative, [g], scope))]


def _alias(node: Node) -> Node:
    return Node(node.value, (node,), lambda g: (g,))


def _fed(node: Node, value: np.ndarray) -> Node:
    node.shown = Node(value, (node,), lambda g: (g,))
    return node.shown


def _needed(
    roots: Iterable[Operation], fed: Mapping[Tensor, Any], region: Region | None = None
) -> list[Operation]:
    """The operations of a region, or of none, that `roots` need, in the order of construction."""
    found: set[Operation] = set()
    stack = [op for op in roots if op.region is region]
    while stack:
        op = stack.pop()
        if op in found or (op.outputs and all(t in fed for t in op.outputs)):
            continue
        found.add(op)
        before = [t.op for t in op.all_inputs if t not in fed] + list(op.control_inputs)
        stack += [other for other in before if other.region is region]
    return sorted(found, key=lambda op: op.id)
