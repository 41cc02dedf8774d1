"""Transformations of `tf.contrib.data` that became arguments of `Dataset.batch` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.data import experimental
from staticgraph.tf1.data.dataset import Dataset

Transformation = Callable[[Dataset], Dataset]


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Return a transformation like `Dataset.batch` that leaves out a last batch of another size."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Return a transformation like `Dataset.padded_batch` that leaves out a last batch of another size."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Return a transformation to batches of `window_size` elements, each `window_shift` after the last.

    Args:
        window_size: The number of elements of a batch.
        stride: The older name of `window_shift`. Default: 1.
        window_shift: The distance of the first elements of two batches.
        window_stride: The distance of two elements of a batch.

    Raises:
        ValueError: Both `stride` and `window_shift` are given.
    """
    if stride is not None and window_shift is not None:
        raise misuse(ValueError, "Cannot specify both `stride` and `window_shift`")
    shift = next((each for each in (window_shift, stride) if each is not None), 1)

    def batched(*window: Dataset) -> Dataset:
        whole = window[0] if len(window) == 1 else Dataset.zip(window)
        return whole.batch(window_size)

    return lambda dataset: dataset.window(window_size, shift, window_stride, True).flat_map(batched)


def sloppy_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1
) -> Transformation:
    """Return `parallel_interleave`, whose order may be any in TensorFlow and is always the same here."""
    return experimental.parallel_interleave(map_func, cycle_length, block_length, sloppy=True)
