"""An operation as TensorFlow shows it: all its inputs in order, and its attributes."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.opdef import OPS, Param
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.lazy_names import extension
from staticgraph.formats.tf.graph_def.attributes import FIELDS, attr_value
from staticgraph.formats.tf.graph_def.correspondence import pairs
from staticgraph.formats.tf.graph_def.export import bound_attrs, default_operand, full_attrs, given_tensors
from staticgraph.formats.tf.messages.graph import NodeDef
from staticgraph.formats.tf.messages.types import dtype_of


class _Defaults:
    """The key of the constants that stand for operands that were left out, in `Graph.attached`."""


@extension("inputs")
def inputs(op: Operation) -> tuple[Tensor, ...]:
    """Return the inputs of TensorFlow's op in its order; ours, for an op that TensorFlow has not."""
    together = pairs(op.definition)
    if together is None:
        return op.all_inputs
    found: list[Tensor] = []
    for _, param in together.inputs:
        given = given_tensors(op, param)
        if given is None:
            known = default_operand(op, param)
            given = [] if known is None else [_constant(op, param, known)]
        found += given
    return tuple(found)


def _constant(op: Operation, param: Param, value: Literal) -> Tensor:
    """Return a constant beside the graph, always the same one for an operand of `op`."""
    made: dict[tuple[Operation, str], Tensor] = op.graph.attached.setdefault(_Defaults, {})
    key = op, param.name
    if key not in made:
        type = TensorType(value.dtype, value.array.shape)
        name = f"{op.name}/{param.tf or param.name}"
        beside = Operation(
            op.graph,
            OPS["constant"],
            name,
            (),
            {},
            {"value": value},
            (type,),
            (),
            op.device,
            op.where,
            op.id,
            op.region,
        )
        made[key] = beside.outputs[0]
    return made[key]


@extension("node_def")
def node_def(op: Operation) -> NodeDef:
    """Return the message of an operation; of one that TensorFlow has not, its name, type and inputs."""
    node = NodeDef(name=op.name, op=op.type, device=op.device)
    node.input.extend(t.name if t.value_index else t.op.name for t in inputs(op))
    node.input.extend(f"^{control.name}" for control in op.controls)
    together = pairs(op.definition)
    if together is not None:
        for key, value in full_attrs(op.type, bound_attrs(together, op)).items():
            node.attr[key].CopyFrom(value)
    return node


@extension("attribute")
def attribute(op: Operation, name: str) -> tuple[Any] | None:
    """Return an attribute of TensorFlow's op, as its `get_attr` does; None if it has none of that name."""
    if name == "_class" and (groups := op.graph.colocated.get(op)):
        return (list(groups),)
    together = pairs(op.definition)
    told = None if together is None else together.signature.attrs.get(name)
    if together is None or told is None:
        return None
    message = attr_value(told.kind, bound_attrs(together, op).get(name, told.default))
    kind = message.WhichOneof("value")
    if kind == "list":
        inner = told.kind[5:-1]
        return ([_plain(inner, each) for each in getattr(message.list, FIELDS[inner])],)
    return (_plain(told.kind, getattr(message, FIELDS[told.kind])),)


def _plain(kind: str, value: Any) -> Any:
    return dtype_of(value) if kind == "type" else value
