"""From the user's graph to a Function: prune to the fetches, fix shapes, make state explicit, differentiate.

A graph with a variable and an assignment

    w = Variable(...);  y = matmul(x, w);  step = assign_sub(w, 0.1 * gradients(y, w))

becomes, for fetches (y, step) and a feed x of shape [4, 3], a Function

    (x: float32[4, 3], w: float32[3, 2]) -> (y, w', w')

whose last result is the new value of the variable. Operations take effect in the order in which they were
made: a read sees the assignments of this run that were made before it. Control dependencies always point
backwards in that order, so it honours them. `reads.py` beside this file says when a variable is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops, stages
from staticgraph.compiler.capture.calls import NO_CALLS, Calls
from staticgraph.compiler.capture.derivatives import perform_custom_gradient, perform_gradients, watched
from staticgraph.compiler.capture.effects import perform_effect
from staticgraph.compiler.capture.nan_guard import DECISIONS
from staticgraph.compiler.capture.needed import HostNeeded, StaticFeedNeeded, ValueNeeded, VariableTypeNeeded
from staticgraph.compiler.capture.prune import prune
from staticgraph.compiler.capture.reads import Reads
from staticgraph.compiler.capture.regions import (
    is_rounds,
    only_entered,
    outermost,
    perform_branch,
    perform_while,
    with_inner,
)
from staticgraph.compiler.capture.segments import crosses, inputs_read, is_host
from staticgraph.compiler.capture.step import Step, uninitialized
from staticgraph.compiler.graph.builder import Builder, plain
from staticgraph.compiler.graph.dtypes import bool_, int32, uint64
from staticgraph.compiler.graph.errors import (
    InvalidArgumentError,
    RuleError,
    UnimplementedError,
    layout,
    refused,
)
from staticgraph.compiler.graph.function import Function, Value, as_outputs, substitute, toposort
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.interpret import perform
from staticgraph.compiler.graph.opdef import Effect, Kind, OpDef, by_meaning, recording
from staticgraph.compiler.graph.shapes import Shape, TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.random import philox_advance
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.passes.loops import merge_loops
from staticgraph.compiler.passes.prove_requirements import proven
from staticgraph.compiler.support.gc_pause import collector_paused

SHORT = 16  # elements of feeds that decide a shape: by as many, programs are told apart by the values


def capture(
    graph: Graph,
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: Mapping[Tensor, TensorType],
    variables: Mapping[Operation, TensorType | None] | None = None,
    static: Mapping[Tensor, np.ndarray] | None = None,
    calls: Calls = NO_CALLS,
    losses: bool = False,
    on_host: Callable[[Operation], bool] = lambda op: False,
    checks: bool = False,
) -> Step:
    """The step that computes `fetches` and runs `targets`, `calls` being the host ops around it.

    With `losses` it also gives what derivatives are taken of. Operations that shall be `on_host` are computed
    by NumPy, as far as that can be. With `checks` the step also tells if all that its operations require of
    their inputs holds, such as indices in range.

    `feeds`: the fed tensors with their static types. Raises FeedError for a placeholder that is not fed, and
    StaticFeedNeeded or VariableTypeNeeded where the answer depends on more: then call again with `static`,
    values of feeds that shapes depend on, or `variables`, the types of variables' present values, None where
    there is none. Raises ValueNeeded and HostNeeded where an earlier stage must compute more feeds.
    """
    rows: dict[int, Shape] = {}
    with collector_paused():
        while True:
            try:
                at = Capture(graph, feeds, variables or {}, static or {}, calls, rows, on_host, checks)
                return at.step(fetches, targets, losses)
            except RowsFound as found:
                rows[found.number] = found.shape


class RowsFound(Exception):
    """The shape of the rows of an array is seen for the first time: the array must be made anew."""

    def __init__(self, number: int, shape: Shape) -> None:
        super().__init__(number)
        self.number = number
        self.shape = shape


class Capture:
    """The graph under way: what its tensors, variables and random states are at the present operation."""

    def __init__(
        self,
        graph: Graph,
        feeds: Mapping[Tensor, TensorType],
        variables: Mapping[Operation, TensorType | None],
        static: Mapping[Tensor, np.ndarray],
        calls: Calls,
        rows: Mapping[int, Shape],
        on_host: Callable[[Operation], bool],
        checks: bool,
    ) -> None:
        self.graph = graph
        self.checks = checks
        self._on_host = on_host
        self.rows = rows  # the shapes of rows, by the number of an array that was made without it
        self._unshaped: set[int] = set()
        self.calls = calls
        self.build = Builder()
        self.types = variables
        self.values: dict[Tensor, Value] = {}
        self.state: dict[Operation, Value] = {}  # the present value of each variable
        self.initial: dict[Operation, Value] = {}
        self.counters: dict[Operation, Value] = {}
        self.counts: dict[Operation, Value] = {}  # the present states of random ops in loops
        self.advances: dict[Operation, int] = {}
        self.order = self.build.constant(0, int32)  # of effects: each takes it and gives a new one
        self.sound = self.build.constant(True, bool_)  # if all that operations required so far has held
        self.inner: dict[Operation, list[Tensor]] = {}  # fetched tensors inside loops and branches
        self.entered: set[Operation] = set()  # branches of which only tensors inside are wanted
        self.counted: set[Operation] = set()  # loops whose number of rounds is fetched
        self.loops: dict[int, Operation] = {}  # by family
        self.watched: set[Tensor] = set()  # a derivative is taken by them, or stops at them
        self.reads = Reads((), False)
        self.losses: dict[Value, None] = {}  # what derivatives are taken of, outside of regions
        # Fed tensors that are computed too, since derivatives flow through them.
        self.overridden: set[Tensor] = set()
        self.fed = {
            tensor: self.build.parameter(f"feed {tensor.name}", type.dtype, type.static_shape)
            for tensor, type in feeds.items()
        }
        self.captured: dict[tuple[Operation, Tensor], Value] = {}  # inputs of host ops, at their turn
        # A variable that is fed, as itself or as an operand, has this value for all that read it.
        self.fed_variables = {o: param for t, param in self.fed.items() if (o := variable_of(t)) is not None}
        self.flags = {param: t for t, param in self.fed.items() if t.dtype is bool_ and param.shape == ()}
        self.known = {self.fed[t]: self.build.constant(v, t.dtype) for t, v in static.items()}

    def step(
        self, fetches: Sequence[Tensor], targets: Sequence[Operation], with_losses: bool = False
    ) -> Step:
        for tensor in fetches:
            owner = outermost(tensor, self.calls.region)
            if owner is not tensor.op and tensor not in self.fed:
                self.inner.setdefault(owner, []).append(tensor)
        self.counted = {t.op for t in fetches if is_rounds(t)}
        computed = [t for t in fetches if t not in self.fed]
        roots = [*(outermost(t, self.calls.region) for t in computed), *targets, *self.calls.after]
        needed, self.overridden = prune(roots, self.fed, self.calls.elsewhere)
        stages.report("prune", self.graph, needed)
        for tensor in self.overridden & self.calls.settled:
            text = f"no derivative flows back through {tensor.name}, from after a loop or branch to before it"
            hint = "it is done in Python, as it calls Python, and shares variables with the rest of the run"
            raise UnimplementedError(layout(text, tensor.op.where, hint=hint), tensor.op)
        self.entered = only_entered(
            (op for op in self.inner if op.definition.name == "branch_region"),
            needed,
            (*(t.op for t in computed if t.op.region is self.calls.region), *targets, *self.calls.after),
        )
        self.watched, self.reads = watched(with_inner(needed))
        with recording(self.build):
            self.perform_all(needed)
            results = [*(self.value(t) for t in fetches), *self.captured.values()]
        fetched = len(results)
        writes = [v for v in self.state if self.state[v] is not self.initial.get(v)]
        writes = writes if self.calls.final else []
        results += [self.state[v] for v in writes]
        results += self.counts.values()
        if self.order.constant is None:
            results.append(self.order)
        losses = [*self.losses] if with_losses else []
        results += losses
        checked = self.sound.constant is None
        if checked:
            results.append(self.sound)
        used = {node.outputs[0] for node in toposort(results) if node.outputs}
        drawing = {op: param for op, param in self.counters.items() if param in used}
        params = [*self.fed.values(), *self.initial.values(), *drawing.values()]
        captured = Function(tuple(params), tuple(results))
        stages.report("capture", needed, captured)
        function = merge_loops(captured)
        stages.report("merge_loops", captured, function)
        if checked:
            merged, function = function, proven(function)
            stages.report("prove_requirements", merged, function)
            checked = function.results[-1].constant is None
            function = function if checked else function.with_results(function.results[:-1])
        return Step(
            function,
            tuple(self.fed), tuple(self.initial), tuple(drawing), tuple(self.advances[op] for op in drawing),
            fetched, tuple(writes), tuple(self.counts), tuple(self.captured), not self.calls.may_fail,
            len(losses), checked,
        )  # fmt: skip

    # Values

    def value(self, tensor: Tensor) -> Value:
        """The value of `tensor` for an operation that is performed now."""
        if tensor in self.fed and tensor not in self.overridden:
            return self.fed[tensor]
        owner = variable_of(tensor)
        if owner is not None:
            return self.fed_variables[owner] if owner in self.fed_variables else self._read(owner)
        if tensor not in self.values and is_host(tensor.op):
            raise HostNeeded(tensor.op)
        return self.values[tensor]

    def _read(self, owner: Operation) -> Value:
        """The present value of a variable, as an operand."""
        value = self.variable(owner)
        return self.reads.read(owner, value, assigned=value is not self.initial.get(owner))

    def variable(self, owner: Operation) -> Value:
        """The present value of a variable."""
        if owner not in self.state:
            # A value may have another shape than the graph tells: `assign` need not check it.
            type = self.types.get(owner) or owner.outputs[0].type
            if not type.is_static:
                found = self._present(owner)
                if found is None:
                    raise uninitialized([owner])
                type = found
            param = self.build.parameter(f"variable {owner.name}", type.dtype, type.static_shape)
            self.state[owner] = self.initial[owner] = param
        return self.state[owner]

    def perform_all(self, operations: Iterable[Operation]) -> None:
        """Perform operations in this order."""
        for op in operations:
            with self.build.at(op.where):
                try:
                    self._perform(op)
                except RuleError as error:
                    call = f"{op.name} ({op.type})"
                    raise refused(error, op.definition.name, call, op.where) from None

    def _perform(self, op: Operation) -> None:
        definition = op.definition
        if definition.name in ("variable", "read_variable", "placeholder", "region_parameter"):
            return
        if is_host(op) and self.overridden.isdisjoint(op.outputs):
            made: Any = self._host(op)
            if made is None:
                return
        elif definition.name == "symbolic_gradients":
            made = perform_gradients(self, op)
            if op.region is self.calls.region:
                self.losses |= dict.fromkeys(self.value(t) for t in op.tensors[: op.attrs["ys"]])
        elif definition.name == "custom_gradient":
            made = perform_custom_gradient(self, op)
        elif definition.name == "while_region":
            made = perform_while(self, op, self.inner.get(op, ()))
            if not op.attrs["back_prop"]:
                made = [ops.stop_gradient(v) if v.dtype.is_differentiable else v for v in made]
        elif definition.name == "branch_region":
            made = perform_branch(self, op, self.inner.get(op, ()))
            if op in self.entered:
                return
        elif definition.effect is Effect.EFFECT:
            made = perform_effect(self, op, [self.value(t) for t in op.tensors])
        elif definition.effect is Effect.WRITE:
            made = self._write(op)
        elif definition.effect is Effect.RANDOM:
            made = self._random(op)
        elif definition.name == "is_variable_initialized":
            made = self.build.constant(self._has_value(op.tensors[0]), bool_)
        elif definition.name == "initialized_value":
            made = self.value(op.tensors[0 if self._has_value(op.tensors[0]) else 1])
        elif definition.name in ("read_value", "placeholder_with_default"):  # the latter is not fed
            made = self.value(op.tensors[0])
        elif definition.name == "tensor_array":
            made = self._array(op)
        else:
            inputs = [self.value(t) for t in op.tensors]
            if op.attrs.get("number") in self._unshaped:
                self._find_rows(op, inputs)
            made = self._chosen(op, inputs) or self._apply(op, inputs)
        for tensor, value in zip(op.outputs, as_outputs(made), strict=True):
            if tensor in self.overridden:
                value = self._override(tensor, value)
            if tensor in self.watched:
                value = ops.watch(value, key=tensor.name)
            self.values[tensor] = value

    def _array(self, op: Operation) -> Value:
        number, shape = op.attrs["number"], op.attrs["element_shape"]
        if shape is None or None in shape:
            shape = self.rows.get(number)
        if shape is None:
            self._unshaped.add(number)
            shape = (0,)  # what is written later, in another stage, may be of any shape then
        size = self.operand(op, "size", op.operands["size"])
        attrs = {"dtype": op.attrs["dtype"], "size": size, "element_shape": shape, "number": number}
        (type,) = self.build.types(op.definition, (), attrs)
        return ops.fill(self.build.constant(0, type.dtype), dims=type.static_shape)

    def _find_rows(self, op: Operation, inputs: Sequence[Value]) -> None:
        match op.definition.name:
            case "tensor_array_write":
                raise RowsFound(op.attrs["number"], inputs[2].shape)
            case "tensor_array_scatter":
                raise RowsFound(op.attrs["number"], inputs[2].shape[1:])

    def _host(self, op: Operation) -> tuple[Value, ...] | None:
        """The values of a host op where constants tell them. Keeps its inputs where it is called later on."""
        if op in self.calls.after:
            taken = [t for t in inputs_read(op) if t not in self.fed and crosses(t)]
            self.captured |= {(op, t): self.value(t) for t in taken}
            return None
        found = [t for t in op.all_inputs if t in self.values or t in self.fed]
        values = substitute([self.value(t) for t in found], self.known)
        known = {t: value.constant for t, value in zip(found, values, strict=True)}
        if op.definition.effect is not Effect.PURE or any(known.get(t) is None for t in op.all_inputs):
            return None
        made = perform(op, known.__getitem__)
        return tuple(self.build.constant(m, t.dtype) for m, t in zip(made, op.outputs, strict=True))

    def _override(self, tensor: Tensor, value: Value) -> Value:
        fed = self.fed[tensor]
        if fed.type != value.type:
            raise InvalidArgumentError(
                layout(
                    f"{tensor.name} is fed as {fed.type} and computed as {value.type}, so a derivative "
                    "cannot flow through it",
                    tensor.op.where,
                ),
                tensor.op,
            )
        return ops.override(value, fed)

    def _apply(self, op: Operation, inputs: Sequence[Value]) -> Any:
        definition = op.definition
        attrs = dict(op.attrs)
        for name, operand in op.operands.items():
            attrs[name] = self.operand(op, name, operand)
        attrs = {p.name: attrs[p.name] for p in definition.params if p.name in attrs}
        if definition.effect is Effect.RANDOM:
            attrs |= {"seed": 0, "seed2": 0}  # they are in the state: equal shapes are then equal kernels
        if definition.kind is Kind.COMPOSITE and definition.grad is None and definition.name not in DECISIONS:
            assert definition.expand is not None
            self.build.types(definition, inputs, attrs)  # there is no node that would be checked
            self._require(definition, inputs, attrs)
            return definition.expand(*inputs, **attrs)
        if definition.reference is not None and definition.effect is Effect.PURE and self._on_host(op):
            definition = by_meaning(definition)
        made = self.build.apply(definition, inputs, attrs)
        self._require(definition, inputs, attrs)
        return made

    def _require(self, definition: OpDef, inputs: Sequence[Value], attrs: Mapping[str, Any]) -> None:
        """Note what an operation requires of its inputs, whose types fit."""
        if self.checks and definition.requires is not None:
            required = definition.requires(*inputs, **attrs)
            with self.build.at(None):  # to join them is no work of the user's line
                for holds in required:
                    self.sound = ops.logical_and(self.sound, holds)

    def _chosen(self, op: Operation, inputs: Sequence[Value]) -> Value | None:
        """Which of two inputs a selection gives, where that is known and the other one does not matter."""
        if op.definition.name not in ("select", "select_rows") or inputs[0].shape != ():
            return None
        condition = self.flag(inputs[0])
        if condition.constant is None or inputs[1].type != inputs[2].type:
            return None
        return inputs[1 if condition.constant else 2]

    def flag(self, value: Value) -> Value:
        """A single truth value. Where nothing but truth values that are fed decide it, it is known: steps are
        compiled for each of their values.
        """
        seen: set[Value] = set()
        stack = [value]
        while stack and len(seen) <= SHORT:
            each = stack.pop()
            if each not in seen:
                seen.add(each)
                stack += each.node.inputs
        sources = [v for v in seen if not v.node.inputs and v.constant is None]
        if stack or not sources or any(v not in self.flags for v in sources):
            return value
        if unknown := [self.flags[v] for v in sources if v not in self.known]:
            raise StaticFeedNeeded(unknown)
        return substitute([value], self.known)[0]

    def operand(self, op: Operation, name: str, tensor: Tensor) -> Any:
        """The value of a shape, an axis and the like. Everywhere
        else a feed stays a parameter: it has derivatives.
        """
        (value,) = substitute([self.value(tensor)], self.known)
        if value.constant is not None:
            return plain(value.constant)
        below = {v for node in toposort([value]) for v in node.outputs}
        feeds = [t for t, param in self.fed.items() if param in below]
        params = [v for v in below if v.node.op.name == "parameter"]
        short = len(params) == len(feeds) and sum(v.size for v in params) <= SHORT
        if tensor in self.fed or (feeds and short):
            raise StaticFeedNeeded(feeds)
        raise ValueNeeded([tensor])

    def _write(self, op: Operation) -> Value:
        owner = variable_of(op.tensors[0], through_writes=True)
        if owner is None:
            raise InvalidArgumentError(
                layout(
                    f"{op.name} ({op.type}) assigns to {op.tensors[0].name}, which is no variable", op.where
                ),
                op,
            )
        rest = [self.value(t) for t in op.tensors[1:]]
        if op.definition.name == "assign":
            new = self._assigned(op, owner, rest[0])
        else:
            new = self._apply(op, [self.variable(owner), *rest])
        self.state[owner] = new
        return self._read(owner)

    def _assigned(self, op: Operation, owner: Operation, value: Value) -> Value:
        """An assignment does not look at the old value, so the variable need not have one."""
        known = owner.outputs[0].type
        if op.attrs.get("validate_shape", True) and known.is_static and known.shape != value.shape:
            raise InvalidArgumentError(
                layout(
                    f"{op.name} assigns {value.type} to the variable {owner.name} of type {known}",
                    op.where,
                    [("the variable", owner.where)],
                    "Variable(..., validate_shape=False) takes values of any shape",
                ),
                op,
            )
        return value

    def _random(self, op: Operation) -> Value:
        inputs = [self.counter(op), *(self.value(t) for t in op.tensors)]
        made = self._apply(op, inputs)
        advance = philox_advance(op.definition, [v.type for v in inputs], made.shape)
        if op in self.counts:
            self.counts[op] = inputs[0] + self.build.constant([advance, 0, 0], uint64)
        else:
            self.advances[op] = advance
        return made

    def counter(self, op: Operation) -> Value:
        """The present state of a random op."""
        if op in self.counts:
            return self.counts[op]
        if op not in self.counters:
            self.counters[op] = self.build.parameter(f"random state of {op.name}", uint64, (3,))
            self.advances[op] = 0
        return self.counters[op]

    def rounds_known(self, op: Operation) -> int | None:
        """The number of rounds that a loop does not exceed, where an earlier stage has found it out."""
        param = self.fed.get(op.outputs[-1])
        known = None if param is None else self.known.get(param)
        return None if known is None or known.constant is None else int(known.constant)

    def _has_value(self, tensor: Tensor) -> bool:
        """Return True if a variable has a value at this point: from before the run, or assigned in it."""
        owner = variable_of(tensor)
        assert owner is not None, tensor
        assigned = owner in self.state and self.state[owner] is not self.initial.get(owner)
        return assigned or self._present(owner) is not None

    def _present(self, owner: Operation) -> TensorType | None:
        """The type of a variable's value before the run."""
        if owner not in self.types:
            raise VariableTypeNeeded([owner])
        return self.types[owner]
