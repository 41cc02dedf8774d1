"""Names in a graph: scopes, and numbers after names that are taken. The rules are TF1's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from staticgraph.compiler.graph.errors import InvalidNameError, misuse

_VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
_VALID_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")


class Names:
    """The names that a graph has given out, and the scope that is open.

    >>> from staticgraph.compiler.graph.scopes.names import Names
    >>> names = Names()
    >>> names.unique("MatMul"), names.unique("MatMul"), names.unique("matmul")
    ('MatMul', 'MatMul_1', 'matmul_2')
    """

    def __init__(self) -> None:
        self.scope = ""  # the open scope, without a slash at its end
        self._taken: dict[str, int] = {}
        self._journal: list[tuple[str, int | None]] = []

    def unique(self, name: str, mark: bool = True) -> str:
        """`name` in the open scope, with a number where it is
        taken. As in TF1, capitals do not distinguish names.
        """
        if self.scope:
            name = f"{self.scope}/{name}"
        key = name.lower()
        count = self._taken.get(key, 0)
        if mark:
            self._take(key, count + 1)
        if count > 0:
            base = key
            while key in self._taken:
                key = f"{base}_{count}"
                count += 1
            if mark:
                self._take(key, 1)
            name = f"{name}_{count - 1}"
        return name

    def take(self, name: str) -> None:
        """Mark a full name as taken."""
        self._take(name.lower(), max(1, self._taken.get(name.lower(), 0)))

    def _take(self, key: str, count: int) -> None:
        self._journal.append((key, self._taken.get(key)))
        self._taken[key] = count

    @property
    def mark(self) -> int:
        """A point in time for `rollback`."""
        return len(self._journal)

    def rollback(self, mark: int) -> None:
        """Forget all names given out since `mark`."""
        while len(self._journal) > mark:
            key, count = self._journal.pop()
            if count is None:
                del self._taken[key]
            else:
                self._taken[key] = count

    @contextmanager
    def open(self, name: str | None) -> Iterator[str]:
        """The scope `name` inside the open one; a name with a
        slash at its end is taken as it is; None is the root.
        """
        valid = _VALID_SCOPE_NAME if self.scope or (name and name.endswith("/")) else _VALID_OP_NAME
        if name and not valid.match(name):
            raise _invalid(name, "scope")
        outer = self.scope
        if not name:
            inner = ""
        elif name.endswith("/"):
            inner = name[:-1]
        else:
            inner = self.unique(name)
        self.scope = inner
        try:
            yield f"{inner}/" if inner else ""
        finally:
            self.scope = outer


def check_op_name(name: str) -> None:
    """InvalidNameError unless `name` can be an operation's name."""
    if not _VALID_OP_NAME.match(name):
        raise _invalid(name, "operation", ", and none of _ - / in front")


def _invalid(name: str, of: str, more: str = "") -> InvalidNameError:
    text = f"{name!r} is not a valid {of} name: it may have letters, digits and _ . - /{more}"
    return misuse(InvalidNameError, text)
