"""States that go from element to element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.data import mapping
from staticgraph.tf1.data.dataset import Dataset, traced
from staticgraph.tf1.data.structure import relaxed


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Callable[[Dataset], Dataset]:
    """`scan_func(state, element)` returns the next state, and an element of the result."""

    def transform(dataset: Dataset) -> Dataset:
        initial = Dataset.from_tensors(initial_state).node
        function = traced(scan_func, (initial.structure, dataset.node.structure))
        if not isinstance(function.structure, tuple) or len(function.structure) != 2:
            raise misuse(TypeError, "`scan_func` must return a tuple: the next state, and an element")
        relaxed(initial.structure, function.structure[0])
        return Dataset(
            mapping.Scanned(
                structure=function.structure[1], source=dataset.node, initial=initial, function=function
            )
        )

    return transform
