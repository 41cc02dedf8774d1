"""Conversions between element types, with TensorFlow 1's names."""

from __future__ import annotations

from typing import Any

from staticgraph.building.composites import for_composites
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import (
    UNSIGNED,
    DType,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    float32,
    float64,
    int32,
    int64,
    string,
)
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor


def widened(x: Tensor) -> Tensor:
    """`x`, in float32 if its elements are of 16 bits: for sums that may be too large for them."""
    return ops.cast(x, dtype=float32) if x.dtype.is_floating and x.dtype.size == 2 else x


def for_sums(x: Tensor) -> Tensor:
    """`x`, in a dtype that holds sums and counts of its elements: float32 for 16 bits, int64 for integers."""
    return of_dtype(x, int64) if x.dtype.is_integer and x.dtype.size < 8 else widened(x)


def of_dtype(x: Tensor, dtype: DType) -> Tensor:
    """`x` as numbers of `dtype`, without an operation if they are."""
    return x if x.dtype is dtype else ops.cast(x, dtype=dtype)


@for_composites
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """`x` as numbers of another type; itself where it has that type already.

    A SparseTensor and IndexedSlices remain such: their values are cast.

    Floating numbers become integers by cutting off what follows the point; what
    is out of range becomes the nearest integer of the type, and NaN becomes 0.
    Anything but 0 is True. Complex numbers lose their imaginary part.

    >>> import staticgraph as sg
    >>> sg.cast([1.8, -1.8], sg.int32)
    <sg.Tensor 'Cast:0' shape=(2,) dtype=int32>
    """
    wanted = as_dtype(dtype)
    with name_scope(name, "Cast", [x]) as scope:
        if hasattr(x, "with_values"):
            return x if x.dtype is wanted else x.with_values(cast(x.values, wanted))
        x = convert_to_tensor(x, name="x")
        return snapshot(x) if x.dtype is wanted else ops.cast(x, dtype=wanted, name=scope)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`value` as numbers of another type; what is out of range becomes the smallest or largest one."""
    wanted = as_dtype(dtype)
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = convert_to_tensor(value, name="value")
        source = value.dtype
        if source.is_floating and wanted.is_integer:  # there, a cast saturates by itself
            count_more(value.graph, 4)  # TensorFlow's bounds, each with a constant
        else:
            if source.min < wanted.min:
                value = ops.maximum(value, constant(wanted.min, source, name="min"))
            if source.max > wanted.max:
                value = ops.minimum(value, constant(wanted.max, source, name="max"))
        return cast(value, wanted, name=scope)


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """Return the bits of a tensor, read as another type.

    Args:
        input: Integers or floating numbers. If `type` is larger, the last axis holds the parts of a number.
        type: The type. If it is smaller, a new last axis holds the parts of each number, the lowest first.
        name: The name of the operation.

    Raises:
        ShapeError: If the last axis has another size than the number of parts.

    >>> sg.Session().run(sg.bitcast(sg.constant([1.0, -0.0]), sg.uint32))
    array([1065353216, 2147483648], dtype=uint32)
    >>> sg.Session().run(sg.bitcast(sg.constant([1, 256]), sg.uint8))
    array([[1, 0, 0, 0],
           [0, 1, 0, 0]], dtype=uint8)
    """
    x, wanted = convert_to_tensor(input, name="input"), as_dtype(type)
    others = any(d.is_complex or d.is_bool or d is string for d in (x.dtype, wanted))
    if x.dtype.size == wanted.size or others:
        return ops.bitcast(x, type=wanted, name=name)
    with name_scope(name, "Bitcast", [x]) as scope:
        small, large = (UNSIGNED[n] for n in sorted((x.dtype.size, wanted.size)))
        count, bits = large.size // small.size, 8 * small.size
        places = [constant(bits * i, large) for i in range(count)]
        if x.dtype.size > wanted.size:
            whole = ops.bitcast(x, type=large)
            parts = [ops.cast(ops.right_shift(whole, place), dtype=small) for place in places]
            return ops.bitcast(ops.stack(parts, axis=-1), type=wanted, name=scope)
        with checked(f"bitcast from {x.dtype} to {wanted}"):
            sizes = x.type.shape
            what = f"the last axis must have size {count}, and the shape is {x.shape}"
            require(sizes is None or (sizes and sizes[-1] in (None, count)), what)
        narrow = ops.unstack(ops.bitcast(x, type=small), num=count, axis=-1)
        wide = [ops.cast(part, dtype=large) for part in narrow]
        shifted = [ops.left_shift(part, place) for part, place in zip(wide, places, strict=True)]
        return ops.bitcast(ops.add_n(shifted), type=wanted, name=scope)


def to_float(x: Any, name: str = "ToFloat") -> Tensor:
    """`cast(x, float32)`."""
    return cast(x, float32, name)


def to_double(x: Any, name: str = "ToDouble") -> Tensor:
    """`cast(x, float64)`."""
    return cast(x, float64, name)


def to_int32(x: Any, name: str = "ToInt32") -> Tensor:
    """`cast(x, int32)`."""
    return cast(x, int32, name)


def to_int64(x: Any, name: str = "ToInt64") -> Tensor:
    """`cast(x, int64)`."""
    return cast(x, int64, name)


def to_bfloat16(x: Any, name: str = "ToBFloat16") -> Tensor:
    """`cast(x, bfloat16)`."""
    return cast(x, bfloat16, name)


def to_complex64(x: Any, name: str = "ToComplex64") -> Tensor:
    """`cast(x, complex64)`."""
    return cast(x, complex64, name)


def to_complex128(x: Any, name: str = "ToComplex128") -> Tensor:
    """`cast(x, complex128)`."""
    return cast(x, complex128, name)
