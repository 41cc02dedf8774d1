"""Batches that the graph computes: elements of a dataset or an iterator, or tensors, new ones in each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from staticgraph.building import nest
from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.errors import OutOfRangeError, misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.log import log
from staticgraph.tf1.data.dataset import Dataset
from staticgraph.tf1.data.endless import is_endless
from staticgraph.tf1.data.iterators import Iterator as ElementIterator
from staticgraph.tf1.keras import state
from staticgraph.tf1.keras.engine.data import Batch


def is_of_graph(x: Any) -> bool:
    """Return if `x` is a dataset, an iterator of one, or made of tensors alone."""
    if isinstance(x, Dataset | ElementIterator):
        return True
    leaves = nest.flatten(x)
    return bool(leaves) and all(isinstance(each, Tensor) for each in leaves)


def computed(structure: Any) -> Any:
    """Return the values of a structure of tensors, all of one run."""
    values = state.get_session().run(nest.flatten(structure))
    return nest.pack_sequence_as(structure, values)


class GraphBatches:
    """Batches that the graph computes.

    An epoch is `steps` batches. It is the whole dataset, from the beginning, if `steps` is None.

    Args:
        source: A dataset, an iterator, or a structure of tensors.
        steps: The number of batches in an epoch.
        convert: Makes the arrays of a batch from an element.
        name: The argument that `steps` was given by, for messages.
        begin_anew: Begin each epoch at the first element, also if `steps` is given.
    """

    def __init__(
        self,
        source: Any,
        steps: int | None,
        convert: Callable[[Any], list[Any]],
        name: str,
        begin_anew: bool = False,
    ) -> None:
        self.steps, self.samples = steps, steps
        self.by_steps, self.batch_size = True, None
        self.ended = False
        self._name, self._convert = name, convert
        if steps is None:
            _check_end(source, name)
        self._begins_anew = isinstance(source, Dataset) and (begin_anew or steps is None)
        self._graph = get_default_graph()
        self._begin: Any = None
        element = source
        if isinstance(source, Dataset):
            self._begin, element = _iterated(source)
        elif isinstance(source, ElementIterator):
            element = source.get_next()
        self._structure = element
        self._call = self._session.make_callable(nest.flatten(element))
        if self._begin is not None:
            self._session.run(self._begin)
        self._waiting = [self._next()]

    @property
    def _session(self) -> Any:
        with self._graph.as_default():
            return state.get_session()

    def first(self) -> Any:
        """Return the first element, which the first epoch gives again."""
        return self._waiting[0]

    def _next(self) -> Any:
        return nest.pack_sequence_as(self._structure, self._call())

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches of one epoch; `ended` tells afterwards if there were fewer than `steps`."""
        if self._begins_anew and not self._waiting:
            self._session.run(self._begin)
        done = 0
        while self.steps is None or done < self.steps:
            try:
                element = self._waiting.pop() if self._waiting else self._next()
            except OutOfRangeError:
                break
            done += 1
            arrays = self._convert(element)
            yield Batch(arrays, len(arrays[0]))
        if self.steps is not None and done < self.steps:
            self.ended = True
            text = (
                "Your dataset ran out of data; interrupting training. Make sure that it can generate at "
                "least `%s * epochs` batches. You may need to use the repeat() function when building it."
            )
            log.warning(text, self._name)


def _iterated(dataset: Dataset) -> tuple[Any, Any]:
    """Return the operation that begins a dataset anew, and its next element; those made before, if any."""
    made = state.iterated(get_default_graph())
    if dataset not in made:
        iterator = dataset.make_initializable_iterator()
        made[dataset] = iterator.initializer, iterator.get_next()
    return made[dataset]


def _check_end(source: Any, name: str) -> None:
    """Raise ValueError if nobody can tell where an epoch over `source` ends."""
    if not isinstance(source, Dataset):
        kind = "an iterator" if isinstance(source, ElementIterator) else "tensors"
        raise misuse(ValueError, f"{kind} do not say how long an epoch is", f"give {name}")
    if is_endless(source.node):
        raise misuse(ValueError, "the dataset repeats without an end", f"give {name}, or repeat(count)")
