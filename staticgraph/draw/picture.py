"""Result of `visualize`: a drawing as DOT text, which is rendered when somebody looks at it."""

from __future__ import annotations

import os
from pathlib import Path

from staticgraph.compiler.graph.errors import SaveError, misuse
from staticgraph.draw.render import FORMATS, RendererMissingError, render
from staticgraph.draw.svg import clean
from staticgraph.runtime.disk.atomic import replace


class Picture:
    """A drawing of a graph. Notebooks show it; `dot` is its Graphviz text."""

    def __init__(self, dot: str, title: str, boxes: int) -> None:
        self.dot = dot
        self.title = title
        self.boxes = boxes  # how many are drawn, without the legend
        self._svg: str | None = None

    @property
    def svg(self) -> str:
        """The picture as SVG text."""
        if self._svg is None:
            self._svg = clean(render(self.dot, "svg"), self.title)
        return self._svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture in the format that the name ends with: .svg, .png, .pdf or .dot.

        ValueError for another ending, SaveError where the file cannot be written. Without Graphviz,
        RendererMissingError; the DOT text is then left beside the picture's place.
        """
        target = Path(path)
        format = target.suffix[1:].lower()
        if format not in FORMATS:
            endings = ", ".join(f".{f}" for f in FORMATS)
            text = f"visualize: {target.name!r} does not end with a format that can be drawn"
            raise misuse(ValueError, text, f"use one of {endings}")
        try:
            data = self.svg.encode() if format == "svg" else render(self.dot, format)
        except RendererMissingError as error:
            beside = target.with_suffix(".dot")
            write("visualize", beside, self.dot.encode())
            text = f"{error.message}\n  the graph was written as text to {beside}"
            raise RendererMissingError(text) from None
        write("visualize", target, data)

    def __repr__(self) -> str:
        return f"<Picture {self.title!r} of {self.boxes} boxes>"


def write(caller: str, path: Path, data: bytes) -> None:
    """Write a file for the user who called the function `caller`. SaveError where that fails."""
    try:
        replace(path, [data])
    except OSError as error:
        raise misuse(SaveError, f"{caller}: {path} cannot be written: {error.strerror}") from None
