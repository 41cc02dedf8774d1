"""Inputs of estimators from what is in memory (TF1's `tf.estimator.inputs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import as_dtype, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.random_numbers.random_ops import get_seed
from staticgraph.tf1 import data

Arrays = dict[str, np.ndarray]

_QUEUE = 15  # operations of a queue, its summary and what takes from it


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """A function that gives batches of arrays: features, or (features, labels) where there are labels.

    `x`: an array, or a dict of arrays. `y`: None, an array, or a dict of arrays. All have one element for
    each example. `num_epochs`: how often all examples come, without end where it is None; batches go across
    the end of an epoch, and the last one may be smaller. `shuffle`: whether the order is random, which must
    be said. `queue_capacity` and `num_threads` change nothing.

    ValueError if `shuffle` is not said, and for arrays of other lengths; TypeError for an `x` of another
    type.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> features = sg.estimator.inputs.numpy_input_fn({"x": np.arange(3)}, batch_size=2, shuffle=False)()
    >>> with sg.Session() as sess:
    ...     sess.run(features["x"]).tolist(), sess.run(features["x"]).tolist()
    ([0, 1], [2])
    """
    _check_shuffle(shuffle)

    def input_fn() -> Any:
        if not isinstance(x, Mapping | np.ndarray):
            raise misuse(TypeError, f"x must be a dict or array; got {type(x).__name__}")
        if isinstance(x, Mapping) and not x:
            raise misuse(ValueError, "x cannot be an empty dict")
        if isinstance(y, Mapping) and not y:
            raise misuse(ValueError, "y cannot be empty dict, use None instead.")
        return _batches((x,) if y is None else (x, y), batch_size, num_epochs, bool(shuffle), num_threads)

    return input_fn


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """`numpy_input_fn` for a pandas DataFrame of features and a Series or DataFrame of labels.

    The features have the names of the columns. A DataFrame of labels is a dict, too. ValueError also where
    `x` has a column `target_column`, and where the indices of `x` and `y` differ.
    """
    _check_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise misuse(TypeError, f"target_column must be a string, and not {target_column!r}")
    features = x.copy()
    if y is not None:
        if target_column in features:
            text = f"Cannot use name {target_column} for target column: x has a column of that name"
            raise misuse(ValueError, f"{text}: {list(features.columns)}")
        if not np.array_equal(features.index, y.index):
            text = f"Index for x and y are mismatched.\nIndex for x: {features.index}\nIndex for y: {y.index}"
            raise misuse(ValueError, text)

    def input_fn() -> Any:
        parts = [_columns(features)] if y is None else [_columns(features), _labels(y)]
        return _batches(tuple(parts), batch_size, num_epochs, bool(shuffle), num_threads)

    return input_fn


def _batches(parts: tuple[Any, ...], size: int, epochs: int | None, shuffle: bool, threads: int) -> Any:
    """Tensors, another batch in each run, nested as `parts`."""
    arrays = [array for part in parts for array in (part.values() if isinstance(part, Mapping) else [part])]
    values = [np.asarray(array) for array in arrays]
    counts = {len(value) for value in values}
    if len(counts) != 1:
        raise misuse(ValueError, f"All elements in x and y must have the same length, and not {counts}")
    [count] = counts
    seed = get_seed(None)[0]

    def generate() -> Iterator[tuple[np.ndarray, ...]]:
        order = _order(count, size, epochs, np.random.default_rng(seed) if shuffle else None)
        for chosen in order:
            yield tuple(value[chosen] for value in values)

    types = tuple(string if value.dtype.kind in "OSU" else as_dtype(value.dtype) for value in values)
    shapes = tuple(TensorShape([None, *value.shape[1:]]) for value in values)
    # TensorFlow has a queue here. Each thread feeds an enqueuing operation, with the numbers of examples too.
    operations = _QUEUE + threads * (len(arrays) + 2)
    with counted_as(get_default_graph(), operations):
        dataset = data.Dataset.from_generator(generate, types, shapes)
        tensors = iter(dataset.make_one_shot_iterator().get_next())
    made = tuple(
        {key: next(tensors) for key in part} if isinstance(part, Mapping) else next(tensors) for part in parts
    )
    return made if len(made) == 2 else made[0]


def _order(
    count: int, size: int, epochs: int | None, generator: np.random.Generator | None
) -> Iterator[np.ndarray]:
    """The numbers of the examples of each batch. Batches go across the end of an epoch."""
    waiting = np.zeros(0, np.intp)
    epoch = 0
    while epochs is None or epoch < epochs:
        epoch += 1
        waiting = np.concatenate(
            [waiting, np.arange(count) if generator is None else generator.permutation(count)]
        )
        while len(waiting) >= size:
            yield waiting[:size]
            waiting = waiting[size:]
    if len(waiting):
        yield waiting


def _columns(frame: Any) -> Arrays:
    return {name: frame[name].to_numpy() for name in frame.columns}


def _labels(y: Any) -> Any:
    return _columns(y) if hasattr(y, "columns") else y.to_numpy()


def _check_shuffle(shuffle: Any) -> None:
    if shuffle not in (True, False):
        text = "shuffle must be provided and explicitly set as boolean, usually True for training"
        raise misuse(ValueError, f"{text}; got {shuffle!r}")


show_public_names(__name__)
