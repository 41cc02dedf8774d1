"""Modules that exist only as a table: each dotted path of TensorFlow, and where its names come from.

An `Area` is one line of the table. A `Tree` looks names up in it, and shows each area as a `Namespace`: a
module that finds an attribute when it is first asked for. So a new name of `staticgraph` is a new name of TF1
too, and nothing is imported that a program does not use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cache
from itertools import chain
from types import ModuleType
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.lazy_names import defined_names, load
from staticgraph.compiler.support.nearest import nearest
from staticgraph.tf1.compat.not_here import reason

MISSING = object()

# Modules of ours import these; they are not theirs to give.
_IMPORTED_HELPERS = {"typing", "__future__", "collections.abc"}


class UnsupportedNameError(AttributeError):
    """A name of TensorFlow that is not supported."""


@dataclass(frozen=True, slots=True)
class Area:
    """Sources of the names below one dotted path. The first source that has a name gives it.

    Attributes:
        sources: Modules; dotted paths below `staticgraph`, which may be absent; relative names such as
            ".contrib.nn" of modules of this package, or paths such as "tf1.estimator.extenders" of modules
            without a public path. The last two are imported when a name is first looked up there.
        names: Map from TensorFlow's name to the dotted name in the tree that it stands for.
        areas: Other areas. All of their names are here too.
    """

    sources: tuple[ModuleType | str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    areas: tuple[str, ...] = ()


class Tree:
    """A table of areas by dotted path; the root's path is empty."""

    def __init__(self, areas: Mapping[str, Area]) -> None:
        parents = {parent: Area() for path in areas for parent in _parents(path)}
        self.areas = parents | dict(areas)
        self._namespaces: dict[str, Namespace] = {}

    def namespace(self, path: str) -> Namespace | None:
        """The module that shows an area, always the same one; None if nothing in it is supported."""
        if path not in self.areas or not any(self._supported(path)):
            return None
        return self._namespaces.setdefault(path, Namespace(self, path))

    def find(self, path: str, name: str) -> Any:
        """Return the object that `name` stands for in the area at `path`, or MISSING."""
        area = self.areas[path]
        for source in area.sources:
            if (found := _public(source, name)) is not MISSING:
                return found
        if name in area.names and (found := self.lookup(area.names[name])) is not MISSING:
            return found
        if (below := self.namespace(_join(path, name))) is not None:  # other areas may have one of that name
            return below
        found = (self.find(other, name) for other in area.areas)
        return next((each for each in found if each is not MISSING), self._imported(path, name) or MISSING)

    def _imported(self, path: str, name: str) -> Namespace | None:
        """An internal module that the one at `path` would have imported: they all import one another."""
        if not _is_internal(path):
            return None
        for other, area in self.areas.items():
            if _is_internal(other) and other.endswith(f".{name}") and area != Area():
                return self.namespace(other)
        return None

    def lookup(self, dotted: str) -> Any:
        """Return the object that a dotted name stands for, or MISSING; ignore attributes of instances."""
        found: Any = self.namespace("")
        for name in dotted.split("."):
            match found:
                case Namespace():
                    found = self.find(found.path, name)
                case type():
                    found = getattr(found, name, MISSING)
            if found is MISSING:
                break
        return found

    def names(self, path: str) -> set[str]:
        """The supported names of an area, sub-areas included."""
        return set(self._supported(path))

    def supported(self) -> Iterator[str]:
        """All supported names, dotted, without those of TensorFlow's internal modules."""
        for path in self.areas:
            if path.split(".")[0] != "python":
                yield from (_join(path, name) for name in self._own(path))

    def nearest(self, dotted: str) -> list[str]:
        """At most three names and areas that may have been meant by one that is not supported."""
        place, _, name = dotted.rpartition(".")

        def distance(other: str) -> tuple[bool, bool, str]:
            area, _, last = other.rpartition(".")
            return area != place, last != name, other

        areas = (
            path for path in self.areas if path and path.split(".")[0] != "python" and self.namespace(path)
        )
        return nearest(dotted, chain(self.supported(), areas), distance, count=3)

    def _own(self, path: str) -> Iterator[str]:
        """Names of an area that stand in its own line of the table."""
        area = self.areas[path]
        for source in area.sources:
            yield from _public_names(source)
        yield from (name for name, target in area.names.items() if self.lookup(target) is not MISSING)

    def _supported(self, path: str) -> Iterator[str]:
        yield from self._own(path)
        for other in self.areas[path].areas:
            yield from self._supported(other)
        for child in self.areas:
            if child and _join(path, child.rpartition(".")[2]) == child and any(self._supported(child)):
                yield child.rpartition(".")[2]


class Namespace(ModuleType):
    """An area as a module: `tensorflow.nn`."""

    def __init__(self, tree: Tree, path: str) -> None:
        super().__init__(_join("tensorflow", path), f"The supported names of TensorFlow 1.15's {_tf(path)}.")
        self.path = path
        self._tree = tree

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return sorted(self._tree.names(self.path))
        found = self._tree.find(self.path, name)
        if found is MISSING:
            if name.startswith("_"):  # no name of TensorFlow's: a tool asks, which shows nobody a hint
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            raise unsupported(UnsupportedNameError, self._tree, _join(self.path, name))
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted(self._tree.names(self.path))


def unsupported(kind: type[Exception], tree: Tree, dotted: str) -> Exception:
    """The error about a name that is not supported: the user's line, and the nearest supported names."""
    if (why := reason(dotted)) is not None:
        return misuse(kind, f"{_tf(dotted)} is left out on purpose", why)
    found = tree.nearest(dotted)
    hint = f"nearest: {', '.join(map(_tf, found))}" if found else None
    return misuse(kind, f"{_tf(dotted)} is not supported yet", hint)


def _is_internal(path: str) -> bool:
    """Return True for a module of TensorFlow's internal packages."""
    return path.startswith("python.") and path.count(".") > 1


def _tf(dotted: str) -> str:
    return _join("tf", dotted)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def _parents(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:length]) for length in range(len(parts))]


def _module(source: ModuleType | str) -> ModuleType | None:
    """The module that a source names, or None if `staticgraph` has none of that name."""
    if isinstance(source, ModuleType):
        return source
    if source.startswith("."):
        module: ModuleType = load(f"{__package__}{source}")
        return module
    if source.startswith("tf1."):
        inner: ModuleType = load(f"staticgraph.{source}")
        return inner
    found: Any = sg
    for name in filter(None, source.split(".")):
        found = getattr(found, name, None)
    return found if isinstance(found, ModuleType) else None


def _public(source: ModuleType | str, name: str) -> Any:
    """A public name of a source, or MISSING. Modules in a source are areas of their own."""
    module = _module(source)
    if module is None or (name.startswith("_") and name not in getattr(module, "__all__", ())):
        return MISSING
    found = getattr(module, name, MISSING)
    is_helper = getattr(found, "__module__", None) in _IMPORTED_HELPERS
    return MISSING if isinstance(found, ModuleType) or is_helper else found


@cache
def _public_names(source: ModuleType | str) -> tuple[str, ...]:
    module = _module(source)
    listed = () if module is None else getattr(module, "__all__", None) or defined_names(module.__name__)
    return tuple(name for name in listed if _public(source, name) is not MISSING)
