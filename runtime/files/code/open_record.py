"""Open sizes in the record of a program: the shapes of its feeds, its guards, and types with sizes.

A size is a number, or a polynomial in the symbols of the feeds as `to_data` of `open_sizes.py` tells it.
Nothing that is read is taken for granted: each size is of bounded length and depth, has bounded factors and
known symbols.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from staticgraph.compiler.capture.guards import Guard, guard_of_data
from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.capture.step import SHORT
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.graph.open_sizes import linear, of_data, to_data
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Size
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.runtime.files.attributes import Kinds, check, fields, items, type_of

_DEEPEST = 64  # quotients of quotients, as of a deep net that halves its pictures
_MOST_PARTS = 1 << 14  # of one size
_MOST_FACTOR = 1 << 62
_MOST_SYMBOLS = 1 << 10
_OPEN: Kinds = {"shapes": (list,), "guards": (list,), "blocks": (list,)}
_IF_SIZED: Kinds = {"sized": (list,), "contents": (list,)}  # of a program that takes sizes as values of feeds


def open_record(shapes: OpenShapes, blocks: Sequence[AnySize]) -> dict[str, Any]:
    """Describe what an open program is good for, and the bytes of its blocks of memory."""
    sized = {"sized": [*shapes.sized], "contents": [[*map(to_data, row)] for row in shapes.contents]}
    return {
        **(sized if shapes.sized else {}),
        "shapes": [[*map(to_data, shape)] for shape in shapes.shapes],
        "guards": [guard.to_data() for guard in shapes.guards],
        "blocks": [*map(to_data, blocks)],
    }


def encode_open_type(type: TensorType) -> list[Any]:
    """Dtype and shape of a type whose sizes are numbers or open."""
    return [type.dtype.name, [*map(to_data, type.static_shape)]]


class OpenRecord:
    """The record of a program's open sizes, as it was read.

    Args:
        value: The record; None for a program without open sizes.
    """

    def __init__(self, value: Any) -> None:
        told = {"shapes": [], "guards": [], "blocks": []} if value is None else value
        told = fields(told, "the open sizes of a program", _OPEN, _IF_SIZED)
        shapes = items(told["shapes"], "the shapes of feeds", list)
        self._shapes = [items(shape, "the shape of a feed", int, list) for shape in shapes]
        contents = items(told["contents"] or [], "the contents of feeds", list)
        self._contents = [items(row, "the contents of a feed", int, list) for row in contents]
        self._sized = items(told["sized"] or [], "the feeds that are sizes", int)
        sizes = [_size(told) for row in (*self._shapes, *self._contents) for told in row]
        self.known = frozenset(form[0] for size in sizes if (form := linear(size)) is not None)
        if len(self.known) > _MOST_SYMBOLS:
            raise InvalidFileError(f"a program has {len(self.known)} open sizes")
        self._told = told

    def shapes(self, feeds: Sequence[Tensor]) -> OpenShapes:
        """The shapes of these feeds, and the guards."""
        if len(feeds) != len(self._shapes):
            raise InvalidFileError("a program has other feeds than shapes")
        shapes = tuple(map(self._shape, feeds, self._shapes))
        guards = tuple(map(self._guard, self._told["guards"]))
        known = sorted({*self._sized} & {*range(len(feeds))})
        if self._sized != known or len(known) != len(self._contents):
            raise InvalidFileError("a program has other contents than feeds that are sizes")
        contents = tuple(map(self._content, (feeds[n] for n in self._sized), self._contents))
        return OpenShapes(shapes, guards, tuple(self._sized), contents)

    def blocks(self) -> tuple[AnySize, ...]:
        """The bytes of each block of memory of open size."""
        return tuple(self.size(each, "a block of memory") for each in self._told["blocks"])

    def size(self, value: Any, what: str) -> AnySize:
        """The size that was told. Raises InvalidFileError."""
        _check_size(value, what, self.known)
        try:
            return of_data(value)
        except (ValueError, TypeError, RecursionError):
            raise InvalidFileError(f"{what} is no size") from None

    def type(self, value: Any, what: str) -> TensorType:
        """The type that `encode_open_type` was given."""
        if len(check(value, what, list)) != 2:
            raise InvalidFileError(f"{what} is not a dtype and a shape")
        sizes = items(value[1], f"the shape of {what}", int, list)
        known = type_of([value[0], [n if isinstance(n, int) else None for n in sizes]], what)
        return TensorType(known.dtype, tuple(self.size(n, f"a size of {what}") for n in sizes))

    def _shape(self, feed: Tensor, told: list[Any]) -> tuple[AnySize, ...]:
        declared = feed.type.shape
        if declared is None or len(declared) != len(told):
            raise InvalidFileError(f"a program takes {feed.name} with {len(told)} axes")
        shape = tuple(self.size(n, f"a size of {feed.name}") for n in told)
        for size, n in zip(shape, declared, strict=True):
            if not _fits(size) or (n is not None if isinstance(size, Size) else n not in (None, size)):
                raise InvalidFileError(f"a program takes {feed.name} with a size that it cannot have")
        return shape

    def _content(self, feed: Tensor, told: list[Any]) -> tuple[AnySize, ...]:
        if not feed.dtype.is_integer or not 0 < len(told) <= SHORT:
            raise InvalidFileError(f"a program takes {len(told)} values of {feed.name} as sizes")
        row = tuple(self.size(n, f"a value of {feed.name}") for n in told)
        if not all(_fits(n) for n in row):
            raise InvalidFileError(f"a program takes {feed.name} with a value that it cannot have")
        return row

    def _guard(self, told: Any) -> Guard:
        if len(check(told, "a guard", list)) != 2:
            raise InvalidFileError("a guard is a size and how it is compared with 0")
        self.size(told[0], "the size of a guard")
        try:
            return guard_of_data(told)
        except (ValueError, TypeError):
            raise InvalidFileError("a guard is a size that is compared with 0") from None


def _fits(size: AnySize) -> bool:
    """Return True if a size can be that of a feed, in runs that are told apart by its symbol."""
    if not isinstance(size, Size):
        return size >= 0
    form = linear(size)
    return form is None or (form[1] > 0 and form[2] >= 0)


def _size(told: Any) -> AnySize:
    """A size of a feed."""
    if isinstance(told, int):
        return told
    _check_size(told, "a size of a feed", None)
    try:
        return of_data(told)
    except (ValueError, TypeError, RecursionError):
        raise InvalidFileError("a size of a feed is no size") from None


def _check_size(value: Any, what: str, known: Container[str] | None) -> None:
    """Raise InvalidFileError if a size is too long, too deep, or of symbols that are not known."""
    left = _MOST_PARTS
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        told, depth = waiting.pop()
        if type(told) is int:
            if abs(told) >= _MOST_FACTOR:
                raise InvalidFileError(f"{what} has a number that is too large")
            continue
        for term in check(told, what, list):
            if type(term) is not list or len(term) != 2:
                raise InvalidFileError(f"{what} has a term that is none")
            waiting.append((check(term[1], f"a factor of {what}", int), depth))
            left -= 1 + len(check(term[0], f"a term of {what}", list))
            if left < 0 or depth > _DEEPEST:
                raise InvalidFileError(f"{what} is too long")
            for atom in term[0]:
                if type(atom) is str:
                    if (known is not None and atom not in known) or not atom.isidentifier():
                        raise InvalidFileError(f"{what} depends on {atom!r}, which no feed has")
                elif type(atom) is list and 2 <= len(atom) <= 3 and type(atom[0]) is str:
                    waiting += [(inner, depth + 1) for inner in atom[1:]]
                else:
                    raise InvalidFileError(f"{what} has a term that is none")
