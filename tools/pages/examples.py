"""The examples of a page, run for the files that they write: its pictures."""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from staticgraph.compiler.graph.graph import reset_default_graph

_SHOWN = re.compile(r'!\[[^\]]*\]\(([^):#]+)\)|<(?:iframe|img)[^>]*\ssrc="([^":#]+)"')


def shown_files(text: str) -> list[str]:
    """The files that a page shows, as it names them.

    >>> shown_files('![The net](net.svg) and <iframe src="net.html"></iframe>')
    ['net.svg', 'net.html']
    """
    return [found[1] or found[2] for found in _SHOWN.finditer(text)]


def make_pictures(page: Path) -> list[Path]:
    """Run the examples of a page, if it shows files that are not there, and put these beside it."""
    text = page.read_text(encoding="utf-8")
    missing = [name for name in shown_files(text) if not (page.parent / name).exists()]
    if not missing:
        return []
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.chdir(folder):
            run(text, str(page))
        for name in missing:
            made = Path(folder) / name
            if not made.exists():
                raise FileNotFoundError(f"{page} shows {name}, which its examples do not write")
            (page.parent / name).write_bytes(made.read_bytes())
    return [page.parent / name for name in missing]


def run(text: str, name: str) -> None:
    """Run the `pycon` blocks of a page, one after the other. What they print is for the tests to compare."""
    blocks = re.findall(r"^```pycon\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("".join(blocks), {}, name, name, 0)
    runner = _Errors()
    reset_default_graph()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        runner.run(test, out=nowhere.write)
    if runner.errors:
        raise RuntimeError(f"an example of {name} fails: {runner.errors[0]}")


class _Errors(doctest.DocTestRunner):
    """Runs examples and keeps what they raise."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[str] = []

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        self.errors.append(f"{example.source}{exc_info[1]}")
