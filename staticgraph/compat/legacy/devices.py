"""`tensorflow.python.client.device_lib`: what there is to compute with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Device", "list_local_devices"]


@dataclass(frozen=True, slots=True)
class Device:
    """A device that computes."""

    name: str
    device_type: str
    memory_limit: int = 0
    physical_device_desc: str = ""


def list_local_devices(session_config: Any = None) -> list[Device]:
    """The devices of this machine that a session can use.

    >>> from staticgraph.compat.legacy.devices import list_local_devices
    >>> [device.name for device in list_local_devices()]
    ['/device:CPU:0']
    """
    return [Device("/device:CPU:0", "CPU")]
