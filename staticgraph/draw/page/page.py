"""From a graph to its page, and from the page to a file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.graph import Graph
from staticgraph.draw.draw import fetches_of, found_in, graph_of, title_of
from staticgraph.draw.page.contents import Data, contents
from staticgraph.draw.page.stages import stages_of
from staticgraph.draw.picture import write
from staticgraph.draw.wording import printable
from staticgraph.runtime.fetches import Fetches

SCRIPTS = ("arrange", "shapes", "index", "draw", "memory", "panel", "save", "page")


class Page:
    """A page about a graph. Notebooks show it; `html` is its text, `data` what it shows."""

    def __init__(self, data: Data) -> None:
        self.data = data

    @property
    def title(self) -> str:
        return str(self.data["title"])

    @property
    def html(self) -> str:
        """The page, complete: style, script and data are in it, and its policy allows nothing else."""
        style, script = _style(), _script()
        policy = (
            f"default-src 'none'; img-src blob:; style-src '{_digest(style)}'; script-src '{_digest(script)}'"
        )
        return Template(_file("page.html")).substitute(
            title=html.escape(printable(self.title)),
            policy=policy,
            style=style,
            script=script,
            data=self._blocks(),
        )

    def _blocks(self) -> str:
        """The data in blocks, of which the page unpacks each when it needs it."""
        apart = {f"stage {i}": stage for i, stage in enumerate(self.data["stages"])}
        apart |= {"code": self.data["code"]}
        names = [{"name": stage["name"]} for stage in self.data["stages"]]
        first = {key: value for key, value in self.data.items() if key != "code"} | {"stages": names}
        return "\n".join(
            f'<script type="application/octet-stream" id="{name}">{packed(block)}</script>'
            for name, block in {"page": first, **apart}.items()
        )

    def _repr_html_(self) -> str:
        inside = html.escape(self.html)
        look = 'sandbox="allow-scripts allow-downloads" width="100%" height="700"'
        return f'<iframe {look} srcdoc="{inside}"></iframe>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; SaveError if that is not possible."""
        write("show", Path(path_of(path, "path")), self.html.encode())

    def __repr__(self) -> str:
        return f"<Page {self.title!r} of {len(self.data['stages'])} stages>"


def page_of(
    what: Any,
    path: str | os.PathLike[str] | None,
    feeds: Mapping[Any, Any],
    session: Any,
    profile: Mapping[str, float],
    title: str | None,
) -> Page:
    """See `show`."""
    what, session = fetches_of(what, session)
    graph = what if isinstance(what, Graph) else graph_of(what)
    found = found_in(graph, what)
    stages, compilation = stages_of(graph, None if what is graph else found, feeds, session)
    programs = programs_of(None if what is graph else found, session)
    name = title if title is not None else title_of("user", what is graph, found)
    page = Page(contents(name, stages, compilation, profile, programs))
    if path is not None:
        page.save(path)
    return page


def packed(data: Data) -> str:
    """`data` as text without any character that means something in HTML."""
    text = json.dumps(data, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


def unpacked(text: str) -> Data:
    """Return the data that `packed` turned into `text`.

    >>> unpacked(packed({"title": "</script>"}))
    {'title': '</script>'}
    """
    return dict(json.loads(zlib.decompress(base64.b64decode(text))))


@cache
def _file(name: str) -> str:
    return files("staticgraph.draw.page").joinpath("web", name).read_text(encoding="utf-8")


def _style() -> str:
    return _file("page.css")


def _script() -> str:
    """The scripts as one, which leaves no names behind on the page."""
    parts = "\n".join(_file(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def programs_of(fetches: Fetches | None, session: Any) -> list[dict[str, Any]]:
    """Return the programs of these fetches, oldest first; those of all runs for a whole graph.

    Args:
        fetches: What the page shows; None for a whole graph.
        session: The session, or None.

    Returns:
        For each program why it was compiled and at which line, where its symbols are, its guards, and the
        guard that failed in the older programs.
    """
    if session is None:
        return []
    return [
        {
            "what": each.what,
            "why": each.why,
            "place": "" if each.where is None else each.where.short,
            "symbols": each.symbols.split(", ") if each.symbols else [],
            "guards": list(each.guards),
            "failed": each.failed,
        }
        for each in session.compiles
        if fetches is None or each.what == fetches.text
    ]
