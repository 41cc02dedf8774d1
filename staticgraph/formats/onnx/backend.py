"""Backend in the protocol of `onnx.backend`, which prepares a model once and runs it with arrays.

`prepare`, `run_model`, `run_node` and `supports_device` need no other package. `Backend` is the class of the
package `onnx` that has them; it is made when it is first asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.building.inputs import placeholder
from staticgraph.compiler.graph.dtypes import as_dtype, bfloat16, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.formats.onnx.errors import OnnxError, UnknownValueError
from staticgraph.formats.onnx.load import OnnxModel, load, read_model
from staticgraph.formats.onnx.nodes import NOTHING
from staticgraph.formats.onnx.proto import ModelProto, NodeProto, ValueInfoProto
from staticgraph.formats.onnx.reading import plain_name
from staticgraph.formats.onnx.tensors import NUMBERS, dtype_of
from staticgraph.runtime.session import Session

__all__ = ["Prepared", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]

_LATEST = 28  # the newest set of operators that is known
_LARGEST = 1024  # elements of an input whose value may be built into a graph
_Known = tuple[tuple[str, bytes], ...]


class Prepared:
    """A model that can be run, any number of times.

    Where the model needs sizes that it does not tell, a graph is built for each set of them, and where it
    computes a number of axes or the like from an input, for each value of that input.
    """

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        constants = {each.name for each in model.graph.initializer}
        self._infos = [info for info in model.graph.input if info.name not in constants]
        self._decisive: set[str] = {info.name for info in self._infos if not _is_tensor(info)}
        self._by_sizes = False
        self._loaded: dict[_Known, tuple[OnnxModel, Session]] = {}

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in order: arrays, lists of them for sequences, None for optional values without one.

        `inputs` are in the order of the model's, or have their names.
        """
        given = dict(inputs) if isinstance(inputs, Mapping) else self._named(inputs)
        model, session = self._specialised(given)
        feeds = {tensor: given[name] for name, tensor in model.inputs.items() if name in given}
        outputs = list(model.outputs.values())
        tensors = [t for value in outputs for t in (value if isinstance(value, list) else [value])]
        fetched = [t for t in tensors if isinstance(t, Tensor)]
        fetches = session.run(fetched, feeds) if fetched else []
        arrays = map(_as_onnx, fetches, fetched)
        return tuple(_outside(value, arrays) for value in outputs)

    def _named(self, inputs: Any) -> dict[str, Any]:
        values = inputs if isinstance(inputs, list | tuple) else [inputs]
        if len(values) > len(self._infos):
            raise misuse(OnnxError, f"{len(values)} inputs are given, the model has {len(self._infos)}")
        return {info.name: value for info, value in zip(self._infos, values, strict=False)}

    def _specialised(self, given: dict[str, Any]) -> tuple[OnnxModel, Session]:
        """The model as a graph, with the sizes and values that decide built in; trying tells which do."""
        while True:
            values = {name: given[name] for name in sorted(self._decisive) if name in given}
            sized = {name: np.shape(value) for name, value in given.items() if name not in values}
            told = [(name, _digest(value)) for name, value in values.items()]
            key = (*told, *((name, repr(shape).encode()) for name, shape in sized.items() if self._by_sizes))
            if key in self._loaded:
                return self._loaded[key]
            try:
                model = self._load(values, sized)
            except UnknownValueError as error:
                more = set(error.inputs) - self._decisive
                if not self._by_sizes:
                    self._by_sizes = True
                elif not more or any(np.size(given.get(name, ())) > _LARGEST for name in more):
                    raise
                else:
                    self._decisive |= more
            else:
                made = self._loaded[key] = model, Session(graph=model.graph)
                return made

    def _load(self, values: dict[str, Any], sized: dict[str, tuple[int, ...]]) -> OnnxModel:
        if not self._by_sizes:
            return load(self._model, inputs=values)
        graph = Graph()
        with graph.as_default():
            for info in self._infos:
                if info.name in sized:
                    dtype = dtype_of(info.type.tensor_type.elem_type, f"input {info.name!r}")
                    values[info.name] = placeholder(dtype, sized[info.name], name=plain_name(info.name))
        return load(self._model, inputs=values)


def is_compatible(model: Any, device: str = "CPU", **kwargs: Any) -> bool:
    """Return True if models run on the device.

    The model is not examined. If it cannot be read, preparing or running it raises an error.
    """
    return supports_device(device)


def supports_device(device: str) -> bool:
    """Return True if models run on a device, such as "CPU"."""
    return device.split(":")[0].upper() == "CPU"


def prepare(model: Any, device: str = "CPU", **kwargs: Any) -> Prepared:
    """A model (its path, its bytes, or a message) ready to run.

    >>> from staticgraph.onnx import backend
    >>> backend.supports_device("CPU")
    True
    """
    if not supports_device(device):
        raise misuse(OnnxError, f"there is no device {device!r} here; there is 'CPU'")
    return Prepared(read_model(model)[0])


def run_model(model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
    """The outputs of a model, which is used once."""
    return prepare(model, device).run(inputs)


def run_node(
    node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
) -> tuple[Any, ...]:
    """The outputs of a single node. `opset_version` is that of its operator set."""
    own = node if isinstance(node, NodeProto) else NodeProto.FromString(node.SerializeToString())
    names = [name for name in own.input if name]
    arrays = [inputs[name] for name in names] if isinstance(inputs, Mapping) else list(inputs)
    model = ModelProto(ir_version=10)
    model.opset_import.add(domain=own.domain, version=kwargs.get("opset_version", _LATEST))
    model.graph.node.append(own)
    for name, array in zip(names, arrays, strict=True):
        _describe(model.graph.input.add(name=name), np.asarray(array))
    for name in own.output:
        if name:
            model.graph.output.add(name=name)
    return run_model(model, arrays, device)


def _describe(info: ValueInfoProto, array: np.ndarray) -> None:
    dtype = string if array.dtype.kind in "OUS" else as_dtype(array.dtype)
    info.type.tensor_type.elem_type = NUMBERS[dtype]
    info.type.tensor_type.shape.SetInParent()
    for n in array.shape:
        info.type.tensor_type.shape.dim.add(dim_value=n)


def _is_tensor(info: ValueInfoProto) -> bool:
    return info.type.WhichOneof("value") == "tensor_type"


def _digest(value: Any) -> bytes:
    """Return a key of an input's value. Different values have different keys."""
    if isinstance(value, list | tuple):
        return b"".join(_digest(each) + b";" for each in value)
    array = np.asarray(value)
    return repr((array.shape, array.dtype, array.tolist())).encode()


def _as_onnx(array: Any, tensor: Tensor) -> np.ndarray:
    """An array as users of ONNX expect it: text as str, and bfloat16 as a type of its own."""
    if tensor.dtype is string:
        texts = np.asarray(array, object)
        made = np.empty(texts.shape, object)
        made.ravel()[:] = [text.decode("utf-8", "surrogateescape") for text in texts.ravel()]
        return made
    if tensor.dtype is bfloat16:
        return np.asarray(array).astype(_bfloat16())
    return np.asarray(array)


def _bfloat16() -> Any:
    """NumPy's type of bfloat16, which the package onnx brings along; float32 where it is not there."""
    try:
        from ml_dtypes import bfloat16 as kind
    except ImportError:
        return np.float32
    return kind


def _outside(value: Any, arrays: Any) -> Any:
    """A value of the graph as callers see it."""
    if isinstance(value, list):
        return [next(arrays) for _ in value]
    return None if value is NOTHING else next(arrays)


@functools.cache
def _backend_class() -> Any:
    try:
        from onnx.backend.base import Backend
    except ImportError:
        hint = 'pip install "staticgraph[onnx]"'
        text = "onnx.backend.Backend is a class of the package onnx, which is not installed"
        raise misuse(ImportError, text, hint) from None

    class StaticgraphBackend(Backend):
        """ONNX models run by staticgraph."""

    for function in (is_compatible, prepare, run_model, run_node, supports_device):
        setattr(StaticgraphBackend, function.__name__, staticmethod(function))
    return StaticgraphBackend


def __getattr__(name: str) -> Any:
    if name == "Backend":
        return _backend_class()
    raise AttributeError(f"module 'staticgraph.onnx.backend' has no attribute {name!r}")


show_public_names(__name__)
