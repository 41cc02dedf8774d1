"""Nodes that keep and change variables: those of both of TensorFlow's kinds, and the steps of its
optimizers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.graph_def.nodes import GraphDefError, Node, reads
from staticgraph.tensor_array import TensorArray

__all__: list[str] = []


@reads("Identity", "RefIdentity")
def _identity(node: Node) -> Any:
    [x] = node.inputs
    if isinstance(x, TensorArray):
        return x.identity()
    is_variable = isinstance(x, Tensor) and x.op.definition.name == "variable"
    return (ops.read_variable if is_variable else ops.identity)(x, name=node.out)


@reads("VarHandleOp")
def _handle(node: Node) -> Any:
    return ops.variable(dtype=node.attrs["dtype"], shape=node.attrs["shape"], name=node.out)


@reads("ReadVariableOp")
def _read(node: Node) -> Any:
    return ops.read_variable(_variable(node), name=node.out)


@reads("VarIsInitializedOp")
def _is_initialized(node: Node) -> Any:
    return ops.is_variable_initialized(_variable(node), name=node.out)


@reads("ResourceGather")
def _gather(node: Node) -> Any:
    return ops.gather(_variable(node), node.tensors[1], axis=0, name=node.out)


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
    return _WRITES[node.type](_variable(node), *node.tensors[1:], name=node.out).op


def _variable(node: Node) -> Tensor:
    """The first input, which must be a variable."""
    first = node.tensors[0]
    if variable_of(first, through_writes=True) is None:
        raise GraphDefError(f"its first input must be a variable, and {first.name} is none")
    return first


# What an optimizer's step does to a variable and its slots: (the last change, of the variable) from the
# inputs by name. `set` assigns to a slot and gives its new value.


def _gradient_descent(node: Node, of: dict[str, Any], move: Callable[[Any], Tensor]) -> Tensor:
    return move(of["alpha"] * of["delta"])


def _momentum(node: Node, of: dict[str, Any], move: Callable[[Any], Tensor]) -> Tensor:
    speed = ops.assign(of["accum"], of["accum"] * of["momentum"] + of["grad"])
    if node.attrs["use_nesterov"]:
        return move(of["grad"] * of["lr"] + speed * of["momentum"] * of["lr"])
    return move(speed * of["lr"])


def _adam(node: Node, of: dict[str, Any], move: Callable[[Any], Tensor]) -> Tensor:
    grad, beta1, beta2 = of["grad"], of["beta1"], of["beta2"]
    rate = of["lr"] * ops.sqrt(1.0 - of["beta2_power"]) / (1.0 - of["beta1_power"])
    mean = ops.assign(of["m"], of["m"] + (grad - of["m"]) * (1.0 - beta1))
    squares = ops.assign(of["v"], of["v"] + (ops.square(grad) - of["v"]) * (1.0 - beta2))
    ahead = mean * beta1 + (1.0 - beta1) * grad if node.attrs["use_nesterov"] else mean
    return move(ahead * rate / (ops.sqrt(squares) + of["epsilon"]))


def _adagrad(node: Node, of: dict[str, Any], move: Callable[[Any], Tensor]) -> Tensor:
    total = of["accum"]
    if node.attrs["update_slots"]:
        total = ops.assign(total, total + ops.square(of["grad"]))
    return move(of["grad"] * of["lr"] * ops.rsqrt(total))


def _adadelta(node: Node, of: dict[str, Any], move: Callable[[Any], Tensor]) -> Tensor:
    rho, epsilon, grad = of["rho"], of["epsilon"], of["grad"]
    total = ops.assign(of["accum"], of["accum"] * rho + ops.square(grad) * (1.0 - rho))
    step = grad * ops.sqrt(of["accum_update"] + epsilon) * ops.rsqrt(total + epsilon)
    moved = move(step * of["lr"])
    ops.assign(of["accum_update"], of["accum_update"] * rho + ops.square(step) * (1.0 - rho))
    return moved


def _rms_prop(node: Node, of: dict[str, Any], move: Callable[[Any], Tensor]) -> Tensor:
    grad, rho = of["grad"], of["rho"]
    spread = ops.assign(of["ms"], of["ms"] + (ops.square(grad) - of["ms"]) * (1.0 - rho))
    if "mg" in of:
        mean = ops.assign(of["mg"], of["mg"] + (grad - of["mg"]) * (1.0 - rho))
        spread = spread - ops.square(mean)
    step = of["lr"] * grad * ops.rsqrt(spread + of["epsilon"])
    return move(ops.assign(of["mom"], of["mom"] * of["momentum"] + step))


_STEPS: dict[str, Callable[..., Tensor]] = {
    "ApplyGradientDescent": _gradient_descent,
    "ApplyMomentum": _momentum,
    "ApplyAdam": _adam,
    "ApplyAdagrad": _adagrad,
    "ApplyRMSProp": _rms_prop,
    "ApplyCenteredRMSProp": _rms_prop,
}
_RESOURCES = {f"Resource{name}": step for name, step in _STEPS.items()}


@reads(*_STEPS, *_RESOURCES)
def _step(node: Node) -> Any:
    of = dict(zip((argument.name for argument in node.signature.inputs), node.tensors, strict=True))
    variable = _variable(node)

    def move(change: Any) -> Tensor:
        return ops.assign_sub(variable, change, name=node.out)

    step = {**_STEPS, **_RESOURCES}[node.type]
    moved = step(node, of, move)
    return moved.op if node.type in _RESOURCES else moved


@reads("SparseApplyAdagrad")
def _sparse_adagrad(node: Node) -> Any:
    variable, accum, lr, grad, indices = node.tensors
    total = ops.scatter_add(accum, indices, ops.square(grad)) if node.attrs["update_slots"] else accum
    change = grad * lr * ops.rsqrt(ops.gather(total, indices, axis=0))
    return ops.scatter_sub(variable, indices, change, name=node.out)


@reads("SparseApplyMomentum")
def _sparse_momentum(node: Node) -> Any:
    variable, accum, lr, grad, indices, momentum = node.tensors
    rows = ops.gather(accum, indices, axis=0)
    speed = ops.gather(ops.scatter_update(accum, indices, rows * momentum + grad), indices, axis=0)
    change = (grad + speed * momentum if node.attrs["use_nesterov"] else speed) * lr
    return ops.scatter_sub(variable, indices, change, name=node.out)


@reads("Merge", "RefMerge")
def _merge(node: Node) -> Any:
    """The value of a variable where it has one, else an initial value: all other Merges end a branch or begin
    a loop, and are put together.
    """
    if len(node.tensors) != 2:
        raise GraphDefError("it joins what are not the two sides of one branch")
    initial, kept = node.tensors
    while kept.op.definition.name in ("identity", "read_variable") and variable_of(kept) is None:
        kept = kept.op.inputs[0]
    variable = variable_of(kept)
    if variable is None:
        raise GraphDefError("it joins what are not the two sides of one branch")
    return ops.initialized_value(variable.outputs[0], initial, name=node.out)
