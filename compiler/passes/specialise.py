"""From the user's graph to a Function: prune to the fetches, fix shapes, make state explicit, differentiate.

A graph with a variable and an assignment

    w = Variable(...);  y = matmul(x, w);  step = assign_sub(w, 0.1 * gradients(y, w))

becomes, for fetches (y, step) and a feed x of shape [4, 3], a Function

    (x: float32[4, 3], w: float32[3, 2]) -> (y, w', w')

whose last result is the new value of the variable. Operations take effect in the order in which they were
made: a read sees the assignments of this run that were made before the operation that uses it. Control
dependencies always point backwards in that order, so it honours them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.autodiff.reverse import vjp
from staticgraph.compiler.graph.builder import Builder, plain
from staticgraph.compiler.graph.collector import collector_paused
from staticgraph.compiler.graph.dtypes import bool_, uint64
from staticgraph.compiler.graph.errors import FeedError, InvalidArgumentError, UninitializedError, layout
from staticgraph.compiler.graph.function import Function, Value, as_outputs, substitute, toposort
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect, Kind, recording
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.random import philox_advance
from staticgraph.compiler.ops.structural import variable_of


@dataclass(frozen=True)
class Step:
    """What one run computes, and where its arguments come from and its results go.

    The params of `function` are the feeds, then the variables' values before
    the run, then the counters of random ops. Its results are the fetches,
    then the new values of `writes`. Fetches of names are known already.
    """

    function: Function
    feeds: tuple[Tensor, ...]
    reads: tuple[Operation, ...]
    counters: tuple[Operation, ...]
    advances: tuple[int, ...]  # how far each counter moves per run
    fetches: int
    writes: tuple[Operation, ...]
    names: Mapping[Tensor, np.ndarray] = field(default_factory=dict)  # fetched vectors of strings

    @cached_property
    def updates(self) -> dict[int, int]:
        """For each result that is a new value of a variable: the argument with the old one, if it is read."""
        old = {op: len(self.feeds) + i for i, op in enumerate(self.reads)}
        return {self.fetches + i: old[op] for i, op in enumerate(self.writes) if op in old}

    @cached_property
    def needed(self) -> list[Operation]:
        """The variables that must have a value before the run."""
        used = {v for node in self.function.nodes for v in node.inputs} | set(self.function.results)
        first = len(self.feeds)
        params = self.function.params[first : first + len(self.reads)]
        return [op for op, param in zip(self.reads, params, strict=True) if param in used]


class StaticFeedNeeded(Exception):
    """A shape or an axis depends on these feeds: their values must be known to the compile."""

    def __init__(self, feeds: list[Tensor]) -> None:
        super().__init__(", ".join(t.name for t in feeds))
        self.feeds = feeds


class VariableTypeNeeded(Exception):
    """The step depends on whether these variables have values, or of what shape: the compile must be told."""

    def __init__(self, variables: list[Operation]) -> None:
        super().__init__(", ".join(op.name for op in variables))
        self.variables = variables


def specialise(
    graph: Graph,
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: Mapping[Tensor, TensorType],
    variables: Mapping[Operation, TensorType | None] | None = None,
    static: Mapping[Tensor, np.ndarray] | None = None,
) -> Step:
    """The step that computes `fetches` and runs `targets`.

    `feeds`: the fed tensors with their static types. Raises FeedError for a placeholder that is not fed, and
    StaticFeedNeeded or VariableTypeNeeded where the answer depends on more: then call again with `static`,
    values of feeds that shapes depend on, or `variables`, the types of variables' present values, None where
    there is none.
    """
    with collector_paused():
        return _Specialiser(graph, feeds, variables or {}, static or {}).step(fetches, targets)


class _Specialiser:
    def __init__(
        self,
        graph: Graph,
        feeds: Mapping[Tensor, TensorType],
        variables: Mapping[Operation, TensorType | None],
        static: Mapping[Tensor, np.ndarray],
    ) -> None:
        self.graph = graph
        self.build = Builder()
        self.types = variables
        self.values: dict[Tensor, Value] = {}
        self.state: dict[Operation, Value] = {}  # the present value of each variable
        self.initial: dict[Operation, Value] = {}
        self.counters: dict[Operation, Value] = {}
        self.advances: dict[Operation, int] = {}
        # Tensors and variables that a derivative is taken by, or stops at, with their values so far.
        self.watched: dict[Any, list[Value]] = {}
        # Fed tensors that are computed too, since derivatives flow through them.
        self.overridden: set[Tensor] = set()
        self.fed = {
            tensor: self.build.parameter(f"feed {tensor.name}", type.dtype, type.static_shape)
            for tensor, type in feeds.items()
        }
        self.names: dict[Tensor, np.ndarray] = {}
        self.known = {self.fed[t]: self.build.constant(v, t.dtype) for t, v in static.items()}

    def step(self, fetches: Sequence[Tensor], targets: Sequence[Operation]) -> Step:
        needed = self._needed([*(t.op for t in fetches if t not in self.fed), *targets])
        for op in needed:
            if op.definition.name == "symbolic_gradients":
                _, _, xs, stops = _gradient_parts(op)
                for x in (*xs, *stops):
                    self.watched.setdefault(variable_of(x) or x, [])
        with recording(self.build):
            for op in needed:
                with self.build.at(op.where):
                    self._perform(op)
            results = [self.value(t) for t in fetches if t not in self.names]
        writes = [v for v in self.state if self.state[v] is not self.initial.get(v)]
        results += [self.state[v] for v in writes]
        params = [*self.fed.values(), *self.initial.values(), *self.counters.values()]
        return Step(
            Function(tuple(params), tuple(results)),
            tuple(self.fed), tuple(self.initial), tuple(self.counters), tuple(self.advances.values()),
            len(results) - len(writes), tuple(writes), self.names,
        )  # fmt: skip

    # Which operations

    def _needed(self, roots: Iterable[Operation]) -> list[Operation]:
        """The operations that `roots` need, in order of
        construction. Looks above fed tensors for derivatives only.
        """
        reason: dict[Operation, Operation | None] = {}
        stack: list[tuple[Operation, Operation | None]] = [(op, None) for op in roots]
        while stack:
            op, user = stack.pop()
            if op in reason:
                continue
            if op.definition.name == "placeholder":
                if op.outputs[0] in self.fed:  # a target, or something to wait for
                    continue
                reason[op] = user
                raise self._missing(op, reason)
            reason[op] = user
            if op.definition.name == "symbolic_gradients":
                through = self._fed_between(op)
                self.overridden.update(through)
                stack += [(t.op, op) for t in through]
            stack += [(t.op, op) for t in op.all_inputs if t not in self.fed and t.op not in reason]
            stack += [(c, op) for c in op.control_inputs if c not in reason]
        return sorted(reason, key=lambda op: op.id)

    def _fed_between(self, gradients: Operation) -> list[Tensor]:
        """The fed tensors on paths from the xs to the ys of
        a gradients operation: derivatives flow through them.
        """
        inner = {t for t in self.fed if t.op.inputs and t.dtype.is_differentiable and variable_of(t) is None}
        if not inner:
            return []
        ys, _, xs, stops = _gradient_parts(gradients)
        below: set[Operation] = set()
        stack = [y for y in ys if y not in stops]
        while stack:
            tensor = stack.pop()
            if tensor.op not in below:
                below.add(tensor.op)
                stack += [t for t in tensor.op.inputs if t not in stops]
        depends = {variable_of(x) or x for x in xs}
        found = []
        for op in sorted(below, key=lambda op: op.id):
            if any((variable_of(t) or t) in depends for t in op.inputs):
                depends.update(t for t in op.outputs if t not in stops)
                found += [t for t in op.outputs if t in inner]
        return found

    def _missing(self, op: Operation, reason: dict[Operation, Operation | None]) -> FeedError:
        path, at = [], reason[op]
        while at is not None:
            path.append(at)
            at = reason[at]
        names = [p.name for p in path]
        if len(names) > 6:
            names = [*names[:3], "...", *names[-2:]]
        text = f"placeholder {op.name} ({op.outputs[0].type}) must be fed"
        if path:
            text += f": the fetch {path[-1].name} needs it, by {' <- '.join(reversed([op.name, *names]))}"
        return FeedError(
            layout(text, op.where, hint=f"add it to the feed_dict: {{{op.name.rpartition('/')[2]}: value}}"),
            op,
        )

    # Values

    def value(self, tensor: Tensor) -> Value:
        """The value of `tensor` for an operation that is performed now."""
        if tensor in self.fed and tensor not in self.overridden:
            return self.fed[tensor]
        if tensor.op.definition.name == "read_variable" and tensor.op.inputs[0] in self.fed:
            return self.value(tensor.op.inputs[0])
        owner = variable_of(tensor)
        if owner is not None:
            state = self._state(owner)
            if owner in self.watched:
                state = ops.watch(state, key=owner.name)
                if state not in self.watched[owner]:
                    self.watched[owner].append(state)
            return state
        return self.values[tensor]

    def _state(self, owner: Operation) -> Value:
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

    def _perform(self, op: Operation) -> None:
        definition = op.definition
        if definition.name in ("variable", "read_variable", "placeholder"):
            return
        if definition.name == "symbolic_gradients":
            made: Any = self._gradients(op)
        elif definition.effect is Effect.WRITE:
            made = self._write(op)
        elif definition.effect is Effect.RANDOM:
            made = self._random(op)
        elif definition.name == "is_variable_initialized":
            made = self.build.constant(self._has_value(op.inputs[0]), bool_)
        elif definition.name == "initialized_value":
            made = self.value(op.inputs[0 if self._has_value(op.inputs[0]) else 1])
        elif definition.name == "report_uninitialized":
            missing = [t.op.name.encode() for t in op.inputs if not self._has_value(t)]
            self.names[op.outputs[0]] = np.array(missing, dtype=object)
            return
        elif definition.name == "placeholder_with_default":  # not fed
            made = self.value(op.inputs[0])
        else:
            made = self._apply(op, [self.value(t) for t in op.inputs])
        for tensor, value in zip(op.outputs, as_outputs(made), strict=True):
            if value.dtype.kind == "string":
                text = f"{op.name} ({op.type}) is of strings: compiled graphs hold numbers and truth values"
                raise InvalidArgumentError(layout(text, op.where), op)
            if tensor in self.overridden:
                value = self._override(tensor, value)
            if tensor in self.watched:
                value = ops.watch(value, key=tensor.name)
                self.watched[tensor].append(value)
            self.values[tensor] = value

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
            attrs[name] = self._operand(op, name, operand)
        attrs = {p.name: attrs[p.name] for p in definition.params if p.name in attrs}
        if definition.effect is Effect.RANDOM:
            attrs |= {"seed": 0, "seed2": 0}  # they are in the state: equal shapes are then equal kernels
        if definition.kind is Kind.COMPOSITE and definition.grad is None:
            assert definition.expand is not None
            self.build.types(definition, inputs, attrs)  # there is no node that would be checked
            return definition.expand(*inputs, **attrs)
        return self.build.apply(definition, inputs, attrs)

    def _operand(self, op: Operation, name: str, tensor: Tensor) -> Any:
        """The value of a shape, an axis and the like. Everywhere
        else a feed stays a parameter: it has derivatives.
        """
        (value,) = substitute([self.value(tensor)], self.known)
        if value.constant is not None:
            return plain(value.constant)
        below = {v for node in toposort([value]) for v in node.outputs}
        feeds = [t for t, param in self.fed.items() if param in below]
        if feeds:
            raise StaticFeedNeeded(feeds)
        raise InvalidArgumentError(
            layout(
                f"{name} of {op.name} ({op.type}) is computed from values that are only known while running",
                op.where,
                [(name, tensor.op.where)],
                hint="shapes and axes may depend on constants, static shapes and feeds, not on variables",
            ),
            op,
        )

    def _write(self, op: Operation) -> Value:
        owner = variable_of(op.inputs[0], through_writes=True)
        if owner is None:
            raise InvalidArgumentError(
                layout(
                    f"{op.name} ({op.type}) assigns to {op.inputs[0].name}, which is not a variable", op.where
                ),
                op,
            )
        rest = [self.value(t) for t in op.inputs[1:]]
        if op.definition.name == "assign":
            new = self._assigned(op, owner, rest[0])
        else:
            new = self._apply(op, [self._state(owner), *rest])
        self.state[owner] = new
        return new

    def _assigned(self, op: Operation, owner: Operation, value: Value) -> Value:
        """An assignment does not look at the old value, so the variable need not have one."""
        known = owner.outputs[0].type
        if op.attrs.get("validate_shape", True) and known.is_static and known.shape != value.shape:
            raise InvalidArgumentError(
                layout(
                    f"{op.name} assigns {value.type} to the variable {owner.name} of type {known}",
                    op.where,
                    [("the variable", owner.where)],
                ),
                op,
            )
        return value

    def _random(self, op: Operation) -> Value:
        counter = self.counters.get(op)
        if counter is None:
            counter = self.counters[op] = self.build.parameter(f"random state of {op.name}", uint64, (3,))
        inputs = [counter, *(self.value(t) for t in op.inputs)]
        made = self._apply(op, inputs)
        self.advances[op] = philox_advance(op.definition, [v.type for v in inputs], made.shape)
        return made

    def _has_value(self, tensor: Tensor) -> bool:
        """Whether a variable has a value at this turn: from before the run, or assigned in it."""
        owner = variable_of(tensor)
        assert owner is not None, tensor
        assigned = owner in self.state and self.state[owner] is not self.initial.get(owner)
        return assigned or self._present(owner) is not None

    def _present(self, owner: Operation) -> TensorType | None:
        """The type of a variable's value before the run."""
        if owner not in self.types:
            raise VariableTypeNeeded([owner])
        return self.types[owner]

    def _gradients(self, op: Operation) -> tuple[Value, ...]:
        ys, seeds, xs, stops = _gradient_parts(op)
        places = [self._places(x) for x in xs]
        found = iter(
            vjp(
                self.build,
                [self.value(t) for t in ys],
                [self.value(t) for t in seeds] or [None] * len(ys),
                [place for each in places for place in each],
                [place for t in stops for place in self._places(t)],
            )
        )
        out = []
        for x, each in zip(xs, places, strict=True):
            parts = [g for g in (next(found) for _ in each) if g is not None]
            total = sum(parts[1:], parts[0]) if parts else ops.zeros_like(self.value(x))
            out.append(total)
        return tuple(out)

    def _places(self, x: Tensor) -> list[Value]:
        """The values by which a derivative by `x` is taken:
        for a variable, all that were read of it so far.
        """
        value, owner = self.value(x), variable_of(x)
        read = self.watched[owner] if owner is not None else []
        return read if value in read else [value, *read]


def uninitialized(missing: Sequence[Operation]) -> UninitializedError:
    """The error for a run that needs variables without a value."""
    names = ", ".join(op.name for op in missing[:8]) + (", ..." if len(missing) > 8 else "")
    what = f"variable {names} has no value" if len(missing) == 1 else f"variables {names} have no value"
    text = layout(
        f"{what} yet",
        user_frame(),
        [(op.name, op.where) for op in missing[:3]],
        hint="run global_variables_initializer() first, or restore a checkpoint",
    )
    return UninitializedError(text, missing[0])


def _gradient_parts(
    op: Operation,
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The inputs of a gradients operation: ys, seeds, xs, stops."""
    a, b, c = op.attrs["ys"], op.attrs["seeds"], op.attrs["xs"]
    inputs = op.inputs
    return inputs[:a], inputs[a : a + b], inputs[a + b : a + b + c], inputs[a + b + c :]
