"""Tensors as a signature tells them: name, dtype and shape."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.messages.meta_graph import TensorInfo
from staticgraph.formats.tf.messages.tensors import shape_proto
from staticgraph.formats.tf.messages.types import data_type
from staticgraph.sparse.tensor import SparseTensor

__all__ = ["build_tensor_info", "get_tensor_from_tensor_info"]


def build_tensor_info(tensor: Any) -> TensorInfo:
    """The message of a tensor, a variable or a sparse tensor.

    >>> import staticgraph as sg
    >>> with sg.Graph().as_default():
    ...     print(build_tensor_info(sg.placeholder(sg.float32, [None], name="x")).name)
    x:0
    """
    if isinstance(tensor, SparseTensor):
        made = TensorInfo(dtype=data_type(tensor.dtype), tensor_shape=shape_proto(tensor.shape.as_list()))
        made.coo_sparse.values_tensor_name = tensor.values.name
        made.coo_sparse.indices_tensor_name = tensor.indices.name
        made.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
        return made
    return TensorInfo(
        name=tensor.name, dtype=data_type(tensor.dtype), tensor_shape=shape_proto(tensor.type.shape)
    )


def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Graph | None = None, import_scope: str | None = None
) -> Tensor | SparseTensor:
    """The tensor of a graph, by default the default graph, that a message names; below `import_scope`."""
    graph = graph or get_default_graph()
    prefix = f"{import_scope}/" if import_scope else ""

    def found(name: str) -> Tensor:
        return graph.get_tensor_by_name(prefix + name)

    if tensor_info.WhichOneof("encoding") == "coo_sparse":
        parts = tensor_info.coo_sparse
        return SparseTensor(
            found(parts.indices_tensor_name),
            found(parts.values_tensor_name),
            found(parts.dense_shape_tensor_name),
        )
    return found(tensor_info.name)
