"""Properties of new operations that the scopes around them decide: device, control dependencies, region."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Region

if TYPE_CHECKING:
    from staticgraph.compiler.graph.tensor import Operation

    Placement = Callable[[Operation], None]


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
