"""The function that a command is about, out of the functions in a file."""

from __future__ import annotations

from staticgraph.cli.outcome import UsageError
from staticgraph.formats.functions import Opened, functions_of
from staticgraph.runtime.files.nearest import nearest


def opened(path: str, signature: str | None) -> Opened:
    """The function of the file that is called `signature`, or its first one.

    UsageError where there is none of that name; the errors of what reads the file.
    """
    found = {each.name: each for each in functions_of(path)}
    name = next(iter(found), "") if signature is None else signature
    if name in found:
        return found[name]
    close = nearest(name, found)
    meant = f"did you mean {close!r}?" if close else f"it has {', '.join(found) or 'none'}"
    raise UsageError(f"{path} has no signature {name!r}: {meant}")
