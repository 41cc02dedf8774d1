"""Shapes: tuples of sizes in which None is an unknown size; None in place of the tuple is an unknown rank.

`TensorShape` and `Dimension` are TF1's objects over such
tuples, made when a user asks a tensor for its shape.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import DtypeError, RuleError, ShapeError, misuse, require, shown
from staticgraph.compiler.graph.sizes import AnySize, Size, evaluate, is_open, product, proven
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.lazy_names import EXTENSIONS

Shape = tuple[int | None, ...]
MOST_PARTS = 1 << 16  # results of one operation
MOST_AXES = 32  # of an array from a file: those of NumPy can have no more, or 64 since version 2
_MOST_ELEMENTS = 1 << 48  # of an array from a file; NumPy counts an axis of size 0 as one of size 1


def is_array_shape(sizes: Sequence[int | None]) -> bool:
    """Return True if an array from a file can have this shape, also if it is empty."""
    known = [size for size in sizes if size is not None]
    return (
        len(sizes) <= MOST_AXES
        and min(known, default=0) >= 0
        and math.prod(size for size in known if size) < _MOST_ELEMENTS
    )


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and shape of a tensor."""

    dtype: DType
    shape: Shape | None

    def __eq__(self, other: Any) -> bool:
        """Return True if two types are equal whatever open sizes are."""
        if not isinstance(other, TensorType) or self.dtype is not other.dtype:
            return False
        if self.shape is None or other.shape is None:
            return self.shape is other.shape
        if len(self.shape) == len(other.shape) and all(map(operator.is_, self.shape, other.shape)):
            return True
        return proven(operator.eq, self.shape, other.shape)

    def __hash__(self) -> int:
        return hash((self.dtype.name, self.shape))

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """True if every size is known."""
        return self.shape is not None and None not in self.shape

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape where it is known in full, as in every compiled program."""
        assert self.shape is not None and None not in self.shape, self
        return self.shape  # type: ignore[return-value]

    @property
    def size(self) -> int:
        """Number of elements of a static shape."""
        shape = self.shape
        assert shape is not None and None not in shape, self
        return product(shape)

    def at(self, values: Mapping[str, int]) -> TensorType:
        """The type for values of the open sizes in a shape that is known otherwise."""
        if not is_open(self.static_shape):
            return self
        return TensorType(self.dtype, tuple(evaluate(n, values) for n in self.static_shape))

    def __str__(self) -> str:
        return f"{self.dtype.name}{shape_text(self.shape)}"


def shape_text(shape: Shape | None) -> str:
    """`[2, ?]`, or `<unknown>`."""
    return "<unknown>" if shape is None else f"[{', '.join(['?' if n is None else str(n) for n in shape])}]"


def broadcast(*shapes: Shape | None) -> Shape | None:
    """The shape that NumPy's broadcasting gives; unknown sizes stay unknown unless another size decides."""
    if None in shapes:
        return None
    if len(set(shapes)) == 1:
        return shapes[0]
    known = [s for s in shapes if s is not None]
    rank = max(map(len, known), default=0)
    out: list[int | None] = []
    for axis in range(-rank, 0):
        sizes = [s[axis] for s in known if len(s) >= -axis]
        large = {n for n in sizes if n is not None and (isinstance(n, Size) or n != 1)}
        if len(large) > 1:
            _check_closed(large)
            require(
                False,
                f"shapes {' and '.join(map(shape_text, known))} do not broadcast: axis {axis} has sizes "
                + " and ".join(str(n) for n in sizes if n not in (None, 1)),
                hint="sizes must be equal, or one of them 1",
            )
        out.append(large.pop() if large else None if None in sizes else 1)
    return tuple(out)


def _check_closed(sizes: Iterable[AnySize]) -> None:
    """Raise Undecided for different sizes that may be equal in a run, or 1, since one of them is open."""
    ordered = sorted(sizes, key=str)
    if any(isinstance(n, Size) for n in ordered):
        for pair in itertools.combinations(ordered, 2):
            assert operator.ne(*pair), pair  # equal ones are never told, but raise
        assert 1 not in ordered, ordered


def operand_shape(dims: Sequence[int | None] | None, name: str) -> Shape | None:
    """Return the shape that an operand gives, such as `dims` of `fill`.

    Args:
        dims: The sizes, None for those that depend on what is fed; None if not even their number is known.
        name: The operand's name, for the message.

    Raises:
        ShapeError: If a size is negative.
    """
    if dims is None:
        return None
    hint = "sizes are whole numbers, 0 or more"
    require(all(n is None or isinstance(n, (int, Size)) for n in dims), f"{name} is {shown(dims)}", hint)
    require(all(n is None or n >= 0 for n in dims), f"{name} {list(dims)} has a negative size")
    return tuple(dims)


def merge(a: Shape | None, b: Shape | None, what: str = "shapes") -> Shape | None:
    """The most that is known from two descriptions of one shape; an error where they disagree."""
    if a is None or b is None:
        return b if a is None else a
    fits = len(a) == len(b)
    if fits:
        for m, n in zip(a, b, strict=True):
            if not (m is None or n is None or m == n):
                fits = False
                break
    if not fits:
        text = f"{what} {shape_text(a)} and {shape_text(b)} differ"
        require(False, text, hint="sizes must agree, axis by axis")
    return tuple([n if m is None else m for m, n in zip(a, b, strict=True)])


def common_shape(first: Shape | None, *others: Shape | None) -> Shape | None:
    """The shape of a value that has one of several: sizes that differ are unknown, and so are unequal ranks.

    >>> common_shape((2, 3), (2, 4)), common_shape((2,), (2, 4))
    ((2, None), None)
    """
    for other in others:
        if first is None or other is None or len(first) != len(other):
            return None
        first = tuple(n if n == m else None for n, m in zip(first, other, strict=True))
    return first


def check_parts(name: str, count: int) -> None:
    """Check a number of results, for a type rule."""
    require(0 <= count <= MOST_PARTS, f"{name} is {count}, and must be 1 to {MOST_PARTS}")


def compatible(a: Shape | None, b: Shape | None) -> bool:
    """Return True if two shapes may be the same."""
    try:
        merge(a, b)
    except RuleError:
        return False
    return True


def normalize_axis(axis: int, rank: int, name: str = "axis", kind: type[ShapeError] = ShapeError) -> int:
    """`axis` counted from the front; an error of this kind where it is out of range.

    Undecided for an open size: all that is done with an axis depends on its value.
    """
    if not hasattr(axis, "__index__"):
        raise RuleError(f"{name} is {shown(axis)}, and must be a whole number", None, kind)
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        hint = f"{name} may be {-rank} to {rank - 1}" if rank else "a single number has no axes"
        raise RuleError(f"{name} {axis} is out of range for a tensor of rank {rank}", hint, kind)
    return axis + rank if axis < 0 else axis


def normalize_axes(axes: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Sorted axes counted from the front; None means all."""
    if axes is None:
        return tuple(range(rank))
    # The parts of text are numbers, too, or text.
    listed = tuple(axes) if isinstance(axes, Iterable) and not isinstance(axes, (str, bytes)) else (axes,)
    for axis in listed:
        if not hasattr(axis, "__index__"):
            hint = "axes are counted: 0 is the first, -1 the last"
            raise RuleError(f"axis {axis!r} is no integer", hint, DtypeError)
    return tuple(sorted({normalize_axis(int(a), rank) for a in listed}))


def as_shape(value: Any) -> Shape | None:
    """A shape from what users write: None, a list with None for unknown sizes, a TensorShape, an int."""
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return value.shape
    if isinstance(value, Dimension):
        return (value.value,)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return tuple(_size(n) for n in value)
    return (_size(value),)


def _size(value: Any) -> int | None:
    if isinstance(value, Dimension):
        return value.value
    if value is None:
        return None
    if isinstance(value, float | np.floating) and value.is_integer():  # a quotient, as `n / 2` is one
        value = int(value)
    try:
        size = value.__index__()
    except (AttributeError, TypeError):  # a class has the method too, and an array of several numbers
        hint = "a size is an integer or None; shape(x)[axis] is one that only the graph knows"
        raise misuse(DtypeError, f"{shown(value)} is not a size", hint) from None
    if size == -1:
        return None
    if size < 0:
        hint = "an unknown size is None or -1"
        raise misuse(ShapeError, f"a size must not be negative, and {size} is", hint)
    return int(size)


class Dimension:
    """One size of a `TensorShape`; `value` is an int, or None if unknown.

    >>> from staticgraph.compiler.graph.shapes import Dimension
    >>> int(Dimension(3)) * 2, (Dimension(None) * 2).value
    (6, None)
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = _size(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The size as an integer, so that it can be an operand; an unknown one as None, which cannot."""
        return np.array(self.value, dtype=dtype)

    def _with(self, other: Any, function: Any) -> Any:
        other = other.value if isinstance(other, Dimension) else other
        if not isinstance(other, int | np.integer | None):
            return NotImplemented  # a tensor knows what to do with a size
        return Dimension(None if self.value is None or other is None else function(self.value, other))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a // b)

    __div__ = __floordiv__

    def __truediv__(self, other: Any) -> Dimension:
        raise misuse(TypeError, "a Dimension cannot be divided by /", "use //")

    def __mod__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a % b)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rmod__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b % a)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b // a)

    def assert_is_compatible_with(self, other: Any) -> None:
        """ValueError if both sizes are known and differ."""
        if not self.is_compatible_with(other):
            raise misuse(ValueError, f"dimensions {self} and {other} are not compatible")

    def _compare(self, other: Any, function: Any) -> bool | None:
        other = other.value if isinstance(other, Dimension) else other
        return None if self.value is None or other is None else function(self.value, other)

    def __eq__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a == b)

    def __ne__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a != b)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a >= b)

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        if self.value is None:
            hint = "use shape(x)[axis] in the graph"
            raise misuse(TypeError, "this size is not known before the graph runs", hint)
        return self.value

    __index__ = __int__

    def is_compatible_with(self, other: Any) -> bool:
        other = Dimension(other).value if not isinstance(other, Dimension) else other.value
        return self.value is None or other is None or self.value == other

    def merge_with(self, other: Any) -> Dimension:
        other = other if isinstance(other, Dimension) else Dimension(other)
        if not self.is_compatible_with(other):
            raise misuse(ValueError, f"sizes {self.value} and {other.value} differ")
        return Dimension(other.value if self.value is None else self.value)

    def __reduce__(self) -> tuple[type, tuple[int | None]]:
        return Dimension, (self.value,)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)


class TensorShape:
    """The static shape of a tensor, in TF1's manner.

    >>> from staticgraph.compiler.graph.shapes import TensorShape
    >>> shape = TensorShape([None, 3])
    >>> shape.as_list(), shape.ndims, shape[1].value, shape.is_fully_defined()
    ([None, 3], 2, 3, False)
    """

    __slots__ = ("shape",)

    def __init__(self, dims: Any = None) -> None:
        self.shape = as_shape(dims)

    @property
    def ndims(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def rank(self) -> int | None:
        return self.ndims

    @property
    def dims(self) -> list[Dimension] | None:
        return None if self.shape is None else [Dimension(n) for n in self.shape]

    _dims = dims  # what programs have copied from Keras reads it

    def as_list(self) -> list[int | None]:
        """The sizes as a list with None for unknown ones. ValueError if the rank is unknown."""
        if self.shape is None:
            raise misuse(ValueError, "as_list() of a shape of unknown rank")
        return list(self.shape)

    def num_elements(self) -> int | None:
        return math.prod(self.shape) if self.is_fully_defined() else None  # type: ignore[arg-type]

    def is_fully_defined(self) -> bool:
        return self.shape is not None and None not in self.shape

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise misuse(ValueError, f"shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        return compatible(self.shape, as_shape(other))

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise misuse(ValueError, f"shapes {self} and {TensorShape(other)} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        self.assert_is_compatible_with(other)
        return TensorShape(merge(self.shape, as_shape(other)))

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """Return the sizes that both shapes have, unknown where they differ."""
        theirs = as_shape(other)
        if self.shape is None or theirs is None or len(self.shape) != len(theirs):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self.shape, theirs, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        tail = as_shape(other)
        return TensorShape(None if self.shape is None or tail is None else self.shape + tail)

    __add__ = concatenate

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def with_rank(self, rank: int) -> TensorShape:
        return self.merge_with(TensorShape([None] * rank))

    def assert_has_rank(self, rank: int | None) -> None:
        if self.ndims is not None and rank is not None and self.ndims != rank:
            raise misuse(ValueError, f"shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        """ValueError if both ranks are known and differ."""
        self.assert_has_rank(TensorShape(other).ndims if self.ndims is not None else None)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        if self.ndims is not None and self.ndims < rank:
            raise misuse(ValueError, f"shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        if self.ndims is not None and self.ndims > rank:
            raise misuse(ValueError, f"shape {self} must have rank at most {rank}")
        return self

    def as_proto(self) -> Any:
        """The shape as TensorFlow's message, a `TensorShapeProto`."""
        return EXTENSIONS["shape_proto"](self.shape)

    def __len__(self) -> int:
        if self.shape is None:
            raise misuse(ValueError, "a shape of unknown rank has no length")
        return len(self.shape)

    def __bool__(self) -> bool:
        return self.shape is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self.shape is None:
            raise misuse(ValueError, "a shape of unknown rank cannot be iterated over")
        return iter([Dimension(n) for n in self.shape])

    def __getitem__(self, key: int | slice) -> Any:
        if self.shape is None:
            return TensorShape(None) if isinstance(key, slice) else Dimension(None)
        if isinstance(key, slice):
            return TensorShape(self.shape[key])
        if not -len(self.shape) <= key < len(self.shape):
            raise misuse(IndexError, f"the shape {self} has no axis {key}: there are {len(self.shape)}")
        return Dimension(self.shape[key])

    def __eq__(self, other: Any) -> bool:
        try:
            return self.shape == as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.shape)

    def __reduce__(self) -> tuple[type, tuple[list[Dimension] | None]]:
        return TensorShape, (self.dims,)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        if self.shape is None:
            return "<unknown>"
        inner = ", ".join("?" if n is None else str(n) for n in self.shape)
        return f"({inner},)" if len(self.shape) == 1 else f"({inner})"
