"""The nodes and constants of an ONNX graph on their way into messages, and their names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, string
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.onnx.proto import (
    AttributeProto,
    GraphProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
)
from staticgraph.formats.onnx.tensors import NUMBERS
from staticgraph.formats.onnx.write.value import NoForm

_Type = AttributeProto.AttributeType


@dataclass(frozen=True, slots=True)
class Constant:
    """The value of an initializer."""

    data: np.ndarray
    dtype: DType

    def proto(self, name: str) -> TensorProto:
        """The message without the elements of a number; strings are in it."""
        made = TensorProto(name=name, data_type=NUMBERS[self.dtype], dims=self.data.shape)
        if self.dtype is string:
            made.string_data.extend(self.data.ravel().tolist())
        return made


@dataclass(slots=True)
class _Graph:
    """A graph that is being written: the model's, or that of a loop's body or a branch."""

    nodes: list[NodeProto] = field(default_factory=list)
    kept: dict[Any, Any] = field(default_factory=dict)  # values that were made once and serve again


class Nodes:
    """The nodes of a model."""

    def __init__(self, names: Iterable[str]) -> None:
        self.constants: dict[str, Constant] = {}
        self.scope = ""  # the operation that is being written: its nodes are called after it
        self._graphs = [_Graph()]
        self._names = set(names)
        self._known: dict[Any, str] = {}  # constants that are in the file already
        self._aliases: dict[str, str] = {}
        self._called: set[str] = set()

    def add(self, operator: str, inputs: Sequence[str], results: int, attrs: Mapping[str, Any]) -> list[str]:
        """Add a node; the names of its results."""
        first = self.unique(f"{self.scope}/{operator}" if self.scope else operator)
        outputs = [first, *(self.unique(f"{first}:{n}") for n in range(1, results))]
        node = NodeProto(op_type=operator, name=first)
        node.input.extend(inputs)
        node.output.extend(outputs)
        node.attribute.extend([_attribute(name, value) for name, value in attrs.items() if value is not None])
        self._graphs[-1].nodes.append(node)
        return outputs

    def constant(self, data: np.ndarray, dtype: DType, label: str) -> str:
        """The name of an initializer with this value. Equal ones are in the file once."""
        digest = hashlib.sha256(dtype.to_bytes(data)).digest()
        key = (dtype, data.shape, digest)
        if key not in self._known:
            name = self.unique(f"{self.scope}/constant" if self.scope else "constant")
            self._known[key] = name
            self.constants[name] = Constant(data, dtype)
            if label:
                self.call(name, label)
        return self._known[key]

    def unique(self, name: str) -> str:
        """A name that no other value has."""
        found, number = name, 0
        while found in self._names:
            number += 1
            found = f"{name}_{number}"
        self._names.add(found)
        return found

    def recall(self, key: Any) -> Any:
        """Return what is cached under a key in this graph or one around it, or None."""
        return next((g.kept[key] for g in reversed(self._graphs) if key in g.kept), None)

    def keep(self, key: Any, value: Any) -> None:
        self._graphs[-1].kept[key] = value

    def open(self) -> None:
        """Begin a graph inside this one."""
        self._graphs.append(_Graph())

    def close(self) -> list[NodeProto]:
        """End it; its nodes."""
        return self._graphs.pop().nodes

    def call(self, value: str, name: str, always: bool = False) -> None:
        """Give a value the name of the user's tensor in the end. The first name counts, and no two values
        have it; with `always`, it is taken from the other one.
        """
        if always:
            self._aliases = {v: n for v, n in self._aliases.items() if n != name}
        if always or (value not in self._aliases and name not in self._called):
            self._aliases[value] = name
            self._called.add(name)

    @contextmanager
    def called_after(self, value: str) -> Iterator[None]:
        """Context in which nodes are called after a value, not after the operation that needs them."""
        outside, self.scope = self.scope, self.final(value)
        yield
        self.scope = outside

    @property
    def position(self) -> int:
        return len(self._graphs[-1].nodes)

    def made_since(self, position: int, value: str) -> bool:
        """Return True if a value is the result of a node of this graph at `position` or later."""
        return any(value in node.output for node in self._graphs[-1].nodes[position:])

    def finish(self, outputs: Sequence[str]) -> list[NodeProto]:
        """The nodes that results need, with their final names; constants that nothing needs are dropped."""
        nodes = _needed(self.close(), outputs)
        for node in nodes:
            self._rename(node)
        used = {name for node in nodes for name in _read(node)} | {self.final(name) for name in outputs}
        self.constants = {
            self.final(name): value for name, value in self.constants.items() if self.final(name) in used
        }
        return nodes

    def final(self, name: str) -> str:
        return self._aliases.get(name, name)

    def _rename(self, node: NodeProto) -> None:
        """Put the final names in, in the graphs of the node too."""
        for names in (node.input, node.output):
            renamed = [self.final(name) for name in names]
            del names[:]
            names.extend(renamed)
        node.name = node.output[0]
        for graph in _graphs_of(node):
            for value in (*graph.input, *graph.output):
                value.name = self.final(value.name)
            for inner in graph.node:
                self._rename(inner)


def _graphs_of(node: NodeProto) -> list[GraphProto]:
    return [a.g for a in node.attribute if a.type == _Type.GRAPH]


def _read(node: NodeProto) -> set[str]:
    """The values that a node reads, those that the graphs inside it read from around them included."""
    names = set(node.input)
    for graph in _graphs_of(node):
        names |= {value.name for value in graph.output}
        for inner in graph.node:
            names |= _read(inner)
    return names


def _needed(nodes: Sequence[NodeProto], outputs: Iterable[str]) -> list[NodeProto]:
    """The nodes that results depend on."""
    wanted, found = set(outputs), []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            wanted |= _read(node)
            found.append(node)
    return found[::-1]


def inner_graph(
    name: str, nodes: Sequence[NodeProto], inputs: Sequence[Any], outputs: Sequence[Any]
) -> GraphProto:
    """The graph of a loop's body or of a branch: what goes in and out as pairs of a name and a type."""
    graph = GraphProto(name=name)
    graph.node.extend(_needed(nodes, [each for each, _ in outputs]))
    graph.input.extend([value_info(*each) for each in inputs])
    graph.output.extend([value_info(*each) for each in outputs])
    return graph


def value_info(name: str, type: TensorType, unknown: bool = False) -> ValueInfoProto:
    """The name and type of a value. `unknown`: sizes that are not known are called after the value."""
    tensor = TypeProto.Tensor(elem_type=NUMBERS[type.dtype])
    if type.shape is not None:
        tensor.shape.SetInParent()
        for axis, n in enumerate(type.shape):
            dim = tensor.shape.dim.add()
            if n is not None:
                dim.dim_value = n
            elif unknown:
                dim.dim_param = f"{name}_{axis}"
    return ValueInfoProto(name=name, type=TypeProto(tensor_type=tensor))


def _attribute(name: str, value: Any) -> AttributeProto:
    made = AttributeProto(name=name)
    match value:
        case DType():
            made.type, made.i = _Type.INT, NUMBERS[value]
        case bool() | int() | np.integer():
            made.type, made.i = _Type.INT, int(value)
        case float():
            made.type, made.f = _Type.FLOAT, value
        case str():
            made.type, made.s = _Type.STRING, value.encode()
        case GraphProto():
            made.type = _Type.GRAPH
            made.g.CopyFrom(value)
        case [*entries] if all(isinstance(n, int | np.integer) for n in entries):
            made.type = _Type.INTS
            made.ints.extend([int(n) for n in entries])
        case _:
            raise NoForm(f"its attribute {name} is {value!r}")
    return made
