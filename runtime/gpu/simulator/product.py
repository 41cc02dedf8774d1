"""Products of matrices in memory, by NumPy: what cuBLAS does on a GPU."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float32, float64, round_to_bfloat16
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Product

DTYPES = frozenset({float16, bfloat16, float32, float64})
_POINTER = np.dtype(np.uint64)


def check(product: Product) -> None:
    """ValueError if a library could not be asked for this product."""
    p = product
    if p.dtype not in DTYPES:
        raise ValueError(f"a product of {p.dtype}")
    if min(p.m, p.n, p.k, p.batch, *p.axes) < 1:
        raise ValueError(f"an empty product: {p}")
    if p.out.transposed:
        raise ValueError(f"the result of a product is transposed: {p}")
    for matrix, rows, columns in _operands(p):
        if matrix.stride < (rows if matrix.transposed else columns):
            raise ValueError(f"rows of `{matrix.buffer}` overlap: {p}")
        if min(matrix.offset, matrix.batch_stride, *matrix.steps) < 0:
            raise ValueError(f"`{matrix.buffer}` begins before its buffer: {p}")
    apart = p.out.batch_stride >= (p.m - 1) * p.out.stride + p.n
    between_rows = p.out.batch_stride >= p.n and (p.batch - 1) * p.out.batch_stride + p.n <= p.out.stride
    if p.batch > 1 and not (apart or between_rows):
        raise ValueError(f"results of the batch overlap: {p}")
    if bool(p.axes) != bool(p.pointers):
        raise ValueError(f"a batch of several axes needs pointers, and no other: {p}")


def sizes(product: Product) -> tuple[int, ...]:
    """Return how many bytes of each buffer are read or written, counted from its start.

    The buffers are those of a, b and out, and of the pointers if the product has any.
    """
    p = product
    operands = (p.dtype.size * _elements(p, m, rows, columns) for m, rows, columns in _operands(p))
    return (*operands, *([3 * _POINTER.itemsize * p.count] if p.pointers else []))


def multiply(product: Product, a: np.ndarray, b: np.ndarray, out: np.ndarray, *pointers: np.ndarray) -> None:
    """Multiply, on bytes. Sums of 16-bit numbers are float32. ValueError if pointers lead elsewhere."""
    p = product
    for found in pointers:
        _check_pointers(p, (a, b, out), found.view(_POINTER))
    views = [
        _matrices(buffer.view(stored(p.dtype)), m, p, rows, columns)
        for buffer, (m, rows, columns) in zip((a, b, out), _operands(p), strict=True)
    ]
    left, right, old = (widened(view, p.dtype) for view in views)
    with np.errstate(all="ignore"):
        result = left @ right
        if p.alpha != 1.0:
            result = result * result.dtype.type(p.alpha)
        if p.accumulate:
            result = result + old
        views[2][...] = narrowed(result, p.dtype)


def _operands(p: Product) -> tuple[tuple[Matrix, int, int], ...]:
    """Operands, each with its rows and columns."""
    return (p.a, p.m, p.k), (p.b, p.k, p.n), (p.out, p.m, p.n)


def _check_pointers(p: Product, buffers: tuple[np.ndarray, ...], found: np.ndarray) -> None:
    starts = [
        buffer.ctypes.data + start * p.dtype.size
        for buffer, matrix in zip(buffers, (p.a, p.b, p.out), strict=True)
        for start in p.starts(matrix)
    ]
    if found[: len(starts)].tolist() != starts:
        raise ValueError(f"pointers that lead elsewhere than to the matrices: {p}")


def _elements(p: Product, matrix: Matrix, rows: int, columns: int) -> int:
    long, short = (columns, rows) if matrix.transposed else (rows, columns)
    return max(p.starts(matrix)) + (long - 1) * matrix.stride + short


def _matrices(buffer: np.ndarray, matrix: Matrix, p: Product, rows: int, columns: int) -> np.ndarray:
    """A view of them in their buffer."""
    along = (1, matrix.stride) if matrix.transposed else (matrix.stride, 1)
    strides = tuple(s * buffer.itemsize for s in (*matrix.steps, matrix.batch_stride, *along))
    shape = (*p.axes, p.batch, rows, columns)
    return np.lib.stride_tricks.as_strided(buffer[matrix.offset :], shape, strides)


def stored(dtype: DType) -> np.dtype:
    """Return the NumPy dtype in which numbers of a dtype are stored."""
    return np.dtype(np.uint16) if dtype is bfloat16 else dtype.numpy


def widened(kept: np.ndarray, dtype: DType) -> np.ndarray:
    """Numbers as the library computes with them."""
    if dtype is bfloat16:
        return (kept.astype(np.uint32) << 16).view(np.float32)
    return kept.astype(np.result_type(dtype.numpy, np.float32))


def narrowed(wide: np.ndarray, dtype: DType) -> np.ndarray:
    """Numbers as they are kept."""
    if dtype is bfloat16:
        return (round_to_bfloat16(wide).view(np.uint32) >> 16).astype(np.uint16)
    return wide.astype(dtype.numpy)
