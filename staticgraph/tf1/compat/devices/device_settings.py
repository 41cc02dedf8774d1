"""`tf.config`: devices that there are, and how many threads work on them.

A GPU takes memory as it needs it, and graphs are always optimised: such wishes are kept for those who
ask, and change nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.devices.local_devices import list_local_devices

_wishes: dict[Any, Any] = {}


class PhysicalDevice(NamedTuple):
    """A device of the machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that operations can be placed on."""

    name: str
    device_type: str


class VirtualDeviceConfiguration(NamedTuple):
    """A wish for a part of a device, with a limit of memory in MiB."""

    memory_limit: int | None = None


def _devices(device_type: str | None, kind: Any, prefix: str) -> list[Any]:
    found = [
        kind(prefix + each.name.partition("device")[2], each.device_type) for each in list_local_devices()
    ]
    return [each for each in found if device_type is None or each.device_type == device_type]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices of this machine.

    Args:
        device_type: "CPU" or "GPU". Default: all.

    >>> from staticgraph.compat import tf1 as tf
    >>> tf.config.experimental.list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return _devices(device_type, PhysicalDevice, "/physical_device")


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices that operations can be placed on; `device_type` as for `list_physical_devices`."""
    return _devices(device_type, LogicalDevice, "/job:localhost/replica:0/task:0/device")


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices that were made visible. Default: all."""
    devices: list[PhysicalDevice] = _wishes.get("visible", list_physical_devices())
    return [each for each in devices if device_type is None or each.device_type == device_type]


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Accept a choice of devices. `sg.Session(device=...)` chooses what computes.

    Raises:
        ValueError: If a device is not one of this machine's.
    """
    chosen = [devices] if isinstance(devices, PhysicalDevice) else list(devices or ())
    for each in chosen:
        if each not in list_physical_devices():
            raise misuse(ValueError, f"{each} is none of {list_physical_devices()}")
    others = [
        each for each in get_visible_devices() if device_type is not None and each.device_type != device_type
    ]
    _wishes["visible"] = others + chosen


def _known(device: PhysicalDevice) -> PhysicalDevice:
    if device not in list_physical_devices():
        raise misuse(ValueError, f"{device} is none of {list_physical_devices()}")
    return device


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Accept a wish about the memory of a device. ValueError for a device that is not there."""
    _wishes["growth", _known(device)] = bool(enable)


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Return the wish about the memory of a device."""
    return bool(_wishes.get(("growth", _known(device)), False))


def set_virtual_device_configuration(device: PhysicalDevice, virtual_devices: Sequence[Any]) -> None:
    """Accept a wish for parts of a device. ValueError for a device that is not there."""
    _wishes["virtual", _known(device)] = list(virtual_devices)


def get_virtual_device_configuration(device: PhysicalDevice) -> Any:
    """Return the wish for parts of a device, None if there is none."""
    return _wishes.get(("virtual", _known(device)))


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Let a number of threads work on each step; 0 stands for all processors."""
    _wishes["intra"] = int(num_threads)
    if num_threads:
        sg.set_num_threads(int(num_threads))


def get_intra_op_parallelism_threads() -> int:
    """Return the number of threads that was asked for; 0 if none was."""
    return int(_wishes.get("intra", 0))


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Accept a number of threads between operations: all threads share the operations of a step."""
    _wishes["inter"] = int(num_threads)


def get_inter_op_parallelism_threads() -> int:
    """Return the number of threads between operations that was asked for; 0 if none was."""
    return int(_wishes.get("inter", 0))


def set_soft_device_placement(enabled: bool) -> None:
    """Accept a wish about devices that are not there: they are always replaced."""
    _wishes["soft"] = bool(enabled)


def get_soft_device_placement() -> bool:
    """Return the wish about devices that are not there."""
    return bool(_wishes.get("soft", True))


def set_optimizer_jit(enabled: bool) -> None:
    """Accept a wish for compilation: every graph is compiled."""
    _wishes["jit"] = bool(enabled)


def get_optimizer_jit() -> bool:
    """Return the wish for compilation."""
    return bool(_wishes.get("jit", False))


def set_optimizer_experimental_options(options: dict[str, Any]) -> None:
    """Accept wishes about rewriting: every graph is rewritten."""
    _wishes.setdefault("options", {}).update(options)


def get_optimizer_experimental_options() -> dict[str, Any]:
    """Return the wishes about rewriting."""
    return dict(_wishes.get("options", {}))
