"""Collectives of a GPU: by NCCL if all processes have it, and a GPU each; else through the host."""

from __future__ import annotations

from functools import partial
from weakref import WeakKeyDictionary

from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.processes.collective_calls import CollectiveCalls

# For each device, the count of failures when its GPU was connected.
_CONNECTED: WeakKeyDictionary[Device, int] = WeakKeyDictionary()


def connect_cards(device: Device, together: CollectiveCalls) -> None:
    """Connect the GPU of a device with those of other processes, before the first step that exchanges
    something, and again after a failure. All processes call this.
    """
    if _CONNECTED.get(device) == together.mended:
        return
    from staticgraph.runtime.gpu.cuda.nccl import connected  # few programs have several processes

    cards = connected(device.driver, together.rank)
    device.exchange = None if cards is None else partial(cards.perform, together=together)
    _CONNECTED[device] = together.mended
