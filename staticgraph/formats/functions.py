"""The functions in a file, ready to run, whatever wrote it.

Saved graphs, models of ONNX and Keras, SavedModels, frozen graphs, meta graphs with their checkpoints, and
the graphs in event files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.lazy_names import EXTENSIONS, extension
from staticgraph.formats.contents.graph_defs import whole
from staticgraph.formats.onnx.load import load as load_onnx
from staticgraph.formats.tf.checkpoints.checkpoint_state import checkpoint_exists
from staticgraph.formats.tf.checkpoints.imported_meta_graph import import_meta_graph, read_meta_graph_file
from staticgraph.formats.tf.graph_def.files import read_graph
from staticgraph.formats.tf.graph_util import import_graph_def
from staticgraph.formats.tf.messages.event import EVENTS
from staticgraph.formats.tf.messages.graph import GraphDef
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef
from staticgraph.formats.tf.saved_model.loader import load as load_saved_model
from staticgraph.formats.tf.saved_model.loader import maybe_saved_model_directory, read_saved_model
from staticgraph.runtime.session import Session
from staticgraph.saved.saving import load


@dataclass(frozen=True, slots=True)
class Opened:
    """One function: the tensors that it takes by name, of which it needs the `required`, its results by name,
    and the operation that a call runs besides, such as one that trains.
    """

    name: str
    session: Session
    inputs: Mapping[str, Tensor]
    required: frozenset[str]
    outputs: Mapping[str, Tensor]
    step: Operation | None = None

    @property
    def fetches(self) -> Any:
        """The fetches of a run of it."""
        return self.outputs if self.step is None else [self.outputs, self.step]


@extension("functions_of")
def functions_of(path: str) -> Iterable[Opened]:
    """Return the functions of a file, with the errors of what reads the file."""
    match os.path.splitext(path)[1].lower():
        case ".onnx":
            return [_onnx(path)]
        case ".pb" | ".pbtxt":
            return [_of_graph(read_graph(path))]
        case ".meta":
            return _meta_graph(path)
        case ".sg":
            return _saved(path)
        case _ if os.path.isdir(path) and maybe_saved_model_directory(path):
            return _saved_model(path)
        case _ if event_files(path):
            return [_of_graph(EXTENSIONS["graph_of_events"](path))]
        case _ if _is_of_keras(path):
            return [EXTENSIONS["keras_function"](path)]
        case _:
            return _saved(path)


def _saved(path: str) -> Iterable[Opened]:
    net = load(path)
    for name, function in net.signatures.items():
        required = frozenset(function.required)
        yield Opened(name, net.session, function.inputs, required, function.outputs, function.step)


def _onnx(path: str) -> Opened:
    net = load_onnx(path)
    return Opened("graph", Session(graph=net.graph), net.inputs, frozenset(net.inputs), dict(net.outputs))


def _is_of_keras(path: str) -> bool:
    """Return True if a file says that it holds a model or weights: HDF5, or a file of our own."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(4096)
    return head.startswith(b"\x89HDF\r\n\x1a\n") or b"keras model" in head or b"keras weights" in head


def event_files(path: str) -> list[str]:
    """Return the files of events that a path is, or that its folder holds, the newest last."""
    if os.path.isdir(path):
        found = [os.path.join(path, name) for name in os.listdir(path) if EVENTS in name]
        return sorted(found, key=lambda each: (os.path.getmtime(each), each))
    return [path] if EVENTS in os.path.basename(path) and os.path.isfile(path) else []


def _of_graph(message: GraphDef) -> Opened:
    """Return the function from the placeholders of a graph to all values that nothing in it takes."""
    graph = Graph()
    with graph.as_default():
        import_graph_def(message, name="")
    return _whole(message, Session(graph=graph))


def _whole(message: GraphDef, session: Session) -> Opened:
    told, graph = whole(message), session.graph
    inputs = {name: graph.get_tensor_by_name(f"{name}:0") for name in told.inputs}
    kept = [name for name in told.outputs if graph.has_operation(name)]  # parts of loops and branches are not
    outputs = {name: graph.get_tensor_by_name(f"{name}:0") for name in kept}
    return Opened("graph", session, inputs, _placeholders(inputs), outputs)


def _meta_graph(path: str) -> Iterable[Opened]:
    """The signatures of a meta graph, or its whole graph, with the values of the checkpoint beside it."""
    meta, session = read_meta_graph_file(path), Session(graph=Graph())
    with session.graph.as_default():
        saver = import_meta_graph(meta, clear_devices=True)
    prefix = os.path.splitext(path)[0]
    if saver is not None and checkpoint_exists(prefix):
        saver.restore(session, prefix)
    return [*_signatures(meta, session)] or [_whole(meta.graph_def, session)]


def _saved_model(folder: str) -> Iterable[Opened]:
    """The signatures of the graph for serving; of the first graph, if there is none for it."""
    tagged = [set(meta.meta_info_def.tags) for meta in read_saved_model(folder).meta_graphs]
    session = Session(graph=Graph())
    tags = {"serve"} if {"serve"} in tagged or not tagged else tagged[0]
    return _signatures(load_saved_model(session, tags, folder), session)


def _signatures(meta: MetaGraphDef, session: Session) -> Iterable[Opened]:
    graph = session.graph
    for name, told in sorted(meta.signature_def.items()):
        inputs = {key: graph.get_tensor_by_name(info.name) for key, info in sorted(told.inputs.items())}
        outputs = {key: graph.get_tensor_by_name(info.name) for key, info in sorted(told.outputs.items())}
        yield Opened(name, session, inputs, _placeholders(inputs), outputs)


def _placeholders(inputs: Mapping[str, Tensor]) -> frozenset[str]:
    return frozenset(name for name, tensor in inputs.items() if tensor.op.definition.name == "placeholder")
