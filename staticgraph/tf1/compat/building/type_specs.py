"""`tf.TensorSpec` and its kin: what is known of the type of a value before there is one."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.shapes import common_shape


class TypeSpec:
    """The type of a value: specs that are made of the same parts are equal."""

    value_type: Any = None
    """The Python type of values of this type."""

    def _parts(self) -> tuple[Any, ...]:
        """Return what the spec is made of: shapes, dtypes, and plain values."""
        raise NotImplementedError

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return True if a value, or all values of another spec, may be of this type."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            if not isinstance(other, self.value_type):
                return False
            other = type(self).from_value(other)  # type: ignore[attr-defined]
        return type(other) is type(self) and all(map(_fits, self._parts(), other._parts()))

    def most_specific_compatible_type(self, other: Any) -> Any:
        """Return the spec that allows the values of this and of another one.

        Raises:
            ValueError: If they are not of one kind, or differ in more than shapes.
        """
        same = type(other) is type(self) and all(
            isinstance(one, sg.TensorShape) or _same(one, two)
            for one, two in zip(self._parts(), other._parts(), strict=True)
        )
        if not same:
            raise misuse(
                ValueError, f"{self!r} and {shown(other)} are not compatible: only shapes may differ"
            )
        pairs = zip(self._parts(), other._parts(), strict=True)
        parts = (
            sg.TensorShape(common_shape(a.shape, b.shape)) if isinstance(a, sg.TensorShape) else a
            for a, b in pairs
        )
        return type(self)(*parts)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return False
        return all(map(_same, self._parts(), other._parts()))

    def __hash__(self) -> int:
        return hash((type(self), *map(_text, self._parts())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(_text, self._parts()))})"


def _fits(wanted: Any, given: Any) -> bool:
    if isinstance(wanted, sg.TensorShape):
        return wanted.is_compatible_with(given)
    return _same(wanted, given)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, sg.TensorShape):
        return _text(one) == _text(other)
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else one == other


def _text(part: Any) -> str:
    return f"tf.{part.name}" if isinstance(part, sg.DType) else repr(part)


class TensorSpec(TypeSpec):
    """The shape, the dtype and maybe the name of a tensor.

    >>> import staticgraph.compat.tf1 as tf
    >>> spec = tf.TensorSpec([None, 2], tf.int32, "x")
    >>> spec, spec.is_compatible_with(tf.zeros([5, 2], tf.int32))
    (TensorSpec(shape=(?, 2), dtype=tf.int32, name='x'), True)
    """

    value_type = sg.Tensor

    def __init__(self, shape: Any, dtype: Any = sg.float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = sg.TensorShape(shape), sg.as_dtype(dtype), name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """The shape and the dtype of another spec, and its name if there is no other."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The spec of a tensor, whose operation gives the name if there is no other."""
        if not isinstance(tensor, sg.Tensor):
            raise misuse(ValueError, f"{shown(tensor)} is no tensor", "convert_to_tensor makes one of it")
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    from_value = from_tensor

    @property
    def shape(self) -> sg.TensorShape:
        """The static shape."""
        return self._shape

    @property
    def dtype(self) -> sg.DType:
        """The dtype."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, None if there is none."""
        return self._name

    def _parts(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Return True if a tensor or a spec has the same dtype and a shape that fits; the name may differ."""
        other = spec_or_tensor
        return _same(self._dtype, other.dtype) and self._shape.is_compatible_with(other.shape)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype=tf.{self.dtype.name}, name={self.name!r})"


class BoundedTensorSpec(TensorSpec):
    """A `TensorSpec` whose elements are between two bounds, numbers or arrays that broadcast to the shape."""

    def __init__(self, shape: Any, dtype: Any, minimum: Any, maximum: Any, name: str | None = None) -> None:
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise misuse(ValueError, "minimum and maximum must not be None", "a TensorSpec has no bounds")
        self._bounds: tuple[np.ndarray, ...] = tuple(
            np.asarray(each, self.dtype.as_numpy_dtype) for each in (minimum, maximum)
        )
        for bound in self._bounds:
            self._check_bound(bound)
            bound.setflags(write=False)

    def _check_bound(self, bound: np.ndarray) -> None:
        """ValueError if a bound does not broadcast to the shape."""
        sizes = self.shape.as_list() if self.shape.ndims is not None else None
        if sizes is None:
            return
        fits = bound.ndim <= len(sizes) and all(
            size == 1 or wanted in (size, None)
            for size, wanted in zip(reversed(bound.shape), reversed(sizes), strict=False)
        )
        if not fits:
            text = f"a bound of shape {bound.shape} is not compatible with the shape {self.shape}"
            raise misuse(ValueError, text, "a bound broadcasts to the shape")

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        """The parts of another spec; without bounds, those of its dtype."""
        low, high = getattr(spec, "minimum", spec.dtype.min), getattr(spec, "maximum", spec.dtype.max)
        return cls(spec.shape, spec.dtype, low, high, name or spec.name)

    @property
    def minimum(self) -> np.ndarray:
        """The least values."""
        return self._bounds[0]

    @property
    def maximum(self) -> np.ndarray:
        """The greatest values."""
        return self._bounds[1]

    def _parts(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, *self._bounds, self._name

    def __repr__(self) -> str:
        of = f"shape={self.shape}, dtype=tf.{self.dtype.name}, name={self.name!r}"
        return f"BoundedTensorSpec({of}, minimum={self.minimum!r}, maximum={self.maximum!r})"


class SparseTensorSpec(TypeSpec):
    """The dense shape and the dtype of a `SparseTensor`."""

    value_type = sg.SparseTensor

    def __init__(self, shape: Any = None, dtype: Any = sg.float32) -> None:
        self._shape, self._dtype = sg.TensorShape(shape), sg.as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """The spec of a `SparseTensor`."""
        return cls(value.shape, value.dtype)

    @property
    def shape(self) -> sg.TensorShape:
        """The dense shape."""
        return self._shape

    @property
    def dtype(self) -> sg.DType:
        """The dtype of the values."""
        return self._dtype

    def _parts(self) -> tuple[Any, ...]:
        return self._shape, self._dtype


class IndexedSlicesSpec(TypeSpec):
    """The dense shape and the dtypes of `IndexedSlices`."""

    value_type = sg.IndexedSlices

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = sg.float32,
        indices_dtype: Any = sg.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        dtypes = (sg.as_dtype(dtype), sg.as_dtype(indices_dtype))
        of_shape = None if dense_shape_dtype is None else sg.as_dtype(dense_shape_dtype)
        count = sg.TensorShape([None] if indices_shape is None else indices_shape)
        self._all = (sg.TensorShape(shape), *dtypes, of_shape, count)

    def _parts(self) -> tuple[Any, ...]:
        return self._all


class RaggedTensorSpec(TypeSpec):
    """The shape, the dtypes and the levels of rows of a `RaggedTensor`.

    ValueError if the rank is not known, and `ragged_rank` is not given; if that is not below the rank.
    """

    value_type = sg.RaggedTensor

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = sg.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = sg.int64,
    ) -> None:
        known = sg.TensorShape(shape)
        if ragged_rank is None:
            if known.ndims is None:
                raise misuse(ValueError, "RaggedTensorSpec: the rank is not known", "give ragged_rank")
            ragged_rank = known.ndims - 1
        if known.ndims is not None and ragged_rank >= known.ndims:
            raise misuse(ValueError, f"ragged_rank={ragged_rank} must be less than the rank of {known}")
        self._all = (known, sg.as_dtype(dtype), ragged_rank, sg.as_dtype(row_splits_dtype))

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """The spec of a `RaggedTensor`."""
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    def _parts(self) -> tuple[Any, ...]:
        return self._all
