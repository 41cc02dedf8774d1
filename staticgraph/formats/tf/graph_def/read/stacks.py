"""Stacks, and arrays that derivatives are added up in, on their way into a graph: values that flow.

A stack is a tensor array with a row per round of the loop that pushes. Row n belongs to round n, whichever
branches that took, so a node may be read more than once. Both are made where neither a loop nor a branch has
all of their nodes; the loops and branches below that place carry them.

Where a loop comes first that pushes, it is added twice: the first time only shows how many rounds it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, int32, int64
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.formats.tf.graph_def.dataflow import PUSHES, Branch, Loop, Step
from staticgraph.formats.tf.graph_def.gradient_arrays import GradientArrays, no_flow
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, constant
from staticgraph.formats.tf.graph_def.ordering import Edge
from staticgraph.formats.tf.graph_def.round_counts import RoundCount, round_count
from staticgraph.formats.tf.graph_def.stacks import SLOPES, STACKS, Path, Slope, Touched, Uses, loop_name
from staticgraph.formats.tf.messages.graph import NodeDef
from staticgraph.formats.tf.messages.types import DataType, dtype_of

_OF_SHAPE = {"shape_of", "size_of", "rank_of"}
_MOST_SIZES, _MOST_STEPS = 16, 200  # of integers that are kept as sizes, and of operations they are made by
_RESOURCE = DataType.Value("DT_RESOURCE")


class Reading(Protocol):
    """A GraphDef that is being read."""

    graph: Graph

    def value(self, each: Edge) -> Any:
        """Return the value at an edge."""

    def full_name(self, node: str) -> str:
        """The name that a node gets."""

    def add_structure(self, step: Loop | Branch) -> None:
        """Add a loop or a branch."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """Number of iterations that a loop has run since its stacks were made or, if it goes `back`, has left.

    `level` is the depth of the part of the graph in which those stacks were made.
    """

    loop: str
    back: bool
    level: int


Key = str | Slope | Rounds  # a stack, by its node; an array of derivatives; a number of rounds


class Kept:
    """State that nodes keep, such as stacks, as values in the part of the graph that is being added to."""

    def __init__(self, reading: Reading) -> None:
        self.uses = Uses()
        self._reading = reading
        self._values: dict[Key, Any] = {}
        self._parts: list[tuple[Touched, list[Key]]] = []  # that are being added to, and what was made there
        self._homes: dict[str, int] = {}  # of stacks: how deep the part is where each is made
        self._rows: dict[str, tuple[Rounds, Rounds]] = {}  # the numbers of rows that are pushed and popped
        self._counts: dict[str, RoundCount | None] = {}  # of rounds, by loop
        self._latest: dict[int, TensorArray] = {}  # forms of arrays outside of loops and branches, by number
        self._same: dict[str, Any] = {}  # values that are the same in all rounds, or None, by stack
        self._sizes: dict[str, Any] = {}  # shapes of values that are kept as sizes, or None, by stack

    def see(self, outputs: Sequence[Any]) -> None:
        """Take note of the latest form of arrays."""
        if self._reading.graph.region is None:
            self._latest.update({each.number: each for each in outputs if isinstance(each, TensorArray)})

    # Parts of the graph

    @contextmanager
    def part(self, steps: Sequence[Step]) -> Iterator[None]:
        """Context for adding steps: what is made there is forgotten afterwards."""
        told = self.uses.of_all(steps)
        below = {stack for each in map(self.uses.of, steps) for stack in each.pushed if stack in each.popped}
        self._parts.append((told, []))
        for stack in told.pushed:
            if stack in told.popped and stack not in below and stack not in self._values:
                self._homes[stack] = len(self._parts)
        try:
            yield
        finally:
            for key in self._parts.pop()[1]:
                self._values.pop(key, None)

    def prepare(self, step: Loop | Branch) -> None:
        """Make what a step is the first to use in this part."""
        told = self.uses.of(step)
        for key, handle in told.slopes.items():
            if handle not in told.handles:
                self._slopes(key, handle)
        new = [s for s in (*told.pushed, *told.popped) if self._homes.get(s) == len(self._parts)]
        if any(loop not in self._counts for s in new for loop in told.pushed.get(s, ())):
            self._learn(step)
        for stack in new:
            self._make(stack, told)

    def _learn(self, step: Loop | Branch) -> None:
        """Find out how many rounds the loops of a step have, where that is clear before they begin."""
        before = dict(self._values)
        with self._reading.graph.attempt() as forget:
            self._reading.add_structure(step)
            forget()
        self._values = before

    def learn(self, loop: Loop, result: Any) -> None:
        """Take down how many rounds a loop has that was added and gave this."""
        flow = result.flow if isinstance(result, TensorArray) else result
        self._counts[loop_name(loop)] = round_count(flow.op)

    def _make(self, stack: str, told: Touched) -> None:
        """Make a stack, or, once that is so, the number of the row that is popped first."""
        level = len(self._parts)
        if stack in told.pushed and stack not in self._values:
            here = Rounds(_last(told.pushed[stack]), False, level)
            self._rows[stack] = here, here
            self._put(stack, self._empty(stack, told.pushed[stack]))
            self._put(here, self._values.get(here, constant(0, int32)))
        if stack in told.popped and stack in self._values:
            here, _ = self._rows[stack]
            back = Rounds(_last(told.popped[stack]), True, level)
            self._rows[stack] = here, back
            self._put(back, self._values.get(back, self._values[here]))

    def _empty(self, stack: str, loops: Path) -> TensorArray:
        """A stack with room for all rounds of these loops, one inside another."""
        size: Any = 1
        for loop in loops:
            count = self._counts.get(loop)
            if count is None:
                size = None
                break
            size = ops.maximum(ops.add(ops.subtract(count.end, count.start), count.more), 0) * size
        name, dtype = f"{self._reading.full_name(stack)}/rows", self._dtype(stack)
        return TensorArray(dtype, 0 if size is None else size, dynamic_size=size is None, name=name)

    def _put(self, key: Key, value: Any) -> None:
        if key not in self._values:
            self._parts[-1][1].append(key)
        self._values[key] = value

    # Loops and branches

    def carried(self, step: Loop | Branch) -> list[Key]:
        """Return the keys of the values that a step has to carry."""
        told = self.uses.of(step)
        keys: list[Key] = [key for key, handle in told.slopes.items() if handle not in told.handles]
        for stack in (*told.pushed, *told.popped):
            keys += [stack, *self._rows.get(stack, ())]
        return [key for key in dict.fromkeys(keys) if key in self._values]

    def values(self, keys: Iterable[Key]) -> list[Any]:
        """Return the current values of these keys."""
        return [self._values[key] for key in keys]

    def change(self, keys: Iterable[Key], values: Iterable[Any]) -> None:
        """Let these be other values from here on."""
        self._values.update(zip(keys, values, strict=True))

    def begin_round(self, loop: Loop) -> None:
        """Go back to the row of the round that begins."""
        told = self.uses.of_all(loop.body)
        self._count({self._rows[s][1] for s, path in told.popped.items() if not path and s in self._rows}, -1)

    def end_round(self, loop: Loop) -> None:
        """Go on to the row of the round to come."""
        told = self.uses.of_all(loop.body)
        self._count({self._rows[s][0] for s, path in told.pushed.items() if not path and s in self._rows}, 1)

    def _count(self, keys: set[Rounds], by: int) -> None:
        for key in keys:
            if key in self._values:
                self._values[key] = ops.add(self._values[key], constant(by, int32))

    # Nodes

    def read(self, node: NodeDef, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs of a node that makes, changes or reads what is kept."""
        out = f"{self._reading.full_name(node.name)}/"
        if node.op in STACKS:
            return (node.name,)  # a handle, which is followed by itself
        if node.op in SLOPES:
            return self._slopes(self.uses.slope(node), self.uses.origin(node).name), no_flow()
        stack = self.uses.stack(node)
        if node.op in PUSHES:
            if stack in self._values:
                self._push(stack, inputs[1], out)
            return (inputs[1],)
        if stack not in self._values:
            raise GraphDefError(f"what was pushed on {stack!r} cannot be found")
        return (self._pop(stack, out),)

    def _push(self, stack: str, value: Any, out: str) -> None:
        if isinstance(value, TensorArray):
            value = value.flow if self._has_handles(stack) else no_flow()
        self._same[stack], self._sizes[stack] = static_value(value), None
        if self._same[stack] is not None:
            return
        if _of_shapes(value):
            self._sizes[stack] = value.type.static_shape
            value = ops.fill(constant(0, value.dtype), dims=ops.reshape(value, shape=[-1]))
        at = self._values[self._rows[stack][0]]
        self._values[stack] = self._values[stack].write(at, value, name=out)

    def _pop(self, stack: str, out: str) -> Any:
        row = self._popped(stack, out)
        return TensorArray(row.dtype, flow=row) if self._has_handles(stack) else row

    def _popped(self, stack: str, out: str) -> Tensor:
        rows, same, shape = self._values[stack], self._same[stack], self._sizes[stack]
        if same is not None:
            return constant(same, rows.dtype, out)
        at = self._values[self._rows[stack][1]]
        if shape is None:
            return rows.read(at, name=out)
        return ops.reshape(ops.shape_of(rows.read(at), out_type=rows.dtype), shape=shape, name=out)

    def _has_handles(self, stack: str) -> bool:
        return self.uses.node(stack).attr["elem_type"].type == _RESOURCE

    def _dtype(self, stack: str) -> DType:
        """The dtype of what is pushed; of arrays, which are pushed with all their rows, that of a row."""
        if not self._has_handles(stack):
            return dtype_of(self.uses.node(stack).attr["elem_type"].type)
        made = self.uses.pushed(stack)
        if made.op == "TensorArrayV3":
            return dtype_of(made.attr["dtype"].type)
        raise GraphDefError(f"{stack!r} is a stack of handles that are not those of tensor arrays")

    def _slopes(self, key: Slope, handle: str) -> GradientArrays:
        """The derivative of an array, which is zero to begin with."""
        if key not in self._values:
            array = self._reading.value(Edge(handle, 0))
            if not isinstance(array, TensorArray):
                raise GraphDefError(f"{handle!r} is not a tensor array")
            added = [name for slope, name in self._parts[-1][0].added if slope == key]
            if len(set(added)) < len(added):  # a branch that is taken apart does twice what two results need
                raise GraphDefError(f"what {added[0]!r} adds to is used in several branches of one condition")
            array = self._latest.get(array.number, array)
            self._put(key, array.with_flow(ops.zeros_like(array.flow)))
        return GradientArrays(self, key)


def _of_shapes(tensor: Tensor) -> bool:
    """Return True if a tensor has a few integers that follow from shapes.

    Such integers are known before a run. Operations that need them as sizes rely on that.
    """
    if tensor.dtype not in (int32, int64) or not tensor.type.is_static or tensor.type.size > _MOST_SIZES:
        return False
    seen, stack = set[Tensor](), [tensor]
    while stack:
        each = stack.pop()
        name = each.op.definition.name
        if each in seen or name in _OF_SHAPE or static_value(each) is not None:
            continue
        if each.op.definition.effect is not Effect.PURE or len(seen) == _MOST_STEPS:
            return False
        seen.add(each)
        stack += each.op.tensors
    return True


def _last(loops: Path) -> str:
    return loops[-1] if loops else ""
