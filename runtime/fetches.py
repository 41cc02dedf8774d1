"""The fetches of a run: a tensor, an operation, or any nesting of them in lists, tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from staticgraph.compiler.graph.errors import FetchError, headline, hint, misuse, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import cached_property

# What is fetched in place of an object, and the function that makes the result of the list of values.
Fetched = tuple[Iterable[Any], Callable[[list[Any]], Any]]

# The classes of a program whose objects are fetched and fed, with functions of what stands for them.
CONVERSIONS: list[tuple[type, Callable[[Any], Fetched], Callable[..., Any] | None]] = []

_NAMES = 3  # that are shown


class Fetches:
    """A structure of fetches: the distinct tensors and
    operations in it, and how to put values back into it.
    """

    def __init__(self, graph: Graph, structure: Any) -> None:
        self.tensors: list[Tensor] = []
        self.targets: list[Operation] = []
        self.graph = graph
        self._positions: dict[Tensor, int] = {}
        try:
            self._build = self._parse(structure)
            self.form = self._form(structure)
        except RecursionError:
            text = f"cannot fetch {shown(structure)}: its lists are nested too deeply, or hold each other"
            raise misuse(FetchError, text, "fetch a list or a dict of tensors") from None

    def assemble(self, values: list[Any]) -> Any:
        """The structure with `values`, one per tensor, in
        place of tensors, and None in place of operations.
        """
        return self._build(values)

    @cached_property
    def text(self) -> str:
        """The names of some fetches, for display."""
        names = [t.op.name if t.value_index == 0 else t.name for t in self.tensors]
        names += [op.name for op in self.targets]
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        return (", ".join(names[:_NAMES]) or "nothing") + more

    def _form(self, structure: Any) -> tuple[type | None, list[int]]:
        """Classify the result of `assemble`.

        Returns:
            `list` or `tuple` for one of values, None for one value, `object` for any other structure; and the
            position of each value among the tensors. The position of an operation is -1, and its value is
            None.
        """
        if type(structure) in (list, tuple) and not any(map(_has_parts, structure)):
            return type(structure), [self._position(item) for item in structure]
        if _has_parts(structure):
            return object, [*range(len(self.tensors))]
        return None, [self._position(structure)]

    def _position(self, item: Any) -> int:
        return self._positions.get(self._element(item), -1)

    def _parse(self, item: Any) -> Callable[[list[Any]], Any]:
        if isinstance(item, list):
            parts = [self._parse(i) for i in item]
            return lambda values: [p(values) for p in parts]
        if isinstance(item, tuple):
            parts = [self._parse(i) for i in item]
            make = type(item)._make if hasattr(item, "_make") else type(item)
            return lambda values: make([p(values) for p in parts])
        if isinstance(item, Mapping):
            named = {k: self._parse(v) for k, v in item.items()}
            kind: Any = type(item)
            return lambda values: kind((k, p(values)) for k, p in named.items())
        if _is_composite(item):
            tensors, make = _fetch_parts(item)
            parts = [self._parse(t) for t in tensors]
            return lambda values: make([p(values) for p in parts])
        element = self._element(item)
        if isinstance(element, Operation):
            self.targets.append(element)
            return lambda values: None
        if element not in self._positions:
            self._positions[element] = len(self.tensors)
            self.tensors.append(element)
        position = self._positions[element]
        return lambda values: values[position]

    def _element(self, item: Any) -> Any:
        try:
            return self.graph.as_graph_element(item)
        except (KeyError, TypeError, ValueError) as error:
            text = headline(error)
            cure = hint(error) or "fetches are tensors, operations, variables, and names such as 'x:0'"
            if item is None:
                cure = (
                    "a None among the fetches is often a gradient that does not exist: why_no_gradient(y, x)"
                )
            raise misuse(FetchError, f"cannot fetch {shown(item)}: {text}", cure) from None


def _has_parts(item: Any) -> bool:
    return isinstance(item, list | tuple | Mapping) or _is_composite(item)


def _is_composite(item: Any) -> bool:
    """Return True for one that is several tensors. Its class says so: tensors look for methods in a table."""
    return hasattr(type(item), "fetch_parts") or any(isinstance(item, kind) for kind, *_ in CONVERSIONS)


def _fetch_parts(item: Any) -> Fetched:
    for kind, fetch, _ in CONVERSIONS:
        if isinstance(item, kind):
            return fetch(item)
    parts: Fetched = item.fetch_parts()
    return parts


def flat(item: Any) -> bool:
    """Return True for one thing to fetch, or a list or tuple of such things.

    Such fetches mean the same each time that the same objects are given.

    >>> flat("a"), flat(["a", "b"]), flat({"a": "b"}), flat([["a"]])
    (True, True, False, False)
    """
    inside = item if type(item) in (list, tuple) else (item,)
    return bool(inside) and not any(isinstance(each, list | tuple | Mapping) for each in inside)


def not_found(fetches: Any, feeds: Any) -> Any:
    """Return NotImplemented, for sessions whose prepared runs cannot be looked up by machine code."""
    return NotImplemented


def fetch_key(item: Any) -> Any:
    """A hashable form of a structure of fetches; TypeError if something in it is not hashable."""
    if isinstance(item, list | tuple):
        return (type(item), *map(fetch_key, item))
    if isinstance(item, Mapping):
        return (type(item), *((k, fetch_key(v)) for k, v in item.items()))
    return item
