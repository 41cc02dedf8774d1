"""Tensor arrays as TensorFlow has them: a handle, and a number that flows from each change to the next use.

Here the flow is a tensor with all the rows. Where it comes from an array, by way of writes and loops, the
nodes are those of tensor arrays; what else uses it takes the rows out of the array first.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import float32, int32
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.formats.tf.graph_def.arrays import CHANGES
from staticgraph.formats.tf.graph_def.export import EXCEPTIONS, Writer


def _array(writer: Writer, op: Operation) -> bool:
    if not writer.has_arrays:
        return False
    size = op.operands["size"]
    given = writer.cast(writer.port(size, op), size.dtype, int32, f"{op.name}/size", op)
    attrs = {
        "dtype": op.outputs[0].dtype,
        "element_shape": op.attrs["element_shape"],
        "dynamic_size": op in writer.arrays.growing,
        "clear_after_read": False,
        "identical_element_shapes": True,
        "tensor_array_name": op.name,
    }
    writer.node("TensorArrayV3", op.name, [given], attrs, op)
    return True


def _change(writer: Writer, op: Operation) -> bool:
    """A row, or several, put into an array; one that grows does so by itself.

    Where arrays are nodes of our own, so is this: only the op itself knows how to begin an array whose rows
    have no shape yet.
    """
    if not writer.has_arrays:
        return False
    made = writer.arrays.of(op.outputs[0])
    if made is None:
        return _rows_changed(writer, op)
    flow = writer.flow(op.tensors[0], op)
    if op.definition.name == "tensor_array_grow":
        writer.node("Identity", op.name, [flow], {"T": float32}, op)
        return True
    index, value = op.tensors[1:]
    inputs = [writer.handle(made, op), _index(writer, op, index), writer.port(value, op), flow]
    type = "TensorArrayWriteV3" if op.definition.name == "tensor_array_write" else "TensorArrayScatterV3"
    writer.node(type, op.name, inputs, {"T": value.dtype}, op)
    return True


def _rows_changed(writer: Writer, op: Operation) -> bool:
    """The same for a flow that is a plain tensor, as that of an array made by `unstack`."""
    if op.definition.name == "tensor_array_grow":
        return False
    flow, index, value = op.tensors
    rows, at = writer.port(value, op), writer.port(index, op)
    types = {"T": index.dtype, "Tdim": int32}
    last = writer.constant(-1, int32, f"{op.name}/last", op)
    at = writer.helper("ExpandDims", f"{op.name}/index", [at, last], types, op)
    if op.definition.name == "tensor_array_write":
        first = writer.constant(0, int32, f"{op.name}/first", op)
        at = writer.helper("ExpandDims", f"{op.name}/indices", [at, first], types, op)
        rows = writer.helper(
            "ExpandDims", f"{op.name}/row", [rows, first], {"T": value.dtype, "Tdim": int32}, op
        )
    attrs = {"T": flow.dtype, "Tindices": index.dtype}
    writer.node("TensorScatterUpdate", op.name, [writer.port(flow, op), at, rows], attrs, op)
    return True


def _read(writer: Writer, op: Operation) -> bool:
    """Rows of an array at an index, or at a vector of them."""
    array, index = op.tensors
    made = writer.arrays.of(array) if writer.has_arrays else None
    axis = static_value(op.operands["axis"]) if "axis" in op.operands else op.attrs.get("axis")
    if made is None or axis != 0 or index.type.rank not in (0, 1):
        return False
    inputs = [writer.handle(made, op), _index(writer, op, index), writer.flow(array, op)]
    type = "TensorArrayGatherV3" if index.type.rank else "TensorArrayReadV3"
    writer.node(type, op.name, inputs, {"dtype": array.dtype}, op)
    return True


def _index(writer: Writer, op: Operation, index: Tensor) -> str:
    return writer.cast(writer.port(index, op), index.dtype, int32, f"{op.name}/index", op)


EXCEPTIONS.update({"tensor_array": _array, "gather": _read, **dict.fromkeys(CHANGES, _change)})
