"""Transformations for `Dataset.apply`, and more datasets (TF1's `tf.data.experimental`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import stack
from staticgraph.arrays.casts import cast
from staticgraph.arrays.indexing import one_hot
from staticgraph.building.inputs import constant
from staticgraph.compiler.graph.dtypes import as_dtype, int32, int64, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.mathematics.reductions import reduce_sum
from staticgraph.random_numbers.integers import seeds_of
from staticgraph.tf1.data import mapping, selecting
from staticgraph.tf1.data.arguments import number
from staticgraph.tf1.data.csv_dataset import make_csv_dataset
from staticgraph.tf1.data.dataset import Dataset, counter, traced, traced_dataset, traced_predicate
from staticgraph.tf1.data.file_datasets import CsvDataset
from staticgraph.tf1.data.function import scalar_type
from staticgraph.tf1.data.iterators import only_element
from staticgraph.tf1.data.operation_counts import (
    INTERLEAVED_IN_PARALLEL,
    SHUFFLED_AND_REPEATED,
    count_parameters,
)
from staticgraph.tf1.data.options import DistributeOptions, OptimizationOptions, ThreadingOptions
from staticgraph.tf1.data.structure import Nested, leaves, map_leaves
from staticgraph.tf1.data.threads import AUTOTUNE
from staticgraph.tf1.data.transformations.cardinality import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    cardinality,
)
from staticgraph.tf1.data.transformations.mixing import (
    RandomDataset,
    choose_from_datasets,
    sample_from_datasets,
)
from staticgraph.tf1.data.transformations.reducing import Reducer, group_by_reducer
from staticgraph.tf1.data.transformations.resampling import rejection_resample
from staticgraph.tf1.data.transformations.scanning import scan
from staticgraph.tf1.data.transformations.sparse_batches import dense_to_sparse_batch

__all__ = [
    "AUTOTUNE",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "INFINITE_CARDINALITY",
    "OptimizationOptions",
    "RandomDataset",
    "Reducer",
    "ThreadingOptions",
    "UNKNOWN_CARDINALITY",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "get_single_element",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "make_csv_dataset",
    "map_and_batch",
    "map_and_batch_with_legacy_function",
    "parallel_interleave",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "unbatch",
    "unique",
]

Transformation = Callable[[Dataset], Dataset]


def Counter(start: Any = 0, step: Any = 1, dtype: Any = int64) -> Dataset:
    """Numbers from `start` without an end.

    >>> import staticgraph as sg
    >>> value = sg.data.experimental.Counter(5, 2).make_one_shot_iterator().get_next()
    >>> with sg.Session() as sess:
    ...     [int(sess.run(value)) for _ in range(3)]
    [5, 7, 9]
    """
    return counter(start, step, as_dtype(dtype))


def get_single_element(dataset: Dataset) -> Any:
    """The one element of a dataset, as tensors. InvalidArgumentError, while running, for none or several."""
    return only_element(dataset.node)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """`map`, then `batch`. ValueError if both numbers of parallel work are given."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        text = "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive."
        raise misuse(ValueError, text)
    calls = num_parallel_calls
    if num_parallel_batches is not None:
        calls = number(num_parallel_batches) * number(batch_size)

    def transform(dataset: Dataset) -> Dataset:
        count_more(get_default_graph(), 0 if calls is None else -1)  # TensorFlow makes one step of both
        return dataset.map(map_func, calls).batch(batch_size, drop_remainder)

    return transform


map_and_batch_with_legacy_function = map_and_batch


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """`shuffle`, then `repeat`; while the last elements of one repetition are drawn, the next is read."""

    def transform(dataset: Dataset) -> Dataset:
        size = number(buffer_size)
        count_parameters(size, count)
        seeds = seeds_of(seed)
        count_more(get_default_graph(), SHUFFLED_AND_REPEATED)
        return Dataset(
            selecting.Shuffled(
                structure=dataset.node.structure,
                source=dataset.node,
                size=size,
                seeds=seeds,
                again=False,
                count=number(-1 if count is None else count),
            )
        )

    return transform


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """`interleave`. The order is always the same, also where `sloppy` allows others."""

    def transform(dataset: Dataset) -> Dataset:
        count_more(get_default_graph(), INTERLEAVED_IN_PARALLEL)
        return dataset.interleave(map_func, cycle_length, block_length)

    return transform


def unbatch() -> Transformation:
    """`Dataset.unbatch`."""
    return Dataset.unbatch


def enumerate_dataset(start: Any = 0) -> Transformation:
    """`Dataset.enumerate`."""
    return lambda dataset: dataset.enumerate(start)


def prefetch_to_device(device: str, buffer_size: Any = None) -> Transformation:
    """`Dataset.prefetch`: a session runs on one device."""
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def ignore_errors() -> Transformation:
    """The elements that can be computed without an error.

    >>> import staticgraph as sg
    >>> dataset = sg.data.Dataset.from_tensor_slices([1.0, 0.0, 4.0])
    >>> dataset = dataset.map(lambda x: sg.check_numerics(1 / x, "no inverse"))
    >>> dataset = dataset.apply(sg.data.experimental.ignore_errors()).batch(3)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.data.experimental.get_single_element(dataset)).tolist()
    [1.0, 0.25]
    """
    return lambda dataset: Dataset(
        mapping.Unfailing(structure=dataset.node.structure, source=dataset.node), dataset.options()
    )


def unique() -> Transformation:
    """The elements without those that were there before: integers or strings, one in each element.

    >>> import staticgraph as sg
    >>> dataset = sg.data.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1])
    >>> dataset = dataset.apply(sg.data.experimental.unique()).batch(3)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.data.experimental.get_single_element(dataset)).tolist()
    [1, 37, 2]
    """

    def apply(dataset: Dataset) -> Dataset:
        parts = leaves(dataset.node.structure)
        if len(parts) != 1 or parts[0].dtype not in (int32, int64, string):
            shown = dataset.output_types
            raise misuse(TypeError, f"unique() takes elements of one int32, int64 or string, not {shown}")
        made = selecting.Unique(structure=dataset.node.structure, source=dataset.node)
        return Dataset(made, dataset.options())

    return apply


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """The elements before the first for which `predicate` is false."""

    def transform(dataset: Dataset) -> Dataset:
        structure = dataset.node.structure
        function = traced_predicate(predicate, structure)
        return Dataset(mapping.TakenWhile(structure=structure, source=dataset.node, function=function))

    return transform


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Dataset],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Windows of elements with equal keys, each made into elements of the result by a function.

    `key_func(element)` is an int64 scalar; `reduce_func(key, window)` gets a dataset of up to `window_size`
    elements, or of `window_size_func(key)`, and returns one. What is left at the end makes smaller windows.
    """
    if (window_size is None) == (window_size_func is None):
        raise misuse(ValueError, "Must pass either window_size or window_size_func, and not both.")
    size_of = window_size_func or (lambda key: constant(number(window_size), int64))

    def transform(dataset: Dataset) -> Dataset:
        structure = dataset.node.structure
        key = traced(key_func, structure)
        if scalar_type(key, "`key_func`").dtype is not int64:
            text = f"`key_func` must return an int64, it returns {key.structure}"
            raise misuse(ValueError, text, "cast it: sg.cast(key, sg.int64)")
        reduce = traced_dataset(reduce_func, (key.structure, Nested(structure)))
        size = traced(lambda value: cast(size_of(value), int64), key.structure)
        return Dataset(
            mapping.Grouped(
                structure=reduce.structure, source=dataset.node, key=key, reduce=reduce, size=size
            )
        )

    return transform


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Padded batches of elements of like length: one whose length is at least `bucket_boundaries[i - 1]` and
    below `bucket_boundaries[i]` goes into batches of `bucket_batch_sizes[i]`.

    `pad_to_bucket_boundary` pads unknown sizes to one below the upper boundary; what is too long for all of
    these, to the largest of its batch.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        text = f"{len(bucket_boundaries)} bucket_boundaries need one more of bucket_batch_sizes"
        raise misuse(ValueError, text)
    bounds = np.asarray(bucket_boundaries, np.int64)
    sizes = np.asarray(bucket_batch_sizes, np.int64)

    def bucket_of(*element: Any) -> Any:
        length = cast(element_length_func(*element), int64)
        return reduce_sum(cast(length >= bounds, int64))

    def size_of(bucket: Any) -> Any:
        return reduce_sum(one_hot(bucket, len(sizes), dtype=int64) * sizes)

    def transform(dataset: Dataset) -> Dataset:
        shapes = padded_shapes
        if shapes is None:
            shapes = map_leaves(lambda part: part.shape, dataset.node.structure)

        def batch(bucket: Any, window: Dataset) -> Dataset:
            size = size_of(bucket)
            if no_padding:
                return window.batch(size, drop_remainder)
            wanted = shapes
            if pad_to_bucket_boundary:
                top = reduce_sum(one_hot(bucket, len(sizes), dtype=int64) * np.append(bounds - 1, -1))
                wanted = map_leaves(lambda part, shape: _filled(shape, top), dataset.node.structure, shapes)
            return window.padded_batch(size, wanted, padding_values, drop_remainder)

        count_more(get_default_graph(), 1)  # the sizes of batches
        return dataset.apply(group_by_window(bucket_of, batch, window_size_func=size_of))

    return transform


def _filled(shape: Any, top: Any) -> Any:
    return stack([top if n is None else constant(int(n), int64) for n in shape])


show_public_names(__name__)
