"""Exchanges between the GPUs of several processes by NCCL: values go from GPU to GPU, not through the host.

Each process needs a GPU of its own, and CuPy with NCCL; else collectives go through the memory of the host
and MPI. NCCL has no end of its own if a process does not come. So the host waits for each exchange, looks
after the other processes meanwhile, and gives the communicator up when one of them has failed.
"""

from __future__ import annotations

import json
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.graph.errors import UnavailableError, misuse
from staticgraph.compiler.lower.program import HostCall
from staticgraph.runtime.gpu.cuda.driver import Driver
from staticgraph.runtime.processes.texts import texts_of_all

if TYPE_CHECKING:
    from staticgraph.runtime.processes.collective_calls import CollectiveCalls

_TYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float32", "float64")
_COMBINERS = {"sum": "NCCL_SUM", "prod": "NCCL_PROD", "min": "NCCL_MIN", "max": "NCCL_MAX"}
_LOOK = 0.005  # seconds between looks at the other processes


class NcclWorld:
    """The GPUs of all processes.

    Args:
        driver: The driver of the GPU of this process.
        rank: The number of this process.
        size: The number of all.
        identity: What NCCL calls this group, the same in all processes.
    """

    def __init__(self, driver: Driver, rank: int, size: int, identity: Any) -> None:
        self._driver, self._size = driver, size
        self._nccl: Any = driver.nccl
        self._comm: Any = self._nccl.NcclCommunicator(size, identity, rank)

    def perform(self, call: HostCall, source: int, target: int, together: CollectiveCalls) -> bool:
        """Exchange values, from one address on the GPU to another. Return False if NCCL cannot."""
        name, type = call.node.op.name, call.inputs[0][1]
        combine = call.attrs.get("combine")
        if combine is not None and type.dtype.name not in _TYPES:
            return False
        try:
            self._begin(name, call, source, target)
            self._wait(call, together)
        except self._nccl.NcclError as error:
            raise misuse(UnavailableError, f"NCCL: {error}", "NCCL_DEBUG=INFO tells more") from None
        return True

    def _begin(self, name: str, call: HostCall, source: int, target: int) -> None:
        nccl, comm, stream = self._nccl, self._comm, self._driver.stream_pointer
        taken, given = call.inputs[0][1], call.outputs[0][1]
        size = taken.size * taken.dtype.size
        if "combine" in call.attrs:
            kind = getattr(nccl, f"NCCL_{taken.dtype.name.upper()}")
            op = getattr(nccl, _COMBINERS[call.attrs["combine"]])
            begin = comm.allReduce if name == "all_reduce" else comm.reduceScatter
            begin(source, target, given.size, kind, op, stream)
        elif name == "all_gather":
            comm.allGather(source, target, size, nccl.NCCL_UINT8, stream)
        elif name == "broadcast":
            comm.broadcast(source, target, size, nccl.NCCL_UINT8, call.attrs["root"], stream)
        else:
            part = size // self._size
            nccl.groupStart()
            for peer in range(self._size):
                comm.send(source + peer * part, part, nccl.NCCL_UINT8, peer, stream)
                comm.recv(target + peer * part, part, nccl.NCCL_UINT8, peer, stream)
            nccl.groupEnd()

    def _wait(self, call: HostCall, together: CollectiveCalls) -> None:
        """Wait until the exchange is done. If another process fails, it never is."""
        looked = time.monotonic()
        try:
            while not self._driver.is_done():
                if (now := time.monotonic()) - looked > _LOOK:
                    looked = now
                    together.look(call.node)
                time.sleep(0)
        except BaseException:
            self._comm.abort()
            raise
        together.complete()


def connected(driver: Driver, rank: int) -> NcclWorld | None:
    """Return what connects the GPUs of all processes, which all call this; None if NCCL does not."""
    nccl: Any = driver.nccl
    mine = None if nccl is None else [socket.gethostname(), _boot(), driver.card_number]
    identity = [*nccl.get_unique_id()] if nccl is not None and rank == 0 else None
    told = [json.loads(text) for text in texts_of_all(json.dumps([mine, identity]))]
    cards = [card for card, _ in told]
    if None in cards or any(card in cards[:n] for n, card in enumerate(cards)):
        return None  # NCCL wants a GPU for each
    return NcclWorld(driver, rank, len(told), tuple(told[0][1]))


def _boot() -> str:
    """Return a name of this start of the machine, since several machines may have the same name."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return str(os.environ.get("COMPUTERNAME", ""))
