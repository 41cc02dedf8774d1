"""Capture of gradients that users define: the results at once, the derivative as a Function beside them."""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.capture.rules.region_walk import perform_region
from staticgraph.compiler.capture.step import Stop, lacking_operations
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk
from staticgraph.compiler.graph.errors import layout
from staticgraph.compiler.graph.function import Function, Value, substitute
from staticgraph.compiler.graph.lambda_lift import close, depends_on
from staticgraph.compiler.graph.opdef import OPS, Effect
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, around, with_inner
from staticgraph.compiler.passes.prove_requirements import proven
from staticgraph.compiler.support.dataclass import dataclass


def custom_results(op: Operation) -> Sequence[Tensor]:
    """Return the inputs of a custom gradient that are its results. Only a derivative takes the others."""
    return op.tensors[: op.attrs["ys"]]


def capture_custom_gradient(walk: Walk, op: Operation) -> Made:
    """Return the results of a custom gradient. Its derivatives are performed if the step has any."""
    ys, xs = op.attrs["ys"], op.attrs["xs"]
    results = [walk.value(t) for t in custom_results(op)]
    if not walk.reads.any_derivatives:
        return results
    given = op.tensors[ys : ys + xs]
    made = _derivative(walk, op, results)
    if isinstance(made, Stop):
        return made
    if (needs := walk.lacking(given)) is not None:
        return needs
    inputs = (*results, *(walk.value(t) for t in given), *made.captured)
    attrs = {"ys": ys, "xs": xs, "derivative": made.function, "lacking": made.lacking}
    return walk.build.node(OPS["custom_vjp"], inputs, attrs).outputs


@dataclass(frozen=True, slots=True)
class _Derivative:
    """Derivative of a custom gradient.

    Attributes:
        function: The derivatives as a Function of the cotangents, then the captures; None if there are none.
        captured: The values that it captures.
        lacking: The message that says why there are no derivatives.
    """

    function: Function | None = None
    captured: Sequence[Value] = ()
    lacking: str = ""


def _derivative(walk: Walk, op: Operation, ys: Sequence[Value]) -> _Derivative | Stop:
    region: Region | None = op.attrs["derivative"]
    if region is not None:
        return _of_region(walk, op, region, ys)
    if len(op.tensors) == len(ys) + op.attrs["xs"]:
        text = f"{op.name} ({op.type}) has a gradient that is a Python function, which is not called here"
        return _Derivative(lacking=layout(text, op.where))
    return _of_inputs(walk, op, ys)


def _of_region(walk: Walk, op: Operation, region: Region, ys: Sequence[Value]) -> _Derivative | Stop:
    """Return the derivative that a region computes."""
    if problem := _of_python(region):
        return _Derivative(lacking=_lacking(op, problem))
    params = [walk.build.fresh_parameter("cotangent", y.type) for y in ys if y.dtype.is_differentiable]
    state = walk.state
    sound = state.sound
    made = perform_region(walk, region, params, ())
    if isinstance(made, Stop):
        inside = [o for o in lacking_operations(made) if around(o.outputs[0], region) is not None]
        return _Derivative(lacking=_lacking(op, inside[0])) if inside else made
    if state.sound in depends_on(params, [state.sound]):  # checks of what is not known when they are made
        (state.sound,) = proven(Function((), (state.sound,))).results
        if state.sound in depends_on(params, [state.sound]):
            state.sound = sound
            return _Derivative(lacking=_lacking(op, _checked(region)))
    return _closed(walk, params, made)


def _of_inputs(walk: Walk, op: Operation, ys: Sequence[Value]) -> _Derivative | Stop:
    """Return the derivative that inputs give in terms of cotangents, in a graph of an older version."""
    xs = op.attrs["xs"]
    rest = op.tensors[len(ys) + xs :]
    if (needs := walk.lacking(rest)) is not None:
        return needs
    given = [walk.value(t) for t in rest[xs:]]
    params = [walk.build.fresh_parameter("cotangent", g.type) for g in given]
    table = dict(zip(given, params, strict=True))
    made = substitute([walk.value(t) for t in rest[:xs]], table)
    return _closed(walk, [p for p, y in zip(params, ys, strict=True) if y.dtype.is_differentiable], made)


def _closed(walk: Walk, params: Sequence[Value], made: Sequence[Value]) -> _Derivative:
    (function,), captured = close(walk.build, params, [made], depends_on(params, made).__contains__)
    return _Derivative(function, captured)


def _of_python(region: Region) -> Operation | None:
    """Return an operation that a derivative in a body cannot have: one that does more than compute."""
    acting = (Effect.WRITE, Effect.EFFECT, Effect.RANDOM, Effect.HOST)
    return next((op for op in with_inner(region.operations()) if op.definition.effect in acting), None)


def _checked(region: Region) -> Operation:
    """Return an operation of a derivative that looks at its numbers, such as indices."""
    return next(op for op in with_inner(region.operations()) if op.definition.requires is not None)


def _lacking(op: Operation, problem: Operation) -> str:
    text = (
        f"{op.name} ({op.type}) is in a loop or a branch: its gradient function cannot use "
        f"{problem.name} ({problem.type})"
    )
    hint = "only what computes with fixed shapes can be in it; outside of bodies there may be anything"
    return layout(text, op.where, [("it", problem.where)], hint)


RULES["custom_gradient"] = CaptureRule(capture_custom_gradient, custom_results)
