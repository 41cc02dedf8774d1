"""`tf.test.compute_gradient`: gradients beside what central differences say of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse

Jacobians = tuple[np.ndarray, np.ndarray]


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Sequence[Any] | None = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> Jacobians | list[Jacobians]:
    """Two Jacobian matrices [size of x, size of y], by gradients and by differences of 2 `delta`.

    `x` is fed `x_init_value`, or random numbers; a complex number counts as two real ones. For a list of
    `x`, with lists of shapes and values, the result is a list of pairs. `init_targets` are run first.
    Everything is computed in the default session. ValueError for a value of another shape than `x_shape`.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float64, [2])
    >>> with sg.Session():
    ...     by_gradient, by_difference = compute_gradient(x, [2], x * x, [2], np.array([1.0, 3.0]))
    >>> by_gradient.tolist(), by_difference.round(6).tolist()
    ([[2.0, 0.0], [0.0, 6.0]], [[2.0, 0.0], [0.0, 6.0]])
    """
    for target in init_targets or ():
        target.run()
    feeds = dict(extra_feed_dict or {})
    if not isinstance(x, list):
        return _jacobians(x, x_shape, y, y_shape, x_init_value, delta, feeds)
    values = x_init_value if x_init_value is not None else [None] * len(x)
    return [
        _jacobians(one, shape, y, y_shape, value, delta, feeds)
        for one, shape, value in zip(x, x_shape, values, strict=True)
    ]


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Sequence[Any] | None = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> float:
    """The greatest difference between the matrices of `compute_gradient`; 0 for matrices without elements."""
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = found if isinstance(found, list) else [found]
    return max((float(np.abs(one - other).max()) for one, other in pairs if one.size), default=0.0)


def _jacobians(
    x: Any, x_shape: Any, y: Any, y_shape: Any, value: Any, delta: float, feeds: dict[Any, Any]
) -> Jacobians:
    start = _start(x, tuple(int(size) for size in x_shape), value)
    by_differences = _by_differences(x, start, y, y_shape, delta, feeds)
    return _by_gradients(x, start, y, tuple(y_shape), feeds), by_differences


def _start(x: Any, shape: tuple[int, ...], value: Any) -> np.ndarray:
    dtype = x.dtype.base_dtype.as_numpy_dtype
    if value is None:
        drawn = np.random.random_sample(shape)
        return np.asarray(drawn + 1j * np.random.random_sample(shape) if x.dtype.is_complex else drawn, dtype)
    if np.shape(value) != shape:
        raise misuse(ValueError, f"x_init_value has the shape {np.shape(value)}, and x_shape says {shape}")
    return np.array(value, dtype)


def _by_gradients(
    x: Any, start: np.ndarray, y: Any, shape: tuple[int, ...], feeds: dict[Any, Any]
) -> np.ndarray:
    """One gradient for each element of `y`, and for each part of a complex one."""
    with x.graph.as_default():
        weight = sg.placeholder_with_default(sg.ones(shape, y.dtype.base_dtype), shape)
        gradient = sg.convert_to_tensor(sg.gradients(y, x, weight)[0])
    unit = np.zeros(shape, y.dtype.base_dtype.as_numpy_dtype)
    numbers, columns = _numbers(unit), []
    for at in range(numbers.size):
        numbers[at] = 1
        columns.append(_numbers(gradient.eval({**feeds, x: start, weight: unit})).copy())
        numbers[at] = 0
    rows = _numbers(start)
    return np.stack(columns, axis=1) if columns else np.zeros((rows.size, 0), rows.dtype)


def _by_differences(
    x: Any, start: np.ndarray, y: Any, shape: Any, delta: float, feeds: dict[Any, Any]
) -> np.ndarray:
    """A row for each element of `x`, and for each part of a complex one."""
    width = math.prod(int(size) for size in shape) * (2 if y.dtype.is_complex else 1)
    numbers = _numbers(start)
    rows = np.zeros((numbers.size, width), numbers.dtype)
    for at in range(numbers.size):
        sides = []
        for step in (delta, -delta):
            moved = start.copy()
            _numbers(moved)[at] += step
            sides.append(_numbers(y.eval({**feeds, x: moved})))
        rows[at] = (sides[0] - sides[1]) / sides[0].dtype.type(2 * delta)
    return rows


def _numbers(array: Any) -> np.ndarray:
    """All real numbers of an array in a row; it shares the memory of a contiguous one."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype)
