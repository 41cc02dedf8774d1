"""The nodes with which TensorFlow saves and restores variables: written for it, and understood here.

A Saver is an object in this library and adds nothing to a graph. TensorFlow's is nodes, which a `SaverDef`
names; from those of a file one can tell which variables it saves under which names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, string
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.formats.tf.graph_def.export import node_def
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.graph_def.ordering import edge
from staticgraph.formats.tf.messages.graph import GraphDef, NodeDef
from staticgraph.formats.tf.messages.meta_graph import SaverDef
from staticgraph.formats.tf.messages.types import data_type
from staticgraph.runtime.files.values import Saved, operations_of


def add_saver_nodes(
    graph: Graph, graph_def: GraphDef, variables: Mapping[str, Saved], saver_def: SaverDef
) -> None:
    """Add the nodes that save `variables` of `graph` under their keys, and name them in `saver_def`."""
    names = {op.name.partition("/")[0] for op in graph.get_operations()}
    scope = next(name for name in _numbered("save") if name not in names)
    nodes = _Nodes(graph_def, scope)
    entries = [
        (key, part.spec if part is not None else "", op)
        for key in sorted(variables)
        for op, part in operations_of({key: variables[key]})
    ]
    operations = [op for _, _, op in entries]
    dtypes = [op.outputs[0].dtype for op in operations]

    first = nodes.constant("filename/input", b"model")
    given = nodes.add("PlaceholderWithDefault", "filename", [first], {"dtype": string, "shape": ()})
    path = nodes.add("PlaceholderWithDefault", "Const", [given], {"dtype": string, "shape": ()})
    told = [path, *nodes.names("SaveV2", entries)]
    saved = nodes.add("SaveV2", "SaveV2", [*told, *(op.name for op in operations)], {"dtypes": dtypes})
    done = nodes.add("Identity", "control_dependency", [path, f"^{saved}"], {"T": string})
    values = nodes.add(
        "RestoreV2", "RestoreV2", [path, *nodes.names("RestoreV2", entries)], {"dtypes": dtypes}
    )
    assigned = [
        nodes.assign(f"Assign_{at}" if at else "Assign", op, f"{values}:{at}" if at else values, dtype)
        for at, (op, dtype) in enumerate(zip(operations, dtypes, strict=True))
    ]
    restored = nodes.add("NoOp", "restore_all", [f"^{name}" for name in assigned], {})
    saver_def.filename_tensor_name = f"{path}:0"
    saver_def.save_tensor_name = f"{done}:0"
    saver_def.restore_op_name = restored
    saver_def.version = SaverDef.CheckpointFormatVersion.Value("V2")


def _numbered(name: str) -> Any:
    yield name
    number = 1
    while True:
        yield f"{name}_{number}"
        number += 1


class _Nodes:
    """Nodes on their way into a GraphDef, all in one scope."""

    def __init__(self, graph_def: GraphDef, scope: str) -> None:
        self._graph_def = graph_def
        self._scope = scope

    def add(self, type: str, name: str, inputs: Sequence[str], attrs: Mapping[str, Any]) -> str:
        full = f"{self._scope}/{name}"
        self._graph_def.node.read([node_def(type, full, inputs, attrs)])
        return full

    def constant(self, name: str, value: Any) -> str:
        array = np.empty(np.shape(value), object)
        array[...] = value
        return self.add("Const", name, [], {"dtype": string, "value": Literal.of(array, string)})

    def names(self, of: str, entries: Sequence[tuple[str, str, Operation]]) -> list[str]:
        """The names of tensors, and which parts of them are meant; no text stands for all."""
        told = self.constant(f"{of}/tensor_names", [key.encode() for key, _, _ in entries])
        return [told, self.constant(f"{of}/shape_and_slices", [spec.encode() for _, spec, _ in entries])]

    def assign(self, name: str, op: Operation, value: str, dtype: DType) -> str:
        return self.add("Assign", name, [op.name, value], {"T": dtype})


class SavedNode(NamedTuple):
    """A variable that a saver saves: its name in a checkpoint, which part of that it is, and its node."""

    key: str
    spec: str
    node: str


def saved_nodes(by_name: Mapping[str, NodeDef], saver_def: SaverDef) -> list[SavedNode]:
    """Return the nodes that a saver saves; none if its own nodes do not tell."""
    found: list[SavedNode] = []
    scope = saver_def.restore_op_name.rpartition("/")[0]
    for node in by_name.values():
        if node.op == "SaveV2" and node.name.rpartition("/")[0].startswith(scope) and len(node.input) >= 3:
            names, specs = (by_name.get(edge(text).node) for text in node.input[1:3])
            if names is not None and specs is not None and names.op == specs.op == "Const":
                parts = dict(enumerate(_texts(specs)))
                for at, (key, text) in enumerate(zip(_texts(names), node.input[3:], strict=False)):
                    found.append(SavedNode(key, parts.get(at, ""), _variable_node(by_name, edge(text).node)))
    return found


def _texts(names: NodeDef) -> list[str]:
    """Return the texts of a constant. Each is written, so that there are not more than its bytes hold."""
    told = names.attr["value"].tensor
    try:
        if told.dtype == data_type(string):
            return [key.decode() for key in told.string_val]
    except UnicodeDecodeError:
        pass
    raise GraphDefError(f"node {names.name!r}: the names that it saves are no text")


def _variable_node(by_name: Mapping[str, NodeDef], name: str) -> str:
    """The node of the variable whose value a node gives."""
    while by_name[name].op in ("Identity", "ReadVariableOp") and by_name[name].input:
        name = edge(by_name[name].input[0]).node
    return name
