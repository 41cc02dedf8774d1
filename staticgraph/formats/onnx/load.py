"""`load`: a model in ONNX format becomes a graph.

Bytes of tensors may lie in files beside the model.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from staticgraph.building.inputs import placeholder
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import GraphError, OpError, headline, layout, misuse
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.onnx.errors import OnnxError, UnknownValueError, UnsupportedOnnxError
from staticgraph.formats.onnx.nodes import NOTHING, Value
from staticgraph.formats.onnx.proto import ModelProto, TensorProto, TypeProto, ValueInfoProto
from staticgraph.formats.onnx.reading import Reading, Scope, plain_name
from staticgraph.formats.onnx.tensors import dtype_of, literal_of
from staticgraph.formats.tf.messages.wire import DecodeError
from staticgraph.runtime.files.plain_file import read_plain
from staticgraph.state.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class OnnxModel:
    """A model as a graph. `inputs` and `outputs` are its tensors by the names that the model has for them;
    `variables` are its weights, where they may be trained.
    """

    graph: Graph
    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Any]
    variables: Mapping[str, Variable]


def load(model: Any, *, inputs: Mapping[str, Any] | None = None, trainable: bool = False) -> OnnxModel:
    """The graph of an ONNX model, which is given by its path or as bytes. The package `onnx` is not needed.

    It is a graph of its own, with placeholders for the model's inputs. `inputs` has, by name, what takes the
    place of inputs: tensors, whose graph the model then becomes a part of, or values. A value is necessary
    where the model computes a number of axes or the like from it.

    Weights are constants, which are arranged for speed when the graph is compiled; with `trainable` those of
    floating types are variables that begin with them.

    NotFoundError if there is no file; OnnxError, an InvalidFileError, where it is no model;
    UnsupportedOnnxError if the model has something that does not exist here.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 2], name="x")
    >>> file = sg.onnx.export({"y": sg.nn.relu(x)}).SerializeToString()
    >>> net = sg.onnx.load(file)
    >>> with sg.Session(graph=net.graph) as sess:
    ...     sess.run(net.outputs["y"], {net.inputs["x"]: [[-1.0, 2.0]]})
    array([[0., 2.]], dtype=float32)
    """
    proto, folder = read_model(model)
    given = dict(inputs or {})
    graphs = {value.graph for value in given.values() if isinstance(value, Tensor)}
    graph = graphs.pop() if len(graphs) == 1 else Graph()
    if graphs:
        raise misuse(ValueError, "inputs: the tensors belong to different graphs")
    try:
        with graph.as_default():
            return _Loading(proto, folder, given, trainable).run(graph)
    except UnknownValueError as error:
        raise UnknownValueError(layout(str(error), user_frame()), error.tensor, error.inputs) from None
    except OnnxError as error:
        kind = UnsupportedOnnxError if isinstance(error, UnsupportedOnnxError) else OnnxError
        raise misuse(kind, str(error)) from None
    except (GraphError, OpError) as error:  # no operation has what the file tells of an input or a tensor
        raise misuse(OnnxError, headline(error)) from None


def read_model(model: Any) -> tuple[ModelProto, Path | None]:
    """The message, and the folder of the file that it comes from."""
    if isinstance(model, ModelProto):
        return model, None
    folder = None
    if isinstance(model, str | os.PathLike):
        data, folder = read_plain(model, "ONNX"), Path(model).parent
    elif isinstance(model, bytes | bytearray | memoryview):
        data = bytes(model)
    elif hasattr(model, "SerializeToString"):
        data = model.SerializeToString()
    else:
        raise misuse(TypeError, "load(model): a path or bytes are needed")
    try:
        return ModelProto.FromString(data), folder
    except DecodeError as error:
        raise OnnxError(str(error)) from None


class _Loading:
    """One model on its way into the default graph."""

    def __init__(
        self, model: ModelProto, folder: Path | None, given: dict[str, Any], trainable: bool
    ) -> None:
        if not model.HasField("graph"):
            raise OnnxError("it is no ONNX model: there is no graph in it")
        self.proto = model.graph
        self.external = None if folder is None else Beside(folder)
        self.scope = Scope(reading := Reading(model, self.external), reading.opsets)
        self.given = given
        self.trainable = trainable
        self.variables: dict[str, Variable] = {}

    def run(self, graph: Graph) -> OnnxModel:
        constants = {each.name for each in self.proto.initializer}
        infos = [info for info in self.proto.input if info.name not in constants or info.name in self.given]
        unknown = self.given.keys() - {info.name for info in infos}
        if unknown:
            raise OnnxError(f"the model has no input {', '.join(map(repr, sorted(unknown)))}")
        inputs = {info.name: self._input(info) for info in infos}
        self.scope.values.update(inputs)
        if self.trainable:
            self._variables()
        self.scope.constants(self.proto)
        try:
            self.scope.add(self.proto.node)
        except UnknownValueError as error:
            names = () if error.tensor is None else _fed(error.tensor, inputs)
            origin = f", and depends on {', '.join(map(repr, names))}" if names else ""
            text = f"{error}{origin}: give load() values, or tensors of known shape, for such inputs"
            raise UnknownValueError(text, error.tensor, names) from None
        outputs = {info.name: self.scope.find(info.name) for info in self.proto.output}
        fed = {
            name: tensor
            for name, tensor in inputs.items()
            if isinstance(tensor, Tensor) and not (name in self.given and tensor.op.type == "Const")
        }
        return OnnxModel(graph, fed, outputs, self.variables)

    def _input(self, info: ValueInfoProto) -> Value:
        if info.name in self.given:
            return _as_value(self.given[info.name], info)
        dtype, shape = _tensor_type(info)
        return placeholder(dtype, shape, name=plain_name(info.name))

    def _variables(self) -> None:
        for proto in self.proto.initializer:
            literal = literal_of(proto, self.external)
            if literal.dtype.is_floating and proto.name not in self.scope.values:
                made = Variable(literal.array, dtype=literal.dtype, name=plain_name(proto.name))
                self.variables[proto.name] = made
                self.scope.values[proto.name] = made.read_value()


def _tensor_type(info: ValueInfoProto) -> tuple[DType, list[int | None] | None]:
    type: TypeProto = info.type
    what = f"input {info.name!r}"
    match type.WhichOneof("value"):
        case "tensor_type":
            dtype = dtype_of(type.tensor_type.elem_type, what)
        case None:
            raise OnnxError(f"{what} has no type")
        case kind:
            raise UnsupportedOnnxError(
                f"{what} is a {kind.removesuffix('_type')}: give load() a value for it"
            )
    if not type.tensor_type.HasField("shape"):
        return dtype, None
    sizes = [
        d.dim_value if d.WhichOneof("value") == "dim_value" else None for d in type.tensor_type.shape.dim
    ]
    return dtype, [None if n is None or n < 0 else n for n in sizes]


def _as_value(value: Any, info: ValueInfoProto) -> Value:
    """A tensor that takes the place of an input; a value becomes a constant, a list a sequence."""
    if isinstance(value, Tensor):
        return value
    type = info.type
    if type.WhichOneof("value") == "optional_type":
        if value is None:
            return NOTHING
        type = type.optional_type.elem_type
    if type.WhichOneof("value") == "sequence_type":
        element = dtype_of(type.sequence_type.elem_type.tensor_type.elem_type, f"input {info.name!r}")
        if not isinstance(value, list | tuple):
            raise OnnxError(f"input {info.name!r} is a sequence: give it a list of arrays")
        return [ops.constant(value=Literal.of(np.asarray(each), element)) for each in value]
    dtype = dtype_of(type.tensor_type.elem_type, f"input {info.name!r}")
    return ops.constant(value=Literal.of(np.asarray(value), dtype), name=plain_name(info.name))


def _fed(tensor: Tensor, inputs: Mapping[str, Value]) -> tuple[str, ...]:
    """The inputs that a tensor depends on."""
    names = {value.op: name for name, value in inputs.items() if isinstance(value, Tensor)}
    found, waiting, seen = [], [tensor.op], set[Operation]()
    while waiting:
        op = waiting.pop()
        if op not in seen:
            seen.add(op)
            if op in names:
                found.append(names[op])
            waiting += [each.op for each in op.all_inputs]
    return tuple(sorted(found))


class Beside:
    """Reads parts of files in the folder of a model, and below it, and of no others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def __call__(self, tensor: TensorProto) -> bytes:
        """The bytes of a tensor. OnnxError if they are not where it says."""
        told = {entry.key: entry.value for entry in tensor.external_data}
        what = f"tensor {tensor.name!r}"
        path = self._path(told.get("location", ""), what)
        try:
            with open(path, "rb", opener=_open) as file:
                return _part(file, told, f"{what} in {path.name!r}")
        except OnnxError:
            raise
        except OSError as error:
            why = error.strerror or error
            raise OnnxError(f"{what} lies in {path.name!r}, which cannot be read: {why}") from None

    def _path(self, location: str, what: str) -> Path:
        """Return the path of a file that a model names.

        Raises:
            OnnxError: If the file is not in the folder of the model, or a part of the path is a link.
        """
        wanted = self._folder / location
        inside = (
            location and not Path(location).is_absolute() and "\\" not in location and "\0" not in location
        )
        if not inside or ".." in Path(location).parts or wanted.resolve() != wanted:
            raise OnnxError(f"{what} lies in {location!r}, which is not a file in the folder of the model")
        return wanted


def _open(path: str, flags: int) -> int:
    """Open a file, but no link, and without waiting for someone to write into it."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _part(file: IO[bytes], told: dict[str, str], what: str) -> bytes:
    """The bytes that an offset and a length tell."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise OnnxError(f"{what}: that is no plain file")
    offset = _number(told.get("offset", "0"), what)
    length = _number(told["length"], what) if "length" in told else status.st_size - offset
    if not 0 <= length <= status.st_size - offset:
        raise OnnxError(f"{what} needs {length} bytes at {offset}, and the file has {status.st_size}")
    file.seek(offset)
    return file.read(length)


def _number(text: str, what: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise OnnxError(f"{what} has {text!r} where a number of bytes should be")
    return int(text)
