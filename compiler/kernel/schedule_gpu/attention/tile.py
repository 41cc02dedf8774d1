"""Tiles of queries that attention is cut into, where one function can do all of it.

A block of threads has the scores of a few queries in shared memory: as much of it as every GPU gives without
being asked or, for whole rows that need it, all that a block may ask for. They are made in tiles of columns,
as any product is, and read in steps of the second product.

Sums, and rows of the results, may have 128 numbers, or 256 where tensor cores multiply: of more, multiplying
takes most of the time, and the library does that better.

Where all keys fit for 32 queries, or for as many as there are, rows are done as a whole. With fewer, keys and
values would be read so often that it is better to do some keys after others, which only a softmax allows.
Otherwise, 16 queries are enough, but 8 that exist.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.schedule_gpu.attention.form import AttentionForm
from staticgraph.compiler.kernel.schedule_gpu.products.operand import OperandTile
from staticgraph.compiler.kernel.schedule_gpu.products.shape import Shape
from staticgraph.compiler.kernel.schedule_gpu.products.tiles import operand_tiles
from staticgraph.compiler.kernel.schedule_gpu.target import SHARED_BYTES
from staticgraph.compiler.support.dataclass import dataclass

_LONGEST, _LONGEST_BY_TENSOR = 128, 256  # products of a score, and columns of a result
_ENOUGH, _LEAST_QUERIES = 32, 8  # queries that a block should have, and that there must be
_FLOAT = 4  # bytes
_GAP = 4  # elements between rows of scores, so that neighbours lie in different banks
_DEPTHS = (16, 8)  # products of a step, to choose from

# Of a block of 256 threads, and of one of 4 warps with tensor cores; most queries first.
_SHAPES = (
    ((64, 128, 4, 8), (64, 64, 4, 4), (64, 32, 4, 2)),
    ((32, 128, 4, 4), (32, 64, 2, 4), (32, 32, 2, 2)),
    ((16, 128, 2, 4), (16, 64, 2, 2), (16, 32, 1, 2)),
)
_TENSOR_SHAPES = (
    ((64, 128, 32, 64), (64, 64, 32, 32), (64, 32, 32, 16)),
    ((32, 128, 16, 64), (32, 64, 16, 32), (32, 32, 16, 16)),
    ((16, 128, 16, 32), (16, 64, 16, 16), (16, 32, 16, 8)),
)


@dataclass(frozen=True, slots=True)
class AttentionTile:
    """A block's queries: the shapes of both products have as many rows and threads. In shared memory, rows of
    scores are `pitch` elements apart.
    """

    first: Shape
    second: Shape | None
    pitch: int
    pool: int  # elements of shared memory for operands

    @property
    def queries(self) -> int:
        """Number of queries of a block."""
        return self.first.rows

    def is_enough(self, form: AttentionForm) -> bool:
        """True if enough queries share keys and values, so that these are not read too often."""
        return self.queries >= min(_ENOUGH, form.query.extent)

    @property
    def shared(self) -> int:
        """Bytes of shared memory; there may be three numbers for each row besides."""
        return (self.scores + self.pool + 3 * self.queries) * _FLOAT

    @property
    def scores(self) -> int:
        """Elements of shared memory for scores."""
        return self.queries * self.pitch


def operands(form: AttentionForm, product: Contraction, shape: Shape) -> tuple[OperandTile, OperandTile]:
    """Return both operands of a product.

    The left operand of the second product is unused, since the weights are already in shared memory.
    """
    return operand_tiles(product, form.along(product), shape)


def whole_rows(form: AttentionForm, tensor: bool, room: int = SHARED_BYTES) -> AttentionTile | None:
    """The tile with the most queries for whose rows there is `room`, in bytes; None if it does not pay."""
    return _most_queries(form, tensor, lambda shapes: _whole(form, shapes), room)


def some_keys(form: AttentionForm, tensor: bool) -> AttentionTile | None:
    """A tile for rows that are done some keys after others; None if it does not pay."""
    if form.second is None:
        return None
    return _most_queries(form, tensor, lambda shapes: _part(form, shapes))


def _most_queries(
    form: AttentionForm,
    tensor: bool,
    cut: Callable[[list[Shape]], AttentionTile | None],
    room: int = SHARED_BYTES,
) -> AttentionTile | None:
    found: AttentionTile | None = None
    longest = _LONGEST_BY_TENSOR if tensor else _LONGEST
    if max(form.first.depth, form.second.lanes.extent if form.second is not None else 0) > longest:
        return None
    if form.query.extent < _LEAST_QUERIES:
        return None
    for sizes in _TENSOR_SHAPES if tensor else _SHAPES:
        if found is not None and form.query.extent > found.queries // 2:
            break
        for depth in _DEPTHS:
            made = cut([Shape(r, c, depth, high, wide, tensor) for r, c, high, wide in sizes])
            if made is not None and made.shared <= room:
                found = made
                break
    return found


def _whole(form: AttentionForm, shapes: list[Shape]) -> AttentionTile:
    second = _least_waste(shapes, form.second.lanes.extent) if form.second is not None else None
    return _tile(form, _least_waste(shapes, form.keys.extent), second, form.keys.extent)


def _part(form: AttentionForm, shapes: list[Shape]) -> AttentionTile | None:
    """All results of a query must be in registers."""
    assert form.second is not None
    enough = [s for s in shapes if s.columns >= form.second.lanes.extent]
    first = next(s for s in shapes if s.columns <= 64)
    return _tile(form, first, min(enough, key=lambda s: s.columns), first.columns) if enough else None


def _tile(form: AttentionForm, first: Shape, second: Shape | None, keys: int) -> AttentionTile:
    """The tile with the scores of so many keys."""
    left, right = operands(form, form.first, first)
    pool = 2 * (left.elements + right.elements)
    if second is not None and form.second is not None:
        _, value = operands(form, form.second, second)
        pool, keys = max(pool, 2 * value.elements), -(-keys // second.depth) * second.depth
    return AttentionTile(first, second, -(-keys // _GAP) * _GAP + _GAP, pool)


def _least_waste(shapes: list[Shape], columns: int) -> Shape:
    """The shape whose threads multiply the fastest for so many columns."""
    return max(shapes, key=lambda s: _speed(s) * columns / (-(-columns // s.columns) * s.columns))


def _speed(shape: Shape) -> float:
    """Products per turn of the threads of a shape, as these also read shared memory."""
    multiply, read = shape.high * shape.wide, shape.high + shape.wide
    if shape.tensor:
        multiply, read = shape.high // 16 * (shape.wide // 8), shape.high // 4 + shape.wide // 4
    return multiply / (multiply + read)
