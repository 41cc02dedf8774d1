"""Requirements that always hold become True, so that nothing is computed for them in a run.

in_range(argmax(x, axis=1), 0, 10), x: float32[8, 10]   ->  True
in_range(i, 0, 20) in `for i in range(20)`              ->  True
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.function import Function, Node, Value, transform
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.ops.control.control_flow import functions
from staticgraph.compiler.passes.intervals import Interval, Intervals


def proven(function: Function) -> Function:
    """Return `function` without the requirements that intervals prove."""
    return _proven(function, Intervals())


def _proven(function: Function, intervals: Intervals) -> Function:
    if not has_requirements(function):
        return function

    def rebuild(node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.op.violation is not None and _holds(node, intervals):
            recorder: Builder = node.outputs[0].recorder
            return [recorder.constant(True, bool_)]
        if node.op.name == "logical_and" and inputs != node.inputs:  # of requirements, all of them scalars
            left = [v for v in inputs if v.constant is None or not v.constant.all() or v.size != 1]
            if len(left) < 2 and all(v.shape == () for v in inputs):
                return left or [inputs[0]]
        if any(map(has_requirements, functions(node.attrs))):
            return (_loop if node.op.name == "loop" else _branch)(node, inputs, intervals)
        build: Builder | None = node.outputs[0].recorder if node.outputs else None
        return node.outputs if inputs == node.inputs or build is None else build.again(node, inputs).outputs

    return transform(function, rebuild)


def has_requirements(function: Function) -> bool:
    """Return if there are requirements in a Function, or in its loops and branches."""
    inner = (each for node in function.nodes for each in functions(node.attrs))
    return any(node.op.violation is not None for node in function.nodes) or any(map(has_requirements, inner))


def _loop(node: Node, inputs: tuple[Value, ...], intervals: Intervals) -> Sequence[Value]:
    """A loop whose body is proven. What an iteration leaves as it was is what it began as."""
    body, carried = node.attrs["body"], node.attrs["carried"]
    made = _proven(body, Intervals(intervals.in_body(node)))
    outputs = node.outputs[0].recorder.again(node, inputs, node.attrs | {"body": made}).outputs
    stays = [result is param for result, param in zip(made.results[1:], made.params, strict=False)]
    return [inputs[1 + i] if stays[i] else outputs[i] for i in range(carried)]


def _branch(node: Node, inputs: tuple[Value, ...], intervals: Intervals) -> Sequence[Value]:
    """A branch whose Functions are proven. What all of them leave as it was is what it was before."""
    branches = [
        _proven(each, Intervals(intervals.captured(each.params, node.inputs[1:])))
        for each in node.attrs["branches"]
    ]
    outputs = node.outputs[0].recorder.again(node, inputs, {"branches": tuple(branches)}).outputs
    found = []
    for i, output in enumerate(outputs):
        outer = (dict(zip(b.params, inputs[1:], strict=True)) for b in branches)
        given = {o.get(b.results[i], b.results[i]) for o, b in zip(outer, branches, strict=True)}
        same = next(iter(given))
        unchanged = len(given) == 1 and (same in inputs or same.constant is not None)
        found.append(same if unchanged else output)
    return found


def _holds(node: Node, intervals: Intervals) -> bool:
    """Return if a requirement holds for all numbers that its input may be."""
    x, attrs = node.inputs[0], node.attrs
    if same(x.size, 0):
        return True
    match node.op.name:
        case "in_range":
            return _inside(intervals.of(x), attrs["low"], attrs["high"])
        case "coordinates_in_range":
            columns = _columns(x, intervals)
            return all(_inside(i, 0, n) for i, n in zip(columns, attrs["sizes"], strict=True))
        case "below":
            return intervals.of(x)[1] < intervals.of(node.inputs[1])[0]
        case "nonzero":
            least, greatest = intervals.of(x)
            return least > 0 or greatest < 0
    return False


def _inside(interval: Interval, low: int | None, high: int | None) -> bool:
    return (low is None or low <= interval[0]) and (high is None or interval[1] < high)


def _columns(x: Value, intervals: Intervals) -> list[Interval]:
    """Return the interval of each number along the last axis."""
    x, last = x.plain, x.rank - 1
    axis = x.node.attrs.get("axis")
    if x.node.op.name in ("stack", "concat") and axis in (last, -1):
        single = x.node.op.name == "stack"
        return [c for v in x.node.inputs for c in ([intervals.of(v)] if single else _columns(v, intervals))]
    if (array := x.constant) is not None:
        columns = array.reshape(-1, array.shape[-1])
        return list(zip(map(int, columns.min(axis=0)), map(int, columns.max(axis=0)), strict=True))
    return [intervals.of(x)] * x.shape[-1]
