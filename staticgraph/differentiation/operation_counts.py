"""Numbers of operations that TensorFlow 1.15 makes for derivatives: the walk from ys to xs.

With a graph seed alone, a seed follows from how many operations there are, so weights made after a
`minimize` are TensorFlow's only if its backward operations are counted (`recording/op_count.py`). They are
not those made here: TensorFlow works out shapes and broadcasts by operations of their own, and goes back
along every way that floating tensors take from xs to ys, even where a `stop_gradient` cuts it.
`loop_counts.py` has what a loop adds. Loops in loops, and some derivatives of derivatives, are not counted
as TensorFlow counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from staticgraph.compiler.graph.recording.op_count import backward_count, loop_as_tensorflow, steps_of
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, regions_of
from staticgraph.differentiation.gradient_functions import gradient_function
from staticgraph.differentiation.loop_counts import (
    CARRIED,
    COUNTERS,
    NOT_NEEDED,
    Reads,
    accumulator,
    carried_to,
    is_read_of_rows,
    is_unstacking,
    needed_of,
    not_carried,
    rows_moved,
)
from staticgraph.differentiation.operation_rules import RULES, Derivatives
from staticgraph.differentiation.reachability import differentiable_inputs, source

_START = 3  # the shape of a y, a one, and the y's shape filled with ones
_ROWS_JOINED = 4  # values and indices of rows, each joined along an axis
_ROWS_SPREAD = 5  # the number of rows of the whole, and a segment sum
# Inputs with a cotangent, if others than here; TensorFlow goes on with zeros for features of an activation.
_PLACES: dict[str, list[int]] = {
    "StopGradient": [], "Print": [0], "ReluGrad": [0, 1], "Relu6Grad": [0, 1], "LeakyReluGrad": [0, 1],
}  # fmt: skip
_CAPTURED = 6  # of a tensor that a branch uses: zeros for the other branch, and a merge

Parts = dict[Tensor, dict[Any, bool]]  # by tensor: what it receives, by where from; if that is rows of it


def operations_of_gradients(
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    stops: Collection[Tensor],
    gate: bool,
    seeded: bool,
) -> int:
    """Return the number of operations that TensorFlow's `gradients` makes.

    Args:
        ys: The tensors that are differentiated.
        xs: What they are differentiated by.
        stops: Tensors that no derivative flows through.
        gate: If the cotangents of an operation's inputs wait for each other, as an optimizer has it.
        seeded: If the weights of the ys are given.
    """
    if not ys:
        return 0
    walk = _Walk(ys[0].graph.attached.setdefault(Derivatives, Derivatives()), gate)
    received: Parts = {}
    for number, y in enumerate(ys):
        received.setdefault(y, {})[number] = False
    walk.back(received, [source(x) for x in xs], {source(t) for t in stops})
    return walk.operations + (1 if seeded else _START) * len(ys)


class _Walk:
    """Counts the operations of one walk."""

    def __init__(self, shapes: Derivatives, gate: bool) -> None:
        self.shapes = shapes
        self.gate = gate
        self.operations = 0
        self.reads: Reads | None = None  # of the loop whose body is walked

    def back(
        self, received: Parts, xs: Sequence[Tensor], stops: Collection[Tensor] = (), inside: bool = False
    ) -> None:
        """Go back from what has received a cotangent to `xs`; `inside` a branch, these are all around it."""
        between = _between(received, xs, inside)
        for op in sorted(between, key=lambda each: each.id, reverse=True):
            rows = [self._total(received, t) for t in op.outputs]
            goes_on = any(t.op in between for t in _values(op)) and not any(t in stops for t in op.outputs)
            if goes_on and any(t in received for t in op.outputs):
                self._pass(op, received, any(rows), between)

    def _total(self, received: Parts, tensor: Tensor) -> bool:
        """Count what adds the cotangents of a tensor; return True if all of them are rows."""
        parts = received.get(tensor, {})
        rows = sum(parts.values())
        if rows < len(parts):
            self.operations += _ROWS_SPREAD * rows if len(parts) > 1 else 0
            self.operations += len(parts) > 1
        else:
            self.operations += _ROWS_JOINED * (rows > 1)
        return 0 < rows == len(parts)

    def _pass(self, op: Operation, received: Parts, rows: bool, between: Collection[Operation]) -> None:
        places = _PLACES[op.type] if op.type in _PLACES else list(differentiable_inputs(op))
        wanted = [n for n in places if op.tensors[n].op in between]
        if regions := regions_of(op):
            if op.definition.name == "while_region":
                self._loop(op, regions[1], received, between)
            else:
                self._branches(op, regions, received, between)
            return
        if self.reads is not None:
            self.reads.note(op)
        if (steps := steps_of(op)) is not None:
            self._composed(op, steps, [op.tensors[n] for n in wanted], received)
            return
        told = backward_count(op)
        gathered = False
        if told is not None:
            self.operations += told.operations + told.by_input * len(wanted) + told.gates * self.gate
        if told is None or told.added:
            gathered = self._by_rule(op, received, len(places), rows)
        for place in places:
            received.setdefault(op.tensors[place], {})[op, place] = gathered and place == 0 and told is None

    def _composed(
        self, op: Operation, steps: Callable[[], Tensor], inputs: Sequence[Tensor], received: Parts
    ) -> None:
        """Count the operations of the derivative of the steps that `op` is in TensorFlow."""
        with op.graph.attempt() as forget:
            ends = [source(t) for t in inputs]
            self.back({steps(): {0: False}}, ends, stops=ends, inside=True)
            forget()
        for t in inputs:
            received.setdefault(t, {})[op] = False

    def _by_rule(self, op: Operation, received: Parts, parts: int, rows: bool) -> bool:
        """Count the operations of a gradient function; return True if it gives rows."""
        rule = RULES.get("TensorArrayReadV3" if is_read_of_rows(op) else op.type)
        self.operations += rows_moved(op) + _gates(2) * self.gate * is_unstacking(op)
        operations, gathered = min(parts, 1), False
        if gradient_function(op) is not None:
            operations, parts = 0, len(op.tensors)
        elif rule is not None:
            operations, parts, gathered = rule(self.shapes, op)
        if rows and op.type != "Identity":
            self.operations += _ROWS_SPREAD * parts  # for each cotangent anew
        unused = sum(t not in received and t.dtype.is_differentiable for t in op.outputs)
        self.operations += operations + unused + _gates(parts) * self.gate
        return rows if op.type == "Identity" else gathered

    def _loop(self, op: Operation, body: Region, received: Parts, between: Collection[Operation]) -> None:
        """Count the operations of the derivative of a loop. Those of a loop in a loop are not all known."""
        build = loop_as_tensorflow(op)
        if build is None:
            self._loop_of(op, op.tensors, body, received, between)
            return
        with op.graph.attempt() as forget:
            made = build()
            self._loop_of(op, made.tensors, regions_of(made)[1], received, between)
            forget()

    def _loop_of(
        self,
        op: Operation,
        tensors: Sequence[Tensor],
        body: Region,
        received: Parts,
        between: Collection[Operation],
    ) -> None:
        """Count the operations of the derivative of `op`, whose operands are `tensors` in TensorFlow."""
        inits = [source(t) for t in tensors]
        number = len(body.params)
        rows = {t: source(t.op.tensors[0]) for t in inits[number:] if rows_moved(t.op) and t.op.id > op.id}
        floating = [n for n in range(number) if body.params[n].dtype.is_differentiable]
        captured = [t for t in inits[number:] if t.dtype.is_differentiable and rows.get(t, t).op in between]
        begun = [n for n in floating if inits[n].op in between]
        reached = carried_to(body, floating, begun, captured, _between)
        needed = needed_of(body, floating, [n for n in floating if op.outputs[n] in received], _between)
        self.operations += COUNTERS
        inner: Parts = {}
        for n in floating:
            self.operations += op.outputs[n] not in received  # zeros
            if n not in needed:
                self.operations += NOT_NEEDED
            elif n not in reached:
                self.operations += not_carried(body.params[n])
            else:
                self.operations += CARRIED + _gates(2) * self.gate
                inner.setdefault(body.results[n], {})[n] = False
                received.setdefault(inits[n], {})[op, n] = False
        around, self.reads = self.reads, Reads(body)
        self.back(inner, [*(body.params[n] for n in reached), *captured], inside=True)
        self.operations += self.reads.operations
        self.reads = around
        for t in captured:
            if t in inner:
                self.operations += accumulator(t)
                if t in rows:
                    self.operations += rows_moved(t.op) + _gates(2) * self.gate
                received.setdefault(rows.get(t, t), {})[op, "captured"] = False

    def _branches(
        self, op: Operation, regions: Iterable[Region], received: Parts, between: Collection[Operation]
    ) -> None:
        """Count the operations of the derivative of a branch, one side after the other."""
        if op.definition.name != "branch_region":
            return
        outputs = [n for n, t in enumerate(op.outputs) if t in received and t.dtype.is_differentiable]
        self.operations += len(outputs) * (1 + 3 * self.gate)
        for number, region in enumerate(regions):
            inner: Parts = {}
            for n in outputs:
                inner.setdefault(region.results[n], {})[n] = False
            captured = [t for t in region.captures()[0] if t.dtype.is_differentiable and t.op in between]
            self.back(inner, captured, inside=True)
            for t in captured:
                if t in inner:
                    self.operations += _CAPTURED
                    received.setdefault(t, {})[op, number] = False


def _gates(parts: int) -> int:
    """Return the operations that let cotangents of `parts` inputs wait for each other."""
    return parts + 1 if parts > 1 else 0


def _values(op: Operation) -> Iterable[Tensor]:
    """Return the inputs of an operation whose values count; where a derivative begins, y is only a shape."""
    return op.tensors[1:] if op.definition.name == "seed" else op.all_inputs


def _between(ys: Iterable[Tensor], xs: Collection[Tensor], inside: bool) -> set[Operation]:
    """Return the operations on ways of floating tensors from one of `xs` to one of `ys`, both included.

    Args:
        ys: Tensors to walk back from.
        xs: Tensors to walk back to.
        inside: If nothing before `xs` is asked for.
    """
    seen: set[Operation] = set()
    stack = [y.op for y in ys]
    ends = {x.op for x in xs}
    while stack:
        op = stack.pop()
        if op not in seen:
            seen.add(op)
            stack += () if inside and op in ends else [t.op for t in _values(op)]
    reached = set(xs)
    found = set()
    for op in sorted(seen, key=lambda each: each.id):
        if op in ends or any(t in reached for t in _values(op)):
            reached.update(t for t in op.outputs if t.dtype.is_differentiable)
            found.add(op)
    return found
