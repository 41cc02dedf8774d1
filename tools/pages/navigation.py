"""An extension of Sphinx: the list of pages at the side, which opens only the parts that the reader is in.

Sphinx's own list is made of the whole manual anew for every page, which took most of the build.
"""

from __future__ import annotations

import html
from typing import Any

from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def list_of_pages(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Before the theme asks for it, put our list in the place of Sphinx's."""
    environment = app.builder.env
    around = {page, *_above(environment, page)}

    def link(name: str) -> str:
        uri = "#" if name == page else app.builder.get_relative_uri(page, name)
        return f'<a class="reference internal" href="{html.escape(uri)}">{title(environment, name)}</a>'

    def listed(names: list[str], level: int) -> str:
        return f"<ul>{''.join(item(name, level) for name in names)}</ul>" if names else ""

    def item(name: str, level: int) -> str:
        marks = f"toctree-l{level}" + (" current" if name in around else "")
        marks += " current-page" if name == page else ""
        inner = listed(environment.toctree_includes.get(name, []), level + 1) if name in around else ""
        return f'<li class="{marks}">{link(name)}{inner}</li>'

    def pages(**_: Any) -> str:
        return "".join(
            f'<p class="caption" role="heading"><span class="caption-text">{html.escape(caption)}</span></p>'
            + listed(names, 1)
            for caption, names in captions(environment)
        )

    context["toctree"] = pages


def captions(environment: BuildEnvironment) -> list[tuple[str, list[str]]]:
    """The parts of the manual, each with its pages."""
    trees = environment.tocs[environment.config.root_doc].findall(addnodes.toctree)
    return [(tree.get("caption") or "", list(tree["includefiles"])) for tree in trees]


def title(environment: BuildEnvironment, name: str) -> str:
    """The title of a page as it is to be listed: its own, unless the first page gives it another."""
    listed = {
        target: text
        for tree in environment.tocs[environment.config.root_doc].findall(addnodes.toctree)
        for text, target in tree["entries"]
    }
    return html.escape(listed.get(name) or environment.titles[name].astext())


def _above(environment: BuildEnvironment, page: str) -> set[str]:
    """The pages under which a page is listed."""
    owners = {inner: outer for outer, inners in environment.toctree_includes.items() for inner in inners}
    found: set[str] = set()
    while page in owners and owners[page] not in found:
        page = owners[page]
        found.add(page)
    return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Set up as Sphinx calls it."""
    app.connect("html-page-context", list_of_pages, priority=400)  # themes have 500
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
