"""Scopes of the user's graph: names of new operations, and the properties that scopes around them decide.

The rules of names are TF1's: numbers follow names that are taken. The properties are device, control
dependencies and region. `Graph` enters the scopes; nothing else needs to.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from staticgraph.compiler.graph.errors import InvalidNameError, misuse, shown
from staticgraph.compiler.graph.tensor import Region

if TYPE_CHECKING:
    from staticgraph.compiler.graph.tensor import Operation

    Placement = Callable[[Operation], None]


_VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
_VALID_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")


class Names:
    """The names that a graph has given out, and the scope that is open.

    >>> from staticgraph.compiler.graph.scopes import Names
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


class OperationProperties(NamedTuple):
    """Properties that new operations of a thread get."""

    device: str
    placement: Placement | None
    controls: tuple[Operation, ...]
    region: Region | None
    gradients: dict[str, str]
    colocated: tuple[Operation, ...] = ()


class Scoped(threading.local):
    """The innermost device, control dependencies and region, per thread.

    `given` is one list for all threads: what they begin with, as a device and control dependencies.
    """

    def __init__(self, given: list[tuple[str, tuple[Operation, ...]]]) -> None:
        self.given = given
        self.device, self.controls = given[0] if given else ("", ())
        self.placement: Placement | None = None  # by functions of the user
        self.region: Region | None = None
        self.gradients: dict[str, str] = {}  # names of registered gradients, by type of operation
        self.colocated: tuple[Operation, ...] = ()  # what new operations are colocated with

    @property
    def place(self) -> OperationProperties:
        """All that is in force in this thread."""
        return OperationProperties(
            self.device, self.placement, self.controls, self.region, self.gradients, self.colocated
        )

    @place.setter
    def place(self, place: OperationProperties) -> None:
        self.device, self.placement, self.controls, self.region, self.gradients, self.colocated = place

    def give_to_others(self) -> None:
        """Let other threads begin with the device and the control dependencies of this one."""
        if not self.given:
            self.given.append((self.device, self.controls))


class ControlDependencies(AbstractContextManager[None]):
    """Control dependencies of new operations. No generator: they last until they are left, even if nothing
    but the graph knows of them.
    """

    def __init__(self, scoped: Scoped, added: tuple[Operation, ...] | None) -> None:
        self._scoped, self._added = scoped, added
        self._outer: list[tuple[Operation, ...]] = []

    def __enter__(self) -> None:
        outer = self._scoped.controls
        self._outer.append(outer)
        self._scoped.controls = () if self._added is None else (*outer, *self._added)

    def __exit__(self, *_: object) -> None:
        self._scoped.controls = self._outer.pop()


def placed_by(function: Callable[..., Any], outer: str, further: Placement | None) -> Placement:
    """Return what sets the device of an operation, by `function` and then by the contexts around it."""

    def place(operation: Operation) -> None:
        operation.device = device_text(function(operation)) or outer
        if further is not None:
            further(operation)

    return place


def device_text(asked: Any) -> str:
    """Return the canonical name of a device that is asked for, "" for None. TypeError for a number."""
    if not isinstance(asked, str | None) and not hasattr(asked, "to_string"):
        raise misuse(TypeError, f"the device is {shown(asked)}", "devices are named: '/cpu:0', '/gpu:0'")
    if asked is None:
        return ""
    return canonical_device(asked if isinstance(asked, str) else asked.to_string())


def canonical_device(name: str) -> str:
    """`/gpu:0` and `gpu:0` as `/device:GPU:0`; other parts such as `/job:worker` stay in front."""
    parts = []
    for part in name.strip("/").split("/"):
        kind, _, rest = part.partition(":")
        if kind.lower() in ("cpu", "gpu"):
            part = f"device:{kind.upper()}:{rest or '0'}"
        elif kind == "device":
            unit, _, number = rest.partition(":")
            part = f"device:{unit.upper()}:{number or '0'}"
        if part:
            parts.append(part)
    return "".join(f"/{part}" for part in parts)
