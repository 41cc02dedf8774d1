"""NumPy arrays as `TensorProto` messages, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph import dtypes
from staticgraph.compiler.graph.dtypes import DType, as_dtype, as_strings
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import MOST_AXES, is_array_shape
from staticgraph.compiler.support.lazy_names import extension
from staticgraph.formats.tf.messages.tensor import TensorProto, TensorShapeProto
from staticgraph.formats.tf.messages.types import data_type, dtype_of
from staticgraph.formats.tf.messages.wire import DecodeError, encode_varints, read_varint

__all__ = ["make_ndarray", "make_tensor_proto"]

# The list that holds the values of a type, where they do not lie in `tensor_content`.
_LISTS = {
    dtypes.float16: "half_val",
    dtypes.bfloat16: "half_val",
    dtypes.float32: "float_val",
    dtypes.float64: "double_val",
    dtypes.int8: "int_val",
    dtypes.int16: "int_val",
    dtypes.int32: "int_val",
    dtypes.uint8: "int_val",
    dtypes.uint16: "int_val",
    dtypes.int64: "int64_val",
    dtypes.uint32: "uint32_val",
    dtypes.uint64: "uint64_val",
    dtypes.bool_: "bool_val",
    dtypes.complex64: "scomplex_val",
    dtypes.complex128: "dcomplex_val",
    dtypes.string: "string_val",
}
_WITHOUT_CONTENT = {
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.uint16,
    dtypes.bool_,
    dtypes.complex64,
    dtypes.complex128,
    dtypes.string,
}
# The kinds of element type that Python's values of a kind may be taken as: none without their fraction.
_TAKEN_AS = {
    "b": ("bool", "int", "uint"),
    "i": ("int", "uint", "float", "complex"),
    "u": ("int", "uint", "float", "complex"),
    "f": ("float", "complex"),
    "c": ("complex",),
}
_MOST = 1 << 31  # bytes of one message


@extension("shape_proto")
def shape_proto(shape: Any) -> TensorShapeProto:
    """A shape as a message. An unknown size is None, and so is a shape of unknown rank."""
    if shape is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[{"size": -1 if size is None else int(size)} for size in shape])


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> TensorProto:
    """A message of an array, a number, a string, or lists of these.

    Python floats become float32 and integers int32, unless `dtype` says otherwise. With `shape`, there may be
    fewer values than it has places: the last one stands for the rest. TypeError if the values are not of
    that type, or with `verify_shape` not of that shape; ValueError if there are too many.

    >>> print(make_tensor_proto([1, 2]).tensor_shape, end="")
    dim {
      size: 2
    }
    """
    if isinstance(values, TensorProto):
        return values
    array, kind = _array(values, None if dtype is None else as_dtype(dtype))
    sizes = array.shape if shape is None else tuple(int(size) for size in shape)
    places = math.prod(sizes)
    if verify_shape and array.shape != sizes:
        raise misuse(TypeError, f"the values have shape {list(array.shape)}, not {list(sizes)}")
    if array.size > places:
        message = f"there are too many values: {array.size} for the {places} places of shape {list(sizes)}"
        raise misuse(ValueError, message)
    made = TensorProto(dtype=data_type(kind), tensor_shape=shape_proto(sizes))
    if kind not in _WITHOUT_CONTENT and array.size == places > 1:
        if array.nbytes >= _MOST:
            raise ValueError("Cannot create a tensor proto whose content is larger than 2GB.")
        made.tensor_content = kind.to_bytes(array)
    else:
        getattr(made, _LISTS[kind]).extend(_listed(array, kind))
    return made


def content_proto(array: np.ndarray, kind: DType, joined: bool = False) -> TensorProto:
    """A message of an array whose elements stand as they lie in memory.

    Args:
        array: The array.
        kind: Its element type.
        joined: If True, strings are one piece, behind their lengths; otherwise they are listed.

    >>> len(content_proto(np.array([1.5], np.float32), dtypes.float32).tensor_content)
    4
    """
    if kind is dtypes.string and not joined:
        return make_tensor_proto(array, kind)
    made = TensorProto(dtype=data_type(kind), tensor_shape=shape_proto(array.shape))
    if kind is dtypes.string:
        listed = array.ravel().tolist()
        made.tensor_content = encode_varints([*map(len, listed)]) + b"".join(listed)
    else:
        made.tensor_content = kind.to_bytes(array)
    return made


def _split(content: bytes, places: int) -> np.ndarray:
    """The strings of a piece with their lengths in front. DecodeError if it is too short or too long."""
    lengths, at = [], 0
    for _ in range(places):
        length, at = read_varint(content, at, len(content))
        lengths.append(length)
    if at + sum(lengths) != len(content):
        raise misuse(DecodeError, f"{len(content)} bytes are no {places} strings with their lengths")
    made = np.empty(places, object)
    for place, length in enumerate(lengths):
        made[place] = content[at : at + length]
        at += length
    return made


def make_ndarray(tensor: TensorProto) -> np.ndarray:
    """The array of a message. DecodeError if its values do not fit its shape, or it needs 2 GB or more.

    >>> make_ndarray(make_tensor_proto([[1.5, 2.5]]))
    array([[1.5, 2.5]], dtype=float32)
    """
    kind = dtype_of(tensor.dtype)
    sizes = tuple(dim.size for dim in tensor.tensor_shape.dim)
    places = math.prod(sizes) if is_array_shape(sizes) else _MOST
    if places * kind.size >= _MOST:
        raise misuse(DecodeError, f"a tensor of shape {list(sizes)[:MOST_AXES]} cannot be made")
    if tensor.tensor_content and kind is dtypes.string:
        return _split(tensor.tensor_content, places).reshape(sizes)
    if tensor.tensor_content:
        if len(tensor.tensor_content) != places * kind.size:
            message = f"{len(tensor.tensor_content)} bytes are no {kind.name} of shape {list(sizes)}"
            raise misuse(DecodeError, message)
        return kind.from_bytes(tensor.tensor_content, sizes).copy()
    values = listed_values(tensor)
    if values.size > places:
        message = f"there are {values.size} values for the {places} places of shape {list(sizes)}"
        raise misuse(DecodeError, message)
    if not values.size:
        return np.full(sizes, b"" if kind is dtypes.string else 0, kind.numpy)
    filled = np.full(places, values[-1], values.dtype)
    filled[: values.size] = values
    return filled.reshape(sizes)


def listed_values(tensor: TensorProto) -> np.ndarray:
    """The values that a message lists one by one, such as in `float_val`; the last stands for the rest."""
    kind = dtype_of(tensor.dtype)
    return _unlisted(getattr(tensor, _LISTS[kind]), kind)


def _array(values: Any, dtype: DType | None) -> tuple[np.ndarray, DType]:
    """Values as an array, and its element type."""
    if values is None:
        raise ValueError("None values not supported.")
    array = np.asarray(values)
    if dtype is dtypes.string or (dtype is None and array.dtype.kind in "USO"):
        return _strings(array if isinstance(values, np.ndarray) else values), dtypes.string
    kind = dtypes.string if array.dtype.kind in "USO" else as_dtype(array.dtype)
    if isinstance(values, np.ndarray | np.generic):  # cast to anything
        kind = dtype or kind
    elif dtype is None:
        kind = dtypes.float32 if kind is dtypes.float64 else dtypes.int32 if _is_small(array) else kind
    elif array.size and dtype.kind not in _TAKEN_AS.get(array.dtype.kind, ()):
        raise misuse(TypeError, f"{values!r} is of type {kind.name}, and {dtype.name} is expected")
    else:
        kind = dtype
    return kind.round(array), kind


def _is_small(array: np.ndarray) -> bool:
    """Return True if an array has signed integers that all fit in 32 bits."""
    low, high = dtypes.int32.min, dtypes.int32.max
    return array.dtype.kind == "i" and (not array.size or bool(low <= array.min() and array.max() <= high))


def _strings(values: Any) -> np.ndarray:
    try:
        return as_strings(values)
    except TypeError as error:
        raise misuse(TypeError, str(error)) from None


def _listed(array: np.ndarray, kind: DType) -> list[Any]:
    match kind:
        case dtypes.float16 | dtypes.bfloat16:
            return np.frombuffer(kind.to_bytes(array), np.uint16).tolist()
        case dtypes.complex64 | dtypes.complex128:
            return np.ascontiguousarray(array).reshape(-1).view(kind.real_dtype.numpy).tolist()
    return array.ravel().tolist()


def _unlisted(values: list[Any], kind: DType) -> np.ndarray:
    match kind:
        case dtypes.float16 | dtypes.bfloat16:
            return kind.from_bytes(np.array(values, np.int64).astype(np.uint16).tobytes(), (len(values),))
        case dtypes.complex64 | dtypes.complex128:
            return np.array(values[: len(values) // 2 * 2], kind.real_dtype.numpy).view(kind.numpy)
        case dtypes.string:
            strings = np.empty(len(values), object)
            strings[:] = list(values)
            return strings
    return np.array(values, np.int64 if kind.is_integer and not kind.is_unsigned else None).astype(kind.numpy)
