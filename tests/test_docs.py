"""Examples of the documentation do what they show: those of docstrings and docs/, the README as a whole.

Docstring examples find `sg` and `np` imported and an empty default graph. The Python blocks of the README are
one program: they run in order, in one fresh process, in an empty folder. So are the `pycon` blocks of a page
in docs/, which also show what they print; `pytest --update-golden` writes that anew.
"""

import ast
import doctest
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import staticgraph as sg
from pages.examples import shown_files
from staticgraph.compiler.graph.graph import reset_default_graph

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {
    "staticgraph": "staticgraph",
    "staticgraph.compiler": "compiler",
    "staticgraph.runtime": "runtime",
    "tools": "tools",
}


def modules_with_examples() -> list[str]:
    """Dotted names of the modules whose source holds a `>>>`."""
    return sorted(
        ".".join([package, *path.relative_to(ROOT / folder).with_suffix("").parts]).removesuffix(".__init__")
        for package, folder in FOLDERS.items()
        for path in (ROOT / folder).rglob("*.py")
        if ">>> " in path.read_text()
    )


def examples(module: ModuleType) -> Iterator[doctest.DocTest]:
    """The docstring examples of a module. A decorated op is no function any more, but keeps its docstring."""
    finder = doctest.DocTestFinder()
    known = {"sg": sg, "np": np}
    yield from finder.find(module, extraglobs=known)
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef) and not inspect.isroutine(value := vars(module).get(node.name)):
            name = f"{module.__name__}.{node.name}"
            yield from finder.find(value, name, module=False, globs=vars(module) | known)


@pytest.mark.takes_long
@pytest.mark.parametrize("name", modules_with_examples())
def test_docstring_examples(name: str):
    module = importlib.import_module(name)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in examples(module):
        reset_default_graph()
        runner.run(test, out=report.append)
    assert runner.tries, f"{name} shows examples where no docstring is"
    assert not runner.failures, "\n" + "".join(report)


def blocks(text: str, language: str) -> str:
    """The fenced blocks of one language, everything else blank, so that line numbers stay true."""
    kept, inside = [], False
    for line in text.splitlines():
        fence = line.startswith("```")
        if fence:
            inside = line == "```" + language and not inside
        kept.append(line if inside and not fence else "")
    return "\n".join(kept) + "\n"


class Printed(doctest.DocTestRunner):
    """Runs examples and keeps what they print, by line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[int, str] = {}

    def report_success(self, out: object, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.lines[example.lineno] = got

    def report_failure(self, out: object, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.lines[example.lineno] = got


def with_printed(text: str) -> str:
    """A page in which the examples are followed by what they print."""
    test = doctest.DocTestParser().get_doctest(blocks(text, "pycon"), {}, "page", None, 0)
    runner, lines = Printed(), text.splitlines(keepends=True)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    assert len(runner.lines) == len(test.examples), "".join(report)
    for example in reversed(test.examples):
        start = example.lineno + example.source.count("\n")
        stop = start + example.want.count("\n")
        lines[start:stop] = [runner.lines[example.lineno]]
    return "".join(lines)


@pytest.mark.takes_long
@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_the_pages_show_what_their_examples_print(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = page.read_text()
    monkeypatch.chdir(tmp_path)  # pages write files
    printed = with_printed(text)
    update = request.config.getoption("--update-golden")
    if update:
        page.write_text(printed)
    assert printed == page.read_text()
    pictures = [name for name in shown_files(text) if not name.endswith(".html")]
    for drawn, shown in ((tmp_path / name, page.parent / name) for name in pictures):
        if drawn.exists() and update and (not shown.exists() or words_of(drawn) != words_of(shown)):
            shutil.copy(drawn, shown)
        assert shown.exists(), f"{shown.name} is missing: run pytest --update-golden and look at it"
        assert not drawn.exists() or words_of(drawn) == words_of(shown), f"{shown.name} shows another graph"


def words_of(picture: Path) -> list[str]:
    """Return the words in an SVG, sorted: where they stand is for its layout to say. A photo has none."""
    if picture.suffix != ".svg":
        return []
    return sorted(map(str.strip, re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text())))


def test_a_page_with_other_output_is_noticed():
    page = "a\n```pycon\n>>> 1 + 1\n3\n>>> x = 1\n```\nb\n"
    assert with_printed(page) == page.replace("3", "2")


def test_an_example_on_a_page_that_fails_is_told():
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        with_printed("```pycon\n>>> 1 / 0\n```\n")


@pytest.mark.takes_long
def test_the_readme_runs(tmp_path: Path):
    program = blocks((ROOT / "README.md").read_text(), "python")
    assert program.strip(), "the README shows no Python"
    (tmp_path / "readme.py").write_text(program)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "readme.py"]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda page: page.stem
)
def test_what_a_page_links_to_exists(page: Path):
    text = page.read_text()
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_only_the_blocks_of_the_language_are_kept():
    text = "a\n```python\nx = 1\n```\nb\n```console\n$ ls\n```\n```python\ny = 2\n```\n"
    assert blocks(text, "python").splitlines() == ["", "", "x = 1", "", "", "", "", "", "", "y = 2", ""]
