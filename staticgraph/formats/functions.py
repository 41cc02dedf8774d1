"""The functions in a file, ready to run: saved graphs, ONNX models, SavedModels, frozen graphs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.extensions import extension
from staticgraph.formats.contents.graph_defs import whole
from staticgraph.formats.onnx.load import load as load_onnx
from staticgraph.formats.tf.graph_def.files import read_graph
from staticgraph.formats.tf.graph_util import import_graph_def
from staticgraph.formats.tf.saved_model.loader import load as load_saved_model
from staticgraph.formats.tf.saved_model.loader import maybe_saved_model_directory, read_saved_model
from staticgraph.runtime.session import Session
from staticgraph.saving import load


@dataclass(frozen=True, slots=True)
class Opened:
    """One function: the tensors that it takes by name, of which it needs the `required`, and its fetches."""

    name: str
    session: Session
    inputs: Mapping[str, Tensor]
    required: frozenset[str]
    fetches: Any


@extension("functions_of")
def functions_of(path: str) -> Iterable[Opened]:
    """Return the functions of a file, with the errors of what reads the file."""
    match os.path.splitext(path)[1].lower():
        case ".onnx":
            return [_onnx(path)]
        case ".pb" | ".pbtxt":
            return [_frozen(path)]
        case _ if os.path.isdir(path) and maybe_saved_model_directory(path):
            return _saved_model(path)
        case _:
            return _saved(path)


def _saved(path: str) -> Iterable[Opened]:
    net = load(path)
    for name, function in net.signatures.items():
        fetches = [function.outputs, *([] if function.step is None else [function.step])]
        yield Opened(name, net.session, function.inputs, frozenset(function.required), fetches)


def _onnx(path: str) -> Opened:
    net = load_onnx(path)
    return Opened("graph", Session(graph=net.graph), net.inputs, frozenset(net.inputs), dict(net.outputs))


def _frozen(path: str) -> Opened:
    message, graph = read_graph(path), Graph()
    with graph.as_default():
        import_graph_def(message, name="")
    told = whole(message)
    inputs = {name: graph.get_tensor_by_name(f"{name}:0") for name in told.inputs}
    kept = [name for name in told.outputs if graph.has_operation(name)]  # parts of loops and branches are not
    fetches = [graph.get_tensor_by_name(f"{name}:0") for name in kept]
    return Opened("graph", Session(graph=graph), inputs, _placeholders(inputs), fetches)


def _saved_model(folder: str) -> Iterable[Opened]:
    """The signatures of the graph for serving; of the first graph, where there is none for it."""
    tagged = [set(meta.meta_info_def.tags) for meta in read_saved_model(folder).meta_graphs]
    session = Session(graph=Graph())
    tags = {"serve"} if {"serve"} in tagged or not tagged else tagged[0]
    meta, graph = load_saved_model(session, tags, folder), session.graph
    for name, told in sorted(meta.signature_def.items()):
        inputs = {key: graph.get_tensor_by_name(info.name) for key, info in sorted(told.inputs.items())}
        fetches = {key: graph.get_tensor_by_name(info.name) for key, info in sorted(told.outputs.items())}
        yield Opened(name, session, inputs, _placeholders(inputs), fetches)


def _placeholders(inputs: Mapping[str, Tensor]) -> frozenset[str]:
    return frozenset(name for name, tensor in inputs.items() if tensor.op.definition.name == "placeholder")
