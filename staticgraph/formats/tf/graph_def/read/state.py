"""Nodes that keep and change variables, of both of TensorFlow's kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.formats.tf.graph_def.gradient_arrays import GradientArrays
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, Node, reads


@reads("Identity", "RefIdentity")
def _identity(node: Node) -> Any:
    [x] = node.inputs
    if isinstance(x, TensorArray | GradientArrays):
        return x.identity()
    if isinstance(x, Tensor) and x.op.definition.name == "variable":
        return _read_of(node, x)
    return ops.identity(x, name=node.out)


_OPERANDS = ("read", "Read/ReadVariableOp")  # what TensorFlow makes with a variable, for operations to take


def _read_of(node: Node, variable: Tensor) -> Any:
    """Return the variable's operand if the node was made with the variable, else its value at the node."""
    owner = variable_of(variable, through_writes=True)
    is_operand = owner is not None and any(node.name == f"{owner.name}/{name}" for name in _OPERANDS)
    return (ops.read_variable if is_operand else ops.read_value)(variable, name=node.out)


@reads("VarHandleOp")
def _handle(node: Node) -> Any:
    return ops.variable(dtype=node.attrs["dtype"], shape=node.attrs["shape"], name=node.out)


@reads("ReadVariableOp")
def _read(node: Node) -> Any:
    return _read_of(node, variable_input(node))


@reads("VarIsInitializedOp")
def _is_initialized(node: Node) -> Any:
    return ops.is_variable_initialized(variable_input(node), name=node.out)


@reads("ResourceGather")
def _gather(node: Node) -> Any:
    return ops.gather(variable_input(node), node.tensors[1], axis=0, name=node.out)


_WRITES: dict[str, Callable[..., Tensor]] = {
    "AssignVariableOp": ops.assign,
    "AssignAddVariableOp": ops.assign_add,
    "AssignSubVariableOp": ops.assign_sub,
    "ResourceScatterAdd": ops.scatter_add,
    "ResourceScatterSub": ops.scatter_sub,
    "ResourceScatterUpdate": ops.scatter_update,
}


@reads(*_WRITES)
def _write(node: Node) -> Operation:
    return _WRITES[node.type](variable_input(node), *node.tensors[1:], name=node.out).op


def variable_input(node: Node) -> Tensor:
    """The first input, which must be a variable."""
    first = node.tensors[0]
    if variable_of(first, through_writes=True) is None:
        raise GraphDefError(f"its first input must be a variable, and {first.name} is none")
    return first


# The value of the variable that is the first input.
_SAFE = {"identity", "read_variable", "read_value", "initialized_value"}


@reads("Merge", "RefMerge")
def _merge(node: Node) -> Any:
    """The value of a variable where it has one, else an initial value: all other Merges end a branch or begin
    a loop, and are put together.
    """
    if len(node.tensors) != 2:
        raise GraphDefError("it joins what are not the two sides of one branch")
    initial, kept = node.tensors
    while kept.op.definition.name in _SAFE and variable_of(kept) is None:
        kept = kept.op.tensors[0]
    variable = variable_of(kept)
    if variable is None:
        raise GraphDefError("it joins what are not the two sides of one branch")
    return ops.initialized_value(variable.outputs[0], initial, name=node.out)
