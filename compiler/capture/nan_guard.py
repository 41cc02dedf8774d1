"""The guard against NaN: a step that also tells whether all that it gives is finite.

Its last result is one truth value, an "and" over every element of what the step computes for the world
outside: fetched tensors, what host ops take, new values of variables; and over losses, that is over what
derivatives are taken of, for those may be finite all the same. What goes wrong on the way gets there, unless
the program masks it: `where(x > 0, log(x), 0)` is finite where the logarithm is not, a softmax over
logits of which some are minus infinity is too, and neither is reported. What a decision is made by, such as
the argument of `argmax`, is looked at where the decision is made, in loops too, since no NaN comes out of it.

    (loss, w')  ->  (loss, w', reduce_all(is_finite(loss)) & reduce_all(is_finite(w')))

Values that are not computed are not looked at: constants, feeds and variables that are given out as they are.
Where an infinite constant has an influence, or the greatest of no elements, only NaN counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from staticgraph.compiler import stages
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.function import Function, Node, Value, transform
from staticgraph.compiler.graph.opdef import ops, recording
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.ops.control.control_flow import functions


def checked(step: Step) -> Step:
    """`step` with one more result. It overwrites no variable, so that it can be done again from the same
    values.
    """
    function = step.function
    build = _builder(function)
    with recording(build):
        made, sound = _with_decisions(function, build)
        made, before = (made[:-1], [made[-1]]) if step.checked else (made, [])
        computed, infinite = _computed(function), _below_infinity(function)
        for old, new in zip(function.results, made, strict=False):
            if old.plain in computed and (old.dtype.is_floating or old.dtype.is_complex):
                sound.append(_sound(new, old in infinite))
        flag = _all([*before, *sound], build)
        results = (*made[: len(made) - step.losses], flag)
    guarded = function.with_results(results)
    stages.report("nan_guard", function, guarded)
    reports = (*step.reports, ("nan_guard", function, guarded))
    return replace(step, function=guarded, may_overwrite=False, losses=0, checked=True, reports=reports)


def _builder(function: Function) -> Builder:
    values = (*function.params, *function.results)
    recorder: Builder = values[0].recorder if values else Builder()
    return recorder


def _computed(function: Function) -> set[Value]:
    """The values that ops compute from what a run is given."""
    given = set(function.params)
    found: set[Value] = set()
    for node in function.nodes:
        if any(v in given or v in found for v in node.inputs):
            found.update(node.outputs)
    return found - given


def _below_infinity(function: Function) -> set[Value]:
    """The values that infinite numbers which the program asks for may have an influence on."""
    found: set[Value] = set()
    for node in function.nodes:
        if _has_infinity(node) or any(v in found for v in node.inputs):
            found.update(node.outputs)
    return found


def may_be_infinite(node: Node) -> bool:
    """Return True if a node gives infinite numbers for any input.

    Examples are a constant with infinity in it, and the maximum of no elements.
    """
    array = node.outputs[0].constant if node.outputs else None
    if array is not None:
        return array.dtype.kind in "fc" and bool(np.isinf(array).any())
    sizes = [v.size for v in node.outputs]
    empty = any(v.size == 0 for v in node.inputs if not all(same(v.size, size) for size in sizes))
    return empty and any(size != 0 for size in sizes)


def _has_infinity(node: Node) -> bool:
    """Return True if a node, or a node in a Function that it runs, gives infinite numbers for any input."""
    inner = (n for each in functions(node.attrs) for n in each.nodes)
    return may_be_infinite(node) or any(map(_has_infinity, inner))


def _sound(value: Value, only_nan: bool) -> Value:
    """Return the condition that no element of `value` is NaN or, unless `only_nan`, infinite."""
    if value.dtype.is_complex:
        parts = [_sound(part(value), only_nan) for part in (ops.real, ops.imag)]
        return _all(parts, value.recorder)
    found = ops.logical_not(ops.is_nan(value)) if only_nan else ops.is_finite(value)
    whole: Value = ops.reduce_all(found)
    return whole


def _all(flags: Sequence[Value], build: Builder) -> Value:
    found = build.constant(True, bool_)
    for flag in flags:
        found = ops.logical_and(found, flag)
    return found


def _decides(function: Function) -> bool:
    return any(
        _decided_by(node) is not None or any(map(_decides, functions(node.attrs))) for node in function.nodes
    )


def _decided_by(node: Node) -> Value | None:
    if node.op.decides_by is None:
        return None
    value = node.inputs[node.op.decides_by]
    return value if value.dtype.is_floating and value.constant is None else None


def _with_decisions(function: Function, build: Builder) -> tuple[tuple[Value, ...], list[Value]]:
    """The results of `function`, and whether there was no NaN in what decisions were made by."""
    sound: list[Value] = []

    def rebuild(node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if _decided_by(node) is not None:
            sound.append(_sound(inputs[node.op.decides_by or 0], only_nan=True))
        if any(map(_decides, functions(node.attrs))):
            *outputs, flag = (_loop if node.op.name == "loop" else _branch)(node, inputs, build)
            sound.append(flag)
            return outputs
        return node.outputs if inputs == node.inputs else build.again(node, inputs).outputs

    return transform(function, rebuild).results, sound


def _loop(node: Node, inputs: tuple[Value, ...], build: Builder) -> tuple[Value, ...]:
    """A loop that carries whether there was no NaN so far, at the end of what it carries."""
    body, count = node.attrs["body"], node.attrs["carried"]
    results, sound = _with_decisions(body, build)
    before = build.fresh_parameter("sound", TensorType(bool_, ()))
    params = (*body.params[:count], before, *body.params[count:])
    made = Function(params, (*results, _all([before, *sound], build)))
    taken = (*inputs[: 1 + count], build.constant(True, bool_), *inputs[1 + count :])
    return build.again(node, taken, node.attrs | {"body": made, "carried": count + 1}).outputs


def _branch(node: Node, inputs: tuple[Value, ...], build: Builder) -> tuple[Value, ...]:
    """A branch that tells last whether there was no NaN."""
    branches = []
    for each in node.attrs["branches"]:
        results, sound = _with_decisions(each, build)
        branches.append(each.with_results((*results, _all(sound, build))))
    return build.again(node, inputs, {"branches": tuple(branches)}).outputs
