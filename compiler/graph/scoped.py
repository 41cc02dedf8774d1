"""What new operations get from the scopes around them: a device, control dependencies, a region."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from staticgraph.compiler.graph.region import Region

if TYPE_CHECKING:
    from staticgraph.compiler.graph.tensor import Operation


class Scoped(threading.local):
    """The innermost device, control dependencies and region, per thread.

    `given` is one list for all threads: what they begin with, as a device and control dependencies.
    """

    def __init__(self, given: list[tuple[str, tuple[Operation, ...]]]) -> None:
        self.given = given
        self.device, self.controls = given[0] if given else ("", ())
        self.region: Region | None = None
        self.derivatives: dict[str, str] = {}  # as `default_derivatives`

    def give_to_others(self) -> None:
        """Let other threads begin with the device and the control dependencies of this one."""
        if not self.given:
            self.given.append((self.device, self.controls))


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
