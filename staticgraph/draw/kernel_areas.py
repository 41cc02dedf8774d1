"""Kernels as areas of a drawing: what each is called, and which of its operations tells where it belongs."""

from __future__ import annotations

from collections.abc import Container

from staticgraph.compiler.fusion.group import Group, is_host
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.graph.opdef import Effect, Kind, OpDef
from staticgraph.draw.model import Region, Work
from staticgraph.draw.wording import place_lines

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
