"""Nodes of the steps of TensorFlow's optimizers: on all of a variable, or on some of its rows.

A formula gets the values of a node's inputs by their names, and `keep`, which gives a slot another value. It
returns the variable's new value. For rows the values are those of the rows; each is listed once, as
TensorFlow's optimizers see to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.formats.tf.graph_def.nodes import Node, reads
from staticgraph.formats.tf.graph_def.read.state import variable_input

Values = Mapping[str, Any]
Keep = Callable[[str, Any], Any]
Attrs = Mapping[str, Any]


def _gradient_descent(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    return of["var"] - of["alpha"] * of["delta"]


def _momentum(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    speed = keep("accum", of["accum"] * of["momentum"] + of["grad"])
    ahead = of["grad"] + speed * of["momentum"] if attrs["use_nesterov"] else speed
    return of["var"] - ahead * of["lr"]


def _adam(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    grad, beta1, beta2 = of["grad"], of["beta1"], of["beta2"]
    rate = of["lr"] * ops.sqrt(1.0 - of["beta2_power"]) / (1.0 - of["beta1_power"])
    mean = keep("m", of["m"] + (grad - of["m"]) * (1.0 - beta1))
    squares = keep("v", of["v"] + (ops.square(grad) - of["v"]) * (1.0 - beta2))
    ahead = mean * beta1 + (1.0 - beta1) * grad if attrs["use_nesterov"] else mean
    return of["var"] - ahead * rate / (ops.sqrt(squares) + of["epsilon"])


def _ada_max(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    mean = keep("m", of["m"] + (of["grad"] - of["m"]) * (1.0 - of["beta1"]))
    largest = keep("v", ops.maximum(of["v"] * of["beta2"], ops.abs(of["grad"])))
    return of["var"] - of["lr"] / (1.0 - of["beta1_power"]) * (mean / (largest + of["epsilon"]))


def _adagrad(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    total = of["accum"]
    if attrs["update_slots"]:
        total = keep("accum", total + ops.square(of["grad"]))
    return of["var"] - of["grad"] * of["lr"] * ops.rsqrt(total)


def _adagrad_da(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    total = keep("gradient_accumulator", of["gradient_accumulator"] + of["grad"])
    squares = keep(
        "gradient_squared_accumulator", of["gradient_squared_accumulator"] + ops.square(of["grad"])
    )
    steps = ops.cast(of["global_step"], dtype=total.dtype)
    shrunk = ops.sign(total) * ops.maximum(ops.abs(total) - of["l1"] * steps, 0.0)
    return -of["lr"] * shrunk / (of["l2"] * steps * of["lr"] + ops.sqrt(squares))


def _adadelta(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    rho, epsilon, grad = of["rho"], of["epsilon"], of["grad"]
    total = keep("accum", of["accum"] * rho + ops.square(grad) * (1.0 - rho))
    step = grad * ops.sqrt(of["accum_update"] + epsilon) * ops.rsqrt(total + epsilon)
    keep("accum_update", of["accum_update"] * rho + ops.square(step) * (1.0 - rho))
    return of["var"] - step * of["lr"]


def _rms_prop(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    grad, rho = of["grad"], of["rho"]
    spread = keep("ms", of["ms"] + (ops.square(grad) - of["ms"]) * (1.0 - rho))
    if "mg" in of:
        mean = keep("mg", of["mg"] + (grad - of["mg"]) * (1.0 - rho))
        spread = spread - ops.square(mean)
    step = of["lr"] * grad * ops.rsqrt(spread + of["epsilon"])
    return of["var"] - keep("mom", of["mom"] * of["momentum"] + step)


def _ftrl(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    var, accum, lr, l1 = of["var"], of["accum"], of["lr"], of["l1"]
    grad = of["grad"] + 2.0 * of["l2_shrinkage"] * var if "l2_shrinkage" in of else of["grad"]
    total = accum + ops.square(of["grad"])
    power, before = ops.pow(total, -of["lr_power"]), ops.pow(accum, -of["lr_power"])
    linear = keep("linear", of["linear"] + grad - (power - before) / lr * var)
    keep("accum", total)
    moved = (ops.sign(linear) * l1 - linear) / (power / lr + 2.0 * of["l2"])
    return ops.select(ops.abs(linear) > l1, moved, ops.zeros_like(moved))


def _proximal(var: Tensor, rate: Any, of: Values) -> Tensor:
    """A variable after a step, drawn towards zero."""
    shrunk = ops.sign(var) * ops.maximum(ops.abs(var) - rate * of["l1"], 0.0)
    return shrunk / (1.0 + of["l2"] * rate)


def _proximal_descent(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    grad = of["grad"] if "grad" in of else of["delta"]
    return _proximal(of["var"] - grad * of["alpha"], of["alpha"], of)


def _proximal_adagrad(of: Values, keep: Keep, attrs: Attrs) -> Tensor:
    rate = of["lr"] * ops.rsqrt(keep("accum", of["accum"] + ops.square(of["grad"])))
    return _proximal(of["var"] - of["grad"] * rate, rate, of)


_FORMULAS: dict[str, Callable[[Values, Keep, Attrs], Tensor]] = {
    "ApplyGradientDescent": _gradient_descent,
    "ApplyMomentum": _momentum,
    "ApplyAdam": _adam,
    "ApplyAdaMax": _ada_max,
    "ApplyAdagrad": _adagrad,
    "ApplyAdagradDA": _adagrad_da,
    "ApplyAdadelta": _adadelta,
    "ApplyRMSProp": _rms_prop,
    "ApplyCenteredRMSProp": _rms_prop,
    "ApplyFtrl": _ftrl,
    "ApplyFtrlV2": _ftrl,
    "ApplyProximalGradientDescent": _proximal_descent,
    "ApplyProximalAdagrad": _proximal_adagrad,
}
_BY_ROWS = {
    "SparseApplyMomentum",
    "SparseApplyAdagrad",
    "SparseApplyAdagradDA",
    "SparseApplyAdadelta",
    "SparseApplyRMSProp",
    "SparseApplyCenteredRMSProp",
    "SparseApplyFtrl",
    "SparseApplyFtrlV2",
    "SparseApplyProximalGradientDescent",
    "SparseApplyProximalAdagrad",
}


@reads(*_FORMULAS, *(f"Resource{name}" for name in _FORMULAS))
def _step(node: Node) -> Any:
    return _moved(node, _by_name(node), ops.assign)


@reads(*_BY_ROWS, *(f"Resource{name}" for name in _BY_ROWS))
def _step_of_rows(node: Node) -> Any:
    of = _by_name(node)
    indices = of.pop("indices")
    kept = {each.name for each in node.signature.inputs if each.is_ref or each.type_attr == "resource"}
    rows = {name: ops.gather(each, indices, axis=0) if name in kept else each for name, each in of.items()}

    def put(variable: Tensor, value: Tensor, name: str | None = None) -> Tensor:
        return ops.scatter_update(variable, indices, value, name=name)

    return _moved(node, rows, put)


def _moved(node: Node, values: Values, put: Callable[..., Tensor]) -> Any:
    """The step, after which all slots have their new values too."""
    slots, changes = _by_name(node), list[Operation]()

    def keep(slot: str, value: Tensor) -> Tensor:
        changes.append(put(slots[slot], value).op)
        return value

    value = _FORMULAS[node.type.removeprefix("Resource").removeprefix("Sparse")](values, keep, node.attrs)
    with node.graph.control_dependencies(changes):
        changed = put(variable_input(node), value, name=node.out)
    return changed.op if node.type.startswith("Resource") else changed


def _by_name(node: Node) -> dict[str, Any]:
    return dict(zip((argument.name for argument in node.signature.inputs), node.tensors, strict=True))
