"""Calls of a layer as its properties: their inputs, outputs, shapes and masks."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.keras.engine.node import Node, mask_of
from staticgraph.tf1.keras.engine.structure import mapped


def _shape(tensor: Any) -> Any:
    return None if tensor.shape.ndims is None else tuple(tensor.shape.as_list())


class Connections:
    """The properties `input`, `output`, `input_shape`, ... of layers that have been called once, and
    `get_input_at(i)`, ... for those that have been called more often.
    """

    inbound_nodes: list[Node]
    name: str

    def _node(self, node_index: int) -> Node:
        if not 0 <= node_index < len(self.inbound_nodes):
            text = f"layer {self.name} has been called {len(self.inbound_nodes)} times with tensors of layers"
            raise misuse(ValueError, f"{text}, there is no call {node_index}")
        return self.inbound_nodes[node_index]

    def _only(self) -> Node:
        if not self.inbound_nodes:
            raise AttributeError(f"layer {self.name} has not been called, so it has no input and output")
        if len(self.inbound_nodes) > 1:
            text = f"layer {self.name} has been called {len(self.inbound_nodes)} times"
            raise AttributeError(f"{text}: ask get_output_at(node_index), or get_input_at and the like")
        return self.inbound_nodes[0]

    def get_input_at(self, node_index: int) -> Any:
        return self._node(node_index).inputs

    def get_output_at(self, node_index: int) -> Any:
        return self._node(node_index).outputs

    def get_input_shape_at(self, node_index: int) -> Any:
        return mapped(_shape, self._node(node_index).inputs)

    def get_output_shape_at(self, node_index: int) -> Any:
        return mapped(_shape, self._node(node_index).outputs)

    def get_input_mask_at(self, node_index: int) -> Any:
        return mask_of(self._node(node_index).inputs)

    def get_output_mask_at(self, node_index: int) -> Any:
        return mask_of(self._node(node_index).outputs)

    @property
    def input(self) -> Any:
        """The inputs of the only call. AttributeError if there is none or more than one."""
        return self._only().inputs

    @property
    def output(self) -> Any:
        """The outputs of the only call. AttributeError if there is none or more than one."""
        return self._only().outputs

    @property
    def input_shape(self) -> Any:
        shapes = [mapped(_shape, node.inputs) for node in self.inbound_nodes]
        return shapes[0] if shapes and all(s == shapes[0] for s in shapes) else mapped(_shape, self.input)

    @property
    def output_shape(self) -> Any:
        shapes = [mapped(_shape, node.outputs) for node in self.inbound_nodes]
        return shapes[0] if shapes and all(s == shapes[0] for s in shapes) else mapped(_shape, self.output)

    @property
    def input_mask(self) -> Any:
        return mask_of(self.input)

    @property
    def output_mask(self) -> Any:
        return mask_of(self.output)
