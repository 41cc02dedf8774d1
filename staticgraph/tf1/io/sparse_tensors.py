"""SparseTensors as strings, each part the bytes of a `TensorProto`, for queues and records."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, as_dtype, int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse, require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.formats.tf.messages.tensors import content_proto
from staticgraph.sparse.tensor import SparseTensor, as_sparse
from staticgraph.tf1.io.tensors import parsed


def _strings(indices: np.ndarray, values: np.ndarray, dense_shape: np.ndarray, dtype: DType) -> list[bytes]:
    parts = (indices, int64), (values, dtype), (dense_shape, int64)
    protos = [content_proto(np.ascontiguousarray(part), kind, joined=True) for part, kind in parts]
    return [proto.SerializeToString() for proto in protos]


_PARTS = {"indices": "int64", "dense_shape": "int64"}


@host(
    tf="SerializeSparse",
    type=lambda indices, values, dense_shape, dtype: TensorType(string, (3,)),
    vars=_PARTS,
)
def serialize_sparse_op(indices: Any, values: Any, dense_shape: Any, *, dtype: DType) -> Any:
    """The three parts of a SparseTensor of `dtype` as messages."""
    return np.array(_strings(indices, values, dense_shape, dtype), object)


@host(
    tf="SerializeManySparse",
    type=lambda indices, values, dense_shape, dtype: TensorType(string, (None, 3)),
    vars=_PARTS,
)
def serialize_many_sparse_op(indices: Any, values: Any, dense_shape: Any, *, dtype: DType) -> Any:
    """The parts of each row of a SparseTensor of `dtype`."""
    if len(dense_shape) < 2:
        raise InvalidArgumentError(f"a SparseTensor of rank {len(dense_shape)} has no rows that are sparse")
    made = np.empty((int(dense_shape[0]), 3), object)
    for row in range(len(made)):
        inside = indices[:, 0] == row
        made[row] = _strings(indices[inside, 1:], values[inside], dense_shape[1:], dtype)
    return made


def _deserialized_type(x: TensorType, out_type: DType, rank: int | None) -> tuple[TensorType, ...]:
    fits = x.shape is None or (len(x.shape) == 2 and x.shape[1] in (3, None))
    require(fits, f"the strings have shape {list(x.shape or ())}, and must be [number, 3]")
    return TensorType(int64, (None, rank)), TensorType(out_type, (None,)), TensorType(int64, (rank,))


@host(tf="DeserializeManySparse", type=_deserialized_type, dtypes=frozenset({string}))
def deserialize_many_sparse_op(serialized_sparse: Any, *, out_type: DType, rank: int | None) -> Any:
    """The rows that messages tell, as one SparseTensor with an axis more: of `rank` axes, if that is told."""
    places: list[np.ndarray] = []
    values: list[np.ndarray] = []
    shapes: list[np.ndarray] = []
    for row, texts in enumerate(serialized_sparse):
        kinds = (int64, out_type, int64)
        inside, found, shape = (parsed(text, kind) for text, kind in zip(texts, kinds, strict=True))
        if shapes and len(shape) != len(shapes[0]):
            ranks = f"{len(shapes[0])} and {len(shape)}"
            raise InvalidArgumentError(f"the SparseTensors 0 and {row} have the ranks {ranks}")
        places.append(np.column_stack([np.full(len(inside), row), inside.reshape(-1, len(shape))]))
        values.append(found)
        shapes.append(shape)
    if not shapes:
        raise InvalidArgumentError("there are no SparseTensors")
    whole = np.array([len(shapes), *np.max(shapes, axis=0)], np.int64)
    return np.concatenate(places).astype(np.int64), np.concatenate(values), whole


def _parts(sp_input: Any, out_type: Any) -> tuple[SparseTensor, DType]:
    if as_dtype(out_type) is not string:
        raise misuse(ValueError, f"out_type is {out_type}, only string is offered")
    x = as_sparse(sp_input)
    return x, x.dtype


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = string) -> Tensor:
    """A SparseTensor as three strings: its indices, values and shape.

    Args:
        sp_input: A SparseTensor, or the value of one.
        name: The name of the operation.
        out_type: string, the only type of the result that is offered.

    Returns:
        A string vector of three elements.

    >>> import staticgraph as sg
    >>> sg.io.serialize_sparse(sg.SparseTensor([[1]], [2.0], [3])).shape
    TensorShape([Dimension(3)])
    """
    x, dtype = _parts(sp_input, out_type)
    made: Tensor = serialize_sparse_op(x.indices, x.values, x.dense_shape, dtype=dtype, name=name)
    return made


def serialize_many_sparse(sp_input: Any, name: str | None = None, out_type: Any = string) -> Tensor:
    """Each row of a SparseTensor as three strings, as `serialize_sparse` makes them.

    Args:
        sp_input: A SparseTensor of rank 2 or more, or the value of one. A run with one of a lower rank is an
            InvalidArgumentError.
        name: The name of the operation.
        out_type: string, the only type of the result that is offered.

    Returns:
        Strings of shape [rows, 3].
    """
    x, dtype = _parts(sp_input, out_type)
    made: Tensor = serialize_many_sparse_op(x.indices, x.values, x.dense_shape, dtype=dtype, name=name)
    return made


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor whose rows strings tell.

    Its size along each axis behind the first is the largest of the rows.

    Args:
        serialized_sparse: Strings of shape [rows, 3], from `serialize_sparse` or `serialize_many_sparse`.
        dtype: The type of the values.
        rank: The rank of the result, if it is known.
        name: The name of the operation.

    Returns:
        A SparseTensor with an axis more than the rows.

    Raises:
        InvalidArgumentError: In a run, for strings that are no SparseTensor of this type, and for ranks that
            differ.

    >>> import staticgraph as sg
    >>> rows = sg.io.serialize_many_sparse(sg.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4]))
    >>> with sg.Session() as sess:
    ...     sess.run(sg.io.deserialize_many_sparse(rows, sg.float32, rank=2)).dense_shape.tolist()
    [3, 4]
    """
    made = deserialize_many_sparse_op(serialized_sparse, out_type=as_dtype(dtype), rank=rank, name=name)
    return SparseTensor(*made)
