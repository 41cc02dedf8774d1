"""Derivatives in the user's graph as nodes of a Function: once all shapes are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from staticgraph.compiler import ops
from staticgraph.compiler.autodiff.reverse import RoundsNeeded, vjp
from staticgraph.compiler.capture.needed import HostNeeded, StaticFeedNeeded, ValueNeeded
from staticgraph.compiler.capture.prune import gradient_parts
from staticgraph.compiler.capture.reads import Reads
from staticgraph.compiler.capture.regions import around, by_python, perform_region, with_inner
from staticgraph.compiler.capture.state import CaptureState
from staticgraph.compiler.graph.errors import GradientError, layout
from staticgraph.compiler.graph.function import Function, Value, substitute
from staticgraph.compiler.graph.lambda_lift import close, depends_on
from staticgraph.compiler.graph.opdef import OPS, Effect
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.passes.prove_requirements import proven


def watched(operations: Iterable[Operation]) -> tuple[set[Tensor], Reads]:
    """Return the tensors that derivatives in `operations` are taken by or stop at, and the reads."""
    found: set[Tensor] = set()
    for op in operations:
        if op.definition.name == "symbolic_gradients":
            _, _, xs, stops = gradient_parts(op)
            found.update(xs, stops)
    owners = {variable_of(t) for t in found}
    return {t for t in found if variable_of(t) is None}, Reads(owners, bool(found))


def perform_gradients(at: CaptureState, op: Operation) -> tuple[Value, ...]:
    """The derivatives that a gradients operation stands for."""
    ys, seeds, xs, stops = gradient_parts(op)
    targets = [at.value(t) for t in ys]  # before `_places`: a y that is a variable is read here
    places = [_places(at, x) for x in xs]
    wanted = [place for each in places for place in each]
    stopped = [place for t in stops for place in _places(at, t)]
    weights: list[Value | None] = [at.value(t) for t in seeds] or [None] * len(ys)
    try:
        found = iter(vjp(at.build, targets, weights, wanted, stopped))
    except RoundsNeeded as needed:
        loop = at.loops.get(needed.family)
        if loop is None:  # made of a gradient function in a body
            text = "a derivative of this loop needs to know how many rounds there may be, which data decide"
            raise GradientError(layout(text, at.build.where, hint="bound it: maximum_iterations=")) from None
        rounds = loop.outputs[-1]
        if (outer := _loop_around(op, rounds, at.calls.region)) is not None:
            # A round may need the derivative of the one before it: they are counted one after the other.
            raise by_python(at, outer) from None
        raise (StaticFeedNeeded if rounds in at.fed else ValueNeeded)([rounds]) from None
    out = []
    for x, each in zip(xs, places, strict=True):
        parts = [g for g in (next(found) for _ in each) if g is not None]
        total = sum(parts[1:], parts[0]) if parts else ops.zeros_like(at.value(x))
        out.append(total)
    return tuple(out)


def _loop_around(op: Operation, tensor: Tensor, end: Region | None) -> Operation | None:
    """Return the innermost loop inside of `end` that both an operation and a tensor are a part of."""
    for region in () if op.region is None else op.region.around:
        if region is end or region.owner is None:
            return None
        if region.owner.definition.name == "while_region" and around(tensor, region) is not None:
            return region.owner
    return None


def perform_custom_gradient(at: CaptureState, op: Operation) -> Sequence[Value]:
    """Return the results of a custom gradient. Its derivatives are performed if the step has any."""
    ys, xs = op.attrs["ys"], op.attrs["xs"]
    results = [at.value(t) for t in op.tensors[:ys]]
    if not at.reads.any_derivatives:
        return results
    derivative, captured, lacking = _derivative(at, op, results)
    inputs = (*results, *(at.value(t) for t in op.tensors[ys : ys + xs]), *captured)
    attrs = {"ys": ys, "xs": xs, "derivative": derivative, "lacking": lacking}
    return at.build.node(OPS["custom_vjp"], inputs, attrs).outputs


def _derivative(
    at: CaptureState, op: Operation, ys: Sequence[Value]
) -> tuple[Function | None, list[Value], str]:
    """Return the derivatives as a Function of the cotangents, then captures; what it captures; and why there
    is none.
    """
    region: Region | None = op.attrs["derivative"]
    if region is None and len(op.tensors) == len(ys) + op.attrs["xs"]:
        text = f"{op.name} ({op.type}) has a gradient that is a Python function, which is not called here"
        return None, [], layout(text, op.where)
    if region is not None:
        if problem := _of_python(region):
            return None, [], _lacking(op, problem)
        params = [at.build.fresh_parameter("cotangent", y.type) for y in ys if y.dtype.is_differentiable]
        sound = at.sound
        try:
            made = perform_region(at, region, params, ())
        except (HostNeeded, ValueNeeded) as needed:
            ops_needed = [needed.op] if isinstance(needed, HostNeeded) else [t.op for t in needed.tensors]
            inside = [each for each in ops_needed if around(each.outputs[0], region) is not None]
            if not inside:
                raise
            return None, [], _lacking(op, inside[0])
        if at.sound in depends_on(params, [at.sound]):  # checks of what is not known when they are made
            (at.sound,) = proven(Function((), (at.sound,))).results
            if at.sound in depends_on(params, [at.sound]):
                at.sound = sound
                return None, [], _lacking(op, _checked(region))
    else:  # of an older version
        rest = op.tensors[len(ys) + op.attrs["xs"] :]
        given = [at.value(t) for t in rest[op.attrs["xs"] :]]
        params = [at.build.fresh_parameter("cotangent", g.type) for g in given]
        table = dict(zip(given, params, strict=True))
        made = substitute([at.value(t) for t in rest[: op.attrs["xs"]]], table)
        params = [p for p, y in zip(params, ys, strict=True) if y.dtype.is_differentiable]
    (function,), captured = close(at.build, params, [made], depends_on(params, made).__contains__)
    return function, captured, ""


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


def _places(at: CaptureState, x: Tensor) -> list[Value]:
    """Return the values by which a derivative by `x` is taken: for a variable, what stands for its reads."""
    owner = variable_of(x)
    return [at.value(x)] if owner is None or owner in at.fed_variables else at.reads.markers(owner)
