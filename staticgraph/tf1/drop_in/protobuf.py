"""`from google.protobuf import text_format` in a script of TF1: it takes our messages too.

Where protocol buffers are installed, the module is theirs and takes their messages as before. Where they are
not, it is `staticgraph.formats.tf.messages.text_format` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from staticgraph.formats.tf.messages import text_format
from staticgraph.formats.tf.messages.message import Message
from staticgraph.formats.tf.messages.wire import DecodeError

TEXT_FORMAT = "google.protobuf.text_format"
_PACKAGES = ("google", "google.protobuf")
# The place of the message among the arguments.
_FUNCTIONS = {"MessageToString": 0, "Merge": 1, "Parse": 1}


def find_spec(fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Return the spec of `google.protobuf.text_format`, and of its packages where there are none."""
    if fullname != TEXT_FORMAT and fullname not in _PACKAGES:
        return None
    found = PathFinder.find_spec(fullname, path)
    if fullname != TEXT_FORMAT:
        return None if found is not None else ModuleSpec(fullname, _Alone(), is_package=True)
    if found is None or found.loader is None:
        return ModuleSpec(fullname, _Alone())
    found.loader = _Both(found.loader)
    return found


class _Alone(Loader):
    """Fills the module where protocol buffers are not installed; packages stay empty."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == TEXT_FORMAT:
            ours = {name: getattr(text_format, name) for name in _FUNCTIONS}
            vars(module).update(ours, ParseError=DecodeError)


class _Both(Loader):
    """Loads the installed module, and lets its functions take our messages."""

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._theirs.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._theirs.exec_module(module)
        _teach(module)


def _teach(module: ModuleType) -> dict[str, Any]:
    """Let the functions of a module take our messages, and return what they were."""
    before = {name: getattr(module, name) for name in _FUNCTIONS}
    for name, place in _FUNCTIONS.items():
        setattr(module, name, _chosen(getattr(text_format, name), before[name], place, module.ParseError))
    return before


def _chosen(
    ours: Callable[..., Any], theirs: Callable[..., Any], place: int, error: type[Exception]
) -> Callable[..., Any]:
    """Return a function that calls ours for a message of ours, and raises their error."""

    def function(*args: Any, **kwargs: Any) -> Any:
        message = args[place] if len(args) > place else kwargs.get("message")
        if not isinstance(message, Message):
            return theirs(*args, **kwargs)
        try:
            return ours(*args[:place], message)
        except DecodeError as wrong:
            text = str(wrong)
        raise error(text)

    return function


@contextmanager
def taught() -> Iterator[None]:
    """Context in which the module takes our messages, if it was imported before; or imports it anew after."""
    module = sys.modules.get(TEXT_FORMAT)
    before = {} if module is None else _teach(module)
    try:
        yield
    finally:
        if module is not None:
            vars(module).update(before)
        else:
            for name in (TEXT_FORMAT, *reversed(_PACKAGES)):
                found = sys.modules.get(name)
                if found is not None and isinstance(getattr(found.__spec__, "loader", None), _Alone | _Both):
                    del sys.modules[name]
