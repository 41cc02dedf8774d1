"""Nodes of tensor arrays. In TensorFlow's graphs an array is a handle, and a number that flows from each
change to the next use; here that flow has all the rows.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.formats.tf.graph_def.gradient_arrays import GradientArrays
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, Node, reads


@reads("TensorArrayV3")
def _array(node: Node) -> Any:
    [size] = node.tensors
    told = node.attrs
    made = TensorArray(
        told["dtype"],
        size,
        told["dynamic_size"],
        infer_shape=told["identical_element_shapes"],
        element_shape=told["element_shape"],
        name=node.out,
    )
    return made, made


def _changed(node: Node) -> tuple[TensorArray | GradientArrays, list[Tensor]]:
    """The array that a node changes, and the other inputs."""
    handle, *given, flow = node.inputs
    array = handle if isinstance(handle, GradientArrays) else flow
    if not isinstance(array, TensorArray | GradientArrays) or not all(
        isinstance(each, Tensor) for each in given
    ):
        raise GraphDefError("its inputs are not a tensor array and tensors")
    return array, given


def _flow(node: Node) -> tuple[TensorArray, list[Tensor]]:
    """The array as it is now, and the other inputs."""
    array, given = _changed(node)
    return array.rows if isinstance(array, GradientArrays) else array, given


@reads("TensorArrayReadV3")
def _read(node: Node) -> Any:
    array, [index] = _flow(node)
    return array.read(index, name=node.out)


@reads("TensorArrayWriteV3")
def _write(node: Node) -> Any:
    array, [index, value] = _changed(node)
    return array.write(index, value, name=node.out)


@reads("TensorArrayGatherV3")
def _gather(node: Node) -> Any:
    array, [indices] = _flow(node)
    return _told(array.gather(indices, name=node.out), node.attrs["element_shape"])


def _told(rows: Tensor, element: Any) -> Tensor:
    """Rows, with what the node tells of the shape of each."""
    if element is not None and not rows.type.is_static:
        rows.set_shape([rows.type.shape[0] if rows.type.shape else None, *element])
    return rows


@reads("TensorArrayScatterV3")
def _scatter(node: Node) -> Any:
    array, [indices, value] = _changed(node)
    return array.scatter(indices, value, name=node.out)


@reads("TensorArrayConcatV3")
def _concat(node: Node) -> Any:
    array, _ = _flow(node)
    length = ops.shape_of(array.flow, out_type=int64)[1]
    count = ops.shape_of(array.flow)[0]
    return array.concat(name=node.out), ops.fill(length, dims=ops.reshape(count, shape=[1]))


@reads("TensorArraySplitV3")
def _split(node: Node) -> Any:
    array, [value, lengths] = _changed(node)
    return array.split(value, lengths, name=node.out)


@reads("TensorArraySizeV3")
def _size(node: Node) -> Any:
    array, _ = _flow(node)
    return array.size(name=node.out)


@reads("TensorArrayCloseV3")
def _close(node: Node) -> Any:
    return ops.no_op(name=node.out)
