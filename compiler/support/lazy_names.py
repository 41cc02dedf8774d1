"""Names that are imported when they are first used: those of packages, and functions of upper layers.

A table tells which module has which names. It is part of this project, never of a file that is read, and a
test compares it with what the modules define. A lower layer calls functions that an upper one defines, such
as that of `Graph.as_graph_def`, as extensions: the upper layer says which of its modules has which.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import partial
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from staticgraph.compiler.support.gc_pause import collector_paused

V = TypeVar("V")


def _no_such_name(package: str, name: str) -> AttributeError:
    return AttributeError(
        f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package]
    )


_missing: Callable[[str, str], AttributeError] = _no_such_name


def _error(package: str, name: str) -> AttributeError:
    # Python itself asks for some names, such as `__path__` at each `from package import name`.
    return (_no_such_name if name.startswith("__") else _missing)(package, name)


def tell_missing_names(error: Callable[[str, str], AttributeError]) -> None:
    """Let an upper layer make the error for a name that a package does not have."""
    global _missing
    _missing = error


if TYPE_CHECKING:
    _Dictionary = dict
else:

    class _Dictionary(MutableMapping, dict):
        """A dictionary whose further methods are made of the ones that a class defines."""

        __getitem__, __setitem__, __delitem__ = dict.__getitem__, dict.__setitem__, dict.__delitem__


class LazyTable(_Dictionary[str, V]):
    """Table that modules fill when they are imported. Asking for a name imports the module that has it.

    Iteration imports all of these modules, and their names come first, in the order of `found_in`. The table
    is a dictionary of what has been imported: to look that up takes no function of Python.
    """

    def __init__(self) -> None:
        self._homes: dict[str, str] = {}
        self._listed: dict[str, None] = {}

    def found_in(self, package: str, names: Mapping[str, str], listed: bool = True) -> None:
        """Add modules to look for names in.

        Args:
            package: The package of the modules.
            names: For each module of the package, the names that it puts into this table, between spaces.
            listed: If iteration imports these modules, too.
        """
        for module, text in names.items():
            found = dict.fromkeys(text.split(), f"{package}.{module}")
            self._homes.update(found)
            if listed:
                self._listed.update(dict.fromkeys(found))

    def home(self, name: str) -> str | None:
        """Return the module that a name is found in, None for a name of no module here."""
        return self._homes.get(name)

    def homes(self) -> Mapping[str, str]:
        """Return the module of each name that is found in one."""
        return self._homes

    def __missing__(self, name: str) -> V:
        load(self._homes[name])
        if not dict.__contains__(self, name):  # its module is being imported
            raise KeyError(name)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> list[str]:
        for module in dict.fromkeys(self._homes[name] for name in self._listed):
            load(module)
        known = [*dict.__iter__(self)]
        return [name for name in {**self._listed, **dict.fromkeys(known)} if dict.__contains__(self, name)]


def lazy_names(
    package: str, names: Mapping[str, str], modules: Mapping[str, str] | None = None
) -> Callable[[], list[str]]:
    """Make names of a package be imported on first use, and return its `__dir__`.

    The package gets a `__getattr__`, a `__dir__` and an `__all__`. Type checkers, which read a stub, must see
    none of the three: a wrong name is an error to them.

    Args:
        package: The package's name.
        names: For each module, the names that the package has from it, between spaces. `new=old` is a name
            that is `old` in the module.
        modules: The modules that are names of the package, too.
    """
    homes = {name: (module, "") for name, module in (modules or {}).items()}
    for module, listed in names.items():
        for entry in listed.split():
            name, _, inner = entry.partition("=")
            homes[name] = module, inner or name

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise _error(package, name)
        module, inner = homes[name]
        value = getattr(load(module), inner) if inner else load(module)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    vars(sys.modules[package]).update(__getattr__=__getattr__, __all__=sorted(homes))
    return show_public_names(package, homes)


def show_public_names(module: str, names: Iterable[str] = ()) -> Callable[[], list[str]]:
    """Make `dir()` of a module show its public names alone, and return its `__dir__`.

    The module gets an `__all__` of what it defines, if it has none. The error for any other name tells where
    that is, if the module has no `__getattr__` of its own.

    Args:
        module: The module's name.
        names: Public names beside those of its `__all__`, such as modules that are meant to be found there.
    """
    here = vars(sys.modules[module])
    if "__all__" not in here:
        here["__all__"] = defined_names(module)
    public = {*here["__all__"], *names}

    def __dir__() -> list[str]:
        return sorted(public | {name for name in here if name[:2] == name[-2:] == "__"})

    def __getattr__(name: str) -> Any:
        raise _error(module, name)

    here["__dir__"] = __dir__
    here.setdefault("__getattr__", __getattr__)
    return __dir__


def defined_names(module: str) -> list[str]:
    """Return the public names of what a module defines, in order, and not of what it imports from elsewhere.

    >>> defined_names("staticgraph.compiler.support.gc_pause")
    ['collector_paused']
    """
    return [
        name
        for name, value in vars(sys.modules[module]).items()
        if name[0] != "_" and name != "TYPE_CHECKING" and not isinstance(value, ModuleType)
        if (getattr(value, "__module__", None) or module).startswith(module)
    ]


def functions_of(module: str, names: str) -> SimpleNamespace:
    """Return functions of a module by their names, between spaces. The first call imports the module."""
    return SimpleNamespace(**{name: partial(_call, module, name) for name in names.split()})


def _call(module: str, name: str, /, *args: Any, **named: Any) -> Any:
    return getattr(load(module), name)(*args, **named)


def load(module: str) -> Any:
    """Import a module of a table by its full name, and return it."""
    if module in sys.modules:
        return import_module(module)  # waits if another thread is importing it
    with collector_paused(may_collect=False):
        return import_module(module)


F = TypeVar("F", bound=Callable[..., Any])

EXTENSIONS: LazyTable[Callable[..., Any]] = LazyTable()


def extension(name: str) -> Callable[[F], F]:
    """Decorator: the function is the one that lower layers call by `name`."""

    def declare(function: F) -> F:
        EXTENSIONS[name] = function
        return function

    return declare
