"""From DOT text to a picture, by the `dot` program or by the copy of Graphviz in pygraphviz."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import graphviz

from staticgraph.compiler.graph.errors import UnimplementedError, layout

FORMATS = ("svg", "png", "pdf", "dot")


class RendererMissingError(UnimplementedError):
    """There is no Graphviz on this machine."""


def render(source: str, format: str) -> bytes:
    """`source` laid out and drawn. RendererMissingError where neither `dot` nor pygraphviz is installed."""
    if format == "dot":
        return source.encode()
    try:
        return graphviz.Source(source).pipe(format=format)
    except graphviz.ExecutableNotFound:
        return _by_library(source, format)


def layouts(sources: Sequence[str]) -> list[str]:
    """Return Graphviz's layout of each of these graphs, in its plain format.

    One `dot` process lays out all graphs, because there may be many small ones.

    Args:
        sources: The graphs as DOT text.

    Returns:
        The layouts, in the order of the graphs: the places of boxes and arrows.

    Raises:
        RendererMissingError: If neither `dot` nor pygraphviz is installed, as for `render`.
    """
    if not sources:
        return []
    try:
        found = graphviz.Source("\n".join(sources)).pipe(format="plain", encoding="utf-8")
    except graphviz.ExecutableNotFound:
        return [_by_library(source, "plain").decode() for source in sources]
    return [f"{each}stop\n" for each in found.split("stop\n")[:-1]]


def _by_library(source: str, format: str) -> bytes:
    try:
        import pygraphviz  # an extra: it brings Graphviz to machines that have no `dot`
    except ImportError:
        text = "a picture needs Graphviz, and there is neither a `dot` program nor the pygraphviz package"
        hint = 'pip install "staticgraph[viz]" (or: apt install graphviz)'
        raise RendererMissingError(layout(text, hint=hint)) from None
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
