"""The reference of public names: a page per module, and for the package itself a page per file of it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pages.markdown import directive, docstring, escaped
from pages.names import ROOT, Name, first_names, full_path
from pages.ops import label
from staticgraph.compiler.graph.opdef import OpDef
from surface.walk import signature

FOLDER = "reference/api"
FEW = 4  # names of one file that do not make a page

OVERVIEW = """\
# Public names

`import staticgraph as sg` gives all of them. Names, argument orders and defaults are TensorFlow 1.15's;
[Signatures](../../docs/signatures.md) tells where they differ. What is in several modules is told about once.

| module | | names |
| --- | --- | ---: |
{rows}
"""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its file's name, its title, what stands above the names, and these."""

    file: str
    title: str
    about: str
    names: list[Name]


def pages(modules: dict[str, ModuleType], names: list[Name]) -> dict[str, str]:
    """The pages by their paths."""
    first = first_names(names)
    every = [*_of_package(modules[ROOT], names, first)]
    for path, module in modules.items():
        if path != ROOT:
            here = [name for name in names if name.module == path]
            about = docstring(inspect.getdoc(module) or "")
            every.append(Page(path.replace(".", "_"), full_path(path), about, here))
    written = {f"{FOLDER}/{page.file}.md": _text(page, first) for page in every}
    rows = "\n".join(map(_row, every))
    toc = directive("toctree", "", "\n".join(page.file for page in every), ["hidden:"])
    return {f"{FOLDER}/index.md": f"{OVERVIEW.format(rows=rows)}\n{toc}\n"} | written


def _row(page: Page) -> str:
    """A page in the table of all of them, with what is said first on it."""
    about = " ".join(page.about.split("\n\n")[0].split())
    return f"| [{page.title}]({page.file}.md) | {about} | {len(page.names)} |"


def _of_package(package: ModuleType, names: list[Name], first: dict[int, Name]) -> Iterator[Page]:
    """The names of `sg` by the file whose `__all__` lists them, or that they are from."""
    listed = [
        module
        for module in vars(package).values()
        if isinstance(module, ModuleType) and module.__name__.startswith("staticgraph.")
    ]
    homes: dict[str, list[Name]] = {}
    for name in names:
        if name.module == ROOT and first[id(name.value)] is name:
            homes.setdefault(_home(name, listed), []).append(name)
    others = [name for here in homes.values() if len(here) < FEW for name in here]
    for home, here in sorted(homes.items(), key=lambda item: -len(item[1])):
        if len(here) < FEW:
            continue
        module = sys.modules[home]
        part = home.removeprefix("staticgraph.").removeprefix("compiler.graph.").removeprefix("runtime.")
        words = part.replace("_", " ").replace(".", ", ")
        file = "sg_" + part.replace(".", "_")
        yield Page(file, f"sg: {words}", docstring(inspect.getdoc(module) or ""), here)
    yield Page("sg_others", "sg: others", "Names that stand alone in their files.", others)


def _home(name: Name, modules: list[ModuleType]) -> str:
    """The module that lists a name, else the one that a class or function is from."""
    for module in modules:
        if name.name in getattr(module, "__all__", ()) and getattr(module, name.name, None) is name.value:
            return module.__name__
    return str(name.value.__module__)


def _text(page: Page, first: dict[int, Name]) -> str:
    parts = [f"# {escaped(page.title)}", page.about]
    parts += [entry(name, first[id(name.value)]) for name in sorted(page.names, key=lambda each: each.name)]
    return "\n\n".join(filter(None, parts)) + "\n"


def entry(name: Name, told: Name) -> str:
    """Return the entry of a name in the manual; of a second name only what it is a name of."""
    kind = "class" if inspect.isclass(name.value) else "function"
    head = f"{name.full}{called(name.value)}"
    if told is not name:
        return directive(f"py:{kind}", head, f"The same as `{told.full}`.")
    parts = [docstring(inspect.getdoc(name.value) or "")]
    if isinstance(name.value, OpDef):
        parts.append(f"Operation: [{name.value.name}](#{label(name.value)}).")
    if inspect.isclass(name.value):
        parts += [_member(*member) for member in members(name.value)]
    return directive(f"py:{kind}", head, "\n\n".join(filter(None, parts)))


def called(value: Any) -> str:
    """The parameters in brackets, nothing where they are not to be told.

    >>> called(sg.nn.relu), called(sg.Graph)
    ('(features, name=None)', '()')
    """
    makers: list[Any] = [value.__init__, value.__new__] if inspect.isclass(value) else []
    maker = next(filter(inspect.isfunction, makers), None)
    if maker is None:
        text = "" if inspect.isclass(value) else signature(value)
    else:
        text = signature(maker, unbound=True)
    return text.replace("tf.", "sg.").replace("lambda_", "...")


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class adds, with a docstring."""
    for name, value in vars(cls).items():
        if not name.startswith("_") and inspect.getdoc(getattr(value, "__func__", value)) and _told(value):
            yield name, value


def _told(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)


def _member(name: str, value: Any) -> str:
    match value:
        case property():
            return directive("py:property", name, docstring(inspect.getdoc(value) or ""))
        case staticmethod():
            head, kind = signature(value.__func__), "py:staticmethod"
        case classmethod():
            head, kind = signature(value.__func__, unbound=True), "py:classmethod"
        case _:
            head, kind = signature(value, unbound=True), "py:method"
    return directive(kind, name + head.replace("tf.", "sg."), docstring(inspect.getdoc(value) or ""))
