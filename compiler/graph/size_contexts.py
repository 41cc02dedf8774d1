"""Contexts of open sizes: what comparing and formatting them gives inside a `with`.

Some questions about open sizes have no answer for all their values; `answering` says what answers them.
`naming` gives them names, for the text of code that gets sizes as arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class Undecided(Exception):
    """An answer depends on the values of symbols.

    Attributes:
        about: The comparison or conversion, as text.
        equal: The two sizes, if the question was whether they are equal.
        sizes: The sizes that the question is about; empty if it may be all.
        asked_by: The name and the line of the operations that ask, for messages; empty if they are not known.
        comparison: If it was a comparison, a size, and "==" or ">=" for how it is compared with 0.
    """

    def __init__(
        self,
        about: str,
        equal: tuple[Any, Any] | None = None,
        sizes: tuple[Any, ...] = (),
        comparison: tuple[Any, str] | None = None,
    ) -> None:
        super().__init__(about)
        self.about, self.equal, self.sizes, self.comparison = about, equal, equal or sizes, comparison
        self.asked_by: tuple[tuple[str, Any], ...] = ()


Answer = Callable[[Undecided], bool]  # answers a comparison
_ANSWER: ContextVar[Answer | None] = ContextVar("answer", default=None)
current_answer = _ANSWER.get


class answering:
    """Context in which comparisons are answered by `answer`; by nothing if it is None."""

    __slots__ = ("_answer", "_token")

    def __init__(self, answer: Answer | None) -> None:
        self._answer = answer

    def __enter__(self) -> None:
        self._token = _ANSWER.set(self._answer)

    def __exit__(self, *_: object) -> None:
        _ANSWER.reset(self._token)


class listening:
    """Context that gives a list of the questions that are answered in it, as they would be without it."""

    __slots__ = ("_token",)

    def __enter__(self) -> list[Undecided]:
        asked: list[Undecided] = []
        answer = current_answer()

        def noted(question: Undecided) -> bool:
            assert answer is not None
            asked.append(question)
            return answer(question)

        self._token = _ANSWER.set(None if answer is None else noted)
        return asked

    def __exit__(self, *_: object) -> None:
        _ANSWER.reset(self._token)


def answered(comparison: Undecided) -> bool:
    """Return the answer to a comparison. Raises the question itself if nothing answers here."""
    answer = current_answer()
    if answer is None:
        raise comparison
    return answer(comparison)


class SizeNames(dict[Any, str]):
    """Open sizes in the order in which they were formatted, and the names that they got."""

    def of(self, size: Any) -> str:
        """Return the name of a size, `size0` for the first."""
        for known, name in self.items():
            apart = known - size
            if isinstance(apart, int) and apart == 0:
                return name
        return self.setdefault(size, f"size{len(self)}")


_NAMES: ContextVar[SizeNames | None] = ContextVar("size names", default=None)
current_names = _NAMES.get


def name_of(size: Any) -> str | None:
    """Return the name of an open size that is formatted; None outside of `naming`."""
    names = current_names()
    return None if names is None else names.of(size)


@contextmanager
def naming() -> Iterator[SizeNames]:
    """Let open sizes that are formatted inside the `with` be names."""
    names = SizeNames()
    token = _NAMES.set(names)
    try:
        yield names
    finally:
        _NAMES.reset(token)


_ASSUMED: ContextVar[tuple[Any, ...]] = ContextVar("assumed", default=())
assumptions = _ASSUMED.get  # the open sizes that are at least 1 here


@contextmanager
def assuming(sizes: tuple[Any, ...]) -> Iterator[None]:
    """Let these open sizes be the `assumptions` inside the `with`."""
    token = _ASSUMED.set(sizes)
    try:
        yield
    finally:
        _ASSUMED.reset(token)


_COMPARING: ContextVar[bool] = ContextVar("comparing", default=False)
is_comparing = _COMPARING.get


@contextmanager
def comparing(now: bool) -> Iterator[None]:
    """Let a graph's `minimum` and `maximum` of sizes be one of the two inside the `with`, if `now` is True.

    Which one is asked then. Otherwise they are sizes such as `min(n0, 10)`.
    """
    token = _COMPARING.set(now)
    try:
        yield
    finally:
        _COMPARING.reset(token)
