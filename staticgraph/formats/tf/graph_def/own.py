"""Operations that TensorFlow has no op type for: written so that they can be read here again.

A node of the type `sg.symbolic_gradients` is our op `symbolic_gradients`. Its inputs are the tensors and then
the operands, whose names are the attribute `operands`. Attributes of ops are messages where they are tensors,
and else the JSON of our files; `types` and `_output_shapes` tell the outputs. `regions` are the numbers of
the loop's bodies or the branches that an operation has; the nodes inside have that number as `_region`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from staticgraph.compiler.graph.errors import GraphError, InvalidFileError
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import OPS, Role
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.recording.restore import Recorded, restore
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, held_regions
from staticgraph.formats.tf.graph_def.attributes import attr_value, plain_value
from staticgraph.formats.tf.graph_def.correspondence import OWN
from staticgraph.formats.tf.messages.graph import AttrValue, NodeDef
from staticgraph.runtime.files.attributes import decode, encode, parse
from staticgraph.runtime.files.graph_json import RegionReader, RegionWriter, refusal

_RESERVED = {"operands", "regions", "types"}


def own_attrs(op: Operation, regions: RegionWriter) -> dict[str, AttrValue]:
    """The attributes of a node that stands for an operation of ours. What a file cannot hold is left out:
    such a node can be drawn, and not be read.
    """
    made = {
        "operands": attr_value("list(string)", list(op.operands)),
        "types": attr_value("list(type)", [output.dtype for output in op.outputs]),
        "_output_shapes": attr_value("list(shape)", [output.type.shape for output in op.outputs]),
    }
    if inside := [regions.number(region) for region in held_regions(op)]:
        made["regions"] = attr_value("list(int)", inside)
    for name, value in op.attrs.items():
        if isinstance(value, Literal):
            made[name] = attr_value("tensor", value)
        else:
            try:
                made[name] = attr_value("string", json.dumps(encode(value, _no_place, regions.attribute)))
            except TypeError:
                continue
    return made


def _no_place(value: Literal) -> str:
    raise TypeError(type(value).__name__)


def region_reader(nodes: Iterable[NodeDef]) -> RegionReader:
    """The regions that nodes tell of. InvalidFileError if these cannot be."""
    around: dict[int, int | None] = {}
    for node in nodes:
        for number in (
            node.attr["regions"].list.i if node.op.startswith(OWN) and "regions" in node.attr else ()
        ):
            around[number] = region_number(node)
    if sorted(around) != list(range(len(around))):
        raise InvalidFileError("its regions are not numbered from 0 on")
    return RegionReader([around[number] for number in range(len(around))])


def region_number(node: NodeDef) -> int | None:
    """The number of the region that a node is in."""
    return node.attr["_region"].i if "_region" in node.attr else None


def restore_own(
    graph: Graph,
    node: NodeDef,
    name: str,
    inputs: Sequence[Tensor],
    controls: Sequence[Operation],
    regions: RegionReader,
    named: Callable[[Any], Tensor],
) -> Operation:
    """The operation of such a node, in a graph where the tensors that it calls so are `named`. GraphError, in
    one sentence, where it is none.
    """
    op = OPS.get(node.op.removeprefix(OWN))
    if op is None:
        raise GraphError(f"there is no op {node.op.removeprefix(OWN)!r}")
    try:
        operands = plain_value("list(string)", node.attr["operands"])
        types = plain_value("list(type)", node.attr["types"])
        shapes = plain_value("list(shape)", node.attr["_output_shapes"])
        names = [p.name for p in op.params if p.role is not Role.TENSOR and p.role is not Role.TENSORS]
        region = partial(regions.attribute, what=f"a region of {node.name!r}", tensor=named)
        attrs = {p: _decoded(node.attr[p], p, region) for p in names if p in node.attr and p not in _RESERVED}
    except (InvalidFileError, TypeError, ValueError) as error:
        raise GraphError(f"its attributes cannot be read: {error}") from None
    if why := refusal(op, attrs):
        raise GraphError(why)
    if len(operands) > len(inputs) or len(types) != len(shapes):
        raise GraphError("its attributes and inputs do not belong together")
    split = len(inputs) - len(operands)
    recorded = Recorded(
        op,
        name,
        tuple(inputs[:split]),
        dict(zip(operands, inputs[split:], strict=True)),
        attrs,
        tuple(controls),
        node.device,
        user_frame(),
        tuple(map(TensorType, types, shapes)),
        graph.region,
    )
    made = restore(graph, recorded)
    regions.made(made)
    return made


def _decoded(value: AttrValue, name: str, region: Callable[[Any], Region]) -> Any:
    if value.WhichOneof("value") == "tensor":
        return plain_value("tensor", value)
    return decode(parse(value.s, name), name, _no_weights, region)


def _no_weights(key: str) -> Literal:
    raise InvalidFileError(f"there are no weights {key!r} beside it")
