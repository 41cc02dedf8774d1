"""`custom_gradient`: a function whose gradient the script gives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.building import nest
from staticgraph.building.framework import graph_of
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import Provenance, user_frame
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.differentiation.gradient_functions import with_gradient
from staticgraph.differentiation.reachability import source
from staticgraph.state.variables import Variable


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: let `f(*xs)`, which returns `(y, grad)`, have the gradient `grad(dy)`.

    `gradients` calls `grad` when it gets there, once in each of its calls, with the derivative by y as a
    tensor of the graph. So `grad` may use whatever a graph can: loops, `py_func`, assertions, ops whose
    results have as many elements as the data say. What it is made of is differentiated for second
    derivatives. In the body of a loop or a branch `grad` is called when the body is built, and cannot use
    what only Python does.

    Args:
        f: A function of tensors that returns `(y, grad)`. y is a tensor, or a nest of them; then `grad` takes
            one derivative per tensor in it. `grad` returns one derivative per x: a tensor, IndexedSlices, or
            None for no derivative. If `f` uses variables, `grad` takes a keyword `variables`, a list of them,
            and returns `(by_xs, by_variables)`.

    Returns:
        A function of the same arguments that returns y.

    Raises:
        TypeError: `f` returns something else, or uses variables that `grad` does not take.
        ValueError: The number of derivatives is not that of the xs. `gradients` raises it.

    >>> import staticgraph as sg
    >>> @sg.custom_gradient
    ... def log1pexp(x):
    ...     e = sg.exp(x)
    ...     return sg.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))
    >>> x = sg.placeholder(sg.float32, [], name="x")
    >>> sg.gradients(log1pexp(x), [x])
    [<sg.Tensor 'gradients/CustomGradient_grad/mul:0' shape=() dtype=float32>]
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with graph_of(args).as_default() as graph:
            xs = [convert_to_tensor(x) for x in args]
            start = graph.version
            made = f(*xs, **kwargs)
            if not (isinstance(made, tuple) and len(made) == 2 and callable(made[1])):
                hint = "return y, grad: the result, and a function of its derivative for those of the xs"
                raise misuse(TypeError, f"custom_gradient: the function returned {shown(made)}", hint)
            result, grad = made
            ys = [convert_to_tensor(y) for y in nest.flatten(result)]
            variables = _variables_used(graph, start, xs)
            _check_takes(grad, variables)
            sources = [*xs, *(v.to_tensor() for v in variables)]
            function = functools.partial(_derivatives, grad, len(xs), variables, user_frame())
            outputs = with_gradient(ys, sources, function)
        return nest.pack_sequence_as(result, outputs)

    return decorated


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function `f` of one tensor with the derivative of the identity. Variables that `f` uses have none.

    >>> import staticgraph as sg
    >>> x = sg.constant([0.4, 1.7])
    >>> y = sg.grad_pass_through(sg.round)(x)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.gradients(y * [2.0, 3.0], x)[0]).tolist()
    [2.0, 3.0]
    """

    def passing(x: Any, *args: Any, **kwargs: Any) -> Any:
        @custom_gradient
        def call(x: Tensor) -> Any:
            def passed(dy: Tensor, variables: Sequence[Variable] = ()) -> Any:
                return (ops.identity(dy), [None] * len(variables)) if variables else ops.identity(dy)

            return f(x, *args, **kwargs), passed

        return call(convert_to_tensor(x))

    return passing


def _variables_used(graph: Graph, start: int, xs: list[Tensor]) -> list[Variable]:
    """Return the trainable variables that operations made since `start` use, in order of first use."""
    given = {source(x) for x in xs}
    used = dict.fromkeys(source(t) for op in graph.recorded[start:] for t in op.all_inputs)
    found = [graph.variables.get(t.op.name) for t in used if t not in given]
    return [v for v in found if isinstance(v, Variable) and v.trainable]


def _check_takes(grad: Callable[..., Any], variables: Sequence[Variable]) -> None:
    if not variables:
        return
    takes = inspect.signature(grad).parameters
    if "variables" not in takes and not any(p.kind is p.VAR_KEYWORD for p in takes.values()):
        names = ", ".join(v.op.name for v in variables)
        raise misuse(
            TypeError,
            f"custom_gradient: the function uses the variables {names}, "
            "and its gradient has no parameter `variables`",
            "def grad(*dys, variables=None): return by_xs, by_variables",
        )


def _derivatives(
    grad: Callable[..., Any],
    count: int,
    variables: list[Variable],
    where: Provenance | None,
    cotangents: Sequence[Tensor | None],
) -> list[Any]:
    """Return one derivative per x and per variable, some of them None."""
    if variables:
        by_xs, by_variables = grad(*cotangents, variables=variables)
    else:
        by_xs, by_variables = grad(*cotangents), []
    by_xs = nest.flatten(by_xs) if nest.is_nested(by_xs) else [by_xs]
    by_variables = list(by_variables or ())
    if len(by_xs) != count or len(by_variables) != len(variables):
        text = (
            f"custom_gradient: {len(by_xs)} derivatives for {count} arguments, "
            f"{len(by_variables)} for {len(variables)} variables"
        )
        raise misuse(ValueError, text, "return one for each argument, None for those without", where=where)
    return [*by_xs, *by_variables]
