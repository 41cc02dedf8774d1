"""Tensors made from a shape or from a few numbers; diagonals and bands of matrices."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from staticgraph.building.composites import answered_by_operators, for_composites
from staticgraph.building.framework import checked, get_default_graph, name_scope
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, as_dtype, float32, float64, int32, int64, string
from staticgraph.compiler.graph.errors import DtypeError, UnimplementedError, misuse, require
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import functions_of

# Few of the functions here need these: a constant of known sizes does without.
_arrays = functions_of("staticgraph.arrays.array_ops", "concat reshape shape size stack")
_SMALL = 1000  # larger constants are made while running, as in TF1


def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Zeros of `shape`.

    >>> import staticgraph as sg
    >>> sg.zeros([2, 3])
    <sg.Tensor 'zeros:0' shape=(2, 3) dtype=float32>
    """
    return _filled(shape, dtype, 0, "zeros", name)


def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Ones of `shape`.

    >>> sg.Session().run(sg.ones([2, 2]))
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _filled(shape, dtype, 1, "ones", name)


def _attempt(shape: Any) -> int:
    """Return the number of operations by which TensorFlow finds that the number of elements is not known: a
    product of the sizes, and a comparison. Sizes of int64 are cast before they are stacked.
    """
    tensors = [isinstance(size, Tensor) for size in shape] if isinstance(shape, list | tuple) else []
    if True not in tensors:
        return 0
    first = tensors.index(True)
    factors = tensors[first + 1 :] if first == 0 else [False, *tensors[first + 1 :]]
    casts = sum(isinstance(size, Tensor) and size.dtype is int64 for size in shape)
    return 2 + sum(1 if each else 2 for each in factors) + casts


def _filled(shape: Any, dtype: Any, value: int, default_name: str, name: str | None) -> Tensor:
    dtype = as_dtype(dtype)
    if dtype is string and not value:
        number: Any = b""
    else:
        number = bool(value) if dtype.is_bool else dtype.round(value)[()]
    with name_scope(name, default_name, [shape]) as scope:
        known = None if isinstance(shape, Tensor) else _static_sizes(shape)
        if known is not None:
            if np.prod(known, dtype=np.int64) < _SMALL:
                if isinstance(shape, int | np.integer):
                    count_more(get_default_graph(), 2)  # TensorFlow fills a vector whose shape is one number
                return constant(number, dtype, known, name=scope)
            shape = constant(known, int32, name="shape_as_tensor")
        else:
            count_more(get_default_graph(), _attempt(shape))
            shape = (
                _arrays.stack(shape, name="packed")
                if isinstance(shape, list | tuple)
                else convert_to_tensor(shape)
            )
        if shape.type.rank == 0:
            shape = _arrays.reshape(shape, [-1])
        return ops.fill(constant(number, dtype), dims=shape, name=scope)


def _static_sizes(shape: Any) -> list[int] | None:
    try:
        dims = TensorShape(shape)
    except TypeError:
        return None
    return [int(n) for n in dims] if dims.is_fully_defined() else None


@for_composites
def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Zeros in the shape of `tensor`, and of its dtype unless `dtype` says otherwise.

    >>> sg.Session().run(sg.zeros_like([[1, 2], [3, 4]]))
    array([[0, 0],
           [0, 0]], dtype=int32)
    """
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        wanted = tensor.dtype if dtype is None else as_dtype(dtype)
        if optimize and tensor.type.is_static:
            return zeros(tensor.shape, wanted, name=scope)
        if wanted is tensor.dtype:
            return ops.zeros_like(tensor, name=scope)
        return zeros(_arrays.shape(tensor), wanted, name=scope)


@for_composites
def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones in the shape of `tensor`, and of its dtype unless `dtype` says otherwise.

    >>> sg.Session().run(sg.ones_like([[1, 2], [3, 4]]))
    array([[1, 1],
           [1, 1]], dtype=int32)
    """
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        sizes = _arrays.shape(tensor) if optimize else ops.shape_of(tensor, out_type=int32)
        return ones(sizes, tensor.dtype if dtype is None else dtype, name=scope)


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of shape `dims` with the number `value` everywhere.

    >>> sg.Session().run(sg.fill([2, 2], 7))
    array([[7, 7],
           [7, 7]], dtype=int32)
    """
    return ops.fill(value, dims=dims, name=name)


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Tensor:
    """start, start + delta, start + 2 * delta, ... up to `limit` exclusively; range(n) counts from 0.

    The numbers may be tensors, which a run tells.

    >>> import staticgraph as sg
    >>> sg.range(3, 18, 3)
    <sg.Tensor 'range:0' shape=(5,) dtype=int32>
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        given = as_dtype(dtype) if dtype is not None else None
        parts = [
            convert_to_tensor(part, None if isinstance(part, Tensor) else given, name=label)
            for part, label in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        wanted = given or _widest(parts)
        first, last, step = (p if p.dtype is wanted else ops.cast(p, dtype=wanted) for p in parts)
        return ops.range(start=first, limit=last, delta=step, dtype=wanted, name=scope)


def _widest(parts: list[Tensor]) -> DType:
    order = [int32, int64, float32, float64]
    with checked("range"):
        for part in parts:
            require(
                part.dtype in order,
                f"{part.dtype} is none of int32, int64, float32, float64",
                kind=DtypeError,
            )
    return max((p.dtype for p in parts), key=order.index)


def lin_space(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """`num` numbers at equal distances, from `start` to `stop` inclusively.

    >>> sg.Session().run(sg.linspace(0.0, 1.0, 5))
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)

    >>> sg.Session().run(sg.lin_space(0.0, 1.0, 5))
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    return ops.lin_space(start, stop, num=num, name=name)


linspace = lin_space


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """Identity matrices: ones on the diagonal, zeros
    elsewhere, of shape batch_shape + [num_rows, num_columns].

    >>> import staticgraph as sg
    >>> sg.eye(2, 3, batch_shape=[5]).shape.as_list()
    [5, 2, 3]
    """
    square = num_columns is None
    given = [isinstance(size, Tensor) for size in (num_rows, num_columns) if size is not None]
    with (
        name_scope(name, "eye", [num_rows, num_columns, batch_shape]),
        _counted_as_eye(square, given, batch_shape),
    ):
        columns = num_rows if square else num_columns
        shorter = num_rows if square else _shorter(num_rows, columns)
        batch = [] if batch_shape is None else batch_shape
        diagonal = ones(_joined(batch, [shorter]), dtype)
        if square:
            return ops.matrix_diag(diagonal, name="diag")
        return ops.matrix_set_diag(
            zeros(_joined(batch, [num_rows, columns]), dtype), diagonal, name="set_diag"
        )


def _counted_as_eye(square: bool, given: list[bool], batch: Any) -> Any:
    """Context that counts what TensorFlow makes if a size is a tensor, as `given` tells of each."""
    if True not in given:
        return nullcontext()
    tensors = [isinstance(size, Tensor) for size in batch] if isinstance(batch, list | tuple) else []
    of_batch = -1 if isinstance(batch, Tensor) else tensors.count(False) * (True in tensors)
    of_numbers = 0 if all(given) else 2
    return counted_as(get_default_graph(), (8 if square else 13 + of_numbers) + of_batch)


def _shorter(rows: Any, columns: Any) -> Any:
    known = not isinstance(rows, Tensor) and not isinstance(columns, Tensor)
    return min(int(rows), int(columns)) if known else ops.minimum(rows, columns)


def _joined(batch: Any, sizes: list[Any]) -> Any:
    """A batch shape and further sizes, as a list where that is possible."""
    if isinstance(batch, Tensor):
        return _arrays.concat([batch, convert_to_tensor(sizes, batch.dtype)], 0)
    return [*(batch.as_list() if isinstance(batch, TensorShape) else batch), *sizes]


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Coordinates on a grid: for n vectors, n tensors of rank n.

    `indexing="xy"` (the default) makes the first vector run along axis 1 and the second along axis 0, as
    pictures have it; "ij" takes the axes in order.

    >>> import staticgraph as sg
    >>> [t.shape.as_list() for t in sg.meshgrid([1, 2], [3, 4, 5])]
    [[3, 2], [3, 2]]
    """
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise misuse(TypeError, f"meshgrid has no argument {next(iter(kwargs))!r}; it has indexing and name")
    if indexing not in ("xy", "ij"):
        raise misuse(ValueError, f"meshgrid: indexing {indexing!r} must be 'xy' or 'ij'")
    with name_scope(name, "meshgrid", list(args)):
        vectors = [convert_to_tensor(a) for a in args]
        axes = list(enumerate(vectors))
        if indexing == "xy" and len(vectors) > 1:
            axes = [(1, vectors[0]), (0, vectors[1]), *axes[2:]]
            count_more(vectors[0].graph, 4)  # TensorFlow shapes the first two anew
        spread = [
            _arrays.reshape(v, [-1 if d == axis else 1 for d, _ in enumerate(vectors)]) for axis, v in axes
        ]
        lengths = {axis: _arrays.size(v) for axis, v in axes}
        full = ones([lengths[d] for d in sorted(lengths)], vectors[0].dtype if vectors else float32)
        return [v * full for v in spread]


def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """Zeros of twice the rank of `diagonal`, with y[i..., i...] = diagonal[i...].

    >>> sg.Session().run(sg.diag([1, 2, 3]))
    array([[1, 0, 0],
           [0, 2, 0],
           [0, 0, 3]], dtype=int32)
    """
    return ops.diag(diagonal, name=name)


def diag_part(input: Any, name: str | None = None) -> Tensor:
    """The elements input[i..., i...], of half the rank."""
    return ops.diag_part(input, name=name)


def matrix_diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
) -> Tensor:
    """Square matrices with the given diagonals. Only the main diagonal (k = 0) is supported."""
    _main_only(k == 0 and num_rows == -1 and num_cols == -1 and padding_value == 0)
    return ops.matrix_diag(diagonal, name=name)


@answered_by_operators
def matrix_diag_part(input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0) -> Tensor:
    """The diagonals of matrices. Only the main diagonal (k = 0) is supported."""
    _main_only(k == 0 and padding_value == 0)
    return ops.matrix_diag_part(input, name=name)


def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0) -> Tensor:
    """Matrices with other diagonals. Only the main diagonal (k = 0) is supported."""
    _main_only(k == 0)
    return ops.matrix_set_diag(input, diagonal, name=name)


def _main_only(holds: bool) -> None:
    if not holds:
        raise UnimplementedError(
            "only the main diagonal is supported; TensorFlow 1.15 ignores k without saying so"
        )


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Matrices with zeros below `num_lower` subdiagonals and above `num_upper` others; -1 keeps all.

    >>> sg.Session().run(sg.matrix_band_part(sg.ones([3, 3]), 0, 1))
    array([[1., 1., 0.],
           [0., 1., 1.],
           [0., 0., 1.]], dtype=float32)
    """
    return ops.matrix_band_part(input, num_lower=num_lower, num_upper=num_upper, name=name)
