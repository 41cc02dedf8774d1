"""From DOT text to a picture, by the `dot` program or by the copy of Graphviz in pygraphviz."""

from __future__ import annotations

import warnings

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


def _by_library(source: str, format: str) -> bytes:
    try:
        import pygraphviz  # an extra: it brings Graphviz to machines that have no `dot`
    except ImportError:
        text = "a picture needs Graphviz, and there is neither a `dot` program nor the pygraphviz package"
        hint = 'pip install "staticgraph[viz]" (or: apt install graphviz)'
        raise RendererMissingError(layout(text, hint=hint)) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pygraphviz.AGraph(string=source).draw(format=format, prog="dot")
