"""Nodes that are one of our ops: what their attributes say, and the operation that they become."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.opdef import Role
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.graph_def.attributes import plain_value, same
from staticgraph.formats.tf.graph_def.correspondence import IGNORED, by_type
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, Node
from staticgraph.formats.tf.graph_def.signatures import REQUIRED, signature
from staticgraph.formats.tf.messages.graph import NodeDef


def attrs_of(node: NodeDef) -> dict[str, Any]:
    """All attributes of a node, with the defaults of those that it does not tell."""
    told = signature(node.op)
    assert told is not None
    attrs: dict[str, Any] = {}
    for name, attr in told.attrs.items():
        if name not in node.attr:
            if attr.default is REQUIRED:
                raise GraphDefError(f"it has no attribute {name!r}")
            attrs[name] = attr.default
        elif attr.kind == "tensor":
            attrs[name] = node.attr[name].tensor
        else:
            try:
                attrs[name] = plain_value(attr.kind, node.attr[name])
            except (TypeError, ValueError) as error:
                raise GraphDefError(f"its attribute {name!r} cannot be read: {error}") from None
    return attrs


def check_dtypes(node: Node) -> None:
    """Check that the inputs have the dtypes that the node declares.

    Variables by handle are not checked, since they have a dtype of their own.

    Raises:
        GraphDefError: If an input has another dtype.
    """
    for argument, tensors in node.arguments():
        told = node.attrs.get(argument.type_attr, argument.dtype)
        for place, tensor in enumerate(tensors):
            wanted = node.attrs[argument.type_list][place] if argument.type_list else told
            if isinstance(tensor, Tensor) and isinstance(wanted, DType) and tensor.dtype is not wanted:
                text = f"its input {argument.name} is {tensor.dtype.name}, and must be {wanted.name}"
                raise GraphDefError(text)


def regular(node: Node) -> Any:
    """The operation of a node that is beside one of our ops."""
    together = by_type()[node.type]
    values: dict[str, Any] = {param.name: param.default for param in together.ours_alone}
    assert node.tensors is not None
    for (_, param), (_, tensors) in zip(together.inputs, node.arguments(), strict=True):
        values[param.name] = tensors if param.role is Role.TENSORS else tensors[0]
    for attr, param in together.attrs:
        value = node.attrs[attr.name]
        values[param.name] = None if value == () and param.default is None else value
    for attr in together.theirs_alone:
        value = node.attrs[attr.name]
        if (
            attr.name not in IGNORED
            and attr.default is not REQUIRED
            and not same(attr.kind, value, attr.default)
        ):
            raise GraphDefError(f"{attr.name}={value!r} is not supported, only {attr.default!r}")
    return node.graph.record(together.op, {p.name: values[p.name] for p in together.op.params}, node.out)
