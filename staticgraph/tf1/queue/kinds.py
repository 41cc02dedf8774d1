"""The queues: in order, at random, by priority, and of elements of different sizes."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.checks.arguments import whole_of
from staticgraph.compiler.graph.dtypes import as_dtype, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.random_numbers.integers import seeds_of
from staticgraph.tf1.queue.base import QueueBase, listed_shapes
from staticgraph.tf1.queue.elements import AtRandom, ByPriority, Elements, padded


class FIFOQueue(QueueBase):
    """A queue whose elements leave in the order in which they came.

    `capacity` elements have room, any number where it is below zero. An element is a tuple of values of
    `dtypes`; `shapes` are those of the components, needed for `dequeue_many`. Queues of one
    `shared_name` share their elements.

    >>> import staticgraph as sg
    >>> queue = sg.FIFOQueue(10, [sg.int32], shapes=[[]])
    >>> fill, value = queue.enqueue_many([[1, 2, 3]]), queue.dequeue_many(2)
    >>> with sg.Session() as sess:
    ...     sess.run(fill)
    ...     sess.run(value).tolist()
    [1, 2]
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, name, capacity)


class PaddingFIFOQueue(QueueBase):
    """A `FIFOQueue` of components whose `shapes` may have None: `dequeue_many` pads them at their ends, with
    zeros or empty strings, to the largest of the batch.
    """

    TYPE = "PaddingFIFOQueue"
    join = staticmethod(padded)

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, name, capacity)
        if None in self._shapes:
            text = "When providing partial shapes, a list of shapes must be provided."
            raise misuse(ValueError, text, "shapes=[[None, 3]] for matrices of 3 columns")


class RandomShuffleQueue(QueueBase):
    """A queue of which any element may be the next to leave, with equal chance.

    An open queue keeps at least `min_after_dequeue` elements. With `seed`, or that of `set_random_seed`, the
    order is TensorFlow's.
    """

    TYPE = "RandomShuffleQueue"

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        self._seeds = seeds_of(seed)
        self._least = whole_of(min_after_dequeue, "min_after_dequeue")
        super().__init__(dtypes, shapes, names, shared_name, name, capacity)

    def _properties(self) -> dict[str, Any]:
        return {"min_after_dequeue": self._least}

    def _elements(self) -> Elements:
        return AtRandom(self._least, self._seeds)


class PriorityQueue(QueueBase):
    """A queue whose elements leave by priority, an int64 in front of the components: the smallest first."""

    TYPE = "PriorityQueue"

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        listed = list(types) if isinstance(types, list | tuple) else [types]
        shapes = [(), *listed_shapes(shapes)] if shapes is not None else None
        super().__init__([int64, *map(as_dtype, listed)], shapes, names, shared_name, name, capacity)

    def _elements(self) -> Elements:
        return ByPriority()
