"""Measure the backward errors of linear algebra beside LAPACK's in the same precision:

    python -m tools.accuracy.backward_errors [--dtype float32 | float64] [--sizes 4,24,100,1000]

The backward error of a factorisation is the distance between a matrix and the product of its factors, as a
part of the matrix; that of a solution is what is left of the system, as a part of its terms. Both are
Frobenius norms, told in roundings of the dtype. An error of a few roundings is as good as any algorithm of
that precision gives, whatever the condition of a matrix. Here it is 10**4 in float32 and 10**9 in float64.

The table is Markdown. docs/accuracy.md has that of a full run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg

import staticgraph as sg

CONDITIONS = {"float32": 1e4, "float64": 1e9}
Error = Callable[..., float]


def matrices(n: int, dtype: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A positive definite matrix, a square one, both of the condition of the dtype, and right sides."""
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    values = np.geomspace(1, 1 / CONDITIONS[dtype], n)
    definite = (left * values) @ left.T
    return (
        ((definite + definite.T) / 2).astype(dtype),
        ((left * values) @ right).astype(dtype),
        rng.normal(size=(n, 8)).astype(dtype),
    )


def wide(x: np.ndarray) -> np.ndarray:
    """The array in a precision whose products have no errors beside those that are measured."""
    return x.astype(np.longdouble if x.dtype == np.float64 else np.float64)


def distance(found: np.ndarray, wanted: np.ndarray, scale: float, dtype: str) -> float:
    """A distance in roundings of the dtype."""
    off = np.linalg.norm((found - wanted).astype(float))
    return float(off / scale / np.finfo(dtype).eps)


def left_over(matrix: np.ndarray, x: np.ndarray, rhs: np.ndarray) -> float:
    """The residual of a system, in roundings."""
    scale = np.linalg.norm(matrix) * np.linalg.norm(x) + np.linalg.norm(rhs)
    return distance(wide(matrix) @ wide(x), wide(rhs), scale, matrix.dtype.name)


def product_error(factors: tuple[np.ndarray, ...], matrix: np.ndarray) -> float:
    """The distance between a matrix and the product of two factors."""
    a, b = (wide(factor) for factor in factors)
    return distance(a @ b, wide(matrix), np.linalg.norm(matrix), matrix.dtype.name)


def orthogonality_error(vectors: np.ndarray) -> float:
    """The distance between a product of vectors with themselves and the unit matrix."""
    n, product = len(vectors), wide(vectors.T) @ wide(vectors)
    return distance(product, np.eye(n), np.sqrt(n), vectors.dtype.name)


def run(function: Callable[..., Any], *arrays: np.ndarray) -> Any:
    """The results of generated code for arrays."""
    with sg.Graph().as_default(), sg.Session() as session:
        feeds = [sg.placeholder(array.dtype, array.shape) for array in arrays]
        return session.run(function(*feeds), dict(zip(feeds, arrays, strict=True)))


def rows(n: int, dtype: str, rng: np.random.Generator) -> Iterator[tuple[str, float, float]]:
    """Yield what is computed, our error, and LAPACK's."""
    definite, square, rhs = matrices(n, dtype, rng)
    mine, theirs = run(sg.cholesky, definite), scipy.linalg.cholesky(definite, lower=True)
    yield "Cholesky factor", *(product_error((lower, lower.T), definite) for lower in (mine, theirs))
    both, order = run(sg.linalg.lu, square)
    factors = np.tril(both, -1) + np.eye(n), np.triu(both)
    row_order, lower, upper = scipy.linalg.lu(square, p_indices=True)
    ours = product_error(factors, square[order])
    yield "L and U", ours, product_error((lower[row_order], upper), square)
    q, r = run(sg.linalg.qr, square)
    other_q, other_r = scipy.linalg.qr(square)
    yield "Q and R", product_error((q, r), square), product_error((other_q, other_r), square)
    yield "Q, times its transpose", *(orthogonality_error(each) for each in (q, other_q))
    mine = run(sg.matrix_triangular_solve, mine, rhs)
    other = scipy.linalg.solve_triangular(theirs, rhs, lower=True)
    lower = run(sg.cholesky, definite)
    yield "triangular system", left_over(lower, mine, rhs), left_over(theirs, other, rhs)
    mine, other = run(sg.matrix_solve, square, rhs), scipy.linalg.solve(square, rhs)
    yield "system", left_over(square, mine, rhs), left_over(square, other, rhs)
    mine, other = run(sg.matrix_inverse, square), scipy.linalg.inv(square)
    yield "inverse", *(left_over(square, each, np.eye(n, dtype=dtype)) for each in (mine, other))
    symmetric = (square + square.T) / 2
    both = run(sg.linalg.eigh, symmetric), scipy.linalg.eigh(symmetric, driver="evd")
    yield "eigenvalues and vectors", *(product_error((wide(v) * w, v.T), symmetric) for w, v in both)
    yield "eigenvectors, times their transpose", *(orthogonality_error(v) for _, v in both)
    s, u, v = run(sg.svd, square)
    other_u, other_s, other_v = scipy.linalg.svd(square)
    sides = (u, s, v), (other_u, other_s, other_v.T)
    yield "singular values and vectors", *(product_error((wide(u) * s, v.T), square) for u, s, v in sides)
    yield "singular vectors, times their transpose", *(orthogonality_error(v) for _, _, v in sides)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dtype", choices=CONDITIONS, help="default: both")
    parser.add_argument("--sizes", default="4,24,100,1000", help="rows of matrices, separated by commas")
    options = parser.parse_args()
    print("| | rows | dtype | error | LAPACK's |\n|---|---|---|---|---|")
    for dtype in [options.dtype] if options.dtype else CONDITIONS:
        for n in map(int, options.sizes.split(",")):
            for name, mine, theirs in rows(n, dtype, np.random.default_rng(n)):
                print(f"| {name} | {n} | {dtype} | {mine:.2f} | {theirs:.2f} |")


if __name__ == "__main__":
    main()
