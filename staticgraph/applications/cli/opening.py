"""The function that a command is about, out of the functions in a file of any format."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from staticgraph.applications.cli.outcome import UsageError
from staticgraph.compiler.support.nearest import nearest_name
from staticgraph.formats.functions import Opened, functions_of
from staticgraph.runtime.files.loaded import LoadedGraph, load


def all_opened(path: str) -> list[Opened]:
    """All functions of a file, at least one. UsageError for a file without any."""
    found = list(functions_of(path))
    if not found:
        raise UsageError(f"{path} has no function: {os.path.basename(path)} was saved without one")
    return found


def loaded(path: str) -> LoadedGraph:
    """The file as a graph that `sg.save` wrote: as it is, or converted."""
    if Path(path).suffix.lower() == ".sg" or not os.path.exists(path):
        return load(path)
    from staticgraph.formats.convert import write_converted  # our own files need none

    with tempfile.TemporaryDirectory() as folder:
        write_converted(all_opened(path), Path(folder, "graph.sg"))
        return load(Path(folder, "graph.sg"))


def opened(path: str, signature: str | None) -> Opened:
    """The function of the file that is called `signature`, or its first one.

    UsageError if there is none of that name; the errors of what reads the file.
    """
    found = {each.name: each for each in functions_of(path)}
    name = next(iter(found), "") if signature is None else signature
    if name in found:
        return found[name]
    close = nearest_name(name, found)
    meant = f"did you mean {close!r}?" if close else f"it has {', '.join(found) or 'none'}"
    raise UsageError(f"{path} has no signature {name!r}: {meant}")
