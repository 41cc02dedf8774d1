"""Devices that a session can use, as `Session.list_devices()` lists them."""

from __future__ import annotations

from typing import NamedTuple

_PLACE = "/job:localhost/replica:0/task:0/device"


class DeviceAttributes(NamedTuple):
    """A device: its name and type, its memory in bytes if that is known, and a number of this start of it."""

    name: str
    device_type: str
    memory_limit_bytes: int = 0
    incarnation: int = 0


def listed_devices() -> list[DeviceAttributes]:
    """Return the processor, and the GPUs that sessions can run on."""
    from staticgraph.runtime.gpu.cuda import present  # few programs ask, and what it imports takes long

    cards = present.cards() if present.usable() else ()
    gpus = [DeviceAttributes(f"{_PLACE}:GPU:{number}", "GPU") for number, _ in enumerate(cards)]
    return [DeviceAttributes(f"{_PLACE}:CPU:0", "CPU"), *gpus]
