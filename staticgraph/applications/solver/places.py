"""Places of the keys in a TOML file, so that a message can show the line. Python's reader does not tell them.

The text must be valid TOML. It is only split into keys and values here. Their meaning is left to the reader.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field

from staticgraph.compiler.support.dataclass import dataclass

Path = tuple[str | int, ...]  # ("layer", 2, "units"): the key `units` of the third [[layer]]

_TOKEN = re.compile(
    r"""
    (?P<space>   [ \t\r\n]+ | \#[^\n]* )
  | (?P<text>    \"{3} (?: [^\\] | \\. )*? \"{3,5} (?!\") | '{3} .*? '{3,5} (?!')
               | " (?: [^"\\\n] | \\. )* " | ' [^'\n]* ' )
  | (?P<sign>    [\[\]{},=.] )
  | (?P<bare>    [^\s\#"'\[\]{},=.]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a line of a file, or what was given on the command line."""

    source: str
    text: str = ""  # the whole line
    line: int = 0
    start: int = 0
    stop: int = 0

    @property
    def short(self) -> str:
        """`net.toml:12`."""
        return f"{self.source}:{self.line}" if self.line else self.source

    def __str__(self) -> str:
        """The line with the part underlined; nothing if there is no line to show."""
        if not self.line:
            return ""
        lead = f"    {self.line} | "
        signs = "^" * max(self.stop - self.start, 1)
        return f"{lead}{self.text}\n{' ' * (len(lead) - 2)}  {' ' * self.start}{signs}"


def key_places(text: str, source: str) -> dict[Path, tuple[Place, Place]]:
    """The places of each key and of its value, in valid TOML. A table's value is its header.

    >>> places = key_places("units = 3  # few", "net.toml")
    >>> key, value = places["units",]
    >>> value.short, value.text[value.start : value.stop]
    ('net.toml:1', '3')
    """
    scan = _Scan(text, source, [m for m in _TOKEN.finditer(text) if m.lastgroup != "space"])
    scan.document()
    return scan.found


@dataclass(slots=True)
class _Scan:
    """The tokens of a text, and how far they are read."""

    text: str
    source: str
    tokens: list[re.Match[str]]
    at: int = 0
    found: dict[Path, tuple[Place, Place]] = field(default_factory=dict)
    counts: Counter[Path] = field(default_factory=Counter)  # of the tables in each array of tables

    def document(self) -> None:
        table: Path = ()
        while self.at < len(self.tokens):
            if self.sign() == "[":
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> Path:
        """`[a.b]` or `[[a.b]]`: the path of the table that begins."""
        first = self.at
        several = self.sign(1) == "[" and self.tokens[first + 1].start() == self.tokens[first].end()
        self.at += 2 if several else 1
        *outer, last = self.key()
        path = self.inside((), outer)
        if several:
            self.counts[*path, last] += 1
        path = self.inside(path, [last])
        self.at += 2 if several else 1
        place = self.place(first, self.at)
        self.found[path] = place, place
        return path

    def inside(self, path: Path, keys: list[str]) -> Path:
        """The path through tables, and through the latest of an array of tables."""
        for key in keys:
            path = (*path, key)
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
        return path

    def pair(self, table: Path) -> None:
        """`key = value`."""
        first = self.at
        path = (*table, *self.key())
        after_key = self.at
        self.at += 1
        self.value(path)
        self.found[path] = self.place(first, after_key), self.place(after_key + 1, self.at)

    def key(self) -> list[str]:
        """The parts of `a.b."c d"`."""
        parts = []
        while True:
            token = self.tokens[self.at].group()
            parts.append(tomllib.loads(f"key = {token}")["key"] if token[0] in "\"'" else token)
            self.at += 1
            if self.sign() != ".":
                return parts
            self.at += 1

    def value(self, path: Path) -> None:
        match self.sign():
            case "[":
                self.several("]", lambda n: self.element((*path, n)))
            case "{":
                self.several("}", lambda _: self.pair(path))
            case _:
                self.scalar()

    def element(self, path: Path) -> None:
        first = self.at
        self.value(path)
        place = self.place(first, self.at)
        self.found[path] = place, place

    def several(self, end: str, read: Callable[[int], None]) -> None:
        """Read the elements between brackets, which commas separate."""
        self.at += 1
        count = 0
        while self.sign() != end:
            read(count)
            count += 1
            self.at += self.sign() == ","
        self.at += 1

    def scalar(self) -> None:
        """A text is one token; a number or date may be several, up to a bracket, a comma, the next line."""
        first = self.tokens[self.at]
        self.at += 1
        if first.lastgroup == "text":
            return
        while self.at < len(self.tokens) and self.sign() not in ("]", "}", ","):
            between = self.text[self.tokens[self.at - 1].end() : self.tokens[self.at].start()]
            if "\n" in between:
                return
            self.at += 1

    def sign(self, ahead: int = 0) -> str:
        """The bracket, comma, dot or equals sign that comes; empty for anything else."""
        at = self.at + ahead
        token = self.tokens[at] if at < len(self.tokens) else None
        return token.group() if token is not None and token.lastgroup == "sign" else ""

    def place(self, first: int, after: int) -> Place:
        """From one token to before another, as far as the first line goes."""
        start, stop = self.tokens[first].start(), self.tokens[after - 1].end()
        line_start = self.text.rfind("\n", 0, start) + 1
        line_stop = self.text.find("\n", start)
        line_stop = len(self.text) if line_stop < 0 else line_stop
        return Place(
            self.source,
            self.text[line_start:line_stop].rstrip("\r"),
            self.text.count("\n", 0, start) + 1,
            start - line_start,
            min(stop, line_stop) - line_start,
        )


def nearest_place(places: Mapping[Path, tuple[Place, Place]], path: Path, key: bool) -> Place | None:
    """The place of a value, or of its key; where the file has none, of the table around it."""
    while path:
        if path in places:
            return places[path][0 if key else 1]
        path = path[:-1]
    return None
