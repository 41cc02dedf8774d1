"""Derivatives that a script registers by name, for operations made inside `Graph.gradient_override_map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import UnknownNameError, layout, misuse
from staticgraph.compiler.graph.graph import default_derivatives, with_derivative
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.inputs import convert_to_tensor

__all__ = ["NoGradient", "NotDifferentiable", "RegisterGradient"]

_F = TypeVar("_F", bound=Callable[..., Any])
_registered: dict[str, Callable[..., Any] | None] = {}  # None: no derivative flows


class RegisterGradient:
    """Decorator: `f(op, *grads)` returns the derivative by each input of `op`, None for some, given those by
    its outputs.

    `op_type` is the name by which `Graph.gradient_override_map` refers to it; where it is the type of an op
    without derivative, all operations of that type made from now on have this one. `f` is called when an
    operation is made. KeyError where the name is taken.

    >>> import staticgraph as sg
    >>> @sg.RegisterGradient("Straight")
    ... def _straight(op, grad):
    ...     return grad
    >>> with sg.Graph().as_default() as graph:
    ...     x = sg.constant([-0.3, 0.7])
    ...     with graph.gradient_override_map({"Sign": "Straight"}):
    ...         y = sg.sign(x)
    ...     sg.Session().run([y, sg.gradients(y, x)[0]])
    [array([-1.,  1.], dtype=float32), array([1., 1.], dtype=float32)]
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise misuse(TypeError, "op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: _F) -> _F:
        _register(self._op_type, f)
        return f


def NotDifferentiable(op_type: str) -> None:
    """Register that no derivative flows through operations of `op_type`. KeyError where the name is taken.

    >>> import staticgraph as sg
    >>> sg.NotDifferentiable("Quantised")
    """
    if not isinstance(op_type, str):
        raise misuse(TypeError, "op_type must be a string")
    _register(op_type, None)


NoGradient = NotDifferentiable


def _register(name: str, f: Callable[..., Any] | None) -> None:
    known = [op for op in OPS.values() if op.tf == name]
    if name in _registered or any(op.differentiable is not False for op in known):
        raise misuse(UnknownNameError, f"there is a gradient by the name {name} already: choose another name")
    _registered[name] = f
    if known:
        default_derivatives[name] = name


def _overridden(op: Operation, registered: str, name: str) -> Any:
    """The outputs of `op` with the derivative of that name, by an operation called `name`."""
    if registered not in _registered:
        text = f"no gradient is registered as {registered!r}, which {op.name} ({op.type}) is to have"
        hint = f'write @RegisterGradient("{registered}") before the operation is made'
        raise LookupError(layout(text, op.where, hint=hint))
    differentiable = [y for y in op.outputs if y.dtype.is_differentiable]
    if differentiable:
        f = _registered[registered]
        made = map(ops.stop_gradient, differentiable) if f is None else _derived(op, f, differentiable, name)
        replaced = dict(zip(differentiable, made, strict=True))
        outputs = tuple(replaced.get(y, y) for y in op.outputs)
    else:
        outputs = op.outputs
    return outputs[0] if len(outputs) == 1 else outputs


def _derived(op: Operation, f: Callable[..., Any], ys: list[Tensor], name: str) -> tuple[Tensor, ...]:
    """`ys` again, with the derivatives that `f` makes of theirs."""
    with op.graph.name_scope(f"{name}_grad/"):
        cotangents = {y: ops.cotangent(y, key=f"{op.graph.version}") for y in ys}
        given = f(op, *(cotangents.get(y) for y in op.outputs))
        listed = list(given) if isinstance(given, list | tuple) else [given]
        # TF1 counts as inputs what is an attribute here, such as axes: no derivative is by those.
        if len(listed) < len(op.inputs) or any(d is not None for d in listed[len(op.inputs) :]):
            counts = f"{len(listed)} derivatives are given for the {len(op.inputs)} inputs"
            raise ValueError(layout(f"{counts} of {op.name} ({op.type})", op.where))
        by = {
            x: convert_to_tensor(d, x.dtype) if d is not None else ops.zeros_like(x)
            for x, d in zip(op.inputs, listed, strict=False)
            if x.dtype.is_differentiable
        }
    made = ops.custom_gradient(
        [*ys, *by, *by.values(), *cotangents.values()], ys=len(ys), xs=len(by), name=f"{name}/"
    )
    return made if isinstance(made, tuple) else (made,)


with_derivative.append(_overridden)
