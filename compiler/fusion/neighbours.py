"""Neighbours: kernels of which one reads what the other stores, and why they are two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from staticgraph.compiler.fusion.group import Fusion, Group, is_alias, is_control
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.sizes import same_shape
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A kernel that reads `value`, which another one stores, and what keeps the two apart."""

    maker: Group
    reader: Group
    value: Value
    reason: str


def neighbours(fusion: Fusion) -> Iterator[Neighbours]:
    """All pairs of kernels of `fusion` that are neighbours, in the order of the readers."""
    alias = {g.root.outputs[0]: g.root.inputs[0] for g in fusion.groups if is_alias(g.root)}
    home: dict[Value, Group] = {}
    for reader in fusion.groups:
        if is_alias(reader.root):
            continue
        inside = {v for node in reader.nodes for v in node.outputs}
        read = dict.fromkeys(v for node in reader.nodes for v in node.inputs if v not in inside)
        found: dict[Group, Value] = {}
        for value in (_base(v, alias) for v in read):
            if (maker := home.get(value)) is not None:
                found.setdefault(maker, value)
        for maker, value in found.items():
            if not is_control(maker.root) and not is_control(reader.root):
                yield Neighbours(maker, reader, value, _reason(fusion, maker, reader, value))
        home.update(dict.fromkeys(reader.outputs, reader))


def _base(value: Value, alias: Mapping[Value, Value]) -> Value:
    while value in alias:
        value = alias[value]
    return value


def _reason(fusion: Fusion, maker: Group, reader: Group, value: Value) -> str:
    """Reasons that the reader does not compute the value, and that the two do not share their loops."""
    why = fusion.apart.get(value.node, "")
    if not (maker.is_loops and reader.is_loops):
        return why
    loops = [tuple(i.extent for i in group.domain) for group in (maker, reader)]
    if not same_shape(*loops):
        sizes = [" × ".join(map(str, each)) or "one element" for each in loops]
        return f"{why}; the loops differ, over {sizes[0]} and {sizes[1]}"
    if maker.contraction is not None or reader.contraction is not None:
        return f"{why}; a product shares its loops only with arithmetic on its tiles"
    return f"{why}; they do not go through the same elements or rows in the same order"
