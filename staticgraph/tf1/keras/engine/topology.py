"""The layers between two sets of tensors, in an order in which they can run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.graph.errors import DisconnectedError, misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.keras.engine.node import Node, history


@dataclass(frozen=True, slots=True)
class Topology:
    """`nodes`: the calls in the order of running. `layers`: each layer once, from the inputs on."""

    nodes: list[Node]
    layers: list[Any]


def topology(inputs: Sequence[Tensor], outputs: Sequence[Tensor], name: str) -> Topology:
    """Return the calls and layers between `inputs` and `outputs`.

    Raises:
        DisconnectedError: An output needs another input.
    """
    order: list[Node] = []  # parents before children
    layer_order: dict[int, int] = {}
    begun: set[int] = set()
    given = set(inputs)

    stack: list[tuple[Tensor, bool]] = [(t, False) for t in reversed(outputs)]
    while stack:
        tensor, done = stack.pop()
        found = history(tensor)
        if found is None:
            raise _disconnected(tensor, name)
        node = found.node
        if done:
            order.append(node)
        elif id(node) not in begun:
            begun.add(id(node))
            layer_order.setdefault(id(node.layer), len(layer_order))
            stack.append((tensor, True))
            if tensor not in given:
                stack += [(t, False) for t in reversed(node.input_tensors)]

    depths = _depths(order, given)
    layers = {id(node.layer): node.layer for node in order}
    depth_of = {key: max(depths[id(n)] for n in order if id(n.layer) == key) for key in layers}
    for tensor in inputs:  # an input that nothing uses is still an input
        found = history(tensor)
        if found is not None and id(found.layer) not in layers:
            layers[id(found.layer)] = found.layer
            layer_order[id(found.layer)] = -1
    deepest = max(depth_of.values(), default=0)
    begins = {id(h.layer) for t in inputs if (h := history(t)) is not None and not h.node.input_tensors}
    ranked = sorted(
        layers,
        key=lambda key: (-deepest if key in begins else -depth_of.get(key, deepest), layer_order[key]),
    )
    for tensor in (t for node in order if not node.input_tensors for t in node.output_tensors):
        if tensor not in given:
            raise _disconnected(tensor, name)
    nodes = sorted(order, key=lambda n: (-depths[id(n)], layer_order[id(n.layer)]))
    return Topology(nodes, [layers[key] for key in ranked])


def _depths(order: Sequence[Node], given: set[Tensor]) -> dict[int, int]:
    """Return the depth of each call, by its id: the distance of the call from the outputs.

    A call is at least as deep as the calls of its layer that come after it in `order`.
    """
    depths: dict[int, int] = {}
    of_layer: dict[int, int] = {}
    for node in reversed(order):
        depth = max(depths.get(id(node), 0), of_layer.get(id(node.layer), 0))
        depths[id(node)] = of_layer[id(node.layer)] = depth
        if any(t in given for t in node.output_tensors):
            continue
        for parent in node.parents():
            depths[id(parent.node)] = max(depth + 1, depths.get(id(parent.node), 0))
    return depths


def _disconnected(tensor: Tensor, name: str) -> DisconnectedError:
    text = f"model {name} cannot be cut out: {tensor.name} does not come from the inputs that were given"
    hint = "each path back from an output must end at an Input that is listed among the inputs"
    return misuse(DisconnectedError, text, hint, made=[(tensor.name, tensor.op.where)])
