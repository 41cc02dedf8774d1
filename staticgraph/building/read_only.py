"""Attributes of an object that callers may read and not set."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def read_only(name: str, doc: str = "") -> Any:
    """Property that shows the attribute of this name with an underscore before it, or what a path such as
    `handle.dtype` leads to.

    >>> from staticgraph.building.read_only import read_only
    >>> class Named:
    ...     name: str = read_only("name")
    ...
    ...     def __init__(self, name):
    ...         self._name = name
    >>> Named("x").name
    'x'
    """
    return property(attrgetter(f"_{name}"), doc=doc)
