"""Products and other linear algebra in ONNX."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.opdef import ops
from staticgraph.formats.onnx.write.rules import Use, direct, without, writes
from staticgraph.formats.onnx.write.value import Held

direct({"matrix_determinant": "Det"})

without(
    "ONNX has no operators of linear algebra but products and Det",
    "cholesky factor_nonzero factor_positive log_matrix_determinant lu matrix_cofactors "
    "matrix_exponential matrix_inverse matrix_solve small_cofactors triangular_solution "
    "matrix_square_root matrix_triangular_solve pseudo_inverse qr self_adjoint_eig square_svd svd sylvester "
    "tridiagonal_solve unit_lower_inverse",
)
without(
    "ONNX's operators do not take complex numbers",
    "angle complex complex_abs complex_square_root complex_sylvester conj fft fft2d fft3d fft_columns "
    "ifft ifft2d ifft3d imag irfft irfft2d irfft3d irfft_rows open_fft open_fft_planes open_irfft "
    "open_irfft_planes open_rfft open_rfft_planes paired_spectrum real real_spectrum rfft rfft2d rfft3d "
    "rfft_rows",
)


def _turned(x: Held) -> Any:
    """Exchange the last two axes."""
    return ops.transpose(x, perm=(*range(x.rank - 2), x.rank - 1, x.rank - 2))


@writes("matmul")
def _matmul(use: Use, a: Held, b: Held, transpose_a: bool, transpose_b: bool) -> Any:
    return use("MatMul", _turned(a) if transpose_a else a, _turned(b) if transpose_b else b)


@writes("batch_matmul")
def _batch_matmul(use: Use, x: Held, y: Held, adj_x: bool, adj_y: bool) -> Any:
    return use("MatMul", _turned(x) if adj_x else x, _turned(y) if adj_y else y)


@writes("einsum")
def _einsum(use: Use, *inputs: Held, equation: str) -> Any:
    """Axes of one letter have one size in ONNX: those of size 1 are repeated first."""
    left, _, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) == 2 and _is_product(terms[0], terms[1], right):
        return use("MatMul", *inputs)
    largest = {letter: n for x, term in zip(inputs, terms, strict=True) for letter, n in _not_one(x, term)}
    whole = []
    for x, term in zip(inputs, terms, strict=True):
        repeated = any(
            letter in largest for letter, n in zip(term, x.type.shape or (), strict=True) if n == 1
        )
        shape = [largest.get(letter, n) for letter, n in zip(term, x.shape, strict=True)] if repeated else ()
        whole.append(ops.broadcast_to(x, shape=tuple(shape)) if repeated else x)
    return use("Einsum", *whole, equation=equation)


def _is_product(a: str, b: str, out: str) -> bool:
    """Return True if rows of `a` are multiplied by a matrix `b`, for example in `abk,kn->abn`."""
    matrix = len(b) == 2 and a[-1:] == b[:1] and b[0] != b[1] and out == a[:-1] + b[1]
    return matrix and len(set(a)) == len(a) and b[1] not in a


def _not_one(x: Held, term: str) -> list[tuple[str, Any]]:
    """The sizes by letter, but for those that are repeated."""
    known = x.type.shape or (None,) * x.rank
    return [(letter, size) for letter, n, size in zip(term, known, x.shape, strict=True) if n != 1]
