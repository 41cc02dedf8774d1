"""Tensors of ONNX files: their element types, and their values as constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import (
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
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
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.shapes import MOST_AXES, is_array_shape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError, UnsupportedOnnxError
from staticgraph.formats.onnx.proto import SparseTensorProto, TensorProto

_Code = TensorProto.DataType
DTYPES: dict[int, DType] = {
    _Code.FLOAT: float32,
    _Code.UINT8: uint8,
    _Code.INT8: int8,
    _Code.UINT16: uint16,
    _Code.INT16: int16,
    _Code.INT32: int32,
    _Code.INT64: int64,
    _Code.STRING: string,
    _Code.BOOL: bool_,
    _Code.FLOAT16: float16,
    _Code.DOUBLE: float64,
    _Code.UINT32: uint32,
    _Code.UINT64: uint64,
    _Code.COMPLEX64: complex64,
    _Code.COMPLEX128: complex128,
    _Code.BFLOAT16: bfloat16,
}
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}

# The list that holds values which are not raw bytes, and the type of its entries.
_LISTS: dict[DType, tuple[str, Any]] = {
    float32: ("float_data", np.float32),
    float64: ("double_data", np.float64),
    int64: ("int64_data", np.int64),
    uint32: ("uint64_data", np.uint64),
    uint64: ("uint64_data", np.uint64),
    complex64: ("float_data", np.float32),
    complex128: ("double_data", np.float64),
}

External = Callable[[TensorProto], bytes]  # the bytes of a tensor that lie in another file


def dtype_of(number: int, what: str) -> DType:
    """The element type with a number. UnsupportedOnnxError for the small ones that only ONNX has."""
    if number not in DTYPES:
        name = TensorProto.DataType.text(number)
        raise UnsupportedOnnxError(f"{what} has elements of type {name}, which does not exist here")
    return DTYPES[number]


def literal_of(proto: TensorProto, external: External | None = None) -> Literal:
    """The values of a tensor. OnnxError if they do not fit its type and shape."""
    what = f"tensor {proto.name!r}"
    dtype = dtype_of(proto.data_type, what)
    shape = tuple(proto.dims)
    if not is_array_shape(shape):
        raise OnnxError(f"{what} has the shape {list(shape)[:MOST_AXES]}")
    count = math.prod(shape)
    if proto.data_location == TensorProto.DataLocation.EXTERNAL:
        if external is None:
            raise OnnxError(f"{what} lies in another file: load the model by its path")
        return _of_bytes(external(proto), dtype, shape, what)
    if dtype is string:
        _check_count(what, len(proto.string_data), count)
        values = np.empty(count, object)
        values[:] = list(proto.string_data)
        return Literal.of(values.reshape(shape), string)
    if proto.raw_data:
        return _of_bytes(proto.raw_data, dtype, shape, what)
    field, kind = _LISTS.get(dtype, ("int32_data", np.int32))
    values = np.array(getattr(proto, field)[:], kind)
    parts = 2 if dtype.is_complex else 1
    _check_count(what, values.size, count * parts)
    if dtype in (float16, bfloat16):
        return Literal.of(dtype.from_bytes(values.astype(np.uint16).tobytes(), shape), dtype)
    if dtype.is_complex:
        values = values.view(dtype.numpy)
    return Literal.of(values.astype(dtype.numpy).reshape(shape), dtype)


def sparse_tensor(proto: SparseTensorProto, external: External | None = None) -> Tensor:
    """A sparse tensor, with the zeros between its values: they are made when the graph runs."""
    values, indices = literal_of(proto.values, external), literal_of(proto.indices, external)
    shape = tuple(proto.dims)
    count, places = values.shape, indices.array
    flat = places.ndim == 1
    bounds = np.array([math.prod(shape)] if flat else shape)
    rows = places.reshape(-1, 1) if flat else places
    if not is_array_shape(shape) or rows.shape != (*count, len(bounds)) or indices.dtype is not int64:
        raise OnnxError(f"the indices of a sparse tensor are not those of the shape {shape}")
    if ((rows < 0) | (rows >= bounds)).any():
        raise OnnxError(f"an index of a sparse tensor lies outside of the shape {shape}")
    at, value = ops.constant(value=Literal.of(rows, int64)), ops.constant(value=values)
    return ops.reshape(ops.scatter_nd(at, value, shape=tuple(int(n) for n in bounds)), shape=shape)


def _of_bytes(data: bytes, dtype: DType, shape: tuple[int, ...], what: str) -> Literal:
    count = math.prod(shape)
    if dtype is string:
        raise OnnxError(f"{what} is of strings, which cannot be raw bytes")
    if len(data) != count * dtype.size:
        raise OnnxError(f"{what} of shape {shape} and type {dtype.name} has {len(data)} bytes")
    if dtype is bool_ and data and max(data) > 1:
        raise OnnxError(f"{what} has values that are neither true nor false")
    return Literal(dtype.from_bytes(data, shape).tobytes() if dtype is bfloat16 else data, dtype, shape)


def _check_count(what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise OnnxError(f"{what} has {found} values, and needs {wanted}")
