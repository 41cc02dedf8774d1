"""NCCL as far as `runtime/gpu/cuda/nccl.py` calls it, between simulators of GPUs in several processes.

It has the names of CuPy's module, and the rules of the library: all processes call the same collectives in
the same order, with the same counts, types and operations; sends and receives belong to a group in which each
has its counterpart; all buffers are on the card, and everything is only asked for, on the stream. What breaks
a rule raises NcclError, where the library would hang or write anywhere.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from staticgraph.compiler.graph.world import MEMBERSHIP
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.simulator.queue import COPY, Work
from staticgraph.runtime.processes.texts import texts_of_all

_TYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
_COMBINERS = ("sum", "prod", "max", "min")
ID_BYTES = 128


class NcclError(RuntimeError):
    """As CuPy's."""


class FakeNccl:
    """The module, for one simulator. `calls` has the name of each collective that was done."""

    NcclError = NcclError

    def __init__(self, driver: Simulator) -> None:
        self.driver = driver
        self.calls: list[str] = []
        self.group: list[tuple[str, int, int, int]] | None = None
        for number, name in enumerate(_TYPES):
            setattr(self, f"NCCL_{name.upper()}", number)
        for number, name in enumerate(_COMBINERS):
            setattr(self, f"NCCL_{name.upper()}", number)

    def get_unique_id(self) -> tuple[int, ...]:
        """As CuPy's."""
        return tuple(np.random.randint(-128, 128, ID_BYTES).tolist())

    def NcclCommunicator(self, size: int, identity: tuple[int, ...], rank: int) -> Communicator:
        """As CuPy's class: all processes make one, with the identity that one of them has got."""
        if len(identity) != ID_BYTES or len(set(texts_of_all(json.dumps(identity)))) > 1:
            raise NcclError("NCCL_ERROR_INVALID_ARGUMENT: the identities differ")
        if (size, rank) != (MEMBERSHIP.world.size, MEMBERSHIP.world.rank):
            raise NcclError("NCCL_ERROR_INVALID_ARGUMENT: size or rank")
        return Communicator(self, size)

    def groupStart(self) -> None:
        """As CuPy's."""
        self.group = []

    def groupEnd(self) -> None:
        """As CuPy's: each process has sent to each, and received from it, as many bytes."""
        group, self.group = self.group or [], None
        sends, receives = ([g[1:] for g in group if g[0] == kind] for kind in ("send", "recv"))
        size = MEMBERSHIP.world.size
        if [p for p, *_ in sends] != [*range(size)] or [p for p, *_ in receives] != [*range(size)]:
            raise NcclError("NCCL_ERROR_INVALID_USAGE: a send without its counterpart")
        (part,) = {count for _, _, count in (*sends, *receives)}
        source, target = sends[0][1], receives[0][1]
        Communicator(self, size).ask("all_to_all", source, target, part * size, part * size, "uint8")


class Communicator:
    """As CuPy's NcclCommunicator."""

    def __init__(self, module: FakeNccl, size: int) -> None:
        self._module, self._size = module, size
        self.is_aborted = False

    def abort(self) -> None:
        """As CuPy's."""
        self.is_aborted = True

    def allReduce(self, send: int, receive: int, count: int, kind: int, op: int, stream: int) -> None:
        """As CuPy's."""
        self._check(stream)
        self.ask("all_reduce", send, receive, count, count, _TYPES[kind], _COMBINERS[op])

    def reduceScatter(self, send: int, receive: int, count: int, kind: int, op: int, stream: int) -> None:
        """As CuPy's: `count` is that of the result."""
        self._check(stream)
        self.ask("reduce_scatter", send, receive, count * self._size, count, _TYPES[kind], _COMBINERS[op])

    def allGather(self, send: int, receive: int, count: int, kind: int, stream: int) -> None:
        """As CuPy's."""
        self._check(stream)
        self.ask("all_gather", send, receive, count, count * self._size, _TYPES[kind])

    def broadcast(self, send: int, receive: int, count: int, kind: int, root: int, stream: int) -> None:
        """As CuPy's."""
        self._check(stream)
        self.ask("broadcast", send, receive, count, count, _TYPES[kind], "", root)

    def send(self, buffer: int, count: int, kind: int, peer: int, stream: int) -> None:
        """As CuPy's."""
        self._grouped("send", buffer, count, kind, peer, stream)

    def recv(self, buffer: int, count: int, kind: int, peer: int, stream: int) -> None:
        """As CuPy's."""
        self._grouped("recv", buffer, count, kind, peer, stream)

    def _grouped(self, what: str, buffer: int, count: int, kind: int, peer: int, stream: int) -> None:
        self._check(stream)
        if self._module.group is None:
            raise NcclError("NCCL_ERROR_INVALID_USAGE: a send outside of a group waits for ever")
        self._module.group.append((what, peer, buffer, count * np.dtype(_TYPES[kind]).itemsize))

    def _check(self, stream: int) -> None:
        if self.is_aborted or stream != self._module.driver.stream_pointer:
            raise NcclError("NCCL_ERROR_INVALID_ARGUMENT: the communicator or the stream")

    def ask(
        self, what: str, send: int, receive: int, count: int, given: int, dtype: str,
        combine: str = "", root: int = 0,
    ) -> None:  # fmt: skip
        """Ask for a collective of `count` elements, which gives as many as `given`."""
        driver, item = self._module.driver, np.dtype(dtype).itemsize

        def act() -> None:
            self._module.calls.append(what)
            told: Any = (what, count, given, dtype, combine, root)
            if len(set(texts_of_all(json.dumps(told)))) > 1:
                raise NcclError(f"NCCL_ERROR_INVALID_USAGE: processes do not agree about {told}")
            source = driver.memory.view(send, count * item).view(dtype)
            made = MEMBERSHIP.world.exchange(what, source, combine, root)
            driver.memory.view(receive, given * item)[...] = made.reshape(-1).view(np.uint8)

        driver.memory.view(send, count * item), driver.memory.view(receive, given * item)  # or an error
        driver.ask(Work(COPY, what, act))
