"""Calls of layers: each is a `Node`, and each tensor knows the node that made it.

So the way from any tensor back to the inputs is known, and a model can be cut out between two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.keras.engine.structure import leaves, single
from staticgraph.tf1.keras.state import histories, masks


@dataclass(frozen=True, slots=True)
class History:
    """The call of a layer that made a tensor, and which of its outputs it is."""

    layer: Any
    node_index: int
    tensor_index: int

    @property
    def node(self) -> Node:
        return self.layer.inbound_nodes[self.node_index]


class Node:
    """One call of `layer`: the tensors that went in and came out."""

    def __init__(self, layer: Any, inputs: Any, outputs: Any, arguments: dict[str, Any]) -> None:
        self.layer = layer
        self.inputs, self.outputs, self.arguments = inputs, outputs, arguments
        self.input_tensors, self.output_tensors = list(leaves(inputs)), list(leaves(outputs))
        index = len(layer.inbound_nodes)
        layer.inbound_nodes.append(self)
        for i, tensor in enumerate(self.output_tensors):
            histories(tensor.graph)[tensor] = History(layer, index, i)
        for parent in self.parents():
            parent.layer.outbound_nodes.append(self)

    def parents(self) -> Iterator[History]:
        """Yield the calls that made the inputs."""
        for tensor in self.input_tensors:
            if (found := history(tensor)) is not None:
                yield found


def history(tensor: Any) -> History | None:
    """Return the call of a layer that made `tensor`, or None."""
    return histories(tensor.graph).get(tensor) if isinstance(tensor, Tensor) else None


def mask_of(value: Any) -> Any:
    """The mask of a tensor, or a list with that of each of several; None if there is none."""
    found = [masks(t.graph).get(t) if isinstance(t, Tensor) else None for t in leaves(value)]
    return None if all(m is None for m in found) else single(found)


def set_masks(outputs: Any, found: Any) -> None:
    """Note the masks of what a layer gave."""
    given = list(found) if isinstance(found, list | tuple) else [found]
    for tensor, mask in zip(leaves(outputs), given, strict=False):
        if mask is not None:
            masks(tensor.graph)[tensor] = mask
