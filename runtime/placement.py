"""Placement of a session on the CPU or a GPU, and the objects that depend on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.runtime.gpu.cuda.libcuda import libcuda
from staticgraph.runtime.switches.table import Settings
from staticgraph.runtime.variables import VariableStore

if TYPE_CHECKING:
    from staticgraph.runtime.compile_log import CompileLog
    from staticgraph.runtime.gpu.device import Device
    from staticgraph.runtime.profiling.stamps import Meter


def opened(settings: Settings, config: Any) -> Device | None:
    """The card of a session with these settings and this ConfigProto; None: the processor.

    FailedPreconditionError where a card is asked for and there is none.
    """
    kind, _, number = settings.device.partition(":")
    if kind == "cpu" or (kind == "auto" and (without_gpus(config) or libcuda() is None)):
        return None
    # What few machines have must not delay the others.
    from staticgraph.runtime.gpu.device import Device

    if kind == "standin":
        from staticgraph.runtime.gpu.simulator.driver import Simulator

        return Device(Simulator())
    from staticgraph.runtime.gpu.cuda.present import find, usable

    if kind == "auto" and not usable():
        return None
    return Device(find(int(number or 0)), int(number or 0))


def store_on(device: Device | None) -> VariableStore:
    """Return a store for the values of variables."""
    if device is None:
        return VariableStore()
    from staticgraph.runtime.gpu.store import DeviceStore

    return DeviceStore(device)


def pinned_on(device: Device | None, value: np.ndarray) -> np.ndarray:
    """An array with these elements that the device reads where it lies: on the processor, any is."""
    if device is None or not value.nbytes or value.dtype.hasobject:
        return value
    made = device.driver.pinned(value.nbytes).view(value.dtype).reshape(value.shape)
    made[...] = value
    return made


def compile_log_for(device: Device | None, settings: Settings) -> CompileLog:
    """Return a compile log: it compiles steps and records every compile."""
    if device is None:
        from staticgraph.runtime.compile_log import CompileLog  # building a graph does not need it

        return CompileLog(settings)
    from staticgraph.runtime.gpu.compile_log import GpuCompileLog

    return GpuCompileLog(device, settings)


def meter_of(device: Device | None) -> Meter:
    """Return a meter, which takes the times of runs."""
    if device is None:
        from staticgraph.runtime.profiling.stamps import CoreMeter

        return CoreMeter()
    from staticgraph.runtime.gpu.meter import CardMeter

    return CardMeter(device)


def without_gpus(config: Any) -> bool:
    """Return True if a ConfigProto asks for zero GPUs."""
    counts = getattr(config, "device_count", None) or {}
    return "GPU" in counts and not counts["GPU"]
