"""Copy of a part of the graph, for other inputs: a model once more, for one shard of its batch.

Random operations become stateless ones: what they draw belongs to a stream that is given, and to the round
of each loop that they are in, never to how often they ran before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from staticgraph.building.regions import captures, finish, own, parameters
from staticgraph.compiler import ops
from staticgraph.compiler.capture.segments import is_host
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect, Role
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, ancestors, with_inner
from staticgraph.compiler.ops.structural import variable_of

_STATELESS = {
    "random_uniform": "stateless_random_uniform",
    "random_standard_normal": "stateless_random_normal",
    "truncated_normal": "stateless_truncated_normal",
    "random_uniform_int": "stateless_random_uniform_int",
    "multinomial": "stateless_multinomial",
}
_NEXT = 1_000_003  # so many rounds of a loop have streams of their own

# Makes the two numbers that a random operation draws by, from a number of the round that it is in.
Seeds = Callable[[Operation, Tensor], Tensor]


def is_source(op: Operation) -> bool:
    """Return True if an operation is not copied: its value comes from outside, or from a variable."""
    return (
        op.definition.effect in (Effect.SOURCE, Effect.READ)
        or op.definition.name == "constant"
        or is_host(op)
    )


def data_of(roots: Iterable[Operation]) -> list[Tensor]:
    """Return the tensors with an axis that what is computed for `roots` takes from outside: fed or read."""
    found: dict[Tensor, None] = {}
    seen: set[Operation] = set()
    stack = list(roots)
    while stack:
        op = stack.pop()
        if op in seen or is_source(op):
            continue
        seen.add(op)
        for tensor in op.all_inputs:
            fed = tensor.op.definition.name.startswith("placeholder") or is_host(tensor.op)
            if fed and tensor.type.rank != 0 and variable_of(tensor) is None:
                found[tensor] = None
            stack.append(tensor.op)
        stack += op.controls
    return sorted(found, key=lambda t: (t.op.id, t.value_index))


class ModelCopy:
    """Copies of operations, each made once.

    Args:
        values: The tensors that stand for others.
        seeds: Makes the seeds of random operations.
        turn: The number of the round that the copy is in.
        is_open: True if all shapes that are known hold for the copies, too.
    """

    def __init__(self, values: Mapping[Tensor, Tensor], seeds: Seeds, turn: Tensor, is_open: bool) -> None:
        self._values = dict(values)
        self._seeds, self._turn, self._is_open = seeds, turn, is_open
        self._made: dict[Operation, Operation] = {}

    def of(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return copies of tensors."""
        needed = ancestors([t.op for t in tensors if t not in self._values], self._values)
        self._copy(sorted(needed, key=lambda op: op.id))
        return [self._value(t) for t in tensors]

    def _copy(self, operations: Iterable[Operation]) -> None:
        for op in operations:
            if op in self._made or op.definition.effect is Effect.WRITE:
                continue
            waits = op.definition.name == "constant" and op.controls  # maybe for what is not copied
            if is_source(op) and not waits and (op.region is None or is_host(op)):
                continue
            if all(t in self._values for t in op.outputs) and op.outputs:
                continue
            controls = [self._made[c] for c in op.controls if c in self._made]
            graph = op.graph
            overridden = {} if op.gradient is None else {op.type: op.gradient}
            with graph.control_dependencies(controls), graph.gradient_override_map(overridden):
                made = self._one(op)
            made.where = op.where
            self._made[op] = made

    def _one(self, op: Operation) -> Operation:
        """Make the copy of one operation."""
        effect, name = op.definition.effect, op.definition.name
        if effect is Effect.RANDOM:
            if name not in _STATELESS:
                text = f"{op.name} ({op.type}) cannot be done for each shard of a batch by itself"
                raise misuse(UnimplementedError, text, made=[("it", op.where)])
            return self._keep(
                op, self._record(op, getattr(ops, _STATELESS[name]), seed=self._seeds(op, self._turn))
            )
        if name == "while_region":
            return self._loop(op)
        if name == "branch_region":
            return self._branches(op)
        return self._keep(op, self._record(op, op.definition))

    def _record(self, op: Operation, definition: Any, **given: Any) -> Any:
        values: dict[str, Any] = {}
        rest = [self._value(t) for t in op.tensors]
        single = sum(p.role is Role.TENSOR for p in op.definition.params)
        for param in op.definition.params:
            if param.role is Role.TENSOR:
                values[param.name] = rest.pop(0)
            elif param.role is Role.TENSORS:
                count = len(op.tensors) - single
                values[param.name], rest = rest[:count], rest[count:]
            elif param.name in op.operands:
                values[param.name] = self._value(op.operands[param.name])
            else:
                values[param.name] = op.attrs[param.name]
        taken = {p.name for p in definition.params}
        return op.graph.record(
            definition, {n: v for n, v in {**values, **given}.items() if n in taken}, op.name
        )

    def _keep(self, op: Operation, made: Any) -> Operation:
        outputs = (made,) if isinstance(made, Tensor) else made if isinstance(made, tuple) else made.outputs
        for old, new in zip(op.outputs, outputs, strict=True):
            if self._is_open and old.type.shape is not None:
                new.set_shape(old.type.shape)
            self._values[old] = new
        return outputs[0].op if outputs else made

    def _value(self, tensor: Tensor) -> Tensor:
        if tensor.op.definition.effect is Effect.WRITE and not self._values.keys().isdisjoint(
            data_of([tensor.op])
        ):
            text = f"{tensor.name} is what the rows of one process made of a variable"
            hint = "an assignment by the batch must be in the collection UPDATE_OPS, and not part of the loss"
            raise misuse(UnimplementedError, text, hint, made=[("it", tensor.op.where)])
        return self._values.get(tensor, tensor)

    # Regions

    def _region(self, graph: Graph, region: Region, new: Region) -> None:
        with graph.inside(new):
            self._copy(region.operations())
        finish(new, [self._value(t) for t in region.results])

    def _loop(self, op: Operation) -> Operation:
        """Copy a loop. One in which something is drawn counts its rounds."""
        graph, (cond, body) = op.graph, (op.attrs["cond"], op.attrs["body"])
        count = len(body.params)
        init = [self._value(t) for t in op.tensors[:count]]
        types = [old.type if self._is_open else new.type for old, new in zip(body.params, init, strict=True)]
        draws = any(each.definition.effect is Effect.RANDOM for each in with_inner([op]))
        if draws:
            init.append(ops.cast(0, dtype=int64))
            types.append(init[-1].type)
        regions = [Region(graph.region), Region(graph.region)]
        outer = self._turn
        for region, new, kind in zip((cond, body), regions, ("Merge", "Identity"), strict=True):
            params = parameters(graph, new, types, kind)
            self._values.update(zip(region.params, params, strict=False))
            if draws:
                with graph.inside(new):
                    self._turn = outer * _NEXT + params[-1] + 1
            self._region(graph, region, new)
            if draws and region is body:
                with graph.inside(new):
                    finish(new, [*new.results, params[-1] + 1])
        self._turn = outer
        tensors, controls = captures(regions)
        inner = {*regions[0].params, *regions[1].params}
        with graph.control_dependencies(controls):
            outputs = ops.while_region(
                [*init, *(t for t in tensors if t not in inner)],
                cond=regions[0], body=regions[1], back_prop=op.attrs["back_prop"],
            )  # fmt: skip
        own(regions, outputs[0].op)
        self._values.update(zip(op.outputs, [*outputs[:count], outputs[-1]], strict=True))
        return outputs[0].op

    def _branches(self, op: Operation) -> Operation:
        graph = op.graph
        regions = tuple(Region(graph.region) for _ in op.attrs["branches"])
        for region, new in zip(op.attrs["branches"], regions, strict=True):
            self._region(graph, region, new)
        tensors, controls = captures(regions)
        with graph.control_dependencies(controls):
            made = ops.branch_region(self._value(op.tensors[0]), tensors, branches=regions)
        made = self._keep(op, made)
        own(regions, made)
        return made
