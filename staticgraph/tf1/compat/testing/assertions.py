"""Assertions of `tf.test.TestCase` about texts, sequences, structures, commands and files."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from staticgraph.compiler.graph.errors import misuse


class Assertions(unittest.TestCase):
    """Assertions that know nothing of graphs."""

    # Texts

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} begins otherwise")

    def assertNotStartsWith(self, actual: str, unexpected_start: str, msg: str | None = None) -> None:
        self.assertFalse(actual.startswith(unexpected_start), msg or f"{actual!r} begins so")

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:
        self.assertTrue(actual.endswith(expected_end), msg or f"{actual!r} ends otherwise")

    def assertNotEndsWith(self, actual: str, unexpected_end: str, msg: str | None = None) -> None:
        self.assertFalse(actual.endswith(unexpected_end), msg or f"{actual!r} ends so")

    def assertRegexMatch(self, actual_str: Any, regexes: Sequence[Any], message: str | None = None) -> None:
        """One of the regular expressions is found in the text."""
        if isinstance(regexes, str | bytes):
            self.fail(f"regexes is {regexes!r}, and must be a list of expressions")
        self.assertTrue(
            any(re.search(regex, actual_str, re.MULTILINE) for regex in regexes),
            message or f"{actual_str!r} has none of {list(regexes)}",
        )

    def assertContainsInOrder(self, strings: Sequence[str], target: str, msg: str | None = None) -> None:
        """The text has the strings one after the other."""
        at = 0
        for string in [strings] if isinstance(strings, str) else strings:
            found = target.find(string, at)
            self.assertGreaterEqual(found, 0, msg or f"{string!r} is not in {target!r} from place {at} on")
            at = found + len(string)

    def assertUrlEqual(self, a: str, b: str, msg: str | None = None) -> None:
        """Equal addresses, whose parameters may stand in another order."""
        one, other = urlsplit(a), urlsplit(b)
        self.assertEqual(one[:3], other[:3], msg)
        self.assertEqual(one.fragment, other.fragment, msg)
        parameters = [
            {key: sorted(v) for key, v in parse_qs(url.query, True).items()} for url in (one, other)
        ]
        self.assertEqual(parameters[0], parameters[1], msg)

    def assertJsonEqual(self, first: str, second: str, msg: str | None = None) -> None:
        """Texts of the same JSON."""
        self.assertEqual(json.loads(first), json.loads(second), msg)

    # Sequences and sets

    def assertContainsSubset(self, expected_subset: Any, actual_set: Any, msg: str | None = None) -> None:
        """All expected elements are there."""
        missing = set(expected_subset) - set(actual_set)
        self.assertFalse(missing, msg or f"missing: {missing}")

    def assertNoCommonElements(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        """No element is in both."""
        common = set(expected_seq) & set(actual_seq)
        self.assertFalse(common, msg or f"in both: {common}")

    def assertContainsSubsequence(self, container: Any, subsequence: Any, msg: str | None = None) -> None:
        """The elements are in the container in this order, perhaps with others between them."""
        rest = iter(container)
        self.assertTrue(
            all(each in rest for each in subsequence), msg or f"{subsequence} is not in {container}"
        )

    def assertContainsExactSubsequence(
        self, container: Any, subsequence: Any, msg: str | None = None
    ) -> None:
        """The elements are in the container one right after the other."""
        whole, part = list(container), list(subsequence)
        places = range(len(whole) - len(part) + 1)
        self.assertTrue(
            any(whole[at : at + len(part)] == part for at in places), msg or f"{part} is not in {whole}"
        )

    def assertSequenceStartsWith(self, prefix: Any, whole: Any, msg: str | None = None) -> None:
        """The first elements are those of `prefix`; a single element is a prefix of one."""
        first = list(prefix) if isinstance(prefix, Iterable) and not isinstance(prefix, str) else [prefix]
        self.assertEqual(first, list(whole[: len(first)]), msg)

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Any,
        actual_seq: Any,
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """As many elements, each almost equal."""
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        for one, other in zip(expected_seq, actual_seq, strict=True):
            self.assertAlmostEqual(one, other, places, msg, delta)  # type: ignore[arg-type]

    def assertTotallyOrdered(self, *groups: Sequence[Any], msg: str | None = None) -> None:
        """The members of a group are equal, and less than those of the next groups."""
        for group in groups:
            for one in group:
                self.assertTrue(all(one == other and one <= other for other in group), msg)
        for lower, upper in combinations(groups, 2):
            for one in lower:
                for other in upper:
                    self.assertTrue(
                        one < other and other > one and one != other, msg or f"{one!r}, {other!r}"
                    )

    # Structures

    def assertDataclassEqual(self, first: Any, second: Any, msg: str | None = None) -> None:
        """Equal dataclasses; the message names the fields that differ."""
        self.assertTrue(dataclasses.is_dataclass(first) and dataclasses.is_dataclass(second), msg)
        self.assertIs(type(first), type(second), msg)
        for field in dataclasses.fields(first):
            self.assertEqual(getattr(first, field.name), getattr(second, field.name), msg or field.name)

    def assertSameStructure(
        self, a: Any, b: Any, aname: str = "a", bname: str = "b", msg: str | None = None
    ) -> None:
        """Equal lists and dictionaries of values; the message names the places that differ."""
        found = list(_differences(a, b, aname, bname))
        self.assertFalse(found, msg or "; ".join(found))

    # Errors and commands

    def assertRaisesWithLiteralMatch(
        self,
        expected_exception: Any,
        expected_exception_message: str,
        callable_obj: Callable[..., Any] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Call a function that raises an error with just this text; without one, return a context."""
        context = self._raises_literally(expected_exception, expected_exception_message)
        if callable_obj is None:
            return context
        with context:
            return callable_obj(*args, **kwargs)

    @contextmanager
    def _raises_literally(self, kind: Any, text: str) -> Iterator[None]:
        with self.assertRaises(kind) as caught:
            yield
        self.assertEqual(str(caught.exception), text)

    def assertCommandSucceeds(
        self,
        command: Any,
        regexes: Sequence[Any] = (b"",),
        env: Any = None,
        close_fds: bool = True,
        msg: str | None = None,
    ) -> None:
        """A command, a text for the shell or a list, ends with 0 and prints one of the expressions."""
        status, printed = _run(command, env, close_fds)
        self.assertEqual(status, 0, msg or printed)
        self.assertRegexMatch(printed, [_bytes(regex) for regex in regexes], msg)

    def assertCommandFails(
        self,
        command: Any,
        regexes: Sequence[Any],
        env: Any = None,
        close_fds: bool = True,
        msg: str | None = None,
    ) -> None:
        """A command ends with another status than 0, and prints one of the expressions."""
        status, printed = _run(command, env, close_fds)
        self.assertNotEqual(status, 0, msg or printed)
        self.assertRegexMatch(printed, [_bytes(regex) for regex in regexes], msg)

    # Files

    def create_tempdir(self, name: str | None = None, cleanup: Any = None) -> _Folder:
        """A new folder for the duration of the test, with methods to make files and folders in it."""
        made = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, made, ignore_errors=True)
        return _Folder(made if name is None else _within(made, name, is_folder=True))

    def create_tempfile(
        self,
        file_path: str | None = None,
        content: Any = None,
        mode: str = "w",
        encoding: str = "utf8",
        errors: str = "strict",
        cleanup: Any = None,
    ) -> _File:
        """A new file with this content for the duration of the test."""
        return self.create_tempdir().create_file(file_path, content, mode, encoding, errors)

    def enter_context(self, manager: AbstractContextManager[Any]) -> Any:
        """Enter a context until the end of the test, and return what it gives."""
        return self.enterContext(manager)

    @contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[Any]:
        """Context in which what is written to `sys.stdout` or `sys.stderr` is kept: `contents()` gives it."""
        name = {id(sys.stdout): "stdout", id(sys.stderr): "stderr"}.get(id(stream))
        if name is None:
            raise misuse(ValueError, "the stream must be sys.stdout or sys.stderr")
        written = _Written()
        setattr(sys, name, written)
        try:
            yield written
        finally:
            setattr(sys, name, stream)


class _Written(io.StringIO):
    """A stream whose text can be read."""

    def contents(self) -> str:
        """Return all that was written."""
        return self.getvalue()


class _Place:
    """A file or a folder of a test."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def full_path(self) -> str:
        """The path."""
        return str(self._path)

    __fspath__ = full_path.fget  # type: ignore[attr-defined]


class _File(_Place):
    """A file of a test."""

    def read_text(self) -> str:
        """Return the text."""
        return self._path.read_text("utf8")

    def read_bytes(self) -> bytes:
        """Return the bytes."""
        return self._path.read_bytes()

    def write_text(self, text: str) -> None:
        """Replace the text."""
        self._path.write_text(text, "utf8")

    def write_bytes(self, data: bytes) -> None:
        """Replace the bytes."""
        self._path.write_bytes(data)

    def open_text(self, mode: str = "rt") -> Any:
        """The open file, as `open` gives it."""
        return self._path.open(mode, encoding="utf8")

    def open_bytes(self, mode: str = "rb") -> Any:
        """The open file, as `open` gives it."""
        return self._path.open(mode)


class _Folder(_Place):
    """A folder of a test."""

    def create_file(
        self,
        file_path: str | None = None,
        content: Any = None,
        mode: str = "w",
        encoding: str = "utf8",
        errors: str = "strict",
    ) -> _File:
        """A file in the folder."""
        path = _within(self._path, file_path)
        if content is not None:
            data = content.encode(encoding, errors) if isinstance(content, str) else content
            path.write_bytes(data)
        return _File(path)

    def mkdir(self, dir_name: str | None = None) -> _Folder:
        """A folder in the folder."""
        return _Folder(_within(self._path, dir_name, is_folder=True))


def _within(folder: Path, name: str | None, is_folder: bool = False) -> Path:
    """Make a file, or a folder, below a folder; without a name one of a new name."""
    path = Path(tempfile.mktemp(dir=folder)) if name is None else folder / name
    if is_folder:
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return path


def _bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _run(command: Any, env: Any, close_fds: bool) -> tuple[int, bytes]:
    """Status and output of a command."""
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        env=os.environ.copy() if env is None else env,
        close_fds=close_fds,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


def _differences(a: Any, b: Any, aname: str, bname: str) -> Iterator[str]:
    """Texts of the places in which two structures differ."""
    match a, b:
        case dict(), dict():
            for key in sorted(a.keys() | b.keys(), key=repr):
                if key in a and key in b:
                    yield from _differences(a[key], b[key], f"{aname}[{key!r}]", f"{bname}[{key!r}]")
                else:
                    yield f"{key!r} is only in {aname if key in a else bname}"
        case list() | tuple(), list() | tuple():
            if len(a) != len(b):
                yield f"{aname} has length {len(a)}, and {bname} {len(b)}"
            for at, (one, other) in enumerate(zip(a, b, strict=False)):
                yield from _differences(one, other, f"{aname}[{at}]", f"{bname}[{at}]")
        case _ if a != b:
            yield f"{aname} is {a!r}, and {bname} is {b!r}"
