"""Operations that come back from a file: appended as they were recorded, after the checks of recording.

Whoever reads the file is not trusted to have checked anything: names must be free, arguments must fit the op,
and the type rule is asked again. What the file says of the output types may only be less or more exact, never
different, since a user may have told a shape with `set_shape`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from staticgraph.compiler.graph.dtypes import DType, as_dtype, string
from staticgraph.compiler.graph.errors import GraphError, RuleError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import REQUIRED, OpDef, Role
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.recording.calls import RecordedCall
from staticgraph.compiler.graph.shapes import TensorType, compatible
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, may_use
from staticgraph.compiler.support.dataclass import dataclass, replace


@dataclass(frozen=True, slots=True)
class Recorded:
    """Properties of an operation besides its graph. `attrs` may lack attributes that have a default."""

    op: OpDef
    name: str
    inputs: tuple[Tensor, ...]
    operands: Mapping[str, Tensor]
    attrs: Mapping[str, Any]
    control_inputs: tuple[Operation, ...]
    device: str
    where: Provenance | None
    types: tuple[TensorType, ...]
    region: Region | None = None
    gradient: str | None = None


def restore(graph: Graph, recorded: Recorded) -> Operation:
    """Append the operation to `graph`. GraphError, in one sentence, where it does not fit."""
    recorded = _with_operands_as_inputs(recorded)
    op, name = recorded.op, recorded.name
    if not restorable_name(name):
        raise GraphError(f"{name!r} is not a name for an operation")
    if graph.has_operation(name):
        raise GraphError(f"there are two operations with the name {name!r}")
    _check_inputs(recorded)
    _check_region(recorded)
    operands, attrs = _arguments(recorded)
    _check_types(recorded, RecordedCall(op, recorded.inputs, operands, attrs))
    operation = Operation(
        graph,
        op,
        name,
        recorded.inputs,
        operands,
        attrs,
        recorded.types,
        recorded.control_inputs,
        recorded.device,
        recorded.where,
        graph.version,
        recorded.region,
        recorded.gradient,
    )
    graph.adopt(operation)
    _take_name(graph, name)
    return operation


def _with_operands_as_inputs(recorded: Recorded) -> Recorded:
    """Return the operation with operands that are inputs now, such as the ids of segments, as inputs."""
    names = [p.name for p in recorded.op.params if p.role is Role.TENSOR and p.name in recorded.operands]
    if not names:
        return recorded
    operands = {name: t for name, t in recorded.operands.items() if name not in names}
    inputs = (*recorded.inputs, *(recorded.operands[name] for name in names))
    return replace(recorded, inputs=inputs, operands=operands)


def restorable_name(name: str) -> bool:
    """Return True if an operation in a file may have this name.

    Inside scopes, graphs accept almost any name.
    """
    return name.isprintable() and name != "" and ":" not in name


def _check_inputs(recorded: Recorded) -> None:
    op, rest = recorded.op, list(recorded.inputs)
    params = [p for p in op.params if p.role in (Role.TENSOR, Role.TENSORS)]
    single = sum(p.role is Role.TENSOR for p in params)
    if len(rest) < single or (len(rest) > single and single == len(params)):
        raise GraphError(f"{recorded.name!r} has {len(rest)} inputs, and {op.name} takes {single}")
    dtypes: dict[str, DType] = {}
    for param in params:
        count = 1 if param.role is Role.TENSOR else len(recorded.inputs) - single
        taken, rest = rest[:count], rest[count:]
        for tensor in taken:
            fixed = as_dtype(param.var) if len(param.var) > 1 else tensor.dtype
            wanted = tensor.dtype if param.var == "*" else dtypes.setdefault(param.var, fixed)
            text = op.strings and tensor.dtype is string
            allowed = text or tensor.dtype in op.dtypes.get(param.var, {wanted})
            if tensor.dtype is not wanted or not allowed:
                raise GraphError(f"input {param.name} of {recorded.name!r} cannot be {tensor.dtype}")


def _check_region(recorded: Recorded) -> None:
    """Raise GraphError if an input or control input lies neither in the operation's region nor around it."""
    tensors = (*recorded.inputs, *recorded.operands.values())
    for used in (*(t.op for t in tensors), *recorded.control_inputs):
        if not may_use(recorded.region, used.region):
            raise GraphError(
                f"{recorded.name!r} is not in the loop or branch that {used.name!r} is a part of"
            )


def _arguments(recorded: Recorded) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Operands and attributes, each parameter exactly once and in the order of declaration."""
    operands: dict[str, Tensor] = {}
    attrs: dict[str, Any] = {}
    for param in recorded.op.params:
        if param.role is Role.OPERAND and param.name in recorded.operands:
            operands[param.name] = recorded.operands[param.name]
        elif param.role in (Role.OPERAND, Role.ATTR):
            value = recorded.attrs.get(param.name, param.default)
            if value is REQUIRED or (param.role is Role.OPERAND and value is not None):
                raise GraphError(f"{recorded.name!r} has no {param.name}, which {recorded.op.name} needs")
            if param.default not in (None, REQUIRED) and _kind(value) is not _kind(param.default):
                raise GraphError(f"{param.name} of {recorded.name!r} cannot be {value!r}")
            attrs[param.name] = value
    unknown = [n for n in (*recorded.operands, *recorded.attrs) if n not in operands and n not in attrs]
    twice = [n for n in recorded.operands if n in recorded.attrs]
    if unknown or twice:
        raise GraphError(
            f"{recorded.name!r} has a parameter {(unknown or twice)[0]!r} that {recorded.op.name} has not"
        )
    return operands, attrs


def _kind(value: Any) -> type:
    """Return the type that attributes are compared by: users write 1 for 1.0 and for True, but not "1"."""
    return float if isinstance(value, bool | int | float) else type(value)


def _check_types(recorded: Recorded, call: RecordedCall) -> None:
    try:
        inferred = call.infer()
        shown = ", ".join(map(str, inferred)) or "nothing"
        fits = len(inferred) == len(recorded.types) and all(map(_fits, inferred, recorded.types))
    except RuleError as error:
        raise GraphError(f"{recorded.name!r} is not possible: {error.what}") from None
    except (
        Exception
    ) as error:  # a type rule relies on the kinds of its attributes, which a file may get wrong
        raise GraphError(
            f"the attributes of {recorded.name!r} are not those of {recorded.op.name}: {error}"
        ) from None
    if not fits:
        told = ", ".join(map(str, recorded.types)) or "nothing"
        raise GraphError(f"{recorded.name!r} gives {shown}, not {told}")


def _fits(inferred: TensorType, told: TensorType) -> bool:
    return inferred.dtype is told.dtype and compatible(inferred.shape, told.shape)


def _take_name(graph: Graph, name: str) -> None:
    """The name is taken, and so are the scopes that it lies in."""
    while name:
        graph.names.take(name)
        name = name.rpartition("/")[0]
