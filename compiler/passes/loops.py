"""Loops and branches made smaller: one loop per family, nothing carried in vain, nothing repeated in vain.

two forms of a loop, one of which keeps values for a derivative   ->  the one that keeps them
a carried value that nothing needs                                ->  not carried
a carried value that stays as it is, and a captured constant      ->  known in the body
what is the same in each round                                    ->  computed before the loop
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function, Node, Value, substitute, transform
from staticgraph.compiler.graph.lambda_lift import close, depends_on
from staticgraph.compiler.graph.opdef import OPS, Kind

# Kinds of ops that are done while their result is read: taken out of a loop, they would only need memory.
_NOTHING_SAVED = {Kind.MOVEMENT, Kind.SOURCE}
Simplify = Callable[[Function], Function]


def merge_loops(function: Function) -> Function:
    """`function` with one loop for each family: the forms of a family differ in what else they carry."""
    forms: dict[int, list[Node]] = {}
    for node in function.nodes:
        if node.op.name == "loop":
            forms.setdefault(node.attrs["family"], []).append(node)
    if all(len(nodes) == 1 for nodes in forms.values()):
        return function
    merged: dict[int, dict[Value, Value]] = {}  # by family: what each carried param ends as

    def rebuild(node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...]:
        if node.op.name != "loop":
            return _again(node, inputs).outputs
        family = node.attrs["family"]
        if family not in merged:
            merged[family] = _merged(node, inputs, forms[family])
        return tuple(merged[family][p] for p in _carried(node))

    return transform(function, rebuild)


def _merged(node: Node, inputs: tuple[Value, ...], forms: Sequence[Node]) -> dict[Value, Value]:
    """All that the forms of a loop carry, in one. What a form has beyond the first begins as a constant."""
    params, results = list(_carried(node)), list(node.attrs["body"].results)
    init, captures = list(inputs[: 1 + len(params)]), inputs[1 + len(params) :]
    captured = node.attrs["body"].params[len(params) :]
    for other in forms:
        body = other.attrs["body"]
        for param, first, result in zip(_carried(other), other.inputs[1:], body.results[1:], strict=False):
            if param not in params:
                params.append(param)
                init.append(first)
                results.append(result)
    body = Function((*params, *captured), tuple(results))
    attrs = node.attrs | {"body": body, "carried": len(params)}
    return dict(zip(params, _node(node, (*init, *captures), attrs).outputs, strict=True))


def _carried(node: Node) -> tuple[Value, ...]:
    """The params of a loop's body that stand for what it carries."""
    params: tuple[Value, ...] = node.attrs["body"].params
    return params[: node.attrs["carried"]]


def _again(node: Node, inputs: tuple[Value, ...]) -> Node:
    return node if inputs == node.inputs else _node(node, inputs, node.attrs)


def _node(node: Node, inputs: tuple[Value, ...], attrs: dict[str, Any]) -> Node:
    recorder: Builder = node.outputs[0].recorder
    return recorder.again(node, inputs, attrs)


def tidy(function: Function, simplify: Simplify) -> Function:
    """`function` with its loops and branches made smaller; `simplify` is applied to the Functions in them."""
    if function.op_names.isdisjoint(("loop", "branch")):
        return function
    function = _needed_only(function)

    def rebuild(node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.op.name == "loop":
            return _tidy_loop(node, inputs, simplify)
        if node.op.name == "branch":
            branches = tuple(simplify(merge_loops(each)) for each in node.attrs["branches"])
            return _node(node, inputs, {"branches": branches}).outputs
        return _again(node, inputs).outputs

    return transform(function, rebuild)


def _needed_only(function: Function) -> Function:
    """`function` whose loops carry only what is needed."""
    used = {v for node in function.nodes for v in node.inputs} | set(function.results)

    def rebuild(node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.op.name != "loop":
            return _again(node, inputs).outputs
        keep = _needed(node, used)
        if len(keep) == len(node.outputs):
            return _again(node, inputs).outputs
        body, carried = node.attrs["body"], node.attrs["carried"]
        params = (*(body.params[i] for i in keep), *body.params[carried:])
        smaller = Function(params, (body.results[0], *(body.results[1 + i] for i in keep)))
        taken = (inputs[0], *(inputs[1 + i] for i in keep), *inputs[1 + carried :])
        made = _node(node, taken, node.attrs | {"body": smaller, "carried": len(keep)})
        outputs = dict(zip(keep, made.outputs, strict=True))
        return [outputs.get(i, inputs[1 + i]) for i in range(carried)]  # nothing uses the others

    return transform(function, rebuild)


def _needed(node: Node, used: set[Value]) -> list[int]:
    """The numbers of the carried values that are used, or that the condition or needed ones depend on."""
    body = node.attrs["body"]
    params = _carried(node)
    below = [_below(params, result) for result in body.results]
    keep = {i for i, output in enumerate(node.outputs) if output in used}
    stack = [0, *(1 + i for i in keep)]
    while stack:
        for param in below[stack.pop()]:
            i = params.index(param)
            if i not in keep:
                keep.add(i)
                stack.append(1 + i)
    return sorted(keep)


def _below(params: Sequence[Value], result: Value) -> list[Value]:
    """Return the params that `result` depends on, in order."""
    below: set[Value] = set()
    stack = [result]
    first = min((p.node.serial for p in params), default=0)
    while stack:
        value = stack.pop()
        if value not in below and value.node.serial >= first:
            below.add(value)
            stack += value.node.inputs
    return [p for p in params if p in below]


def _tidy_loop(node: Node, inputs: tuple[Value, ...], simplify: Simplify) -> Sequence[Value]:
    body, carried = node.attrs["body"], node.attrs["carried"]
    stays = {i for i in range(carried) if body.results[1 + i] is body.params[i]}
    known = {body.params[i]: inputs[1 + i] for i in stays}
    known |= dict(zip(body.params[carried:], inputs[1 + carried :], strict=True))
    moving = [i for i in range(carried) if i not in stays]
    params = [body.params[i] for i in moving]
    results = [body.results[0], *(body.results[1 + i] for i in moving)]
    build = node.outputs[0].recorder
    made = substitute(results, known)
    depends = depends_on(params, made)
    (function,), captured = close(
        build, params, [made], lambda v: v in depends or v.node.op.kind in _NOTHING_SAVED
    )
    function = simplify(merge_loops(function))
    init = [inputs[1 + i] for i in moving]
    if node.attrs["exact"]:
        init = [_filled(function, n, first, init, node.attrs["bound"]) for n, first in enumerate(init)]
    taken = (inputs[0], *init, *captured)
    attrs = node.attrs | {"body": function, "carried": len(moving)}
    outputs = dict(zip(moving, _node(node, taken, attrs).outputs, strict=True))
    return [outputs[i] if i in outputs else inputs[1 + i] for i in range(carried)]


def _filled(function: Function, number: int, first: Value, init: Sequence[Value], bound: int) -> Value:
    """Return the initial value of a carried value.

    If iterations write each row of an array, its initial value does not matter and is left unset.
    """
    param, node = function.params[number], function.results[1 + number].node
    if node.op.name != "row_update" or node.inputs[0] is not param or function.users[param] != [node]:
        return first
    index = node.inputs[1]
    if index not in function.params[: len(init)] or param in node.inputs[1:] or first.shape[0] != bound:
        return first
    counter = function.params.index(index)
    grown = function.results[1 + counter].node
    counts = grown.op.name == "add" and index in grown.inputs and any(v.constant == 1 for v in grown.inputs)
    if not counts or init[counter].constant != 0:
        return first
    empty: Value = first.recorder.apply(OPS["unset"], (), {"dtype": first.dtype, "shape": first.shape})
    return empty
