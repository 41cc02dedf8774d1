"""Sums and differences of the elements of small tiles, as Winograd's convolutions have them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import cache, reduce
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType, shape_text
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.ops.kinds import Piece, View, assembly
from staticgraph.compiler.ops.samples import Sample, real

_STEP = 2  # elements from one tile of an image to the next one
_SUMS = ((1.0, 1.0, 0.0), (0.0, -0.5, 0.5))
_MOST = 1e18  # of a factor: products of two are finite in any dtype
_IMAGES = 4  # axes: images, rows, columns, channels

Matrix = Sequence[Sequence[float]]


def _type(x: TensorType, matrix: Matrix, tiles: Any = None, image: bool = False) -> TensorType:
    rows = all(isinstance(row, tuple | list) and all(map(_is_factor, row)) and any(row) for row in matrix)
    require(rows and len({*map(len, matrix)}) == 1, f"matrix {matrix} must have equal rows, not of zeros")
    counts = (1, 1) if tiles is None else tiles
    pair = isinstance(counts, tuple | list) and len(counts) == 2
    require(pair and all(map(_is_count, counts)), f"tiles {tiles} must be two sizes")
    if x.shape is None:
        return TensorType(x.dtype, None)
    rest = _tiles(x, len(matrix[0]), tiles)
    if not image:
        return TensorType(x.dtype, (len(matrix) ** 2, *rest))
    require(len(rest) == _IMAGES, f"an image is made of 4 axes of tiles, not of {shape_text(rest)}")
    across = tuple(None if n is None else n * len(matrix) for n in rest[1:3])
    return TensorType(x.dtype, (rest[0], *across, rest[3]))


def _is_count(number: Any) -> bool:
    """Return True for a number of tiles; an open one may be 0."""
    return isinstance(number, Size) or (isinstance(number, int) and number > 0)


def _is_factor(number: Any) -> bool:
    """Return True for a number that an entry of the matrix may be."""
    return isinstance(number, int | float) and abs(number) < _MOST


def _tiles(x: TensorType, width: int, tiles: Any) -> tuple[Any, ...]:
    """The axes that count tiles, of `width` rows and columns each."""
    assert x.shape is not None
    if tiles is None:
        fits = len(x.shape) >= 2 and all(n in (None, width) for n in x.shape[:2])
        require(fits, f"shape {shape_text(x.shape)} must begin with {width}, {width}, as wide as the matrix")
        return x.shape[2:]
    require(len(x.shape) == _IMAGES, f"tiles are of images, and {shape_text(x.shape)} has no 4 axes")
    needs = tuple(_STEP * (count - 1) + width for count in tiles)
    known = [pair for pair in zip(x.shape[1:3], needs, strict=True) if not isinstance(pair[1], Size)]
    enough = all(have is None or have >= need for have, need in known)  # of open ones, code looks at places
    require(enough, f"{tiles} tiles need {needs} rows and columns of {shape_text(x.shape)}")
    return (x.shape[0], *tiles, x.shape[3])


def _numpy(x: np.ndarray, matrix: Matrix, tiles: Any = None, image: bool = False) -> np.ndarray:
    m = np.array(matrix, x.dtype)
    if tiles is not None:
        every = range(m.shape[1])
        rows, columns = ([slice(a, a + _STEP * n - 1, _STEP) for a in every] for n in tiles)
        x = np.stack([np.stack([x[:, row, column] for column in columns]) for row in rows])
    made = np.einsum("ia,jb,ab...->ij...", m, m, x)
    if not image:
        return made.reshape(len(m) ** 2, *made.shape[2:])
    images, high, wide, channels = made.shape[2:]
    return made.transpose(2, 3, 0, 4, 1, 5).reshape(images, high * len(m), wide * len(m), channels)


@assembly(
    type=_type, numpy=_numpy, dtypes=frozenset((float32, float64)), differentiable=False,
    samples=[
        Sample(real(2, 6, 5, 3), matrix=_SUMS, tiles=(2, 2)),
        Sample(real(3, 3, 4), matrix=_SUMS),
        Sample(real(3, 3, 2, 2, 1, 4), matrix=_SUMS, image=True),
        Sample(real(1, 4, 4, 1), matrix=((-1.0, 1.0),), tiles=(1, 2), image=True),
    ],
)  # fmt: skip
def tile_transform(x: View, *, matrix: Any, tiles: Any = None, image: bool = False) -> list[Piece]:
    """M v M' for a matrix M and all tiles v of a tensor. It is made by a pass, after derivatives are taken.

    The first two axes are those of the tiles. With `tiles`, the numbers of their rows and columns, they lie
    in images [images, rows, columns, channels], and begin at every second element. The first axis of the
    result counts the elements of a tile, row by row. With `image`, tiles lie side by side in images.
    """
    rest = x.shape[2:] if tiles is None else (x.shape[0], *tiles, x.shape[3])

    @cache  # each is in several sums
    def element(a: int, b: int, at: tuple[Expr, ...]) -> Expr:
        if tiles is None:
            return x[(a, b, *at)]
        images, row, column, channel = at
        return x[images, row * _STEP + a, column * _STEP + b, channel]

    def piece(number: int, by_rows: Sequence[float], by_columns: Sequence[float]) -> Piece:
        factors = [(p * q, a, b) for a, p in enumerate(by_rows) for b, q in enumerate(by_columns) if p * q]

        def total(at: tuple[Expr, ...]) -> Expr:
            return _sum([(factor, element(a, b, at)) for factor, a, b in factors])

        if image:
            first, step = divmod(number, len(matrix)), (len(matrix),) * 2
            return Piece((0, *first, 0), rest, total, (1, *step, 1))
        return Piece((number, *(0 for _ in rest)), (1, *rest), lambda at: total(at[1:]))

    return [piece(number, *rows) for number, rows in enumerate(product(matrix, matrix))]


def _sum(terms: Sequence[tuple[float, Any]]) -> Any:
    """The sum of values times factors. Those with factors of one size are added up, then multiplied."""
    ordered = sorted(terms, key=lambda term: -term[0])
    parts = []
    for size in sorted({abs(factor) for factor, _ in terms}):
        (first, part), *others = (term for term in ordered if abs(term[0]) == size)
        part = part if first > 0 else -part
        for factor, value in others:
            part = part + value if factor > 0 else part - value
        parts.append(part if size == 1 else part * size)
    return reduce(operator.add, parts)
