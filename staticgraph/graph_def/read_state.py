"""Nodes that keep and change variables, of both of TensorFlow's kinds."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.graph_def.nodes import GraphDefError, Node, reads
from staticgraph.graph_def.slopes import Slopes
from staticgraph.tensor_array import TensorArray

__all__ = ["variable_input"]


@reads("Identity", "RefIdentity")
def _identity(node: Node) -> Any:
    [x] = node.inputs
    if isinstance(x, TensorArray | Slopes):
        return x.identity()
    is_variable = isinstance(x, Tensor) and x.op.definition.name == "variable"
    return (ops.read_variable if is_variable else ops.identity)(x, name=node.out)


@reads("VarHandleOp")
def _handle(node: Node) -> Any:
    return ops.variable(dtype=node.attrs["dtype"], shape=node.attrs["shape"], name=node.out)


@reads("ReadVariableOp")
def _read(node: Node) -> Any:
    return ops.read_variable(variable_input(node), name=node.out)


@reads("VarIsInitializedOp")
def _is_initialized(node: Node) -> Any:
    return ops.is_variable_initialized(variable_input(node), name=node.out)


@reads("ResourceGather")
def _gather(node: Node) -> Any:
    return ops.gather(variable_input(node), node.tensors[1], axis=0, name=node.out)


_WRITES = {
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


_SAFE = {"identity", "read_variable", "initialized_value"}  # a value of the variable that is the first input


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
