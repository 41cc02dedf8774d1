"""Nodes of an ONNX graph and the values between them: constants, sizes, tensors in some order.

The standard lets most operators take most element types; programs that run models, onnxruntime among them,
implement some of them. A model that is written here keeps to those, so that it runs: `a + b` of bfloat16
becomes Cast, Add, Cast, which rounds once and gives the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compiler.graph.builder import infer_dtype
from staticgraph.compiler.graph.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.formats.onnx.write.nodes import Nodes
from staticgraph.formats.onnx.write.value import Held, NoForm, Order, Size, UnknownSize, inverse

_SINGLE = frozenset({float16, float32})
_FLOATS = _SINGLE | {float64}
_COMMON = _FLOATS | {int32, int64}
_BYTES = _COMMON | {int8, uint8}
_INTEGERS = frozenset({int8, int16, int32, int64, uint8, uint16, uint32, uint64})
_NUMBERS = _FLOATS | _INTEGERS
_ANY = _NUMBERS | {bool_, string}

# By operator. What is not here takes all types.
TAKES: dict[str, frozenset[DType]] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Mod", "Abs", "Sign"), _NUMBERS),
    **dict.fromkeys(("Less", "LessOrEqual", "Greater", "GreaterOrEqual"), _NUMBERS),
    **dict.fromkeys(("Equal", "Tile", "Expand", "Size"), _ANY),
    **dict.fromkeys(("Pad",), _ANY - {int16, uint16}),
    **dict.fromkeys(("Max", "Min"), _NUMBERS - {int16, uint16}),
    **dict.fromkeys(("Neg",), _FLOATS | {int8, int16, int32, int64}),
    **dict.fromkeys(("Pow", "Range"), _COMMON),
    **dict.fromkeys(("ReduceSum", "ReduceProd", "ReduceMean", "CumSum", "Einsum"), _COMMON | {uint64}),
    **dict.fromkeys(("Sqrt", "Exp", "Log", "Sin", "Cos", "Tanh", "Sigmoid", "Reciprocal"), _FLOATS),
    **dict.fromkeys(("Floor", "Ceil", "Round", "Softmax", "LogSoftmax", "IsNaN", "ReduceL2"), _FLOATS),
    **dict.fromkeys(("Relu", "BatchNormalization"), _FLOATS),
    **dict.fromkeys(("IsInf",), frozenset({float32, float64})),
    **dict.fromkeys(("Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"), _FLOATS),
    **dict.fromkeys(("Erf", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign", "Det", "LRN"), _FLOATS),
    **dict.fromkeys(("Conv", "ConvTranspose", "AveragePool"), _FLOATS),
    **dict.fromkeys(("MaxPool",), _FLOATS | {int8, uint8}),
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ArgMax", "ArgMin"), _BYTES | {uint64}),
    **dict.fromkeys(("TopK",), _BYTES | {int16, uint64}),
    **dict.fromkeys(("Unique",), _FLOATS | {int8, int64, uint64, string}),
    **dict.fromkeys(("NonZero",), frozenset({float32, int32, int64, uint8, bool_})),
    **dict.fromkeys(("MatMul",), _COMMON | {uint32, uint64}),
    **dict.fromkeys(("Where",), _BYTES | {uint32, uint64, string}),
    **dict.fromkeys(("ScatterND",), frozenset({float32, float64, int32, int64, uint64, bool_, string})),
    **dict.fromkeys(("ReverseSequence",), _ANY),
    **dict.fromkeys(("Trilu",), frozenset({float32, float64, int64, uint64, bool_})),
    **dict.fromkeys(("BitShift",), frozenset({uint8, uint32, uint64})),
}
FIRST_TYPED = {"Where": 1}  # the input that tells the type, where it is not the first one

# Types that hold all values of another, the nearest first.
_WIDER: dict[DType, tuple[DType, ...]] = {
    bfloat16: (float32,),
    float16: (float32,),
    bool_: (uint8, int32),
    int8: (int32, int64, float32),
    int16: (int32, int64, float32),
    uint8: (int32, uint32, int64, float32),
    uint16: (int32, uint32, int64, float32),
    int32: (int64, float64),
    uint32: (int64, float64),
}


def wider(operator: str, dtype: DType) -> DType | None:
    """The type that an operator computes values of `dtype` in: itself where there is need of no other, None
    if there is none.
    """
    takes = TAKES.get(operator)
    if takes is None or dtype in takes:
        return dtype
    return next((wide for wide in _WIDER.get(dtype, ()) if wide in takes), None)


class Builder(ABC):
    """Makes nodes of values. What is known becomes a constant of the file when a node needs it."""

    @abstractmethod
    def apply(
        self,
        op: OpDef,
        inputs: Sequence[Held],
        attrs: Mapping[str, Any],
        declared: Sequence[TensorType] | None = None,
    ) -> Any:
        """Return the result of `op`, or the tuple of its results, whose types may be `declared`."""

    @abstractmethod
    def by_definition(
        self, op: OpDef, inputs: Sequence[Held], attrs: Mapping[str, Any], types: Sequence[TensorType]
    ) -> Any:
        """Return what an op is by its own definition in terms of others.

        Raises:
            NoForm: The op has no such definition.
        """

    def __init__(self, opset: int, names: Iterable[str] = ()) -> None:
        self.opset = opset
        self.nodes = Nodes(names)

    def constant(self, value: Any, dtype: DType | None = None, label: str = "") -> Held:
        """A known value."""
        dtype = dtype or infer_dtype(value)
        data = dtype.round(np.asarray(value))
        return Held(self, TensorType(dtype, data.shape), label=label, data=data)

    def value(self, name: str, type: TensorType) -> Held:
        """Return the tensor that the ONNX value of this name holds."""
        return Held(self, type, name)

    def name(self, held: Held) -> str:
        """The name of the ONNX value that holds a tensor with its axes as they are."""
        held = self.plain(held)
        if held.name:
            return held.name
        assert held.data is not None
        return self.nodes.constant(held.data, held.dtype, held.label)

    def size(self, held: Held, axis: int) -> Size:
        """The size of an axis, as a number of the ONNX graph."""
        place = axis if held.order is None else held.order.index(axis)
        key = ("size", held.name, place)
        found = self.nodes.recall(key)
        if found is None:
            one = TensorType(int64, (1,))
            vector = self.node("Shape", [held.kept], (one,), {"start": place, "end": place + 1})[0]
            scalar = self.node("Squeeze", [vector], (TensorType(int64, ()),), {})[0]
            found = Size(self, scalar.type, scalar.name)
            self.nodes.keep(key, found)
        return found

    def plain(self, held: Held) -> Held:
        """The tensor with its axes as they are."""
        return held if held.order is None else self.moved(held.kept, inverse(held.order))

    def ordered(self, held: Held, order: Order) -> Held:
        """The tensor with its axes in another order."""
        if order == tuple(range(len(order))):
            return self.plain(held)
        if held.order == order:
            return held
        return self.moved(self.plain(held), order).in_order(order)

    def moved(self, held: Held, perm: Order) -> Held:
        """A transposed tensor: a node, once, or another constant."""
        type = TensorType(
            held.dtype, None if held.type.shape is None else tuple(held.type.shape[p] for p in perm)
        )
        if held.data is not None:
            return replace(held, type=type, data=held.data.transpose(perm), name="")
        key = ("moved", held.name, perm)
        found = self.nodes.recall(key)
        if found is None:
            with self.nodes.called_after(held.name):
                found = self.node("Transpose", [held], (type,), {"perm": perm})[0]
            self.nodes.keep(key, found)
        return found

    def entries(self, value: Any) -> list[Any]:
        """The entries of a vector: ints, and numbers of the ONNX graph."""
        if not isinstance(value, Held):
            return list(value) if isinstance(value, tuple | list) else [value]
        if value.constant is not None:
            return [int(n) for n in np.ravel(value.constant)]
        if value.type.shape in ((), None):
            return [value]
        count = value.type.shape[0]
        if count is None:
            raise UnknownSize("the length of a vector of sizes must be known")
        known = value.partial or (None,) * count
        return [self._entry(value, i) if n is None else n for i, n in enumerate(known)]

    def _entry(self, vector: Held, i: int) -> Held:
        scalar = TensorType(vector.dtype, ())
        return self.node("Gather", [vector, self.constant(i, int64)], (scalar,), {"axis": 0})[0]

    def vector(self, value: Any) -> Held:
        """A vector of int64 of what `entries` takes."""
        if isinstance(value, Held) and value.constant is None and value.type.rank == 1:
            return self.cast(value, int64)
        entries = self.entries(value)
        if not any(isinstance(n, Held) for n in entries):
            return self.constant(np.array(entries, np.int64).reshape(-1), int64)
        one = TensorType(int64, (1,))
        axes = self.constant([0], int64)
        parts = [
            self.node("Unsqueeze", [self.cast(n, int64), axes], (one,), {})[0]
            if isinstance(n, Held)
            else self.constant([n], int64)
            for n in entries
        ]
        if len(parts) == 1:
            return parts[0]
        return self.node("Concat", parts, (TensorType(int64, (len(parts),)),), {"axis": 0})[0]

    def scalar(self, value: Any, dtype: DType = int64) -> Held:
        """A single number."""
        if not isinstance(value, Held):
            return self.constant(np.asarray(value).reshape(()), dtype)
        value = self.cast(value, dtype)
        if value.type.shape == ():
            return value
        no_axes = self.constant(np.zeros(0), int64)
        return self.node("Reshape", [value, no_axes], (TensorType(dtype, ()),), {})[0]

    def cast(self, held: Held, dtype: DType) -> Held:
        """The tensor as another element type."""
        if held.dtype is dtype:
            return held
        if held.constant is not None:
            return self.constant(held.constant.astype(dtype.numpy), dtype, held.label)
        made = self.node("Cast", [held.kept], (TensorType(dtype, held.kept.type.shape),), {"to": dtype})[0]
        return made.in_order(held.order)

    def node(
        self,
        operator: str,
        inputs: Sequence[Held | None],
        types: Sequence[TensorType],
        attrs: Mapping[str, Any],
    ) -> list[Held]:
        """A node, in a wider type where the operator does not take that of its inputs; its results."""
        inputs = [None if v is None else self.plain(v) for v in inputs]
        for type in (*types, *(v.type for v in inputs if v is not None)):
            if type.dtype.is_complex:
                raise NoForm("ONNX's operators do not take complex numbers")
        first = FIRST_TYPED.get(operator, 0)
        leader = inputs[first] if len(inputs) > first else None
        dtype = None if leader is None else leader.dtype
        wide = None if dtype is None else wider(operator, dtype)
        if wide is None and dtype is not None:
            raise NoForm(f"ONNX's {operator} does not take {dtype}")
        if wide is not None and wide is not dtype:
            cast = [
                self.cast(v, wide) if v is not None and v.dtype is dtype and i >= first else v
                for i, v in enumerate(inputs)
            ]
            made = self.node(
                operator, cast, [TensorType(wide, t.shape) if t.dtype is dtype else t for t in types], attrs
            )
            return [self.cast(m, t.dtype) for m, t in zip(made, types, strict=True)]
        names = ["" if v is None else self.name(v) for v in inputs]
        made_names = self.nodes.add(operator, names, len(types), attrs)
        return [Held(self, type, name) for type, name in zip(types, made_names, strict=True)]
