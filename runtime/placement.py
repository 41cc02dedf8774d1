"""Placement of a session on the CPU or a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from staticgraph.runtime.backend import Backend
from staticgraph.runtime.cpu.backend import CpuBackend
from staticgraph.runtime.gpu.cuda.libcuda import libcuda
from staticgraph.runtime.switches.table import Settings

if TYPE_CHECKING:
    from staticgraph.runtime.gpu.cuda.driver import Driver


def open_backend(settings: Settings, config: Any) -> Backend:
    """Return the backend of a session with these settings and this ConfigProto.

    Raises FailedPreconditionError if a GPU is asked for and there is none.
    """
    kind, _, number = settings.device.partition(":")
    if kind == "cpu" or (kind == "auto" and (without_gpus(config) or libcuda() is None)):
        return CpuBackend(settings)
    # What few machines have must not delay the others.
    if kind == "standin":
        from staticgraph.runtime.gpu.simulator.driver import Simulator

        return _on(Simulator(), 0, settings)
    from staticgraph.runtime.gpu.cuda.present import find, usable

    if kind == "auto" and not usable():
        return CpuBackend(settings)
    return _on(find(int(number or 0)), int(number or 0), settings)


def _on(driver: Driver, number: int, settings: Settings) -> Backend:
    from staticgraph.runtime.gpu.backend import GpuBackend
    from staticgraph.runtime.gpu.device import Device

    return GpuBackend(Device(driver, number), settings)


def without_gpus(config: Any) -> bool:
    """Return True if a ConfigProto asks for zero GPUs."""
    counts = getattr(config, "device_count", None) or {}
    return "GPU" in counts and not counts["GPU"]
