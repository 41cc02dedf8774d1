"""An extension of Sphinx: `sg.nn.relu` in backticks becomes a link to what the manual tells of it."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

_NAME = re.compile(r"(sg\.)?(\w+(?:\.\w+)*)(\(.*\))?$")


class LinksToNames(SphinxPostTransform):
    """Runs once a page is read and all names are known."""

    default_priority = 400

    def run(self, **_: Any) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            found = _NAME.match(literal.astext())
            if found is None or isinstance(literal.parent, nodes.reference):
                continue
            names = [f"sg.{found[2]}"] if found[1] else _near(literal, found[2])
            known = next((name for name in names if name in self.env.domains.python_domain.objects), None)
            if known is not None and self.app.builder.format == "html":
                self._link(literal, known)

    def _link(self, literal: nodes.literal, name: str) -> None:
        target = self.env.domains.python_domain.objects[name]
        text = literal.deepcopy()
        link = make_refnode(self.app.builder, self.env.docname, target.docname, target.node_id, text, name)
        literal.replace_self(link)


def _near(literal: nodes.Element, name: str) -> list[str]:
    """Return what a name in a docstring may mean: another of the same module, or of the package."""
    above: nodes.Element | None = literal
    while above is not None and not isinstance(above, addnodes.desc):
        above = above.parent
    if above is None:
        return []
    signature = next(above.findall(addnodes.desc_signature))
    module, _, own = signature.get("fullname", "").rpartition(".")
    parameters = {part.astext() for part in signature.findall(addnodes.desc_sig_name)}
    return [] if name in parameters | {own} else [f"{module}.{name}", f"sg.{name}"]


def setup(app: Sphinx) -> dict[str, Any]:
    """Set up as Sphinx calls it."""
    app.add_post_transform(LinksToNames)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
