"""Gradient functions that scripts give to operations, by `custom_gradient` or by a registered name.

`gradients` calls such a function when it gets there, once in each of its calls, with the derivative by each
result as a tensor of the graph:

    y = f(x)          an operation of type CustomGradient, or one made inside `gradient_override_map`
    dy = Gradients    the derivative of the ys by y
    dx = grad(dy)     what the script returns; the walk goes on below x

The compiler differentiates the bodies of loops and branches, and calls no Python. An operation in a body has
its function called once, when it is made. What that adds to the graph is a region of its own: params are the
cotangents of the results, results are those of the inputs. The compiler performs it if a derivative goes
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import DtypeError, GradientError, ShapeError, layout, misuse
from staticgraph.compiler.graph.opdef import OPS, OpDef
from staticgraph.compiler.graph.shapes import compatible
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor

# (cotangents of the outputs, None for integers) -> derivatives by the inputs, None if there is none
GradientFunction = Callable[[Sequence[Tensor | None]], Sequence[Any]]

registered: dict[str, Callable[..., Any] | None] = {}  # by name; None: no derivative flows


class _Attached(dict[Operation, GradientFunction]):
    """The functions of single operations of a graph."""


def attach(op: Operation, function: GradientFunction) -> None:
    """Let `function` make the derivatives of `op`."""
    op.graph.attached.setdefault(_Attached, _Attached())[op] = function


def registered_name(op: Operation) -> str | None:
    """Return the name of the registered gradient of `op`, None if its own holds."""
    if op.gradient is not None:
        return op.gradient
    return op.type if op.type in registered and op.definition.differentiable is False else None


def overridden_inputs(op: Operation) -> Sequence[int] | None:
    """Return the inputs that a registered gradient has derivatives by, None if there is no such gradient."""
    name = registered_name(op)
    if name is None:
        return None
    other = op_of_type(name)
    stops = registered.get(name, name) is None or (other is not None and other.differentiable is False)
    return () if stops else range(len(op.tensors))


def op_of_type(name: str) -> OpDef | None:
    """Return the op of a type of TensorFlow's, whose gradient an operation of another type may have.

    None if a function is registered by that name, or no such type has a gradient.
    """
    if name in registered:
        return None
    alike = [definition for definition in OPS.values() if definition.tf == name]
    with_formula = (definition for definition in alike if definition.grad is not None)
    return next(with_formula, next((each for each in alike if each.differentiable is False), None))


def gradient_function(op: Operation) -> GradientFunction | None:
    """Return the function that a script gave to `op`, None if the compiler knows its gradient.

    Raises:
        GradientError: `op` had a function when it was made, which is not in this program.
    """
    found: GradientFunction | None = op.graph.attached.get(_Attached, {}).get(op)
    if found is not None:
        return found
    name = registered_name(op)
    if name is not None and op_of_type(name) is None:
        return lambda cotangents: registered_gradient(op, name, cotangents)
    if op.definition.name == "custom_gradient" and not is_traced(op):
        text = f"{op.name} ({op.type}) has a gradient that is a Python function, and files do not hold those"
        hint = "build the operation again by the script that made it, or take the gradients before saving"
        raise GradientError(layout(text, op.where, hint=hint))
    return None


def is_traced(op: Operation) -> bool:
    """Return if a CustomGradient has its derivatives in the graph, for the compiler to perform."""
    return op.attrs.get("derivative") is not None or len(op.tensors) > op.attrs["ys"] + op.attrs["xs"]


def registered_gradient(op: Operation, name: str, cotangents: Sequence[Tensor | None]) -> list[Any]:
    """Call the function that is registered as `name` for `op`: one derivative per input."""
    if name not in registered:
        text = f"no gradient is registered as {name!r}, which {op.name} ({op.type}) is to have"
        hint = f'write @RegisterGradient("{name}") before gradients are taken'
        raise GradientError(layout(text, op.where, hint=hint))
    function = registered[name]
    if function is None:
        return [None] * len(op.tensors)
    given = function(op, *cotangents)
    listed = list(given) if isinstance(given, list | tuple) else [given]
    inputs = list(op.inputs)
    if len(listed) != len(inputs):
        counts = f"{len(listed)} derivatives are given for the {len(inputs)} inputs"
        hint = "return one for each input, None for those without"
        raise misuse(ValueError, f"{counts} of {op.name} ({op.type})", hint, where=op.where)
    found = []
    for tensor in op.tensors:  # axes, shapes and the like are inputs, too, and have no derivatives
        at = inputs.index(tensor)
        inputs.pop(at)
        found.append(listed.pop(at))
    return found


def call(op: Operation, function: GradientFunction, cotangents: Sequence[Tensor | None]) -> list[Any]:
    """Call the gradient function of `op`.

    Args:
        op: The operation.
        function: Its gradient function.
        cotangents: The derivative by each of its outputs, None for those that have none.

    Returns:
        The derivative by each input: a tensor of the input's dtype, IndexedSlices, or None.

    Raises:
        DtypeError, ShapeError: A derivative does not fit its input.
    """
    with op.graph.name_scope(f"{op.name}_grad"):
        found = function(cotangents)
        return [_fitting(op, at, d) for at, d in enumerate(found)]


def _fitting(op: Operation, position: int, derivative: Any) -> Any:
    x = op.tensors[position]
    if derivative is None or not x.dtype.is_differentiable:
        return None
    which = f"input {position - op.attrs.get('ys', 0)} of {op.name} ({op.type})"  # not counting results
    found = derivative
    if not isinstance(found, IndexedSlices):
        found = found if isinstance(found, Tensor) else convert_to_tensor(found, x.dtype)
        if not compatible(found.type.shape, x.type.shape):
            text = f"the gradient by {which} has shape {found.shape}, and the input {x.shape}"
            hint = "the gradient by a tensor has its shape: reduce_sum() adds up, broadcast_to() repeats"
            raise misuse(ShapeError, text, hint, made=[("the operation", op.where)])
        found.set_shape(x.shape)
    if found.dtype is not x.dtype:
        text = f"the gradient by {which} is {found.dtype}, and the input {x.dtype}"
        made = [("the operation", op.where)]
        raise misuse(DtypeError, text, f"cast it: cast(..., sg.{x.dtype.name})", made=made)
    return found


def with_gradient(
    ys: Sequence[Tensor], xs: Sequence[Tensor], function: GradientFunction, name: str | None = None
) -> tuple[Tensor, ...]:
    """Return `ys` with other derivatives: those by `xs` that `function` makes, and no others.

    Args:
        ys: Tensors of one graph.
        xs: The tensors by which `function` gives derivatives.
        function: Takes a cotangent per y, None for integers; gives one derivative per x.
        name: The name of the operation.

    Returns:
        The outputs of a CustomGradient.
    """
    graph = ys[0].graph
    if graph.region is not None:
        return _traced(ys, xs, function, name)
    outputs = _outputs(ops.custom_gradient([*ys, *xs], ys=len(ys), xs=len(xs), name=name))
    attach(outputs[0].op, lambda cotangents: [*[None] * len(ys), *function(cotangents)])
    return outputs


def _outputs(made: Any) -> tuple[Tensor, ...]:
    return made if isinstance(made, tuple) else (made,)


def _traced(
    ys: Sequence[Tensor], xs: Sequence[Tensor], function: GradientFunction, name: str | None
) -> tuple[Tensor, ...]:
    """Do as `with_gradient` does, in the body of a loop or a branch."""
    from staticgraph.building.regions import captures, finish, own, parameters  # few programs have one

    graph = ys[0].graph
    region = Region(graph.region)
    real = [y for y in ys if y.dtype.is_differentiable]
    with graph.name_scope(f"{name.rstrip('/')}_grad/" if name else "CustomGradient_grad"):
        params = parameters(graph, region, [y.type for y in real], "cotangent")
        by_y = dict(zip(real, params, strict=True))
        with graph.inside(region):
            found = function([by_y.get(y) for y in ys])
            chosen = [at for at, d in enumerate(found) if d is not None and xs[at].dtype.is_differentiable]
            made = [convert_to_tensor(found[at], xs[at].dtype) for at in chosen]
    finish(region, made)
    tensors, controls = captures([region])
    with graph.control_dependencies(controls):
        inputs = [*ys, *(xs[at] for at in chosen), *tensors]
        outputs = _outputs(
            ops.custom_gradient(inputs, ys=len(ys), xs=len(chosen), derivative=region, name=name)
        )
    operation = outputs[0].op
    own([region], operation)

    def again(cotangents: Sequence[Tensor | None]) -> list[Any]:
        """Call the function for a `gradients` in the same body."""
        derivatives = function(cotangents)
        return [*[None] * len(ys), *(derivatives[at] for at in chosen), *[None] * len(tensors)]

    attach(operation, again)
    return outputs
