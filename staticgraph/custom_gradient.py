"""`custom_gradient`: a function whose derivative the user gives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import layout, misuse, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.framework import graph_of
from staticgraph.inputs import convert_to_tensor
from staticgraph.reachability import source
from staticgraph.variables import Variable

__all__ = ["custom_gradient"]


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: `f(*xs)` returns `(y, grad)`, and `grad(dy)`
    the derivative by each x in place of the symbolic one.

    y may be a list, then `grad` gets one derivative per y. Where `f` uses variables, `grad` takes a keyword
    `variables` and returns `(by_xs, by_variables)`. TypeError where it uses some and `grad` does not take it,
    ValueError where the number of derivatives is another than that of xs.

    >>> import staticgraph as sg
    >>> @sg.custom_gradient
    ... def log1pexp(x):
    ...     e = sg.exp(x)
    ...     return sg.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))
    >>> x = sg.placeholder(sg.float32, [], name="x")
    >>> sg.gradients(log1pexp(x), [x])
    [<sg.Tensor 'gradients:0' shape=() dtype=float32>]
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
            several = isinstance(result, list | tuple)
            ys = [convert_to_tensor(y) for y in (result if several else [result])]
            variables = _variables_used(graph, start, xs)
            cotangents = [ops.cotangent(y, key=f"{graph.version}") for y in ys]
            by_xs = _derivatives(grad, cotangents, len(xs), variables)
            sources = [*xs, *(v.to_tensor() for v in variables)]
            at = [d if d is not None else ops.zeros_like(x) for d, x in zip(by_xs, sources, strict=True)]
            made = ops.custom_gradient(
                [*ys, *sources, *map(convert_to_tensor, at), *cotangents], ys=len(ys), xs=len(sources)
            )
        if not several:
            return made
        return type(result)(made if len(ys) > 1 else [made])

    return decorated


def _variables_used(graph: Graph, start: int, xs: list[Tensor]) -> list[Variable]:
    """The trainable variables that operations made since `start` use, in order of first use."""
    given = {source(x) for x in xs}
    used = dict.fromkeys(source(t) for op in graph.recorded[start:] for t in op.all_inputs)
    found = [graph.variables.get(t.op.name) for t in used if t not in given]
    return [v for v in found if isinstance(v, Variable) and v.trainable]


def _derivatives(grad: Any, cotangents: list[Tensor], count: int, variables: list[Variable]) -> list[Any]:
    """One derivative per x and per variable, some of them None."""
    takes = inspect.signature(grad).parameters
    accepts = "variables" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values())
    if variables and not accepts:
        names = ", ".join(v.op.name for v in variables)
        raise TypeError(
            layout(
                f"custom_gradient: the function uses the variables {names}, "
                "and its gradient has no parameter `variables`",
                user_frame(),
                hint="def grad(*dys, variables=None): return by_xs, by_variables",
            )
        )
    if variables:
        by_xs, by_variables = grad(*cotangents, variables=variables)
    else:
        by_xs, by_variables = grad(*cotangents), []
    listed = list(by_xs) if isinstance(by_xs, list | tuple) else [by_xs]
    if len(listed) != count or len(by_variables or ()) != len(variables):
        raise ValueError(
            layout(
                f"custom_gradient: {len(listed)} derivatives for {count} arguments, "
                f"{len(by_variables or ())} for {len(variables)} variables",
                user_frame(),
            )
        )
    return [*listed, *(by_variables or ())]
