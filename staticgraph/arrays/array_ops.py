"""The shape of tensors, and ops that reorder, join, divide and pad them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.casts import cast
from staticgraph.building.composites import for_composites
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, int32, int64, string
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.recording.calls import holds_tensor
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.shapes import TensorShape, as_shape, broadcast, normalize_axis
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor


def one_of(name: str, value: Any, old_name: str, old: Any) -> Any:
    """The value of an argument that has an older name too."""
    if value is not None and old is not None:
        raise misuse(ValueError, f"{name} and {old_name} are two names of one argument: give one of them")
    return old if value is None else value


def shape(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The shape of `input` as a vector of dtype `out_type`: a constant where it is known already.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 4])
    >>> sg.reshape(x, [sg.shape(x)[0], 2, 2]).shape.as_list()
    [None, 2, 2]
    """
    with name_scope(name, "Shape", [input]) as scope:
        if _is_sparse(input):
            return cast(input.dense_shape, out_type, name=scope)
        input = convert_to_tensor(input, name="input")
        known, dtype = input.type.shape, as_dtype(out_type)
        if known is not None and all(n is not None and n <= dtype.max for n in known):
            return constant(np.array(known, np.int64), dtype, name=scope)
        return ops.shape_of(input, out_type=dtype, name=scope)


def _is_sparse(x: Any) -> bool:
    """Tell if `x` is a SparseTensor or the value of one; both are called by their parts."""
    return hasattr(x, "dense_shape") and not hasattr(x, "to_tensor")


def shape_n(input: Sequence[Any], out_type: Any = int32, name: str | None = None) -> list[Tensor]:
    """The shapes of several tensors."""
    with name_scope(name, "ShapeN", list(input)):
        return [shape(x, out_type=out_type) for x in input]


def fitted_rank(x: Tensor, rank: Any) -> Tensor:
    """Drop the last axis of size one, or append one, if a run finds that `x` misses `rank` by one.

    Args:
        x: A tensor of unknown rank.
        rank: An int or an int32 scalar.

    Returns:
        The elements of `x`. A scalar stays one if `rank` is not 1, and broadcasts all the same.
    """
    sizes = ops.concat((ops.shape_of(x), np.ones(1, np.int32)), axis=0)
    return ops.reshape(x, shape=sizes[:rank])


@for_composites
def size(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The number of elements of `input`: a constant where it is known already.

    >>> sg.Session().run(sg.size([[1, 2, 3], [4, 5, 6]])).item()
    6
    """
    with name_scope(name, "Size", [input]) as scope:
        if _is_sparse(input):
            sizes = cast(input.dense_shape, out_type)
            return ops.reduce_prod(sizes, axis=(0,), name=scope)
        input = convert_to_tensor(input, name="input")
        if input.type.is_static:
            return constant(input.type.size, as_dtype(out_type), name=scope)
        return ops.size_of(input, out_type=as_dtype(out_type), name=scope)


@for_composites
def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of axes of `input`: a constant where it is known already.

    >>> sg.Session().run(sg.rank([[1, 2, 3], [4, 5, 6]])).item()
    2
    """
    with name_scope(name, "Rank", [input]) as scope:
        if _is_sparse(input):
            return size(input.dense_shape, name=scope)
        input = convert_to_tensor(input, name="input")
        if input.type.rank is not None:
            return constant(input.type.rank, int32, name=scope)
        return ops.rank_of(input, name=scope)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The static shape that broadcasting two static shapes gives; ValueError if they do not fit.

    >>> import staticgraph as sg
    >>> sg.broadcast_static_shape([None, 1], [3]).as_list()
    [None, 3]
    """
    with checked("broadcast_static_shape"):
        return TensorShape(broadcast(as_shape(shape_x), as_shape(shape_y)))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape, as a vector, that broadcasting tensors of two shapes gives.

    >>> sg.Session().run(sg.broadcast_dynamic_shape([2, 1], [3]))
    array([2, 3], dtype=int32)
    """
    return ops.broadcast_args(shape_x, shape_y)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements of `tensor` in row-major order in another
    shape. One size may be -1: it follows from the others.

    ValueError if the number of elements differs.

    >>> import staticgraph as sg
    >>> sg.reshape(sg.placeholder(sg.float32, [2, 6]), [3, -1]).shape.as_list()
    [3, 4]
    """
    return ops.reshape(tensor, shape=shape, name=name)


def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """Axis i of the result is axis perm[i] of `a`; without `perm` the axes are reversed.

    >>> import staticgraph as sg
    >>> sg.transpose(sg.placeholder(sg.float32, [None, 3, 5]), [1, 2, 0]).shape.as_list()
    [3, 5, None]
    """
    with name_scope(name, "transpose", [a]) as scope:
        a = convert_to_tensor(a, name="a")
        if perm is None and a.type.rank is not None:
            perm = list(reversed(range(a.type.rank)))
        made = ops.transpose(a, perm=perm, name=None if conjugate else scope)
        return ops.conj(made, name=scope) if conjugate and a.dtype.is_complex else made


def axis_last(x: Tensor, axis: int, call: str) -> Tensor:
    """`x` with an axis moved to the end.

    Args:
        x: A tensor, also of unknown rank.
        axis: Counted from the front, or from the end if it is negative.
        call: The function that the user called, for messages.

    Raises:
        ShapeError: If `x` is known not to have the axis.
    """
    known = x.type.rank
    if known is not None:
        with checked(call):
            axis = normalize_axis(axis, known)
        last = axis == known - 1
        return x if last else ops.transpose(x, perm=[*(d for d in range(known) if d != axis), axis])
    if axis == -1:
        return x
    axes = ops.range(0, rank(x), 1, dtype=int32)
    place = axis if axis >= 0 else rank(x) + axis
    return ops.transpose(x, perm=concat([axes[:place], axes[place + 1 :], [place]], 0))


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """`input` repeated along new leading axes and along axes of size one, up to `shape`.

    >>> sg.Session().run(sg.broadcast_to([1, 2], [3, 2]))
    array([[1, 2],
           [1, 2],
           [1, 2]], dtype=int32)
    """
    return ops.broadcast_to(input, shape=shape, name=name)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """`x` itself, of which `shape` is known from now on. A run in which it has another shape is an error.

    >>> import staticgraph as sg
    >>> sg.ensure_shape(sg.placeholder(sg.float32), [None, 3]).shape.as_list()
    [None, 3]
    """
    return ops.ensure_shape(x, shape=as_shape(shape), name=name)


@for_composites
def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """`input` with a new axis of size one at `axis`, counted in the result; -1 is the last.

    >>> import staticgraph as sg
    >>> sg.expand_dims(sg.placeholder(sg.float32, [2, 3]), -1).shape.as_list()
    [2, 3, 1]
    """
    axis = one_of("axis", axis, "dim", dim)
    if axis is None:
        raise misuse(ValueError, "expand_dims needs an axis")
    return ops.expand_dims(input, axis=axis, name=name)


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Tensor:
    """`input` without the axes of size one in `axis` (an int or a list); without all of them by default.

    >>> sg.Session().run(sg.squeeze([[[1], [2]]]))
    array([1, 2], dtype=int32)
    """
    axis = one_of("axis", axis, "squeeze_dims", squeeze_dims)
    axes = None if axis is None else tuple(np.reshape(axis, -1).tolist())
    return ops.squeeze(input, axis=axes, name=name)


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """`input` repeated multiples[i] times along each axis i.

    >>> sg.Session().run(sg.tile([1, 2], [3]))
    array([1, 2, 1, 2, 1, 2], dtype=int32)
    """
    return ops.tile(input, multiples=multiples, name=name)


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Each element repeated along `axis`, `repeats` times or repeats[i] times.

    The input is flattened by default. `repeats` may be a tensor, a number or a vector; then one of length 1
    counts for all elements, and a negative one is zero.

    >>> import staticgraph as sg
    >>> sg.repeat(sg.constant([[1, 2], [3, 4]]), [1, 3], axis=1).shape.as_list()
    [2, 4]
    """
    input = convert_to_tensor(input)
    if axis is None:
        input, axis = reshape(input, [-1]), 0
    with name_scope(name, "Repeat", [input]):
        known = static_value(repeats) if isinstance(repeats, Tensor) else repeats
        with checked("repeat"):
            require(input.type.rank is not None, "the rank of the input must be known")
            axis = normalize_axis(axis, input.type.rank or 0)
        if known is None:
            sizes = shape(input)
            places = _repeated_places(repeats, sizes[axis])
            return ops.gather(reshape(input, sizes), places, axis=axis)  # a gradient of all, as in TensorFlow
        counts = np.asarray(known)
        if counts.ndim and counts.size > 1:
            count_more(input.graph, 42 + input.shape.ndims + (23 if axis else 0))
            return ops.gather(input, np.repeat(np.arange(counts.size), counts).astype(np.int32), axis=axis)
        times = [1] * (input.shape.ndims + 1)
        times[axis + 1] = int(counts.reshape(()))
        spread = tile(expand_dims(input, axis + 1), times)
        sizes = shape(input)
        count_more(input.graph, 2 + input.shape.ndims)
        return reshape(spread, concat([sizes[:axis], [-1], sizes[axis + 1 :]], 0))


_MOST_REPEATS = np.int64(2**40)  # of one element, more than there is memory for: so that sums do not overflow


def _repeated_places(repeats: Tensor, length: Tensor) -> Tensor:
    """The places of an axis of this length, each as often as `repeats` tells in a run."""
    with checked("repeat"):
        require(repeats.dtype.is_integer, f"repeats is {repeats.dtype}, and must be an integer")
        require(
            repeats.type.rank in (None, 0, 1), f"repeats has rank {repeats.type.rank}, and must be a vector"
        )
    each = ops.minimum(ops.maximum(cast(repeats, int64), np.int64(0)), _MOST_REPEATS)
    ends = ops.cumsum(ops.broadcast_to(each, shape=ops.expand_dims(length, axis=0)))
    total = ops.reduce_max(ops.concat([np.zeros(1, np.int64), ends], axis=0))
    places = ops.range(np.int64(0), total, np.int64(1), dtype=int64)
    found = ops.upper_bound(ops.expand_dims(ends, axis=0), ops.expand_dims(places, axis=0))
    return ops.squeeze(found, axis=(0,))


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements in opposite order along each axis in `axis`."""
    return ops.reverse(tensor, axis=axis, name=name)


reverse_v2 = reverse


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """The first seq_lengths[b] elements along `seq_axis` in opposite order, for each b along `batch_axis`.

    >>> sg.Session().run(sg.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1, batch_axis=0))
    array([[2, 1, 3],
           [6, 5, 4]], dtype=int32)
    """
    seq = one_of("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch = one_of("batch_axis", batch_axis, "batch_dim", batch_dim)
    if seq is None:
        raise misuse(ValueError, "reverse_sequence needs a seq_axis")
    return ops.reverse_sequence(input, seq_lengths, seq_dim=seq, batch_dim=batch or 0, name=name)


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """Elements moved by `shift` places along `axis`; those that leave at the end come in at the beginning.

    >>> sg.Session().run(sg.roll([1, 2, 3, 4], 1, 0))
    array([4, 1, 2, 3], dtype=int32)
    """
    return ops.roll(input, shift=shift, axis=axis, name=name)


@for_composites
def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors joined along an existing axis, in which alone their shapes may differ.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 3])
    >>> sg.concat([x, x], axis=1).shape.as_list()
    [None, 6]
    """
    if isinstance(values, int) and isinstance(axis, list | tuple):
        raise misuse(TypeError, f"concat is given the axis {values} first", "concat([x, y], axis)")
    values = list(values) if isinstance(values, list | tuple) else [values]
    if len(values) == 1:
        with name_scope(name):
            convert_to_tensor(axis, int32, name="concat_dim")
            return ops.identity(convert_to_tensor(values[0]), name="concat")
    return ops.concat(values, axis=axis, name=name)


@for_composites
def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape joined along a new axis; a
    constant where all `values` are plain numbers or arrays.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [4])
    >>> sg.stack([x, x], axis=1).shape.as_list()
    [4, 2]
    """
    if axis == 0 and not holds_tensor(values):
        return convert_to_tensor(values, name=name)
    values = list(values) if isinstance(values, list | tuple) else unstack(values)
    if axis != 0:
        return ops.stack(values, axis=axis, name=name)
    dtype = next((convert_to_tensor(v).dtype for v in values if holds_tensor(v)), None)
    with name_scope(name, values=values) as scope:
        parts = [
            v if isinstance(v, Tensor) else convert_to_tensor(v, dtype, name=str(i))
            for i, v in enumerate(values)
        ]
        return ops.stack(parts, axis=0, name=scope)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Tensors of one shape joined along a new first axis."""
    return ops.stack(list(values), axis=0, name=name)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """The slices of `value` along `axis`, without that axis. Their number must be known, or given as `num`.

    >>> import staticgraph as sg
    >>> [t.name for t in sg.unstack(sg.placeholder(sg.float32, [2, 3]))]
    ['unstack:0', 'unstack:1']
    """
    value = convert_to_tensor(value)
    with checked("unstack"):
        if num is None:
            require(
                value.type.shape is not None,
                f"Cannot infer num from shape {value.shape}, that of {value.name}",
                hint="give num, or the tensor a shape",
            )
            sizes = value.shape.as_list()
            ends = f"[{-len(sizes)}, {len(sizes)})"
            require(-len(sizes) <= axis < len(sizes), f"axis = {axis} not in {ends} for {value.type}")
            require(
                sizes[axis] is not None,
                f"Cannot infer num from shape {value.shape}: axis {axis} has an unknown size",
                hint="give num, or the tensor a shape",
            )
            num = sizes[axis]
    if num == 0:
        return []
    return _listed(ops.unstack(value, num=num, axis=axis, name=name))


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """`value` divided along `axis`, into a number of equal parts or into parts of given sizes (one may be
    -1).

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 6])
    >>> [t.shape.as_list() for t in sg.split(x, [2, -1], axis=1)]
    [[None, 2], [None, 4]]
    """
    sizes = convert_to_tensor(num_or_size_splits)
    known = static_value(sizes)
    if sizes.type.rank == 0:
        with checked("split"):
            require(isinstance(known, int), "the number of parts must be known while the graph is built")
        return _listed(ops.split(value, axis=axis, num_split=known, name=name))
    length = sizes.type.shape[0] if sizes.type.shape else None
    with checked("split"):
        require(
            num is not None or length is not None,
            f"Cannot infer num from shape {sizes.shape}: the number of parts is not known",
            hint="give num, or the tensor a shape",
        )
        require(
            None in (num, length) or num == length,
            f"there are {length} sizes for num = {num} parts",
            hint="leave num out: the sizes tell it",
        )
    return _listed(ops.split_v(value, size_splits=sizes, axis=axis, num_split=num or length or 0, name=name))


def _listed(made: Any) -> list[Tensor]:
    return list(made) if isinstance(made, tuple) else [made]


def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0
) -> Tensor:
    """`tensor` with paddings[i] = [before, after] more elements along each axis i.

    `mode` CONSTANT: copies of `constant_values`; REFLECT: the mirror image without the outermost elements, so
    that at most n - 1 can be added; SYMMETRIC: the mirror image with them.

    >>> import staticgraph as sg
    >>> sg.pad(sg.placeholder(sg.float32, [None, 4]), [[0, 0], [1, 2]]).shape.as_list()
    [None, 7]
    """
    mode = mode.upper()
    if mode in ("REFLECT", "SYMMETRIC"):
        return ops.mirror_pad(tensor, paddings=paddings, mode=mode, name=name)
    if mode != "CONSTANT":
        hint = "it is CONSTANT, REFLECT or SYMMETRIC"
        raise misuse(ValueError, f"pad: Unknown padding mode: {mode!r}", hint)
    tensor = convert_to_tensor(tensor, name="input")
    if not holds_tensor(constant_values) and constant_values == 0:
        if tensor.dtype is string:
            return ops.pad_v2(tensor, "", paddings=paddings, name=name)
        return ops.pad(tensor, paddings=paddings, name=name)
    return ops.pad_v2(tensor, constant_values, paddings=paddings, name=name)
