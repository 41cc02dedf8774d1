"""Regular expressions in time proportional to the text.

Python's `re` goes back and tries again: `(a*)*b` takes a time that doubles with each letter of the text. Here
all ways to match go through the text side by side, one character at a time, in the order of preference that
`re` has (Pike's virtual machine; R. Cox, "Regular Expression Matching: the Virtual Machine Approach"). That
takes some microseconds per character, so `re` does what it certainly does in few steps: see `steps`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_MOST_INSTRUCTIONS = 50_000
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: lambda c: "0" <= c <= "9",
    op.CATEGORY_NOT_DIGIT: lambda c: not "0" <= c <= "9",
    op.CATEGORY_SPACE: lambda c: c in " \t\n\r\f\v",
    op.CATEGORY_NOT_SPACE: lambda c: c not in " \t\n\r\f\v",
    op.CATEGORY_WORD: lambda c: c in _WORD,
    op.CATEGORY_NOT_WORD: lambda c: c not in _WORD,
}
_MATCH, _CHARACTER, _SPLIT, _JUMP, _SAVE, _ASSERT = range(6)
Slots = tuple[int, ...]


class Match:
    """A match: `match[0]` is all of it, `match[1]` the first group, None if that took no part."""

    def __init__(self, text: str, slots: Slots) -> None:
        self._text = text
        self._slots = slots

    def start(self) -> int:
        """Return where it begins."""
        return self._slots[0]

    def end(self) -> int:
        """Return where it ends."""
        return self._slots[1]

    def __getitem__(self, group: int) -> str | None:
        start, end = self._slots[2 * group : 2 * group + 2]
        return None if start < 0 or end < 0 else self._text[start:end]


class LinearPattern:
    """A pattern of Python's `re` without references and looks ahead or back, under `re.ASCII`.

    Raises:
        re.error: The pattern is not one, or has too many repetitions.

    >>> pattern = LinearPattern("(a*)*b")
    >>> pattern.fullmatch("a" * 1000) is None, pattern.fullmatch("aab")[0]
    (True, 'aab')
    """

    def __init__(self, pattern: str) -> None:
        tree = parser.parse(pattern, re.ASCII)
        self.groups: int = tree.state.groups - 1
        self._tree = tree
        self._code: list[tuple[Any, ...]] = []
        self._add((_SAVE, 0))
        self._sequence(tree, tree.state.flags)
        self._add((_SAVE, 1))
        self._add((_MATCH,))

    def steps(self, length: int, whole: bool) -> float:
        """Return about how many steps `re` takes at most in a text of this length; infinity if they explode.

        Args:
            length: That of the text.
            whole: The pattern is to match all of the text, rather than to be found in it.
        """
        ways = _ways(self._tree, length, last=not whole)
        return ways if whole else ways * (length + 1)

    def finditer(self, text: str) -> Iterator[Match]:
        """Find all matches that do not overlap, from left to right, as `re` does."""
        at, advance = 0, False
        while at <= len(text) and (found := self._run(text, at, must_advance=advance)) is not None:
            yield found
            at, advance = found.end(), found.end() == found.start()

    def fullmatch(self, text: str) -> Match | None:
        """Match the whole text, or return None."""
        return self._run(text, 0, whole=True)

    # The program

    def _add(self, instruction: tuple[Any, ...]) -> int:
        if len(self._code) >= _MOST_INSTRUCTIONS:
            raise re.error("the pattern is too large")
        self._code.append(instruction)
        return len(self._code) - 1

    def _sequence(self, items: Any, flags: int) -> None:
        for kind, argument in items:
            self._item(kind, argument, flags)

    def _item(self, kind: Any, argument: Any, flags: int) -> None:
        if kind is op.SUBPATTERN:
            group, on, off, inside = argument
            flags = (flags | on) & ~off
            if group is None:
                self._sequence(inside, flags)
            else:
                self._add((_SAVE, 2 * group))
                self._sequence(inside, flags)
                self._add((_SAVE, 2 * group + 1))
        elif kind is op.BRANCH:
            self._branch(argument[1], flags)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, inside = argument
            self._repeat(least, most, inside, flags, lazy=kind is op.MIN_REPEAT)
        elif kind is op.AT:
            self._add((_ASSERT, _assertion(argument, flags)))
        else:
            self._add((_CHARACTER, _character(kind, argument, flags)))

    def _branch(self, alternatives: Sequence[Any], flags: int) -> None:
        ends = []
        for alternative in alternatives[:-1]:
            split = self._add((_SPLIT,))
            self._sequence(alternative, flags)
            ends.append(self._add((_JUMP,)))
            self._code[split] = (_SPLIT, split + 1, len(self._code))
        self._sequence(alternatives[-1], flags)
        for end in ends:
            self._code[end] = (_JUMP, len(self._code))

    def _repeat(self, least: int, most: Any, inside: Any, flags: int, lazy: bool) -> None:
        for _ in range(least):
            self._sequence(inside, flags)
        splits = []
        if most is op.MAXREPEAT:
            splits.append(self._add((_SPLIT,)))
            self._sequence(inside, flags)
            self._add((_JUMP, splits[0]))
        else:
            for _ in range(most - least):
                splits.append(self._add((_SPLIT,)))
                self._sequence(inside, flags)
        for split in splits:
            ways = split + 1, len(self._code)
            self._code[split] = (_SPLIT, *(ways[::-1] if lazy else ways))

    # Running it

    def _run(self, text: str, start: int, whole: bool = False, must_advance: bool = False) -> Match | None:
        empty: Slots = (-1,) * (2 * self.groups + 2)
        threads: list[tuple[int, Slots]] = []
        best: Slots | None = None
        for at in range(start, len(text) + 1):
            seen = bytearray(len(self._code))
            current: list[tuple[int, Slots]] = []
            for state, slots in threads:
                self._follow(state, slots, text, at, seen, current)
            if best is None and (at == start or not whole):
                self._follow(0, empty, text, at, seen, current)
            threads = []
            character = text[at] if at < len(text) else None
            for state, slots in current:
                instruction = self._code[state]
                if instruction[0] == _MATCH:
                    if (whole and character is not None) or (must_advance and slots[1] == start):
                        continue
                    best = slots
                    break  # those that follow are less preferred
                if character is not None and instruction[1](character):
                    threads.append((state + 1, slots))
            if not threads and (best is not None or whole):
                break
        return None if best is None else Match(text, best)

    def _follow(
        self, state: int, slots: Slots, text: str, at: int, seen: bytearray, found: list[tuple[int, Slots]]
    ) -> None:
        """Add the states that are reached without a character, in the order of preference."""
        waiting = [(state, slots)]
        while waiting:
            state, slots = waiting.pop()
            if seen[state]:
                continue
            seen[state] = 1
            instruction = self._code[state]
            match instruction[0]:
                case 2:  # _SPLIT
                    waiting += [(instruction[2], slots), (instruction[1], slots)]
                case 3:  # _JUMP
                    waiting.append((instruction[1], slots))
                case 4:  # _SAVE
                    place = instruction[1]
                    waiting.append((state + 1, (*slots[:place], at, *slots[place + 1 :])))
                case 5:  # _ASSERT
                    if instruction[1](text, at):
                        waiting.append((state + 1, slots))
                case _:
                    found.append((state, slots))


def _character(kind: Any, argument: Any, flags: int) -> Callable[[str], bool]:
    """Return if a character is one of those that an item stands for; what was looked up is cached."""
    if kind is op.ANY:
        return (lambda c: True) if flags & re.DOTALL else (lambda c: c != "\n")
    if kind is op.IN:
        negated = argument[0][0] is op.NEGATE
        members = [_member(*item) for item in argument[negated:]]
    elif kind in (op.LITERAL, op.NOT_LITERAL):
        negated, members = kind is op.NOT_LITERAL, [_member(op.LITERAL, argument)]
    else:
        raise re.error(f"{kind} is not supported")
    known: dict[str, bool] = {}

    def belongs(c: str) -> bool:
        found = known.get(c)
        if found is None:
            alike = {c, c.lower(), c.upper()} if flags & re.IGNORECASE and c.isascii() else {c}
            found = known[c] = any(member(each) for member in members for each in alike) != negated
        return found

    return belongs


def _member(kind: Any, argument: Any) -> Callable[[str], bool]:
    if kind is op.LITERAL:
        return lambda c: ord(c) == argument
    if kind is op.RANGE:
        return lambda c: bool(argument[0] <= ord(c) <= argument[1])
    return _CATEGORIES[argument]


def _assertion(kind: Any, flags: int) -> Callable[[str, int], bool]:
    """Return if a place in a text is one of those that an item stands for."""

    def at_boundary(text: str, at: int) -> bool:
        return (at > 0 and text[at - 1] in _WORD) != (at < len(text) and text[at] in _WORD)

    if kind is op.AT_BOUNDARY:
        return at_boundary
    if kind is op.AT_NON_BOUNDARY:
        return lambda text, at: bool(text) and not at_boundary(text, at)
    if kind is op.AT_BEGINNING and flags & re.MULTILINE:
        return lambda text, at: at == 0 or text[at - 1] == "\n"
    if kind in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
        return lambda text, at: at == 0
    if kind is op.AT_END and flags & re.MULTILINE:
        return lambda text, at: at == len(text) or text[at] == "\n"
    if kind is op.AT_END:
        return lambda text, at: at == len(text) or (at == len(text) - 1 and text[at] == "\n")
    return lambda text, at: at == len(text)


def _ways(items: Any, length: int, last: bool) -> float:
    """Return in how many ways a sequence can match from one place on, at most.

    Args:
        items: The sequence.
        length: That of the text.
        last: Nothing follows that could fail, so the first way counts.
    """
    ways = 1.0
    for number, (kind, argument) in enumerate(items):
        ends = last and number == len(items) - 1
        if kind is op.SUBPATTERN:
            ways *= _ways(argument[-1], length, ends)
        elif kind is op.BRANCH:
            ways *= sum(_ways(each, length, ends) for each in argument[1])
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, inside = argument
            if not _is_definite(inside):
                return float("inf")
            ends = ends and kind is op.MAX_REPEAT
            ways *= 1 if ends else min(length, length if most is op.MAXREPEAT else most - least) + 1
    return ways


def _is_definite(items: Any) -> bool:
    """Return if a sequence that is repeated matches in one way only, wherever it begins."""
    for kind, argument in items:
        if kind is op.SUBPATTERN:
            if not _is_definite(argument[-1]):
                return False
        elif kind is op.BRANCH:
            first = [each[0] if len(each) else (None, None) for each in argument[1]]
            literal = all(kind is op.LITERAL for kind, _ in first)
            if not literal or len({code for _, code in first}) < len(first):
                return False
            if not all(map(_is_definite, argument[1])):
                return False
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, inside = argument
            if least != most or not _is_definite(inside):
                return False
    return True
