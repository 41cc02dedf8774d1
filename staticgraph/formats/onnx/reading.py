"""The graph of a model becomes operations of a graph of ours: node after node, with the graphs and
functions that nodes have inside.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import headline
from staticgraph.formats.onnx.errors import OnnxError, UnknownValueError, UnsupportedOnnxError
from staticgraph.formats.onnx.nodes import Node, Value, find_reader
from staticgraph.formats.onnx.proto import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto
from staticgraph.formats.onnx.read import arrays as read_arrays
from staticgraph.formats.onnx.read import attention as read_attention
from staticgraph.formats.onnx.read import control as read_control
from staticgraph.formats.onnx.read import convolution as read_convolution
from staticgraph.formats.onnx.read import math as read_math
from staticgraph.formats.onnx.read import movement as read_movement
from staticgraph.formats.onnx.read import nn as read_nn
from staticgraph.formats.onnx.read import normalization as read_normalization
from staticgraph.formats.onnx.read import optimizers as read_optimizers
from staticgraph.formats.onnx.read import pooling as read_pooling
from staticgraph.formats.onnx.read import quantized as read_quantized
from staticgraph.formats.onnx.read import random as read_random
from staticgraph.formats.onnx.read import reductions as read_reductions
from staticgraph.formats.onnx.read import resize as read_resize
from staticgraph.formats.onnx.read import rnn as read_rnn
from staticgraph.formats.onnx.read import sampling as read_sampling
from staticgraph.formats.onnx.read import scatter as read_scatter
from staticgraph.formats.onnx.read import sequences as read_sequences
from staticgraph.formats.onnx.read import signal as read_signal
from staticgraph.formats.onnx.read import sorting as read_sorting
from staticgraph.formats.onnx.read import strings as read_strings
from staticgraph.formats.onnx.read import vision as read_vision
from staticgraph.formats.onnx.tensors import External, literal_of, sparse_tensor

# Importing these files fills the table of operators.
# fmt: off
FAMILIES = (
    read_arrays, read_attention, read_control, read_convolution, read_math, read_movement, read_nn,
    read_normalization, read_optimizers, read_pooling, read_quantized, read_random, read_reductions,
    read_resize, read_rnn, read_sampling, read_scatter, read_sequences, read_signal, read_sorting,
    read_strings, read_vision,
)
# fmt: on

_UNNAMED = re.compile(r"[^A-Za-z0-9_.\-/]+")

_Type = AttributeProto.AttributeType

# The field that holds an attribute of a type, by the number of the type.
# fmt: off
_FIELDS = {
    _Type.FLOAT: "f", _Type.INT: "i", _Type.STRING: "s", _Type.TENSOR: "t", _Type.GRAPH: "g",
    _Type.FLOATS: "floats", _Type.INTS: "ints", _Type.STRINGS: "strings", _Type.TENSORS: "tensors",
    _Type.GRAPHS: "graphs", _Type.SPARSE_TENSOR: "sparse_tensor", _Type.SPARSE_TENSORS: "sparse_tensors",
    _Type.TYPE_PROTO: "tp", _Type.TYPE_PROTOS: "type_protos",
}
# fmt: on

_Key = tuple[str, str, str]  # of a function: domain, name, overload


class Reading:
    """One model while it is read: what all its graphs share."""

    def __init__(self, model: ModelProto, external: External | None) -> None:
        self.external = external
        self.opsets = _versions(model.opset_import)
        self.functions: dict[_Key, FunctionProto] = {
            (_domain(f.domain), f.name, f.overload): f for f in model.functions
        }
        self._repeats = 1 << 13
        self._left = 4096 + 64 * (_size(model.graph.node) + sum(_size(f.node) for f in model.functions))

    def count(self) -> None:
        """One more node. OnnxError if functions and loops make far too many of a few."""
        self._left -= 1
        if self._left < 0:
            raise OnnxError("its functions and loops have too many nodes when they are written out")

    def repeat(self, times: int) -> None:
        """So many turns of loops inside of nodes. OnnxError if they are far too many."""
        self._repeats -= max(times, 0)
        if self._repeats < 0:
            raise OnnxError(f"{times} equal parts of it are too many to be written out")


class Scope:
    """The names that nodes may use: those of a graph, and of the graphs around it."""

    def __init__(
        self,
        reading: Reading,
        opsets: Mapping[str, int],
        outer: Scope | None = None,
        attributes: Mapping[str, Any] | None = None,
        calls: tuple[_Key, ...] = (),
    ) -> None:
        self.reading = reading
        self.opsets = opsets
        self.outer = outer
        self.attributes = attributes  # of the function that the nodes are the body of
        self.calls = calls  # functions that are being expanded, the outermost first
        self.values: dict[str, Value] = {}

    def repeat(self, times: int) -> None:
        """Count so many turns of a loop inside of a node. OnnxError if they are far too many."""
        self.reading.repeat(times)

    def find(self, name: str) -> Value:
        """The value with a name, None for the empty one."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        if name:
            raise OnnxError(f"nothing before it is called {name!r}")
        return None

    def constants(self, graph: GraphProto) -> None:
        """The tensors that a graph has values for, except those that are there already."""
        names = Counter(proto.name for proto in graph.initializer)
        for name, count in names.items():
            if count > 1:
                raise OnnxError(f"{count} tensors are called {name!r}")
        for proto in graph.initializer:
            if proto.name not in self.values:
                literal = literal_of(proto, self.reading.external)
                self.values[proto.name] = ops.constant(value=literal, name=plain_name(proto.name))
        for proto in graph.sparse_initializer:
            if proto.values.name not in self.values:
                self.values[proto.values.name] = sparse_tensor(proto, self.reading.external)

    def subgraph(self, graph: GraphProto, inputs: Sequence[Value]) -> list[Value]:
        """The outputs of a graph inside a node, of which these are the inputs."""
        inner = Scope(self.reading, self.opsets, self, self.attributes, self.calls)
        if len(inputs) > len(graph.input):
            raise OnnxError(f"a graph inside it has {len(graph.input)} inputs, {len(inputs)} are given")
        inner.values = {info.name: value for info, value in zip(graph.input, inputs, strict=False)}
        inner.constants(graph)
        inner.add(graph.node)
        return [inner.find(info.name) for info in graph.output]

    def add(self, nodes: Sequence[NodeProto]) -> None:
        """The operations of nodes, which stand in an order in which they can run."""
        for proto in nodes:
            self.reading.count()
            try:
                self._add(proto)
            except _Located:
                raise
            except UnknownValueError as error:
                raise _LocatedUnknown(_located(proto, error), error.tensor) from None
            except UnsupportedOnnxError as error:
                raise _LocatedUnsupported(_located(proto, error)) from None
            except Exception as error:  # readers rely on the kinds of attributes, which a file may get wrong
                raise _Located(_located(proto, error)) from None

    def _add(self, proto: NodeProto) -> None:
        domain = _domain(proto.domain)
        inputs = [self.find(name) for name in proto.input]
        with get_default_graph().name_scope(plain_name(proto.name or proto.op_type)):
            function = self.reading.functions.get((domain, proto.op_type, proto.overload))
            if function is not None:
                made: Any = self._call(function, proto, inputs)
            else:
                made = self._read(domain, proto, inputs)
        outputs = made if isinstance(made, tuple) else (made,)
        for index, name in enumerate(proto.output):
            if not name:
                continue
            if name in self.values:
                raise OnnxError(f"its output {name!r} is the name of another value")
            if index >= len(outputs) or outputs[index] is None:
                raise UnsupportedOnnxError(f"its output {index}, {name!r}, is not supported")
            self.values[name] = outputs[index]

    def _read(self, domain: str, proto: NodeProto, inputs: list[Value]) -> Any:
        version = self.opsets.get(domain, 1)
        reader = find_reader(domain, proto.op_type, version)
        if reader is None:
            place = f" of {domain!r}" if domain else ""
            raise UnsupportedOnnxError(f"there is no such operator{place} in version {version} here")
        attributes = self._attributes(proto.attribute)
        node = Node(proto.op_type, proto.name, version, attributes, list(proto.output), self)
        while inputs and inputs[-1] is None:
            inputs.pop()
        return reader(node, *inputs)

    def _call(self, function: FunctionProto, proto: NodeProto, inputs: list[Value]) -> tuple[Value, ...]:
        key = (_domain(function.domain), function.name, function.overload)
        if key in self.calls:
            raise OnnxError(f"the function {function.name!r} calls itself")
        if len(inputs) > len(function.input):
            raise OnnxError(f"it has {len(inputs)} inputs, the function has {len(function.input)}")
        given = self._attributes(function.attribute_proto) | self._attributes(proto.attribute)
        opsets = {**self.reading.opsets, **_versions(function.opset_import)}
        inner = Scope(self.reading, opsets, None, given, (*self.calls, key))
        inner.values = dict.fromkeys(function.input) | dict(zip(function.input, inputs, strict=False))
        inner.add(function.node)
        return tuple(inner.find(name) for name in function.output)

    def _attributes(self, protos: Sequence[AttributeProto]) -> dict[str, Any]:
        found = {}
        for proto in protos:
            if not proto.ref_attr_name:
                found[proto.name] = self._attribute(proto)
            elif self.attributes is not None and proto.ref_attr_name in self.attributes:
                found[proto.name] = self.attributes[proto.ref_attr_name]
        return found

    def _attribute(self, proto: AttributeProto) -> Any:
        kind = proto.type or _kind(proto)
        if kind not in _FIELDS:
            raise OnnxError(f"its attribute {proto.name!r} has the type {kind}, which does not exist")
        value = getattr(proto, _FIELDS[kind])
        match kind:
            case _Type.STRING:
                return value.decode("utf-8", "surrogateescape")
            case _Type.STRINGS:
                return [each.decode("utf-8", "surrogateescape") for each in value]
            case _Type.TENSOR:
                return literal_of(value, self.reading.external)
            case _Type.TENSORS:
                return [literal_of(each, self.reading.external) for each in value]
            case _Type.SPARSE_TENSOR:
                return sparse_tensor(value, self.reading.external)
            case _Type.INTS | _Type.FLOATS:
                return list(value)
        return value


class _Located(OnnxError):
    """An error whose text tells the node."""


class _LocatedUnsupported(_Located, UnsupportedOnnxError):
    """An error of something that does not exist here, whose text tells the node."""


class _LocatedUnknown(_LocatedUnsupported, UnknownValueError):
    """An error of a value that is not known, whose text tells the node."""


def plain_name(name: str) -> str:
    """A name as the graph takes it."""
    return _UNNAMED.sub("_", name).strip("_./-") or "value"


def _size(nodes: Sequence[NodeProto]) -> int:
    """The number of nodes, with those of the graphs inside."""
    return sum(1 + sum(_size(a.g.node) for a in node.attribute if a.HasField("g")) for node in nodes)


def _located(proto: NodeProto, error: Exception) -> str:
    name = proto.name or next(iter(proto.output), "")
    text = headline(error) or type(error).__name__
    return f"node {name!r} ({proto.op_type}): {text}"


def _kind(proto: AttributeProto) -> int:
    """The type of an attribute that does not tell it, as in the first files."""
    return next((kind for kind, field in _FIELDS.items() if AttributeProto._fields[field].is_set(proto)), 0)


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _versions(imports: Any) -> dict[str, int]:
    return {_domain(each.domain): each.version for each in imports}
