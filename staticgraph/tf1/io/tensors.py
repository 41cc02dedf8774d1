"""Tensors as strings: the bytes of a `TensorProto`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.dtypes import DType, as_dtype, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.formats.tf.messages.tensor import TensorProto
from staticgraph.formats.tf.messages.tensors import content_proto, make_ndarray
from staticgraph.formats.tf.messages.types import dtype_of

_MOST = 1 << 31  # elements


@host(tf="SerializeTensor", type=lambda x, dtype: TensorType(string, ()))
def serialize_tensor_op(tensor: Any, *, dtype: DType) -> Any:
    """A tensor of `dtype` as a message: its elements as they lie in memory, or a list of strings."""
    return content_proto(tensor, dtype).SerializeToString()


def _parsed_type(x: TensorType, out_type: DType) -> TensorType:
    require(x.rank in (None, 0), f"the message has shape {list(x.shape or ())}, it must be one string")
    return TensorType(out_type, None)


@host(tf="ParseTensor", type=_parsed_type, dtypes=frozenset({string}))
def parse_tensor_op(serialized: Any, *, out_type: DType) -> Any:
    """The tensor of `out_type` in a message."""
    return parsed(serialized[()], out_type)


def parsed(text: bytes, dtype: DType) -> np.ndarray:
    """The array of `dtype` in a message. InvalidArgumentError if there is none."""
    try:
        message = TensorProto.FromString(text)
        found, places = dtype_of(message.dtype), math.prod(dim.size for dim in message.tensor_shape.dim)
        if places > _MOST:  # one value may stand for many
            raise InvalidArgumentError(f"the tensor has {places} elements, more than {_MOST}")
        array = make_ndarray(message)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the string is not a tensor: {error}") from None
    if found is not dtype:
        raise InvalidArgumentError(f"the tensor is {found.name}, and out_type is {dtype.name}")
    return np.asarray(array)


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as one string, which `parse_tensor` reads: type, shape and elements.

    >>> import staticgraph as sg
    >>> again = sg.io.parse_tensor(sg.io.serialize_tensor([[1, 2]]), sg.int32)
    >>> with sg.Session() as sess:
    ...     sess.run(again).tolist()
    [[1, 2]]
    """
    tensor = convert_to_tensor(tensor)
    return serialize_tensor_op(tensor, dtype=tensor.dtype, name=name)


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor of type `out_type` that a string tells; its shape is not known before the run.

    While running, InvalidArgumentError for a string that is none, and for a tensor of another type.

    >>> import staticgraph as sg
    >>> sg.io.parse_tensor(sg.placeholder(sg.string, []), sg.float32).shape
    TensorShape(None)
    """
    return parse_tensor_op(serialized, out_type=as_dtype(out_type), name=name)
