"""A graph as TensorFlow's `GraphDef`: what TensorBoard draws, what `.pbtxt` files hold, what TensorFlow runs.

Nodes have TensorFlow's op types, with its inputs and attributes in its order, so that it can import them.
What it has no type for becomes several nodes (`exceptions`), or one of a type of our own (`own`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.dtypes import DType, int32
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import REQUIRED, OpDef, Param, Role
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, regions_of
from staticgraph.compiler.support.dataclass import cached_property
from staticgraph.compiler.support.gc_pause import collector_paused
from staticgraph.compiler.support.lazy_names import LazyTable, extension
from staticgraph.formats.tf.graph_def.arrays import Arrays, Made
from staticgraph.formats.tf.graph_def.attributes import attr_value
from staticgraph.formats.tf.graph_def.correspondence import GRADIENT, OWN, Pairs, pairs
from staticgraph.formats.tf.graph_def.index import EXCEPTIONS_OF
from staticgraph.formats.tf.graph_def.signatures import Argument, signature
from staticgraph.formats.tf.graph_def.write.control_flow import ControlFlow
from staticgraph.formats.tf.messages.graph import AttrValue, GraphDef, NodeDef, VersionDef
from staticgraph.formats.tf.messages.message import unchecked
from staticgraph.runtime.files.graph_json import RegionWriter

if TYPE_CHECKING:
    from staticgraph.formats.tf.graph_def.write.kept_rows import KeptRows

PRODUCER = 134  # the number of TensorFlow 1.15's form of graphs
VERSION = "producer of a GraphDef"  # the lowest that was imported, among what is kept with a graph

# How the operations that are no single node of TensorFlow's are written, by the names of their ops. False:
# this one is a single node after all.
EXCEPTIONS: LazyTable[Callable[[Writer, Operation], bool]] = LazyTable()
EXCEPTIONS.found_in("staticgraph", EXCEPTIONS_OF)


@extension("as_graph_def")
def as_graph_def(graph: Graph, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
    """The message of a graph, without the operations before `from_version`.

    `add_shapes`: with the static shapes of all outputs, as the attribute `_output_shapes`.

    >>> import staticgraph as sg
    >>> graph = sg.Graph()
    >>> with graph.as_default(), sg.name_scope("scope"):
    ...     y = sg.placeholder(sg.float32, [2], name="x") * 2.0
    >>> [(node.name, node.op, list(node.input)) for node in as_graph_def(graph).node][-1]
    ('scope/mul', 'Mul', ['scope/x', 'scope/mul/y'])
    """
    writer = Writer(graph, add_shapes)
    with collector_paused():
        for op in graph.recorded[from_version or 0 :]:
            writer.write(op)
    made = GraphDef(versions=graph.graph_def_versions)
    made.node.read(writer.nodes)
    return made


@extension("graph_def_versions")
def graph_def_versions(graph: Graph) -> VersionDef:
    """Return the versions of a graph: TensorFlow 1.15's, or the lowest of imported GraphDefs."""
    return VersionDef(producer=graph.attached.get(VERSION, PRODUCER))


def own_nodes(graph: Graph) -> dict[str, str]:
    """The nodes of a graph that TensorFlow has no type for, and why: with these it cannot run the graph.

    >>> import staticgraph as sg
    >>> with sg.Graph().as_default() as graph:
    ...     x = sg.placeholder(sg.float32, [3], name="x")
    ...     y = sg.gradients(sg.cumprod(x), x, name="slope")
    >>> list(own_nodes(graph).values())
    ['Cumprod (Cumprod) has no derivative among the nodes of TensorFlow that are written']
    """
    writer = Writer(graph)
    for op in graph.get_operations():
        writer.write(op)
    own = {n.name: f"TensorFlow 1.15 has no op like {n.op}" for n in writer.nodes if n.op.startswith(OWN)}
    return {name: writer.reasons.get(name) or reason for name, reason in own.items()}


class Writer:
    """The nodes of a graph on their way into a message."""

    def __init__(self, graph: Graph, add_shapes: bool = False) -> None:
        self.nodes: list[NodeDef] = []
        self.names = {op.name for op in graph.get_operations()}
        self.stand_ins: dict[Tensor, str] = {}  # what tensors of no operation that is written stand for
        self.reasons: dict[str, str] = {}  # why nodes are of a type of our own, by name
        self._regions = RegionWriter(graph.get_operations())
        self._add_shapes = add_shapes
        self.arrays = Arrays(graph.get_operations())
        self._control_flow = ControlFlow(self, graph.get_operations(), self.arrays, self.stand_ins)
        self._rows: dict[tuple[Tensor, Region | None], str] = {}

    @cached_property
    def kept(self) -> KeptRows:
        """The values that loops store for derivatives."""
        from staticgraph.formats.tf.graph_def.write.kept_rows import KeptRows  # few graphs have these

        return KeptRows(self, self._control_flow)

    def write(self, op: Operation) -> None:
        """Add the node of an operation, after those that only serve it."""
        if self._control_flow.can_be_written and self._control_flow.write(op):
            return
        if op.definition.name == "symbolic_gradients":
            from staticgraph.formats.tf.graph_def.write.gradients import (
                write_gradients,  # few graphs have these
            )

            self.reasons[op.name] = write_gradients(self, op)
            if not self.reasons[op.name]:
                return
        written = EXCEPTIONS.get(op.definition.name, _regular)
        if not written(self, op) and (written is _regular or not _regular(self, op)):
            from staticgraph.formats.tf.graph_def.own import own_attrs  # few graphs have these

            ports = [self.port(tensor, op) for tensor in op.all_inputs]
            self.add(OWN + op.definition.name, op.name, ports, own_attrs(op, self._regions), op)

    def port(self, tensor: Tensor, op: Operation) -> str:
        """Return the name by which the node of `op` takes a tensor: `node`, or `node:1` for output 1."""
        if self.has_arrays and self.arrays.of(tensor) is not None:
            return self._all_rows(tensor, op)
        if self._control_flow.can_be_written:
            return self._control_flow.port(tensor, op.region)
        ours = tensor.name if tensor.value_index else tensor.op.name
        return self.stand_ins.get(tensor, ours)

    has_arrays: bool = read_only("control_flow.can_be_written", "True if tensor arrays are written as such.")

    def flow(self, tensor: Tensor, op: Operation) -> str:
        """Return the name by which the node of `op` takes the state of a tensor array."""
        return self._control_flow.port(tensor, op.region)

    def handle(self, made: Made, op: Operation) -> str:
        """Return the name by which the node of `op` takes the tensor array that `made` makes."""
        return self._control_flow.handle(made, op.region)

    def _all_rows(self, tensor: Tensor, op: Operation) -> str:
        """The rows of a tensor array as one tensor."""
        made, key = self.arrays.of(tensor), (tensor, op.region)
        if key not in self._rows:
            assert made is not None
            scope, name = [self.handle(made, op), self.flow(tensor, op)], f"{tensor.op.name}/rows"
            size = self.helper("TensorArraySizeV3", f"{name}/size", scope, {}, op)
            zero, one = (
                self.constant(n, int32, f"{name}/{word}", op) for n, word in enumerate(("zero", "one"))
            )
            at = self.helper("Range", f"{name}/range", [zero, size, one], {"Tidx": int32}, op)
            shape = tensor.type.shape
            told = {"dtype": tensor.dtype, "element_shape": None if shape is None else shape[1:]}
            self._rows[key] = self.helper("TensorArrayGatherV3", name, [scope[0], at, scope[1]], told, op)
        return self._rows[key]

    def node(
        self, type: str, name: str, inputs: Sequence[str], attrs: Mapping[str, Any], op: Operation
    ) -> str:
        """Add a node of TensorFlow's type; other attributes than `attrs` have their defaults. Its first
        output.
        """
        self.add(type, name, inputs, full_attrs(type, attrs), op)
        return name

    def helper(
        self, type: str, name: str, inputs: Sequence[str], attrs: Mapping[str, Any], op: Operation
    ) -> str:
        """`node`, under a name that no other has."""
        return self.node(type, self.unique(name), inputs, attrs, op)

    def constant(self, value: Any, dtype: DType, name: str, op: Operation) -> str:
        """Add a constant that serves `op`."""
        literal = Literal.of(np.asarray(value), dtype)
        return self.helper("Const", name, (), {"value": literal, "dtype": dtype}, op)

    def cast(self, given: str, source: DType, target: DType, name: str, op: Operation) -> str:
        """Return the name of `given` as another dtype. Adds a node if the dtypes differ."""
        if source is target:
            return given
        return self.helper("Cast", name, [given], {"SrcT": source, "DstT": target}, op)

    def add(
        self, type: str, name: str, inputs: Sequence[str], attrs: Mapping[str, AttrValue], op: Operation
    ) -> None:
        """Add a node with just these attributes."""
        inputs, attrs = [*inputs, *self._controls(op, name, bool(inputs))], dict(attrs)
        if op.gradient is not None and name == op.name:
            attrs[GRADIENT] = attr_value("string", op.gradient)
        if name == op.name and (groups := op.graph.colocated.get(op)):
            attrs["_class"] = attr_value("list(string)", groups)
        if op.region is not None and not self._control_flow.can_be_written:
            attrs["_region"] = attr_value("int", self._regions.number(op.region))
        if self._add_shapes and name == op.name:
            shapes = [self._shape(output) for output in op.outputs]
            if type == "TensorArrayV3":
                shapes = [(2,), ()]  # its handle and its state
            told = signature(type)
            if told is not None and not any(output.is_list for output in told.outputs):
                shapes += [None] * (len(told.outputs) - len(shapes))  # outputs that are none of ours
            attrs["_output_shapes"] = attr_value("list(shape)", shapes)
        self.nodes.append(unchecked(NodeDef, name=name, op=type, input=inputs, device=op.device, attr=attrs))

    def _shape(self, tensor: Tensor) -> Shape | None:
        """The shape that a tensor has in TensorFlow: the state of an array is a number."""
        return () if self.has_arrays and self.arrays.of(tensor) is not None else tensor.type.shape

    def _controls(self, op: Operation, name: str, has_inputs: bool) -> Iterator[str]:
        """Yield the control inputs of the node `name`, which is the node of `op` or one that serves it."""
        flow, region = self._control_flow, op.region
        if not flow.can_be_written:
            yield from (f"^{control.name}" for control in op.controls if name == op.name)
            return
        inside = [each for each in op.controls if each.region is region]
        if name == op.name and not regions_of(op):
            yield from (f"^{flow.control(each)}" for each in inside)
        if region is not None and not has_inputs and (name != op.name or not inside):
            yield f"^{flow.pivot(region)}"

    def unique(self, name: str) -> str:
        """A name that no other node has."""
        found, number = name, 0
        while found in self.names:
            number += 1
            found = f"{name}_{number}"
        self.names.add(found)
        return found


def full_attrs(type: str, attrs: Mapping[str, Any]) -> dict[str, AttrValue]:
    """The attributes of a node of TensorFlow's type: those given, and the defaults of the others."""
    told = signature(type)
    assert told is not None, type
    values = {attr: attrs.get(attr.name, attr.default) for attr in told.attrs.values()}
    return {
        attr.name: attr_value(attr.kind, value)
        for attr, value in values.items()
        if value is not None or attr.kind != "tensor"
    }


def node_def(
    type: str, name: str, inputs: Iterable[str], attrs: Mapping[str, Any], device: str = ""
) -> NodeDef:
    """A node of TensorFlow's type with all its attributes."""
    attr = full_attrs(type, attrs)
    return unchecked(NodeDef, name=name, op=type, input=list(inputs), device=device, attr=attr)


def _regular(writer: Writer, op: Operation) -> bool:
    """Write an operation as the one node that its op is beside; False where it is none."""
    together = pairs(op.definition)
    if together is None or any(op.attrs.get(p.name, REQUIRED) != p.default for p in together.ours_alone):
        return False
    bound = bound_attrs(together, op)
    ports: list[str] = []
    for argument, param in together.inputs:
        given = given_tensors(op, param)
        if given is None:
            made = _left_out(writer, op, param)
            if made is None:
                return False
            ports.append(made)
            continue
        dtype = None if argument.type_list else bound.get(argument.type_attr, argument.dtype)
        name = f"{op.name}/{argument.name}"
        ports += [writer.cast(writer.port(t, op), t.dtype, dtype or t.dtype, name, op) for t in given]
    if not bound.keys() >= together.required:
        return False
    writer.node(op.type, op.name, ports, bound, op)
    return True


def bound_attrs(together: Pairs, op: Operation) -> dict[str, Any]:
    """Return what is known of the attributes of TensorFlow's op: from our attributes, inputs and outputs."""
    bound: dict[str, Any] = {attr.name: op.attrs[p.name] for attr, p in together.attrs if p.name in op.attrs}
    for argument, param in together.inputs:
        given = given_tensors(op, param)
        if given is None:
            bound.setdefault(argument.type_attr, int32)
        else:
            _bind(bound, argument, [t.dtype for t in given])
    _bind_outputs(bound, together, op)
    return bound


def given_tensors(op: Operation, param: Param) -> list[Tensor] | None:
    """The tensors of a parameter; None for an operand that was left out."""
    if param.role is Role.OPERAND:
        return [op.operands[param.name]] if param.name in op.operands else None
    return list(op.tensors[_places(op.definition)[param.name]])


@cache
def _places(op: OpDef) -> dict[str, slice]:
    """Return an operation's tensors by parameter. Those after a list are counted from the end."""
    params = [p for p in op.params if p.role in (Role.TENSOR, Role.TENSORS)]
    listed = next((at for at, p in enumerate(params) if p.role is Role.TENSORS), len(params))
    ends = [at + 1 if at < listed else at + 1 - len(params) or None for at in range(len(params))]
    return {
        p.name: slice(at if at <= listed else at - len(params), end)
        for at, (p, end) in enumerate(zip(params, ends, strict=True))
    }


def _bind(bound: dict[str, Any], argument: Argument, dtypes: Sequence[DType]) -> DType | None:
    """Note what tensors tell of attributes; the dtype that each of them must have."""
    if argument.number_attr:
        bound.setdefault(argument.number_attr, len(dtypes))
    if argument.type_list:
        bound.setdefault(argument.type_list, tuple(dtypes))
        return None
    if argument.type_attr and dtypes:
        return bound.setdefault(argument.type_attr, dtypes[0])
    return argument.dtype


def _bind_outputs(bound: dict[str, Any], together: Pairs, op: Operation) -> None:
    """Note what the outputs tell of attributes that no input tells."""
    for place, argument in enumerate(together.signature.outputs[: len(op.outputs)]):
        rest = [output.dtype for output in op.outputs[place:]]
        _bind(bound, argument, rest if argument.is_list else rest[:1])


def default_operand(op: Operation, param: Param) -> Literal | None:
    """Return what an operand that was left out stands for, if that is known: all axes, or steps of one."""
    if param.name == "strides":
        begin = op.operands["begin"]
        return Literal.of(np.ones(begin.type.size), begin.dtype) if begin.type.is_static else None
    rank = op.tensors[0].type.rank if param.name in ("axis", "perm") else None
    if rank is None:
        return None
    return Literal.of(np.arange(rank)[:: -1 if param.name == "perm" else 1], int32)


def _left_out(writer: Writer, op: Operation, param: Param) -> str | None:
    """Write an operand that was left out and that TensorFlow needs: all axes, reversed, or steps of one."""
    name, of = f"{op.name}/{param.tf or param.name}", op.tensors[0]
    known = default_operand(op, param)
    if known is not None:
        return writer.constant(known.array, known.dtype, name, op)
    if param.name == "strides":
        begin = op.operands["begin"]
        return writer.helper("OnesLike", name, [writer.port(begin, op)], {"T": begin.dtype}, op)
    if param.name not in ("axis", "perm"):
        return None
    backwards = param.name == "perm"
    count = writer.helper("Rank", f"{name}/Rank", [writer.port(of, op)], {"T": of.dtype}, op)
    zero, one = (writer.constant(n, int32, f"{name}/{word}", op) for n, word in enumerate(("zero", "one")))
    axes = writer.helper("Range", name, [zero, count, one], {"Tidx": int32}, op)
    if not backwards:
        return axes
    last = writer.helper("Sub", f"{name}/last", [count, one], {"T": int32}, op)
    return writer.helper("Sub", name, [last, axes], {"T": int32}, op)
