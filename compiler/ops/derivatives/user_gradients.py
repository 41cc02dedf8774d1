"""Gradients that no formula of an op gives: those of the user, and those that are not known."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import GradientError, UnimplementedError, require
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.lambda_lift import inline
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Region
from staticgraph.compiler.ops.control.control_flow import all_fit
from staticgraph.compiler.ops.kinds import composite, same_type, structural


def _custom_type(*inputs: TensorType, ys: int, xs: int, derivative: Region | None) -> tuple[TensorType, ...]:
    require(
        ys > 0 and xs >= 0 and ys + xs <= len(inputs), f"{len(inputs)} inputs are not {ys} ys and {xs} xs"
    )
    results, by = inputs[:ys], inputs[ys : ys + xs]
    if derivative is not None:
        taken = tuple(t.type for t in derivative.params)
        given = tuple(t.type for t in derivative.results)
        real = tuple(y for y in results if y.dtype.is_differentiable)
        require(all_fit(taken, real), f"the derivative takes {taken}, and the results are {real}")
        require(all_fit(given, by), f"the derivative gives {given}, and is by {by}")
    elif len(inputs) > ys + xs:  # of an older version
        cotangents, given = inputs[ys + 2 * xs :], inputs[ys + xs : ys + 2 * xs]
        require(all_fit(cotangents, results), f"the cotangents are {cotangents}, and the results {results}")
        require(all_fit(given, by), f"the derivatives are {given}, and by {by}")
    return results


def _by_the_xs(count: int, ys: int, xs: int, **_: Any) -> range:
    return range(ys, ys + xs)


def _custom_value(*inputs: Any, ys: int, **_: Any) -> Any:
    return inputs[0] if ys == 1 else inputs[:ys]


@structural(
    tf="CustomGradient", type=_custom_type, numpy=_custom_value, differentiable=_by_the_xs,
    vars={"inputs": "*"},
)
def custom_gradient(*inputs: Any, ys: int, xs: int, derivative: Region | None = None) -> Any:
    """The first `ys` inputs, differentiated as the user says.

    After them come the `xs` tensors that the user's function took. `gradients` calls the gradient function,
    which belongs to the graph. In a body, `derivative` makes the derivatives by the xs of the cotangents of
    the ys, and the last inputs are what it captures. Files of older versions have the derivatives and the
    `cotangent`s in terms of which they are written as inputs in place of it.
    """


def _vjp_type(
    *inputs: TensorType, ys: int, xs: int, derivative: Function | None, lacking: str
) -> tuple[TensorType, ...]:
    return inputs[:ys]


def _vjp_grad(
    g: Any, y: Any, *inputs: Value, ys: int, xs: int, derivative: Function | None, lacking: str
) -> tuple[Any, ...]:
    if derivative is None:
        raise GradientError(lacking)
    pairs = [(g, y)] if ys == 1 else list(zip(g, y, strict=True))
    given = [
        value.recorder.constant(np.zeros(value.shape), value.dtype) if one is None else one
        for one, value in pairs
        if value.dtype.is_differentiable
    ]
    made = inline(derivative, [*given, *inputs[ys + xs :]])
    return (*(None,) * ys, *made, *(None,) * (len(inputs) - ys - xs))


@composite(
    type=_vjp_type, numpy=_custom_value, grad=_vjp_grad, differentiable=_by_the_xs, vars={"inputs": "*"},
    samples=None, internal=True,
)
def custom_vjp(*inputs: Any, ys: int, xs: int, derivative: Function | None, lacking: str) -> Any:
    """The first `ys` inputs. `derivative` makes the cotangents of the `xs` inputs after them of those of the
    ys, and of the other inputs. If it is None, `lacking` tells why.
    """
    return _custom_value(*inputs, ys=ys)


def _undefined(like: np.ndarray, text: str) -> np.ndarray:
    raise GradientError(text)


@structural(
    type=same_type, effect=Effect.MARK, numpy=_undefined, differentiable=False, no_gradient_known=True,
    internal=True,
)
def undefined_gradient(like: Any, *, text: str) -> Any:
    """A derivative by `like` that is not known, for the reason `text`. It is an error if a step needs it."""


def _unknown_cotangent(input: np.ndarray, key: str) -> np.ndarray:
    text = (
        "the gradient function of a custom gradient needs the value of its argument before there is one: "
        "this file is of an older version of staticgraph; save the graph again"
    )
    raise UnimplementedError(text)


@structural(type=same_type, effect=Effect.MARK, numpy=_unknown_cotangent, differentiable=False)
def cotangent(input: Any, *, key: str) -> Any:
    """Stand-in for the derivative by `input` in a custom gradient of an older version: `key` tells it from
    others.
    """
