"""Result of `visualize`: a drawing, which is laid out when somebody looks at it."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import SaveError, UnimplementedError, layout, misuse
from staticgraph.draw.model import Drawing
from staticgraph.draw.vector import vector_svg
from staticgraph.runtime.disk.atomic import replace

FORMATS = ("svg", "png", "pdf", "dot")
ENGINES = ("layered", "dot")
_SHARP = 192  # dots per inch of a PNG, for today's screens


class RendererMissingError(UnimplementedError):
    """A picture needs a package that is not installed."""


class Picture:
    """A drawing of a graph. Notebooks show it.

    `svg` is its text as SVG, laid out by the `engine` that it was made with, and `dot` its text in Graphviz's
    language. Both are made when they are first asked for. `sideways` draws from left to right. A PNG has
    `dpi` dots per inch.
    """

    def __init__(
        self,
        drawing: Drawing,
        legend: bool = True,
        engine: str = "layered",
        sideways: bool = False,
        dpi: int = _SHARP,
    ) -> None:
        self.title = drawing.title or "graph"
        self.boxes = len(drawing.boxes)  # without the legend
        self._drawing, self._legend, self._engine = drawing, legend, engine
        self._sideways, self._dpi = sideways, dpi

    @cached_property
    def dot(self) -> str:
        """The picture as text in Graphviz's language. The same graph gives the same text."""
        from staticgraph.draw.dot.source import dot_source  # few look at it

        return dot_source(self._drawing, self._legend, self._sideways)

    @cached_property
    def svg(self) -> str:
        """The picture as SVG text."""
        if self._engine == "layered":
            return vector_svg(self._drawing, self._legend, self._sideways)
        from staticgraph.draw.dot.clean import clean

        return clean(self._by_graphviz("svg"), self.title)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file.

        Args:
            path: The file, whose name ends with its format: .svg, .png, .pdf or .dot. PNG and PDF need
                `pip install "staticgraph[viz]"`; a PDF is always laid out by Graphviz.

        Raises:
            ValueError: If the name ends otherwise.
            SaveError: If the file cannot be written.
            RendererMissingError: If a package is missing. The picture is then left beside its place as SVG,
                or as DOT text if Graphviz was to lay it out.
        """
        target = Path(path_of(path, "path"))
        format = target.suffix[1:].lower()
        if format not in FORMATS:
            endings = ", ".join(f".{f}" for f in FORMATS)
            text = f"{target.name!r} does not end with a format that a picture can be written in"
            raise misuse(ValueError, text, f"use one of {endings}")
        try:
            data = self._data(format)
        except RendererMissingError as error:
            other = "svg" if self._engine == "layered" else "dot"
            beside = target.with_suffix(f".{other}")
            write("visualize", beside, self._data(other))
            raise RendererMissingError(f"{error.message}\n  the picture was written to {beside}") from None
        write("visualize", target, data)

    def _data(self, format: str) -> bytes:
        match format:
            case "svg":
                return self.svg.encode()
            case "dot":
                return self.dot.encode()
            case "png" if self._engine == "layered":
                return png_of(self.svg, self._dpi)
        return self._by_graphviz(format)

    def _by_graphviz(self, format: str) -> bytes:
        from staticgraph.draw.dot.render import render

        found = render(self.dot, format)
        if found is None:
            what = "a PDF needs" if format == "pdf" else 'engine="dot" needs'
            text = f"{what} Graphviz, and there is neither a `dot` program nor the pygraphviz package"
            hint = 'pip install "staticgraph[viz]" (or: apt install graphviz)'
            raise RendererMissingError(layout(text, hint=hint))
        return found

    def __repr__(self) -> str:
        return f"<Picture {self.title!r} of {self.boxes} boxes>"


def png_of(svg: str, dpi: int) -> bytes:
    """Return an SVG as PNG. RendererMissingError if the extra `viz` is not installed."""
    try:
        import resvg_py
    except ImportError:
        text = "a PNG needs the resvg-py package, which is not installed"
        raise RendererMissingError(layout(text, hint='pip install "staticgraph[viz]"')) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, dpi=dpi))


def write(caller: str, path: Path, data: bytes) -> None:
    """Write a file for the user who called the function `caller`. SaveError if that fails."""
    try:
        replace(path, [data])
    except OSError as error:
        raise misuse(SaveError, f"{caller}: {path} cannot be written: {error.strerror}") from None
