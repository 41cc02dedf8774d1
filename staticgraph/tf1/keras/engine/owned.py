"""Objects that a layer owns: the variables and layers that its attributes hold.

The attributes are read at each request, so a list of layers may grow at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from staticgraph.state.layer import unique
from staticgraph.state.variables import Variable

# Attributes that refer to other layers without owning them.
_REFERENCES = {
    "inbound_nodes",
    "outbound_nodes",
    "_weights",
    "_named_weights",
    "_losses",
    "_updates",
    "optimizer",
    "_training",
    "states",
}


def own_attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of a layer that hold what it owns, by name."""
    for name, value in vars(thing).items():
        if name not in _REFERENCES:
            yield name, value


def attributes(thing: Any) -> Iterator[Any]:
    """The values of the attributes of a layer, those in lists and dicts one by one."""
    for _, value in own_attributes(thing):
        yield from _inside(value)


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _inside(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _inside(item)
    else:
        yield value


def variables_of(thing: Any) -> list[Any]:
    """The variables among the attributes."""
    return unique(value for value in attributes(thing) if isinstance(value, Variable))
