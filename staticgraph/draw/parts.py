"""The Functions inside loops and branches of a compiled step, each drawn in an area of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.lower.loop_rows import ByRow, by_row
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.model import Region, Work


@dataclass(frozen=True, slots=True)
class Start:
    """Title of a parameter that has a box, and the value that its first value comes from."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Part:
    """The body of a loop, or a branch. `captures` are params that stand for values outside."""

    region: Region
    function: Function
    captures: Mapping[Value, Value]
    starts: Mapping[Value, Start]
    gives: Sequence[tuple[Value, str]]  # results, and what they are for
    again: Sequence[tuple[Value, Value]] = ()  # a result, and the param that it is in the next round


def parts_of(node: Node, kernels: bool) -> list[Part]:
    """The Functions of a loop or branch; those of `kernels` get rows where they need no more."""
    match node.op.name:
        case "loop":
            return [_body(node, by_row(node) if kernels else _plain(node))]
        case "branch":
            return [_branch(node, i, f) for i, f in enumerate(node.attrs["branches"])]
    return []


def _plain(node: Node) -> ByRow:
    """A loop as it is."""
    carried = node.attrs["carried"]
    captured = len(node.inputs) - 1 - carried
    return ByRow(node.attrs["body"], tuple(range(carried)), tuple(range(captured)), (), ())


def _body(node: Node, loop: ByRow) -> Part:
    params, results = loop.body.params, loop.body.results
    captures = node.inputs[1 + node.attrs["carried"] :]
    end = len(loop.carried)
    carried, captured = params[:end], params[end : end + len(loop.captured)]
    rows = params[end + len(loop.captured) :]
    starts = {p: Start("carried", node.inputs[1 + n]) for p, n in zip(carried, loop.carried, strict=True)}
    starts |= {p: Start("row", captures[row.tensor]) for p, row in zip(rows, loop.reads, strict=True)}
    back = zip(results[1:], carried, strict=False)
    return Part(
        Region("loop: rounds", Work.ROUNDS),
        loop.body,
        {p: captures[n] for p, n in zip(captured, loop.captured, strict=True)},
        starts,
        [(r, "condition" if i == 0 else "" if i <= end else "row") for i, r in enumerate(results)],
        [(result, param) for result, param in back if result is not param],
    )


def _branch(node: Node, number: int, function: Function) -> Part:
    captures = dict(zip(function.params, node.inputs[1:], strict=True))
    return Part(
        Region(f"branch {number}", Work.BRANCH), function, captures, {}, [(r, "") for r in function.results]
    )


def rounds_text(node: Node) -> list[str]:
    """Return a line with the trip count of a loop, or its bound; no line if neither is known."""
    bound = node.attrs.get("bound")
    if bound is None:
        return []
    return [f"{bound:,} rounds" if node.attrs["exact"] else f"at most {bound:,} rounds"]
