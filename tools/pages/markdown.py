"""Docstrings as Markdown. A docstring is text: what Markdown would take for a sign is kept as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CODE = re.compile(r"(`+[^`]+`+)")
_SIGNS = re.compile(r"([\\*_<>\[\]{}|~#$])")
_NUMBERED = re.compile(r"^(\s*\d+)([.)])(?=\s)")


def escaped(text: str) -> str:
    r"""A line of text as Markdown that shows it; what stands between backticks is code already.

    >>> print(escaped("a * b[0], not `a * b`"))
    a \* b\[0\], not `a * b`
    """
    parts = _CODE.split(text)
    shown = "".join(part if i % 2 else _SIGNS.sub(r"\\\1", part) for i, part in enumerate(parts))
    return re.sub(r"^([-+=])", r"\\\1", _NUMBERED.sub(r"\1\\\2", shown))


def docstring(doc: str) -> str:
    r"""A whole docstring: paragraphs, lists with `*`, examples, and blocks of code, which are indented.

    >>> docstring("Twice x.\n\n>>> twice(2)\n4").splitlines()
    ['Twice x.', '', '```pycon', '>>> twice(2)', '4', '```']
    """
    blocks = [block.splitlines() for block in re.split(r"\n\s*\n", doc.strip("\n")) if block.strip()]
    made: list[str] = []
    for kind, lines in _joined(blocks):
        match kind:
            case "example":
                made.append(fenced("\n".join(lines), "pycon"))
            case "code":
                indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
                made.append(fenced("\n".join(line[indent:] for line in lines), "text"))
            case _:
                made.append(_paragraph(lines))
    return "\n\n".join(made)


def examples(doc: str) -> str:
    """The examples of a docstring alone, empty if there are none."""
    blocks = [block for block in re.split(r"\n\s*\n", doc) if block.lstrip().startswith(">>>")]
    return "\n\n".join(fenced(block, "pycon") for block in blocks)


def _joined(blocks: Iterable[list[str]]) -> Iterable[tuple[str, list[str]]]:
    """The blocks with their kinds; blocks of code that follow each other are one."""
    before: tuple[str, list[str]] | None = None
    for lines in blocks:
        kind = "example" if lines[0].lstrip().startswith(">>>") else "text"
        if kind == "text" and all(line.startswith("    ") for line in lines):
            kind = "code"
        if kind == "code" and before is not None and before[0] == "code":
            before[1].extend(["", *lines])
            continue
        if before is not None:
            yield before
        before = (kind, list(lines))
    if before is not None:
        yield before


def _paragraph(lines: list[str]) -> str:
    """Lines of text, in which those that are indented or are a diagram become code."""
    shown: list[str] = []
    code: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("    ") and not _continues(shown):
            code.append(line[4:])
            continue
        if code:
            shown += ["", fenced("\n".join(code), "text"), ""]
            code = []
        bullet = re.match(r"^(\s*)\* ", line)
        shown.append(bullet[0] + escaped(line[bullet.end() :]) if bullet else escaped(line))
    return "\n".join(shown).rstrip()


def _continues(shown: list[str]) -> bool:
    """Return True if an indented line goes on with an item of a list."""
    return bool(shown) and bool(re.match(r"^\s*(\* |\d+\\?[.)] )", shown[-1]))


def fenced(text: str, language: str) -> str:
    """A block of code, whatever fences are in it."""
    longest = max((len(ticks) for ticks in re.findall(r"^`{3,}", text, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def directive(name: str, argument: str, body: str, options: Iterable[str] = ()) -> str:
    """A directive of MyST, in a fence that is longer than those in its body."""
    ticks = max((len(found) for found in re.findall(r"`{3,}", body)), default=2) + 1
    fence = "`" * max(ticks, 3)
    lines = [f"{fence}{{{name}}} {argument}".rstrip(), *(f":{option}" for option in options)]
    return "\n".join([*lines, "", body.rstrip(), fence])


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """A table of two columns without a head: what is told, and what it is."""
    items = [f"* - {name}\n  - {text}" for name, text in rows if text]
    return directive("list-table", "", "\n".join(items), ("class: facts", "stub-columns: 1", "widths: auto"))
