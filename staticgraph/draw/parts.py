"""Areas of the drawing of a compiled step: kernels, each with the operation that tells where it belongs, and
the Functions inside loops and branches.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from staticgraph.compiler.fusion.group import Group, is_host
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.opdef import Effect, Kind, OpDef
from staticgraph.compiler.lower.loop_rows import ByRow, by_row
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.model import Region, Work
from staticgraph.draw.wording import place_lines


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


_WORDS = {
    "conv_windows": "conv",
    "conv_filter": "gradient of a filter",
    "conv_spread": "gradient of a conv",
    "reduce_sum": "sum",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_prod": "product",
    "realdiv": "divide",
}
_TOLD = 4  # operations in the title of a kernel


def work_of(group: Group) -> Work:
    """Return the kind of kernel that computes a group."""
    if is_host(group.root):
        return Work.EXCHANGE if group.root.op.effect is Effect.EXCHANGE else Work.HOST
    kinds = {node.op.kind for node in group.nodes}
    if Kind.CONTRACTION in kinds:
        return Work.PRODUCT
    return Work.REDUCTION if group.reduces or Kind.REDUCTION in kinds else Work.LOOPS


def region(group: Group, name: str) -> Region:
    """Return the area of a kernel, called by what it computes."""
    work = work_of(group)
    title = f"{name}: {computed(group)}"
    return Region(title, work, "\n".join([title, *place_lines(group.root.where)]), group)


def main_node(group: Group, *wanted: Container[Value]) -> Node:
    """Return the node of a kernel that tells where it belongs.

    It is one that computes a value of `wanted`, the first of them first; else a product, then a reduction.
    """
    for values in wanted:
        if (found := next((v.node for v in group.outputs if v in values), None)) is not None:
            return found
    return min(reversed(group.nodes), key=lambda node: min(_order(node.op), 2))


def computed(group: Group) -> str:
    """Return what a kernel computes, in a few words: its products and reductions first.

    Elementwise operations come in their order, each once; of many, the first and the last are told.
    """
    names = [(_order(node.op), node.op.name) for node in group.nodes]
    first = dict.fromkeys(name for order, name in sorted(names, key=lambda each: each[0]) if order < 2)
    rest = [name for name in dict.fromkeys(name for order, name in names if order == 2) if name not in first]
    words = [_WORDS.get(name, name) for name in (*first, *rest)]
    if not words:
        return group.root.op.name
    return " + ".join(words if len(words) <= _TOLD else [*words[: _TOLD - 1], "…", words[-1]])


def _order(op: OpDef) -> int:
    """Return 0 for products, 1 for reductions, 3 for what only moves elements, and 2 for all else."""
    if op.kind is Kind.MOVEMENT:
        return 3
    return {Kind.CONTRACTION: 0, Kind.REDUCTION: 1}.get(op.kind, 2)
