"""Derivatives that a script registers by name, for operations made inside `Graph.gradient_override_map`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import UnknownNameError, misuse
from staticgraph.compiler.graph.graph import default_derivatives
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.lazy_names import extension
from staticgraph.differentiation.backward import by_other_formula
from staticgraph.differentiation.gradient_functions import (
    op_of_type,
    registered,
    registered_gradient,
    with_gradient,
)

_F = TypeVar("_F", bound=Callable[..., Any])


class RegisterGradient:
    """Decorator: register `f(op, *grads)` as the gradient of operations.

    `gradients` calls `f` for each operation on its way, with the derivatives by the outputs of `op` as
    tensors, and `f` returns the derivative by each input of `op`: a tensor, IndexedSlices, or None for no
    derivative. In the body of a loop or a branch `f` is called when the operation is made.

    Args:
        op_type: The name by which `Graph.gradient_override_map` refers to `f`. If it is the type of an op
            without gradient, `f` is the gradient of all operations of that type.

    Raises:
        TypeError: `op_type` is not a string.
        KeyError: The name is taken.

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
    """Register that no derivative flows through operations of `op_type`.

    Args:
        op_type: A type, or the name by which `Graph.gradient_override_map` refers to it.

    Raises:
        KeyError: The name is taken.

    >>> import staticgraph as sg
    >>> sg.NotDifferentiable("Quantised")
    """
    if not isinstance(op_type, str):
        raise misuse(TypeError, "op_type must be a string")
    _register(op_type, None)


NoGradient = NotDifferentiable


def _register(name: str, f: Callable[..., Any] | None) -> None:
    known = [op for op in OPS.values() if op.tf == name]
    if name in registered or any(op.differentiable is not False for op in known):
        raise misuse(UnknownNameError, f"there is a gradient by the name {name} already: choose another name")
    registered[name] = f
    if known:
        default_derivatives.add(name)


@extension("with_registered_gradient")
def _wrapped(op: Operation, name: str, op_name: str) -> Any:
    """Return the outputs of `op`, an operation in a body, with the gradient that is registered as `name`."""
    real = [y for y in op.outputs if y.dtype.is_differentiable]
    other = op_of_type(name)
    if not real:
        outputs = op.outputs
    elif other is not None:
        formula = partial(by_other_formula, op, other=other)
        outputs = with_gradient(op.outputs, op.tensors, formula, f"{op_name}/")
    elif name not in registered:  # the compiler finds no derivative, and says so if one is asked for
        made = ops.custom_gradient([*op.outputs, *op.tensors], ys=len(op.outputs), xs=len(op.tensors))
        outputs = made if isinstance(made, tuple) else (made,)
    elif registered[name] is None:
        stopped = {y: ops.stop_gradient(y) for y in real}
        outputs = tuple(stopped.get(y, y) for y in op.outputs)
    else:

        def function(cotangents: Sequence[Tensor | None]) -> list[Any]:
            return registered_gradient(op, name, cotangents)

        outputs = with_gradient(op.outputs, op.tensors, function, f"{op_name}/")
    return outputs[0] if len(outputs) == 1 else outputs
