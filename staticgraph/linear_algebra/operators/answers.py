"""Results of functions of matrices, such as `sg.linalg.det`, for arguments that are linear operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.linear_algebra import linalg


def _product(
    a: Any, b: Any, *, adjoint_a: bool = False, adjoint_b: bool = False, name: str = "matmul", **refused: Any
) -> Any:
    if any(refused.values()):
        hint = "an operator may be replaced by its adjoint: adjoint_a, adjoint_b"
        raise misuse(ValueError, f"matmul of a linear operator takes no {', '.join(refused)}", hint)
    if is_operator(a):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, name=name)
    return linalg.adjoint(
        b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, name=name)
    )  # (B^H A^H)^H


def _solution(matrix: Any, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
    if not is_operator(matrix):
        hint = "rhs.to_dense() is a tensor"
        raise misuse(
            ValueError, "solve: the right side is a linear operator, and the matrix is a tensor", hint
        )
    return matrix.solve(rhs, adjoint=adjoint, name=name)


def _inverse(input: Any, adjoint: bool = False, name: str = "inverse") -> Any:
    inverse = input.inverse(name)
    return inverse.adjoint() if adjoint else inverse


def _log_determinant(matrix: Any, name: str = "log_abs_det") -> Any:
    if not (matrix.is_positive_definite and matrix.is_self_adjoint):
        text = f"logdet: {matrix.name} is not known to be positive definite"
        raise misuse(ValueError, text, "give is_self_adjoint=True and is_positive_definite=True")
    return matrix.log_abs_determinant(name)


def is_operator(operand: Any) -> bool:
    """Return True for a linear operator."""
    return hasattr(type(operand), "answer")


# By the name of the function: what it is for an operator.
ANSWERS: dict[str, Callable[..., Any]] = {
    "adjoint": lambda matrix, name="adjoint": matrix.adjoint(name),
    "cholesky": lambda input, name="cholesky": input.cholesky(name),
    "det": lambda input, name="det": input.determinant(name),
    "inv": _inverse,
    "logdet": _log_determinant,
    "matmul": _product,
    "matrix_diag_part": lambda input, name="diag_part", k=0, padding_value=0: input.diag_part(name),
    "solve": _solution,
    "trace": lambda x, name="trace": x.trace(name),
}
