"""The compiler's graph: values, nodes, and Functions.

A `Function` is immutable and all its shapes are static. Nodes are made by a
`Builder`, which interns them: the same op on the same inputs is the same
node, so common subexpressions merge by themselves and equality is identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, join_strings, split_strings, string
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.graph.operators import Operators
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import is_open
from staticgraph.compiler.support.dataclass import cached_property, dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    """An array as a hashable value: the contents of a constant."""

    data: bytes
    dtype: DType
    shape: tuple[int, ...]

    @staticmethod
    def of(array: np.ndarray, dtype: DType) -> Literal:
        array = dtype.round(array)
        return Literal(join_strings(array) if dtype is string else array.tobytes(), dtype, array.shape)

    @property
    def array(self) -> np.ndarray:
        """The contents, read-only, in the dtype's NumPy carrier."""
        if self.dtype is string:
            return split_strings(self.data, self.shape)
        return np.frombuffer(self.data, self.dtype.numpy).reshape(self.shape)


class Node:
    """One use of an op in a Function."""

    __slots__ = ("op", "inputs", "attrs", "outputs", "serial", "where", "formula", "__weakref__")

    def __init__(
        self,
        op: OpDef,
        inputs: tuple[Value, ...],
        attrs: dict[str, Any],
        types: tuple[TensorType, ...],
        serial: int,
        where: Provenance | None,
        recorder: Any,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.serial = serial  # later nodes have greater numbers: sorting by it is a topological order
        self.where = where
        self.formula: Any = None  # of its elements, once fusion has asked for it
        if len(types) == 1:  # as nearly all have
            self.outputs: tuple[Value, ...] = (Value(self, 0, types[0], recorder),)
        else:
            self.outputs = tuple([Value(self, i, t, recorder) for i, t in enumerate(types)])

    def __repr__(self) -> str:
        return f"<{self.op.name} #{self.serial}>"


# The names of parameters that are fed begin so.
FEED = "feed "
# Operations that give elements another shape, and nothing else: the result is the same memory.
RESHAPES = frozenset({"reshape", "expand_dims", "squeeze"})


def lacks_sizes(node: Node, on_gpu: bool = False) -> bool:
    """Return True if the compiled form of a node must know a size that is open, here or `on_gpu`."""
    closed = max(node.op.closed, node.op.closed_on_gpu) if on_gpu else node.op.closed
    return closed > 0 and is_open(node.inputs[0].shape[-closed:])


class Value(Operators):
    """One output of a node: a tensor inside the compiler."""

    __slots__ = ("node", "index", "type", "recorder", "__weakref__")

    def __init__(self, node: Node, index: int, type: TensorType, recorder: Any) -> None:
        self.node = node
        self.index = index
        self.type = type
        self.recorder = recorder

    @property
    def op(self) -> OpDef:
        return self.node.op

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape  # type: ignore[return-value]  # known in full in a Function

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.type.size

    @property
    def plain(self) -> Value:
        """The value that this one is another name of; itself, if it is no alias."""
        value = self
        while (alias := value.node.op.alias) is not None:
            value = value.node.inputs[alias]
        return value

    @property
    def is_fed(self) -> bool:
        """True if the value is an array of the caller, perhaps by another name."""
        node = self.node
        while node.op.alias is not None or node.op.name in RESHAPES:
            node = node.inputs[node.op.alias or 0].node
        return node.op.name == "parameter" and bool(node.attrs["name"].startswith(FEED))

    @property
    def constant(self) -> np.ndarray | None:
        """The value where it is known at compile time, else None."""
        return self.node.attrs["value"].array if self.node.op.name == "constant" else None

    @property
    def known(self) -> np.ndarray | None:
        """The value as far as it is known at compile time: that of a constant, or an array of open sizes."""
        if self.node.op.name != "extents":
            return self.constant
        sizes = np.empty(self.shape, object)
        sizes.ravel()[:] = self.node.attrs["sizes"]
        return sizes

    def __repr__(self) -> str:
        return f"<{self.node.op.name} #{self.node.serial}:{self.index} {self.type}>"


@dataclass(frozen=True, eq=False)
class Function:
    """`params` -> `results`. Params are values of `parameter` nodes."""

    params: tuple[Value, ...]
    results: tuple[Value, ...]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes that the results need, inputs before users; params that nothing needs are left out."""
        return tuple(toposort(self.results))

    @cached_property
    def op_names(self) -> frozenset[str]:
        """The names of the ops of its nodes, by which a pass sees if it is concerned."""
        return frozenset([node.op.name for node in self.nodes])

    def with_results(self, results: Iterable[Value]) -> Function:
        return Function(self.params, tuple(results))

    @property
    def users(self) -> dict[Value, list[Node]]:
        """The nodes that use each value."""
        table: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(node.inputs):
                table.setdefault(value, []).append(node)
        return table


def toposort(results: Iterable[Value]) -> list[Node]:
    """The nodes below `results`, inputs before users. Serial numbers are such an order."""
    seen: set[Node] = set()
    stack = [value.node for value in results]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            for value in node.inputs:
                stack.append(value.node)
    return sorted(seen, key=attrgetter("serial"))


def as_outputs(made: Any) -> tuple[Any, ...]:
    """Return the result of an op's definition as a tuple of one item per output. A single item is wrapped."""
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)


def transform(function: Function, rebuild: Callable[[Node, tuple[Value, ...]], Any]) -> Function:
    """`function` with every node given to `rebuild(node, new_inputs)`, which returns the new value or values.

    Params keep their identity. `rebuild` is free to call
    ops: they are recorded into the builder of its inputs.
    """
    table: dict[Value, Value] = {p: p for p in function.params}
    for node in function.nodes:
        if node.outputs and node.outputs[0] in table:
            continue
        made = rebuild(node, tuple(map(table.__getitem__, node.inputs)))
        if made is not node.outputs:
            table.update(zip(node.outputs, as_outputs(made), strict=True))
        else:
            table.update(zip(made, made, strict=True))
    return function.with_results(map(table.__getitem__, function.results))


def substitute(results: Iterable[Value], replacements: Mapping[Value, Value]) -> list[Value]:
    """`results` with some values below them replaced; what does not depend on those stays as it is.

    New nodes come from the user's lines of the old ones.
    """
    return substitute_more(results, dict(replacements)) if replacements else list(results)


def substitute_more(results: Iterable[Value], table: dict[Value, Value]) -> list[Value]:
    """`results` by a table of what values become, to which all values below them are added.

    With one table for several calls, no value is looked at twice.
    """
    results = list(results)
    seen: set[Node] = set()
    stack = [r.node for r in results if r not in table]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += [v.node for v in node.inputs if v not in table]
    for node in sorted(seen, key=attrgetter("serial")):
        inputs = [table.get(v, v) for v in node.inputs]
        changed = any(new is not old for new, old in zip(inputs, node.inputs, strict=True))
        made = node.outputs[0].recorder.again(node, inputs) if changed else node
        for old, new in zip(node.outputs, made.outputs, strict=True):
            table.setdefault(old, new)  # some of them may be replaced
    return [table[r] for r in results]
