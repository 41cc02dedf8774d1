"""From DOT text to a picture, by the `dot` program or by the copy of Graphviz in pygraphviz."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import graphviz


def render(source: str, format: str) -> bytes | None:
    """`source` laid out and drawn. None if neither `dot` nor pygraphviz is installed."""
    try:
        return graphviz.Source(source).pipe(format=format)
    except graphviz.ExecutableNotFound:
        pass
    try:
        import pygraphviz  # an extra: it brings Graphviz to machines that have no `dot`
    except ImportError:
        return None
    with warnings.catch_warnings(), _without_font_warnings():
        warnings.simplefilter("ignore")
        return pygraphviz.AGraph(string=source).draw(format=format, prog="dot")


@contextmanager
def _without_font_warnings() -> Iterator[None]:
    """Context in which the library's lines about the machine's font settings do not reach the terminal.

    They come from C code, past `sys.stderr`, and say nothing
    about the picture. All other lines are passed on.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            caught.seek(0)
            for line in caught.read().decode(errors="replace").splitlines(keepends=True):
                if not line.startswith("Fontconfig"):
                    sys.stderr.write(line)
