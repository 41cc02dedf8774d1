r"""RE2's regular expressions, which TensorFlow has, in the words of Python's `re`.

They differ in little: `$` is the very end here, classes like `[[:alpha:]]` and `\pL` exist, flags may be set
in the middle, and there is nothing that needs a look back or ahead. What RE2 refuses is refused here too.

RE2 takes time in proportion to the text. Python's engine may take much more for patterns such as `(a*)*b`;
then `linear_match` does the work.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cache, lru_cache
from itertools import islice
from typing import TypeAlias

from staticgraph.compiler.ops.text.linear_match import LinearPattern, Match
from staticgraph.compiler.support.dataclass import dataclass

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_CATEGORIES = """
    L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co
"""
_SPACE = r"\t\n\f\r "  # what RE2's \s is: without the vertical tab
_KEPT = "AbBdDwWaftnrv"  # escapes that mean the same in both
_MOST_REPEATS = 1000
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}", re.ASCII)
_FLAGS = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
_NAMED = re.compile(r"\(\?P<\w+>")
_HEX = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})")
_PROPERTY = re.compile(r"\\[pP](?:\{(\^?)([A-Za-z]+)\}|([A-Za-z]))")
_CLASS = re.compile(r"\[:(\^?)(\w+):\]")
_REWRITE = re.compile(r"\\(.?)", re.DOTALL)
_FEW_STEPS = 1e6  # some hundredths of a second
AnyMatch: TypeAlias = re.Match[str] | Match


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Expression:
    """A pattern of RE2's. ValueError if it is none.

    >>> [found[0] for found in compiled("[[:digit:]]+$").finditer("a 12")]
    ['12']
    """
    try:
        return Expression(_Translation(pattern).text())
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern {pattern!r} is not a regular expression: {error}") from None


class Expression:
    """A translated pattern: done by `re` in a text for which that takes few steps, else in linear time."""

    def __init__(self, text: str) -> None:
        self._usual = re.compile(text, re.ASCII)
        self._linear = LinearPattern(text)
        self.groups = self._usual.groups

    def finditer(self, text: str) -> Iterator[AnyMatch]:
        """Find all matches that do not overlap, from left to right."""
        few = self._linear.steps(len(text), whole=False) <= _FEW_STEPS
        return self._usual.finditer(text) if few else self._linear.finditer(text)

    def search(self, text: str) -> AnyMatch | None:
        """Find the first match, or return None."""
        return next(self.finditer(text), None)

    def fullmatch(self, text: str) -> AnyMatch | None:
        """Match the whole text, or return None."""
        few = self._linear.steps(len(text), whole=True) <= _FEW_STEPS
        return self._usual.fullmatch(text) if few else self._linear.fullmatch(text)


@lru_cache(maxsize=256)
def rewriter(rewrite: str, groups: int) -> Callable[[AnyMatch], str]:
    r"""Return the function that gives the replacement of a match.

    In `rewrite`, `\1` is the first group and `\0` the match.

    Raises:
        ValueError: For another use of the backslash, or for a group that the pattern does not have.
    """
    parts: list[str | int] = []
    end = 0
    for found in _REWRITE.finditer(rewrite):
        digit = found[1]
        if digit not in "0123456789\\" or not digit or (digit != "\\" and int(digit) > groups):
            raise ValueError(f"the rewrite {rewrite!r} has {found[0]}, and the pattern {groups} groups")
        parts += [rewrite[end : found.start()], "\\" if digit == "\\" else int(digit)]
        end = found.end()
    parts.append(rewrite[end:])

    def replacement(match: AnyMatch) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in parts)

    return replacement


def replace(pattern: str, rewrite: str, text: str, everywhere: bool) -> str:
    """`text` with the first match, or every match, replaced. No empty match follows another one at once."""
    expression = compiled(pattern)
    replacement = rewriter(rewrite, expression.groups)
    pieces, end = [], 0
    matches = expression.finditer(text)
    for match in matches if everywhere else islice(matches, 1):
        if match.end() > match.start() or match.start() > end or not match.start():
            pieces += [text[end : match.start()], replacement(match)]
            end = match.end()
    return "".join([*pieces, text[end:]])


@dataclass(slots=True)
class _Group:
    """An open parenthesis: the flags set within it, which Python wants as groups of their own."""

    multiline: bool
    opened: list[str] = field(default_factory=list)


class _Translation:
    """One pattern on its way into Python's words, from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._out: list[str] = []
        self._groups = [_Group(False)]
        self._repeatable = False  # whether what was written last is an atom, which may be repeated

    def text(self) -> str:
        while self._at < len(self._pattern):
            character = self._pattern[self._at]
            match character:
                case "\\":
                    self._escape()
                case "[":
                    self._class()
                case "(":
                    self._open()
                case ")":
                    self._close()
                case "|":
                    opened = self._groups[-1].opened
                    self._write(")" * len(opened) + "|" + "".join(opened), 1, repeatable=False)
                case "$":
                    self._write("$" if self._groups[-1].multiline else r"\Z", 1)
                case "*" | "+" | "?":
                    self._repeat(character, 1)
                case "{" if found := _REPEAT.match(self._pattern, self._at):
                    if max(int(n) for n in found.groups(default="0") if n) > _MOST_REPEATS:
                        raise re.error(f"{found[0]} repeats too often")
                    self._repeat(found[0], len(found[0]))
                case "{":
                    self._write(r"\{", 1)
                case _:
                    self._write(character, 1)
        if len(self._groups) > 1:
            raise re.error("a ) is missing")
        return "".join([*self._out, ")" * len(self._groups[0].opened)])

    def _write(self, text: str, length: int, repeatable: bool = True) -> None:
        self._out.append(text)
        self._at += length
        self._repeatable = repeatable

    def _repeat(self, text: str, length: int) -> None:
        """A quantifier, and the `?` that makes it take as little as it can."""
        if not self._repeatable:
            raise re.error(f"nothing stands before {text}")
        lazy = self._pattern[self._at + length : self._at + length + 1] == "?"
        self._write(text + "?" * lazy, length + lazy, repeatable=False)

    def _open(self) -> None:
        inherited = self._groups[-1].multiline
        if self._pattern[self._at : self._at + 2] != "(?":
            self._groups.append(_Group(inherited))
            self._write("(", 1, repeatable=False)
        elif found := _NAMED.match(self._pattern, self._at):
            self._groups.append(_Group(inherited))
            self._write(found[0], len(found[0]), repeatable=False)
        elif found := _FLAGS.match(self._pattern, self._at):
            on, off, end = found[1], (found[2] or "")[1:], found[3]
            if "U" in on + off:
                raise re.error("the flag U is not supported")
            multiline = (inherited or "m" in on) and "m" not in off
            text = f"(?{''.join(sorted(set(on)))}{'-' + ''.join(sorted(set(off))) if off else ''}:"
            if end == ":":
                self._groups.append(_Group(multiline))
            else:
                self._groups[-1].multiline = multiline
                self._groups[-1].opened.append(text)
            self._write(text, len(found[0]), repeatable=False)
        else:
            raise re.error(f"{self._pattern[self._at : self._at + 3]} is not supported")

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise re.error("a ) has no (")
        self._write(")" * (len(self._groups.pop().opened) + 1), 1)

    def _escape(self) -> None:
        letter = self._pattern[self._at + 1 : self._at + 2]
        if letter == "Q":
            literal, _, _ = self._pattern[self._at + 2 :].partition(r"\E")
            self._write("".join(map(re.escape, literal)), len(literal) + 2)
            self._at += 2 * self._pattern.startswith(r"\E", self._at)
        elif letter == "z":
            self._write(r"\Z", 2)
        elif letter == "s":
            self._write(f"[{_SPACE}]", 2)
        elif letter == "S":
            self._write(f"[^{_SPACE}]", 2)
        elif letter in ("p", "P"):
            self._write(f"[{self._property()}]", 0)
        else:
            self._write(self._one(letter), 0)

    def _one(self, letter: str) -> str:
        """An escape that is the same within a class; moves on behind it."""
        found = _HEX.match(self._pattern, self._at)
        if letter == "x" and found:
            code = int(found[1] or found[2], 16)
            if code > sys.maxunicode:
                raise re.error(f"{found[0]} is not a character")
            self._at += len(found[0])
            return re.escape(chr(code))
        self._at += 2
        if letter and (letter in _KEPT or not (letter.isalnum() or letter == "_")):
            return "\\" + letter
        raise re.error(f"\\{letter} is not supported")

    def _property(self) -> str:
        r"""The characters of a general category, such as \pL or \p{Lu}."""
        found = _PROPERTY.match(self._pattern, self._at)
        if found is None:
            raise re.error(f"{self._pattern[self._at : self._at + 3]} is not a category")
        self._at += len(found[0])
        other = (found[0][1] == "P") != bool(found[1])
        return _category(found[2] or found[3], other)

    def _class(self) -> None:
        out, start = ["["], self._at
        self._at += 1
        if self._pattern[self._at : self._at + 1] == "^":
            out.append("^")
            self._at += 1
        first = True
        while first or self._pattern[self._at : self._at + 1] != "]":
            if self._at >= len(self._pattern):
                raise re.error(f"a ] is missing after {self._pattern[start:]}")
            out.append(self._member())
            first = False
        self._write("".join(out) + "]", 1)

    def _member(self) -> str:
        """Return the next member of a character class, and move past it."""
        if found := _CLASS.match(self._pattern, self._at):
            self._at += len(found[0])
            if found[2] not in _POSIX:
                raise re.error(f"{found[0]} is not a class")
            return _others(_POSIX[found[2]]) if found[1] else _POSIX[found[2]]
        character = self._pattern[self._at]
        if character != "\\":
            self._at += 1
            return "\\" + character if character in "[]&~|" else character
        letter = self._pattern[self._at + 1 : self._at + 2]
        match letter:
            case "s":
                self._at += 2
                return _SPACE
            case "S":
                self._at += 2
                return _others(_SPACE)
            case "p" | "P":
                return self._property()
            case "b" | "B" | "A":
                raise re.error(f"\\{letter} is not a character")
        return self._one(letter)


@cache
def _others(members: str) -> str:
    """All characters but those of a class, as the members of another."""
    expression = re.compile(f"[{members}]", re.ASCII)
    return _ranges(lambda character: expression.match(character) is None)


@cache
def _category(name: str, other: bool) -> str:
    if name not in _CATEGORIES.split():
        raise re.error(f"\\p{{{name}}} is not supported")
    return _ranges(lambda character: unicodedata.category(character).startswith(name) != other)


def _ranges(belongs: Callable[[str], bool]) -> str:
    """The characters for which a function holds, as the members of a class."""
    out: list[str] = []
    first: int | None = None
    for code in range(sys.maxunicode + 2):
        inside = code <= sys.maxunicode and belongs(chr(code))
        if inside and first is None:
            first = code
        elif not inside and first is not None:
            out.append(f"\\U{first:08x}-\\U{code - 1:08x}")
            first = None
    return "".join(out)
