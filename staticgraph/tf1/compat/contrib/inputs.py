"""`tf.contrib.learn.io`: data for an estimator from arrays, shuffled unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """`estimator.inputs.numpy_input_fn`, which asks whether to shuffle."""
    return sg.estimator.inputs.numpy_input_fn(
        x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads
    )
