"""Reductions of the elements with equal keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.data.dataset import Dataset, traced
from staticgraph.tf1.data.function import Function, scalar_type
from staticgraph.tf1.data.pipeline import Failed, Node, Run, attempt
from staticgraph.tf1.data.structure import Element, relaxed


class Reducer:
    """A reduction of the elements of one key, for `group_by_reducer`.

    Args:
        init_func: `init_func(key)` returns the state that the reduction of a key begins with.
        reduce_func: `reduce_func(state, element)` returns the next state.
        finalize_func: `finalize_func(state)` returns the element that stands for the key.
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GroupReduced(Node):
    """One element for each key, in the order of the keys."""

    source: Node
    key: Function
    initial: Function
    reduce: Function
    finalize: Function

    def iterate(self, run: Run) -> Iterator[Element]:
        key_of, initial_of = self.key.bind(run), self.initial.bind(run)
        reduce, finalize = self.reduce.bind(run), self.finalize.bind(run)
        states: dict[int, Element] = {}

        def advance(element: Element) -> None:
            key = key_of(element)
            number = int(key[0])
            state = states[number] if number in states else initial_of(key)
            states[number] = reduce((*state, *element))

        for element in self.source.iterate(run):
            made = element if isinstance(element, Failed) else attempt(advance, element)
            if isinstance(made, Failed):
                yield made
        for _, state in sorted(states.items()):
            yield attempt(finalize, state)


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Callable[[Dataset], Dataset]:
    """Return a transformation that reduces the elements of each key to one element.

    Args:
        key_func: `key_func(element)` returns an int64 scalar.
        reducer: The reduction, a `Reducer`.

    Raises:
        ValueError: `key_func` returns no int64 scalar.
        TypeError: The states that the functions of the reducer return are of different types.

    >>> import staticgraph as sg
    >>> total = sg.data.experimental.Reducer(lambda key: sg.constant(0, sg.int64), sg.add, sg.identity)
    >>> sums = sg.data.experimental.group_by_reducer(lambda x: x % 2, total)
    >>> value = sg.data.Dataset.range(10).apply(sums).make_one_shot_iterator().get_next()
    >>> with sg.Session() as sess:
    ...     [int(sess.run(value)) for _ in range(2)]
    [20, 25]
    """

    def transform(dataset: Dataset) -> Dataset:
        structure = dataset.node.structure
        key = traced(key_func, structure)
        if scalar_type(key, "`key_func`").dtype is not int64:
            text = f"`key_func` must return a single tf.int64 tensor, it returns {key.structure}"
            raise misuse(ValueError, text, "cast it: sg.cast(key, sg.int64)")
        initial = traced(reducer.init_func, TensorType(int64, ()))
        state: Any = None
        general = initial.structure
        while state != general:  # shapes of states may be less known than that of the first
            state = general
            reduce = traced(reducer.reduce_func, (state, structure))
            general = relaxed(state, reduce.structure)
        finalize = traced(reducer.finalize_func, state)
        node = GroupReduced(
            structure=finalize.structure,
            source=dataset.node,
            key=key,
            initial=initial,
            reduce=reduce,
            finalize=finalize,
        )
        return Dataset(node, dataset.options())

    return transform
