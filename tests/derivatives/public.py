"""Public functions whose derivatives are compared: those of the golden cases, in float64, and those of linear
algebra at matrices with equal eigenvalues, without full rank, and in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import staticgraph.compat.tf1 as tf
from tests.derivatives.exceptions import not_compared
from tests.derivatives.points import CHANGES
from tests.golden.cases import SUBJECTS
from tests.golden.runner import Value, as_list


@dataclass(frozen=True)
class Point:
    """A function of tensors, and arrays that it is taken at."""

    name: str
    function: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]


def golden_points(deep: bool = True) -> Iterator[Point]:
    """The golden cases with derivatives that take float64; if `deep` all, also with special elements."""
    for subject, cases in SUBJECTS.items():
        for case in cases:
            takes = case.dtype == ("float32" if deep else "float64") if isinstance(case, Value) else False
            if takes and case.differentiate:
                yield from _of_case(f"{subject}/{case.name}", replace(case, dtype="float64"), deep)


def _of_case(name: str, case: Value, deep: bool) -> Iterator[Point]:
    feeds = case.feeds()
    floats = [i for i, a in enumerate(feeds) if a.dtype.kind in "fc"]
    if not floats:
        return
    changes = {"": lambda a: a, **(CHANGES if deep else {})}
    for what, change in changes.items():
        full = f"{name}, {what}" if what else name
        if not not_compared(full):
            arrays = tuple(change(a) if i in floats and a.size else a for i, a in enumerate(feeds))
            yield Point(full, lambda *xs: as_list(case.build(tf, *xs)), arrays)


def matrix_points() -> Iterator[Point]:
    """Functions of matrices, at matrices that no random draw gives."""
    rng = np.random.default_rng(3)
    square = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
    tall, wide = rng.normal(size=(2, 4, 3)), rng.normal(size=(3, 4))
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    equal = turned * np.array([2.0, 2.0, 5.0]) @ turned.T
    singular = turned * np.array([0.0, 1.0, 3.0]) @ turned
    ordinary = {"": square, "one": square[:1, :1, :1], "none": np.zeros((0, 3, 3))}
    empty = {"empty": np.zeros((2, 0, 0))}
    complex_ = {"complex": square + 1j * rng.normal(size=(2, 3, 3))}
    degenerate = {"identity": np.eye(3), "equal": equal}
    rectangles = {"tall": tall, "wide": wide, "complex tall": tall + 1j * rng.normal(size=tall.shape)}
    any_matrix = ordinary | empty | complex_ | degenerate
    for names, points in (
        ("inv adjoint_inv solve det exponential square_root", any_matrix),
        ("det", {"singular": singular, "zero": np.zeros((1, 1))}),
        ("slogdet", any_matrix),
        ("cholesky eigenvalue_sum spectral_sum projector eigenvalues", ordinary | empty | complex_),
        ("cholesky eigenvalue_sum", degenerate),
        ("singular_values svd_product svd_full nuclear_norm", ordinary | empty | rectangles | complex_),
        ("pinv", any_matrix | rectangles | {"singular": singular}),
        ("norm", ordinary | rectangles),
        ("qr", ordinary | rectangles | complex_ | {"identity": np.eye(3)}),
        ("qr_full", {"": square, "tall": tall, "wide": wide}),
    ):
        for name in names.split():
            for what, array in points.items():
                yield Point(f"matrices/{name}, {what}", _MATRIX_FUNCTIONS[name], (array,))


def _hermitian(x: Any) -> Any:
    return x + tf.linalg.adjoint(x)


def _weights(x: Any) -> Any:
    return np.arange(1.0, x.shape[-1].value + 1).astype(x.dtype.as_numpy_dtype)


def _projector(x: Any) -> Any:
    _, vectors = tf.linalg.eigh(_hermitian(x))
    return tf.matmul(vectors * _weights(vectors), vectors, adjoint_b=True)


def _spectral_sum(x: Any) -> Any:
    values, vectors = tf.linalg.eigh(_hermitian(x))
    return tf.matmul(vectors * tf.expand_dims(tf.cos(values), -2), vectors, adjoint_b=True)


def _svd_product(x: Any) -> Any:
    values, left, right = tf.linalg.svd(x)
    scaled = left * tf.cast(tf.expand_dims(values**3, -2), left.dtype)
    return tf.matmul(scaled, right, adjoint_b=True)


def _svd_full(x: Any) -> Any:
    values, left, right = tf.linalg.svd(x, full_matrices=True)
    k = values.shape[-1].value
    rests = [tf.matmul(each[..., k:], each[..., k:], adjoint_b=True) for each in (left, right)]
    first = left[..., :k] * _weights(left[..., :k])
    return [values, tf.matmul(first, right[..., :k], adjoint_b=True), *rests]


def _qr_full(x: Any) -> Any:
    k = min(x.shape.as_list()[-2:])
    q, r = tf.linalg.qr(x, full_matrices=True)
    return [q[..., :k], r, tf.matmul(q[..., k:], q[..., k:], adjoint_b=True)]


_MATRIX_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "inv": tf.linalg.inv,
    "adjoint_inv": lambda x: tf.linalg.inv(x, adjoint=True),
    "solve": lambda x: [tf.linalg.solve(x, x**2), tf.linalg.solve(x, x**2, adjoint=True)],
    "det": tf.linalg.det,
    "slogdet": lambda x: list(tf.linalg.slogdet(x)),
    "exponential": lambda x: tf.linalg.expm(x * 0.3),
    "square_root": lambda x: tf.linalg.sqrtm(tf.matmul(x, x, adjoint_b=True) + 0.1 * x),
    "cholesky": lambda x: tf.cholesky(tf.matmul(x, x, adjoint_b=True)),
    "eigenvalues": lambda x: tf.self_adjoint_eigvals(_hermitian(x)),
    "eigenvalue_sum": lambda x: tf.reduce_sum(tf.self_adjoint_eigvals(_hermitian(x)), -1),
    "spectral_sum": _spectral_sum,
    "projector": _projector,
    "singular_values": lambda x: tf.svd(x, compute_uv=False),
    "nuclear_norm": lambda x: tf.reduce_sum(tf.svd(x, compute_uv=False), -1),
    "svd_product": _svd_product,
    "svd_full": _svd_full,
    "pinv": tf.linalg.pinv,
    "norm": lambda x: [tf.norm(x, ord=ord, axis=[-2, -1]) for ord in ("fro", 1, 2, np.inf)],
    "qr": lambda x: list(tf.linalg.qr(x)),
    "qr_full": _qr_full,
}
