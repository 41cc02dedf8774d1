"""Arrays before they go into a model."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_categorical(y: Any, num_classes: int | None = None, dtype: Any = "float32") -> np.ndarray:
    """Numbers of classes as rows with a one at the class.

    >>> import staticgraph as sg
    >>> sg.keras.utils.to_categorical([0, 2], 3)
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    numbers = np.array(y, dtype="int")
    shape = numbers.shape
    if len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    flat = numbers.reshape(-1)
    classes = num_classes or int(flat.max()) + 1
    rows = np.zeros((flat.size, classes), dtype)
    rows[np.arange(flat.size), flat] = 1
    return rows.reshape(*shape, classes)


def normalize(x: Any, axis: int = -1, order: int = 2) -> np.ndarray:
    """`x` divided by its norm along `axis`; zeros stay zeros."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)
