"""Resampling of the elements of a dataset, so that their classes are as frequent as wished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import expand_dims, shape, stack, tile
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import fill
from staticgraph.arrays.indexing import gather, one_hot
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.reductions import reduce_max, reduce_min, reduce_sum
from staticgraph.random_numbers.random_ops import random_uniform
from staticgraph.tf1.data.dataset import Dataset
from staticgraph.tf1.data.transformations.mixing import sample_from_datasets
from staticgraph.tf1.data.transformations.scanning import scan

_COUNTED_AT_ONCE = 32  # elements between two estimates of the distribution
_SEEN_BEFORE = 10  # of each class, so that a first estimate is not extreme
_AHEAD = 3  # elements that are filtered before they are asked for


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Callable[[Dataset], Dataset]:
    """Return a transformation that leaves out elements until the classes have the target distribution.

    The elements of the result are pairs (class, element). As few as possible are left out: some pairs are
    taken as they come, and the others are accepted with a probability that depends on their class.

    Args:
        class_func: `class_func(element)` returns the class of an element, an int32 scalar from 0 on.
        target_dist: The wanted probability of each class, a vector of floats.
        initial_dist: The probability of each class in the dataset. By default it is estimated from the
            elements as they come.
        seed: An integer for the choice. With it, or that of `set_random_seed`, the choice is reproducible.

    >>> import staticgraph as sg
    >>> numbers = sg.data.Dataset.range(1000).map(lambda x: sg.cast(x % 10 < 9, sg.int32))
    >>> even = sg.data.experimental.rejection_resample(lambda x: x, [0.5, 0.5], [0.1, 0.9], seed=1)
    >>> pair = numbers.apply(even).batch(100).make_one_shot_iterator().get_next()
    >>> with sg.Session() as sess:
    ...     bool(0.3 < sess.run(pair)[0].mean() < 0.7)
    True
    """

    def transform(dataset: Dataset) -> Dataset:
        target = convert_to_tensor(target_dist, name="target_dist")
        classes = dataset.map(class_func)
        pairs = Dataset.zip((classes, dataset))
        if initial_dist is None:
            initial = None
            found = _estimates(target, classes).map(lambda initial: _acceptance(initial, target))
        else:
            initial = convert_to_tensor(initial_dist, name="initial_dist")
            found = Dataset.from_tensors(_acceptance(initial, target)).repeat()
        accepted = _accepted(dataset, classes, found, seed).prefetch(_AHEAD)
        unchanged = _known_share(initial, target)
        if unchanged == 1:
            return pairs
        if unchanged == 0:
            return accepted
        shares = found.map(lambda _, share: stack([share, 1.0 - share]))
        return sample_from_datasets([pairs, accepted], weights=shares, seed=seed)

    return transform


def _acceptance(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the probability of accepting an element of each class, and the share of elements to take as
    they come.

    That share has the initial distribution, so it may be as large as the smallest ratio of the target's
    probabilities to the initial ones. What is accepted of the rest makes up for the difference, and the class
    with the largest ratio is always accepted.
    """
    ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    share = reduce_min(ratio)
    return (ratio - share) / (reduce_max(ratio) - share), share


def _accepted(dataset: Dataset, classes: Dataset, found: Dataset, seed: Any) -> Dataset:
    """The pairs (class, element) that are accepted, by the probabilities that `found` begins with."""
    probabilities = found.map(lambda acceptance, _: acceptance)
    rows = Dataset.zip((classes, probabilities, dataset))
    with_chance = rows.map(lambda number, chances, element: (number, gather(chances, number), element))
    kept = with_chance.filter(lambda number, chance, element: random_uniform([], seed=seed) < chance)
    return kept.map(lambda number, chance, element: (number, element))


def _estimates(target: Tensor, classes: Dataset) -> Dataset:
    """For each element an estimate of the distribution, of the classes that were read before."""
    number = target.shape[0].value or shape(target)[0]
    begin = fill([number], np.int64(_SEEN_BEFORE))

    def advance(seen: Tensor, some: Tensor) -> tuple[Tensor, Tensor]:
        seen = seen + reduce_sum(one_hot(some, seen.shape[0].value or shape(seen)[0], dtype=int64), 0)
        estimate = cast(seen / reduce_sum(seen), float32)
        return seen, tile(expand_dims(estimate, 0), [_COUNTED_AT_ONCE, 1])

    return classes.batch(_COUNTED_AT_ONCE).apply(scan(begin, advance)).unbatch()


def _known_share(initial: Tensor | None, target: Tensor) -> Any:
    """Return the share of elements to take as they come if it is known now, or None."""
    known = None if initial is None else static_value(initial)
    wanted = static_value(target)
    return None if known is None or wanted is None else np.min(np.divide(wanted, known))
