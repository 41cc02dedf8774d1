"""Summary of a model in ONNX format."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable

from staticgraph.compiler.graph.shapes import shape_text
from staticgraph.formats.onnx.load import read_model
from staticgraph.formats.onnx.proto import TensorProto, TensorShapeProto, TypeProto, ValueInfoProto
from staticgraph.formats.onnx.tensors import DTYPES
from staticgraph.runtime.files.summary import FunctionSummary, Summary, VariableSummary

_BITS = {"UINT4": 4, "INT4": 4, "FLOAT4E2M1": 4, "UINT2": 2, "INT2": 2}  # of elements that only ONNX has


def onnx_model(path: str) -> Summary:
    """Summarise an ONNX model. Values in external data files are not read."""
    model, _ = read_model(path)
    graph = model.graph
    given = {each.name for each in graph.initializer}
    inputs = _types(each for each in graph.input if each.name not in given)
    sets = [f"{each.domain or 'ai.onnx'} {each.version}" for each in model.opset_import]
    details = {"operators": ", ".join(sets)}
    if model.functions:
        details["functions"] = ", ".join(each.name for each in model.functions)
    if beside := {_location(each) for each in graph.initializer if each.external_data}:
        details["values in"] = ", ".join(sorted(beside))
    return Summary(
        path,
        "ONNX model",
        model.ir_version,
        " ".join(filter(None, (model.producer_name, model.producer_version))),
        os.path.getsize(path),
        {graph.name or "graph": FunctionSummary(inputs, _types(graph.output), "dict", None)},
        {each.name: _weights(each) for each in graph.initializer},
        operations=dict(sorted(Counter(node.op_type for node in graph.node).items())),
        details=details,
    )


def _types(infos: Iterable[ValueInfoProto]) -> dict[str, str]:
    return {info.name: _type_text(info.type) for info in infos}


def _type_text(type: TypeProto) -> str:
    match type.WhichOneof("value"):
        case "tensor_type":
            tensor = type.tensor_type
            shape = _shape_text(tensor.shape) if tensor.HasField("shape") else shape_text(None)
            return f"{_element(tensor.elem_type)}{shape}"
        case "sequence_type" | "optional_type" as kind:
            return f"{kind.removesuffix('_type')} of {_type_text(getattr(type, kind).elem_type)}"
        case kind:
            return (kind or "unknown").removesuffix("_type")


def _shape_text(shape: TensorShapeProto) -> str:
    """Return a shape as text. An unknown size is the name that equal ones share."""
    sizes = (str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in shape.dim)
    return f"[{', '.join(sizes)}]"


def _element(number: int) -> str:
    return DTYPES[number].name if number in DTYPES else TensorProto.DataType.text(number).lower()


def _weights(proto: TensorProto) -> VariableSummary:
    shape = tuple(max(size, 0) for size in proto.dims)
    known = DTYPES.get(proto.data_type)
    bits = 8 * known.size if known else _BITS.get(TensorProto.DataType.text(proto.data_type), 8)
    return VariableSummary(
        f"{_element(proto.data_type)}{shape_text(shape)}", -(-math.prod(shape) * bits // 8)
    )


def _location(proto: TensorProto) -> str:
    return next((each.value for each in proto.external_data if each.key == "location"), "?")
