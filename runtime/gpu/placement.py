"""Placement of a session on the CPU or a GPU, and the devices that it can use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from staticgraph.runtime.cpu.backend import CpuBackend
from staticgraph.runtime.switches import Settings

if TYPE_CHECKING:
    from staticgraph.runtime.backend import Backend
    from staticgraph.runtime.gpu.cuda.driver import Driver


def open_backend(settings: Settings, config: Any) -> Backend:
    """Return the backend of a session with these settings and this ConfigProto.

    Raises FailedPreconditionError if a GPU is asked for and there is none.
    """
    kind, _, number = settings.device.partition(":")
    if kind == "cpu" or (kind == "auto" and (without_gpus(config) or not _has_driver())):
        return CpuBackend(settings)
    # What few machines have must not delay the others.
    if kind == "standin":
        from staticgraph.runtime.gpu.simulator.driver import Simulator

        return _on(Simulator(), 0, settings)
    from staticgraph.runtime.gpu.cuda.present import cards, find, usable

    if kind == "auto" and not usable():
        return CpuBackend(settings)
    card = card_number(number, config, len(cards()))
    return _on(find(card), card, settings)


def _has_driver() -> bool:
    from staticgraph.runtime.gpu.libcuda import (
        libcuda,  # on first use: what opens no session asks for no driver
    )

    return libcuda() is not None


def _on(driver: Driver, number: int, settings: Settings) -> Backend:
    from staticgraph.runtime.gpu.backend import GpuBackend
    from staticgraph.runtime.gpu.device import Device

    return GpuBackend(Device(driver, number), settings)


def card_number(asked: str, config: Any, cards: int) -> int:
    """Return the number of the GPU of a session.

    Args:
        asked: The number in the setting `device`, or an empty text.
        config: A ConfigProto, of which `gpu_options.visible_device_list` may name GPUs, or None.
        cards: The number of GPUs that this process may use. Processes on one machine take one each.
    """
    from staticgraph.compiler.graph.world import MEMBERSHIP  # only GPUs need it here

    listed = str(getattr(getattr(config, "gpu_options", None), "visible_device_list", "") or "")
    if named := asked or listed.split(",")[0].strip():
        return int(named)
    return MEMBERSHIP.world.local_rank % max(1, cards)


def without_gpus(config: Any) -> bool:
    """Return True if a ConfigProto asks for zero GPUs."""
    counts = getattr(config, "device_count", None) or {}
    return "GPU" in counts and not counts["GPU"]


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
