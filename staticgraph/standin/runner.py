"""Runs a script as `python script.py` would, with staticgraph in TensorFlow's place."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType

import staticgraph
from staticgraph.compat.namespace import UnsupportedNameError
from staticgraph.compiler.graph.errors import GraphError, OpError
from staticgraph.standin.finder import standing_in

_OURS = tuple(
    os.path.join(os.path.dirname(os.path.realpath(str(package.__file__))), "")
    for package in (staticgraph, staticgraph.compiler, staticgraph.runtime)
)

# Errors that tell the user's line themselves.
_TOLD = (OpError, GraphError, UnsupportedNameError, ModuleNotFoundError)


def run_script(script: str, arguments: Sequence[str]) -> int:
    """Run a script with arguments; the result is the status to exit with.

    `sys.argv`, `__name__`, `__file__` and the first entry of `sys.path` are as Python has them. An error that
    the script does not catch is shown without our own frames, unless it is one that we should not have made.
    SystemExit passes through.
    """
    sys.argv = [script, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.abspath(script))
    with standing_in():
        try:
            runpy.run_path(script, run_name="__main__")
        except Exception as error:
            show(error)
            return 1
        except KeyboardInterrupt as error:
            show(error)
            return 130
    return 0


def show(error: BaseException) -> None:
    """Write an error and where the script made it to the error stream."""
    seen: set[int] = set()
    _shorten(error, seen)
    sys.stdout.flush()
    traceback.print_exception(error)


def _shorten(error: BaseException | None, seen: set[int]) -> None:
    """Leave what is not the script's out of an error's frames, and out of those that it came from."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = _of_script(error.__traceback__, isinstance(error, _TOLD))
    _shorten(error.__cause__, seen)
    _shorten(error.__context__, seen)


def _of_script(frames: TracebackType | None, told: bool) -> TracebackType | None:
    """The script's frames; then, unless the error is `told`, our own ones in which it arose."""
    entries = [frame for frame in _chain(frames) if not _starts_it(frame)]
    last = max((at for at, frame in enumerate(entries) if not _is_ours(frame)), default=-1)
    kept = None
    for at, frame in reversed([*enumerate(entries)]):
        if not _is_ours(frame) or (at > last and not told):
            kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def _chain(frames: TracebackType | None) -> list[TracebackType]:
    found = []
    while frames is not None:
        found.append(frames)
        frames = frames.tb_next
    return found


def _starts_it(frame: TracebackType) -> bool:
    """Whether a frame belongs to what starts the script, or to the import of a module."""
    file = frame.tb_frame.f_code.co_filename
    return file in {__file__, "<frozen runpy>"} or file.startswith("<frozen importlib")


def _is_ours(frame: TracebackType) -> bool:
    return os.path.realpath(frame.tb_frame.f_code.co_filename).startswith(_OURS)
