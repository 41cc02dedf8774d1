"""Summaries of TensorFlow's frozen graphs, meta graphs and SavedModels. No graph is built from them."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from staticgraph.compiler.graph.shapes import shape_text
from staticgraph.formats.contents.arrays import checkpoint, is_checkpoint
from staticgraph.formats.tf.checkpoints.imported_meta_graph import read_meta_graph_file
from staticgraph.formats.tf.graph_def.files import read_graph
from staticgraph.formats.tf.messages.graph import GraphDef, NodeDef
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef, SignatureDef
from staticgraph.formats.tf.messages.tensor import TensorProto, TensorShapeProto
from staticgraph.formats.tf.messages.types import DataType, dtype_of
from staticgraph.formats.tf.messages.variable import VariableDef
from staticgraph.formats.tf.messages.wire import DecodeError
from staticgraph.formats.tf.saved_model.builder import variables_prefix
from staticgraph.formats.tf.saved_model.loader import read_saved_model
from staticgraph.runtime.files.summary import FunctionSummary, Summary, VariableSummary

_VARIABLES = ("VariableV2", "Variable", "VarHandleOp")
_INPUTS = ("Placeholder", "PlaceholderWithDefault")


def frozen_graph(path: str) -> Summary:
    """Summarise a frozen graph: its placeholders, and the values that no other node takes."""
    graph = read_graph(path)
    return _summary(path, "TensorFlow graph", os.path.getsize(path), [graph], {"graph": whole(graph)})


def meta_graph_file(path: str) -> Summary:
    """Summarise a `.meta` file."""
    meta = read_meta_graph_file(path)
    size, graph = os.path.getsize(path), [meta.graph_def]
    return _summary(path, "TensorFlow meta graph", size, graph, _signatures(meta), [meta])


def saved_model(folder: str) -> Summary:
    """Summarise a SavedModel: the signatures of its graphs, and the types of its variables' values."""
    model = read_saved_model(folder)
    metas, prefix = model.meta_graphs, variables_prefix(folder)
    signatures: dict[str, FunctionSummary] = {}
    for meta in metas:
        before = f"{_tags(meta)}: " if len(metas) > 1 else ""
        signatures |= {f"{before}{name}": found for name, found in _signatures(meta).items()}
    size = sum(os.path.getsize(os.path.join(at, file)) for at, _, files in os.walk(folder) for file in files)
    graphs = [meta.graph_def for meta in metas]
    made = _summary(folder, "SavedModel", size, graphs, signatures, metas)
    made.details["tags"] = "; ".join(map(_tags, metas))
    for name, variable in (checkpoint(prefix).variables if is_checkpoint(prefix) else {}).items():
        trainable = name in made.variables and made.variables[name].trainable
        made.variables[name] = VariableSummary(variable.type, variable.bytes, True, trainable)
    return made


def whole(graph: GraphDef) -> FunctionSummary:
    """A graph as a function of its placeholders, which returns the values that no other node takes."""
    taken = {each.lstrip("^").partition(":")[0] for node in graph.node for each in node.input}
    ends = [n for n in graph.node if n.name not in taken and n.input and not _is_silent(n)]
    inputs = {n.name: _node_type(n) for n in graph.node if n.op in _INPUTS}
    return FunctionSummary(inputs, {n.name: _node_type(n) for n in ends}, "dict", None)


def _is_silent(node: NodeDef) -> bool:
    """Return True if a node acts only by its effect, or its value is not an output of the graph."""
    return node.op in ("NoOp", "Assert", "SaveV2", "Exit") or node.op.startswith(("Assign", "Resource"))


def _summary(
    path: str,
    kind: str,
    size: int,
    graphs: Iterable[GraphDef],
    signatures: dict[str, FunctionSummary],
    metas: Iterable[MetaGraphDef] = (),
) -> Summary:
    """Return the summary of a file, as far as all these formats share it."""
    graphs, metas = list(graphs), list(metas)
    nodes = [node for graph in graphs for node in graph.node]
    nodes += [node for graph in graphs for f in graph.library.function for node in f.node_def]
    trained = {name for meta in metas for name in _trained(meta)}
    versions = {meta.meta_info_def.tensorflow_version for meta in metas}
    variables = {_variable_name(n): n for n in nodes if n.op in _VARIABLES}
    functions = [f.signature.name for graph in graphs for f in graph.library.function]
    return Summary(
        path,
        kind,
        max((graph.versions.producer for graph in graphs), default=0) or None,
        " ".join(["TensorFlow", *sorted(versions)]) if any(versions) else "",
        size,
        signatures,
        {name: VariableSummary(_node_type(n), 0, False, name in trained) for name, n in variables.items()},
        sum(_bytes(node.attr["value"].tensor) for node in nodes if node.op == "Const"),
        dict(sorted(Counter(node.op for node in nodes).items())),
        details={"functions": ", ".join(functions)} if functions else {},
    )


def _signatures(meta: MetaGraphDef) -> dict[str, FunctionSummary]:
    return {name: _signature(told) for name, told in sorted(meta.signature_def.items())}


def _signature(told: SignatureDef) -> FunctionSummary:
    def types(infos: Mapping[str, Any]) -> dict[str, str]:
        return {name: _type(info.dtype, info.tensor_shape) for name, info in sorted(infos.items())}

    return FunctionSummary(types(told.inputs), types(told.outputs), "dict", None)


def _tags(meta: MetaGraphDef) -> str:
    return ", ".join(meta.meta_info_def.tags) or "none"


def _trained(meta: MetaGraphDef) -> list[str]:
    if "trainable_variables" not in meta.collection_def:
        return []
    try:
        held = meta.collection_def["trainable_variables"].bytes_list.value
        return [VariableDef.FromString(each).variable_name.partition(":")[0] for each in held]
    except DecodeError:
        return []


def _variable_name(node: NodeDef) -> str:
    shared = node.attr["shared_name"].s.decode("utf-8", "replace") if "shared_name" in node.attr else ""
    return shared or node.name


def _node_type(node: NodeDef) -> str:
    """The type of a node's first output, as far as its attributes tell."""
    number = next((node.attr[key].type for key in ("dtype", "T", "DstT", "out_type") if key in node.attr), 0)
    shape = node.attr["shape"].shape if "shape" in node.attr else None
    if "_output_shapes" in node.attr and node.attr["_output_shapes"].list.shape:
        shape = node.attr["_output_shapes"].list.shape[0]
    return _type(number, shape)


def _type(number: int, shape: TensorShapeProto | None) -> str:
    if shape is None or shape.unknown_rank:
        return f"{_element(number)}{shape_text(None)}"
    return f"{_element(number)}{shape_text(tuple(None if dim.size < 0 else dim.size for dim in shape.dim))}"


def _element(number: int) -> str:
    try:
        return dtype_of(number).name
    except TypeError:
        return DataType.text(number).removeprefix("DT_").lower() if number else "?"


def _bytes(tensor: TensorProto) -> int:
    """The size of a constant: one value in a message may stand for many equal ones."""
    try:
        size = dtype_of(tensor.dtype).size
    except TypeError:
        return len(tensor.tensor_content)
    if tensor.string_val:
        return sum(map(len, tensor.string_val))
    return size * math.prod(max(dim.size, 0) for dim in tensor.tensor_shape.dim)
