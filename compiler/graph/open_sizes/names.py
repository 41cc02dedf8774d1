"""Names of open sizes in text: of code that gets sizes as arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


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


@contextmanager
def naming() -> Iterator[SizeNames]:
    """Let open sizes that are formatted inside the `with` be names."""
    names = SizeNames()
    token = _NAMES.set(names)
    try:
        yield names
    finally:
        _NAMES.reset(token)
