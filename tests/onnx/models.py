"""Small ONNX models, made of our own messages: these tests need no other package."""

import numpy as np

from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.formats.onnx.proto import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
)
from staticgraph.formats.onnx.tensors import NUMBERS

_TYPES = AttributeProto.AttributeType


def tensor(name, value):
    array = np.asarray(value)
    number = NUMBERS[as_dtype(array.dtype)]
    return TensorProto(name=name, dims=array.shape, data_type=number, raw_data=array.tobytes())


def info(name, dtype, shape):
    made = ValueInfoProto(name=name)
    made.type.tensor_type.elem_type = NUMBERS[as_dtype(dtype)]
    made.type.tensor_type.shape.SetInParent()
    for n in shape:
        if isinstance(n, int):
            made.type.tensor_type.shape.dim.add(dim_value=n)
        else:
            made.type.tensor_type.shape.dim.add(dim_param=n)
    return made


def _attribute(name, value):
    made = AttributeProto(name=name)
    match value:
        case int():
            made.type, made.i = _TYPES.INT, value
        case float():
            made.type, made.f = _TYPES.FLOAT, value
        case str():
            made.type, made.s = _TYPES.STRING, value.encode()
        case [*numbers] if all(isinstance(n, int) for n in numbers):
            made.type = _TYPES.INTS
            made.ints.extend(numbers)
        case TensorProto():
            made.type = _TYPES.TENSOR
            made.t.CopyFrom(value)
        case GraphProto():
            made.type = _TYPES.GRAPH
            made.g.CopyFrom(value)
    return made


def node(op_type, inputs, outputs, domain="", name="", **attributes):
    """Names of inputs and outputs are separated by spaces."""
    made = NodeProto(
        op_type=op_type, domain=domain, name=name, input=inputs.split(" "), output=outputs.split(" ")
    )
    made.attribute.extend(_attribute(key, value) for key, value in attributes.items())
    return made


def graph(nodes, inputs, outputs, constants=()):
    made = GraphProto(name="g", node=nodes, input=inputs, output=outputs)
    made.initializer.extend(constants)
    return made


def model(nodes, inputs, outputs, constants=(), opset=21, functions=()):
    made = ModelProto(ir_version=10, producer_name="tests")
    made.opset_import.add(domain="", version=opset)
    made.graph.CopyFrom(graph(nodes, inputs, outputs, constants))
    made.functions.extend(functions)
    return made


def line():
    """y = relu(x @ w + b), for any number of rows."""
    nodes = [node("MatMul", "x w", "p"), node("Add", "p b", "s"), node("Relu", "s", "y")]
    constants = [tensor("w", np.float32([[1, -1], [2, 3]])), tensor("b", np.float32([0.5, -0.5]))]
    return model(nodes, [info("x", "float32", ["n", 2])], [info("y", "float32", ["n", 2])], constants)
