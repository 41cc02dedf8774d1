"""The words of the source: summaries that say what a thing is or does, and the terms of the field."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("staticgraph", "runtime", "compiler")
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
HELPERS = [path for name in ("tests", "tools", "examples") for path in sorted((ROOT / name).rglob("*.py"))]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

# A summary is an imperative or a noun phrase.
QUESTIONS = ("What", "Whether", "Who", "Those", "Where", "How")
# In the product nor a fragment, such as "Of a block.", nor a question without its mark.
FRAGMENTS = ("Of", "By", "With", "If", "Which", "Why", "When")

# Words for which the field has a better one: a compile log is no ledger. Files and classes avoid them.
# fmt: off
PRIVATE = {
    "ahead", "alike", "chain", "culprit", "effort", "failing", "jam", "ledger", "recycle", "remembered",
    "seeing", "slopes", "specialise", "standin",
}
# fmt: on
# Of the field: a chain of events and unroll-and-jam have no other name.
FIELD = {"unroll_and_jam.py", "Chain", "_Chain"}

# Phrases of an older dialect, and what says the same.
PHRASES = {
    "short way": "fast path",
    "needs it not": "does not need it",
    "no number any more": "NaN",
    "GPUs of NVIDIA": "NVIDIA GPUs",
    "product of float32": "float32 matrix product",
}


@pytest.fixture(scope="module")
def docstrings() -> dict[str, str]:
    """The docstrings of all files by their places."""
    found = {}
    for path in (*FILES, *HELPERS):
        for node in documented(ast.parse(path.read_text())):
            if text := ast.get_docstring(node):
                found[f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"] = text
    return found


def documented(node: ast.AST) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef]:
    """Yield a module and all classes and functions in it. Only statements can hold them."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        below = getattr(node, name, None)
        for child in below if isinstance(below, list) else ():
            yield from documented(child)


def test_summaries_are_no_questions(docstrings: dict[str, str]):
    assert len(docstrings) > 10_000
    found = [
        f"{place}: {text.splitlines()[0]}"
        for place, text in docstrings.items()
        if text.split()[0] in QUESTIONS
    ]
    assert not found, "begin with a verb or a noun:\n" + "\n".join(found)


def test_summaries_are_no_fragments(docstrings: dict[str, str]):
    ours = {place: text for place, text in docstrings.items() if place.startswith(PACKAGES)}
    found = [
        f"{place}: {text.splitlines()[0]}" for place, text in ours.items() if text.split()[0] in FRAGMENTS
    ]
    assert not found, "begin with a verb or a noun:\n" + "\n".join(found)


# What docstrings no longer say: "if" is for conditions and "where" for places, and a GPU is no card.
DIALECT = re.compile(
    r"\b(?:None|[A-Z]\w*Error)\s+where\b"
    r"|\bwhere\s+there\s+(?:is|are|was|were)\s+(?:none|no|nothing|neither)\b"
    r"|\b(?:a|the)\s+card\b"
)
FEW = 20  # of it may come back before it is looked at


def test_docstrings_are_in_plain_english(docstrings: dict[str, str]):
    ours = {place: text for place, text in docstrings.items() if place.startswith(PACKAGES)}
    found = [f"{place}: {said[0]!r}" for place, text in ours.items() if (said := DIALECT.search(text))]
    assert len(found) <= FEW, "\n".join(found)


def test_names_of_files_and_classes_are_terms_of_the_field():
    classes = [name for path in FILES for name in re.findall(r"^ *class (\w+)", path.read_text(), re.M)]
    names = [*(path.name for path in FILES), *classes]
    found = [n for n in dict.fromkeys(names) if n not in FIELD and PRIVATE & set(words(n))]
    assert not found, found


def words(name: str) -> list[str]:
    """The words of the name of a file or a class.

    >>> words("HostRunState"), words("unroll_and_jam.py")
    (['host', 'run', 'state'], ['unroll', 'and', 'jam', 'py'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)]


def test_phrases_have_the_words_of_the_field():
    found = [
        f"{path.relative_to(ROOT)}: {phrase!r}: say {better!r}"
        for path in (*FILES, *PAGES)
        for phrase, better in PHRASES.items()
        if phrase in path.read_text()
    ]
    assert not found, "\n".join(found)


def test_files_that_texts_name_are_there():
    """A name may leave out the folders above, as `session.py` does."""
    named = re.compile(r"`((?:staticgraph|compiler|runtime|tests|tools|docs|examples)/[\w./]+|[\w./]+\.py)`")
    parts = [path.relative_to(ROOT).parts for path in (*FILES, *HELPERS)]
    known = {"/".join(each[start:]) for each in parts for start in range(len(each))}
    lost = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (*FILES, *PAGES)
        for name in named.findall(path.read_text())
        if name not in known
        if not any((ROOT / place).exists() for place in (name, name.removeprefix("staticgraph/")))
    }
    assert not lost
