"""World of processes that MPI connects: mpi4py for Python, and addresses of MPI's functions for steps.

mpi4py finds the library of MPI that is there. A step calls the functions of that same library.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import numpy as np

from staticgraph.compiler.codegen.native.layouts import COMBINERS, Begun, Collectives
from staticgraph.compiler.graph.errors import FailedPreconditionError, FetchError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import ancestors
from staticgraph.compiler.graph.world import MEMBERSHIP, SingleProcess
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.processes.channels import (
    DUPLICATE,
    Channels,
    Collective,
    element_of,
    handle_of,
)
from staticgraph.runtime.processes.peers import Peers
from staticgraph.runtime.processes.step_record import StepRecord

_FUNCTIONS = {
    Collectives.ALL_REDUCE: "MPI_Iallreduce",
    Collectives.REDUCE_SCATTER: "MPI_Ireduce_scatter_block",
    Collectives.ALL_GATHER: "MPI_Iallgather",
    Collectives.ALL_TO_ALL: "MPI_Ialltoall",
    Collectives.BROADCAST: "MPI_Ibcast",
    Collectives.TEST: "MPI_Test",
}
_STATUS_BYTES = 256  # more than any implementation has
_MOST_PROCESSORS = 8192  # as many as Linux counts
_POLLS = 64  # of MPI before another process may have the processor
_APART = 8  # communicators of steps
_LOOK = 0.005  # seconds between looks at the others
_LAST_WORDS = 2.0  # seconds in which the others show the error of a process that hangs


class MpiWorld:
    """The processes that were started together.

    Attributes:
        size: The number of processes.
        rank: The number of this one, from 0 on.
        local_size: The number of processes on this machine.
        local_rank: The number of this one among them.
        processors: How many processors of this machine are for this process.
        peers: Tells the others of errors.
        mended: The number of failures after which they were connected again.
    """

    def __init__(self, mpi: Any, together: Any, timeout: float) -> None:
        self._mpi = mpi
        self._everyone = together  # for messages, and to make others from
        self._everyone.Set_errhandler(mpi.ERRORS_RETURN)
        self.size, self.rank = self._everyone.Get_size(), self._everyone.Get_rank()
        here = self._everyone.Split_type(mpi.COMM_TYPE_SHARED)
        self.local_size, self.local_rank = here.Get_size(), here.Get_rank()
        self.processors = share_of(processors(), _users(here))
        here.Free()
        self.peers = Peers(self._everyone, mpi, timeout)
        self._channels = Channels(mpi, self._everyone)
        self._is_connected = True  # False after a failure
        self.mended = 0
        self._mending: Any = None  # what is left to do after a failure
        self._awaited: Any = None  # and the request that must be complete before
        self._records: WeakSet[StepRecord] = WeakSet()
        self._request_by(64)
        self._words = self._described()

    # For steps

    def record(self, requests: int) -> StepRecord:
        """Return the record of a step with so many collectives."""
        if requests > len(self._requests):
            self._request_by(2 * requests)
        made = StepRecord(self._words)
        made.request_by(ctypes.addressof(self._requests), ctypes.addressof(self._notes))
        self._records.add(made)
        return made

    def agree(self, record: StepRecord, what: str, digest: str, version: str) -> None:
        """Compare a step with those of the others, unless that was done, and connect it."""
        number, channels = self.peers.agree(what, digest, version) % _APART, self._channels
        while number >= len(channels.steps):  # in all processes, since they count alike
            self._perform(Collective(DUPLICATE), None, None)
        channel = channels.steps[number]
        record.connect(handle_of(self._mpi, channel.comm), ctypes.addressof(channel.begun))

    def error_of(self, record: StepRecord) -> str:
        """The text of the error of MPI that a step has found, or an empty text."""
        return self._mpi.Get_error_string(record.error) if record.error else ""

    def leave(self, *memory: Any) -> None:
        """Go on after a failed exchange. MPI may still write to `memory` until processes are connected."""
        self._channels.note(self._requests, self._notes, memory)
        self._request_by(len(self._requests))
        for record in self._records:
            record.disconnect()
        self._is_connected = False
        self.peers.completed[0] += 1  # this process waits no more

    def mend(self) -> None:
        """After a failure, complete what was begun, together with all others.

        If that fails too, or is interrupted, the next run goes on with it.
        """
        if self._is_connected:
            return
        if self._mending is None:
            self._mending = self._channels.restored(self.peers.runs[0])
        with self._exhausted():
            while True:
                if self._awaited is not None:
                    self._wait(self._awaited, "the first run after a failure")
                    self._awaited = None
                try:
                    self._awaited = next(self._mending)
                except StopIteration as end:
                    self._settle(end.value)
                    return

    def _settle(self, runs: int) -> None:
        """Go on, with all others: all that was begun is complete, and this is the run of this number."""
        self._mending = None
        self.peers.forget()
        self.peers.settle(runs)
        self._is_connected = True
        self.mended += 1

    def end(self) -> None:
        """Tell the others that this process has ended. If one hangs, the launcher is told to end all."""
        self.peers.end()
        if self.peers.is_stuck:  # MPI's own end would wait for it, for ever
            sys.stdout.flush()
            sys.stderr.flush()
            time.sleep(_LAST_WORDS)
            self._mpi.COMM_WORLD.Abort(1)

    # For Python

    def exchange(self, kind: str, value: np.ndarray, combine: str = "sum", root: int = 0) -> np.ndarray:
        """Perform a collective with all other processes and return its result. See `World`."""
        self.mend()
        value = np.ascontiguousarray(value)
        if kind == "broadcast":
            made = value.copy()
            self._perform(Collective(kind, made.nbytes, 0, root), None, _raw(made))
            return made
        shape = {
            "all_gather": lambda: (value.shape[0] * self.size, *value.shape[1:]),
            "reduce_scatter": lambda: (value.shape[0] // self.size, *value.shape[1:]),
        }.get(kind, lambda: value.shape)()
        made = np.empty(shape, value.dtype)
        if kind in ("all_reduce", "reduce_scatter"):
            what = Collective(kind, made.size, element_of(value), COMBINERS.index(combine))
        else:
            what = Collective(kind, value.nbytes // (self.size if kind == "all_to_all" else 1))
        self._perform(what, _raw(value), _raw(made))
        return made

    def _perform(self, what: Collective, source: Any, target: Any) -> None:
        """Begin a collective outside of steps, and wait until it is complete."""
        channel = self._channels.outside
        with self._exhausted():
            number = channel.begin(what, source, target)
            told = "a new communicator" if what.kind == DUPLICATE else what.kind
            try:
                self._wait(channel.open[number].request, told)
            except BaseException:
                self.leave()
                raise
            self._channels.close(channel, number)

    def _request_by(self, count: int) -> None:
        """Have other memory for the requests of steps."""
        self._requests = (ctypes.c_int64 * count)()
        self._notes = (ctypes.c_int64 * (count * len(Begun)))()
        for record in self._records:
            record.request_by(ctypes.addressof(self._requests), ctypes.addressof(self._notes))

    @contextmanager
    def _exhausted(self) -> Iterator[None]:
        """Context in which errors of MPI tell that it has only so many communicators: some thousands."""
        try:
            yield
        except self._mpi.Exception as error:
            text = f"MPI makes no more communicators, after {self.mended} failed runs: {error}"
            hint = "begin a new program, from the last checkpoint"
            raise misuse(FailedPreconditionError, text, hint) from None

    def _wait(self, request: Any, what: str) -> None:
        """Wait for a request, and look after the others meanwhile."""
        since = looked = time.monotonic()
        polls = 0
        try:
            while not request.Test():
                polls += 1
                if polls % _POLLS == 0:
                    _pause()
                    if (now := time.monotonic()) - looked > _LOOK:
                        looked = now
                        self.peers.look(what, now - since)
        finally:
            self.peers.completed[0] += 1  # this process waits no more

    def _described(self) -> list[int]:
        """The record of what any step needs."""
        library = _library()
        record = [0] * len(Collectives)
        for field, name in _FUNCTIONS.items():
            record[field] = _address(getattr(library, name))
        record[Collectives.PAUSE] = _address(_system_pause())
        handles = self._channels.handles
        self._types, self._combiners = (
            (ctypes.c_int64 * len(each))(*(handle_of(self._mpi, one) for one in each))
            for each in (handles.types, handles.combiners)
        )
        self._status = ctypes.create_string_buffer(_STATUS_BYTES)
        record[Collectives.TYPES] = ctypes.addressof(self._types)
        record[Collectives.COMBINERS] = ctypes.addressof(self._combiners)
        record[Collectives.STATUS] = ctypes.addressof(self._status)
        record[Collectives.COMPLETED] = ctypes.addressof(self.peers.completed)
        return record


def processors() -> list[int]:
    """Return the numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _users(here: Any) -> np.ndarray:
    """Return how many processes of this machine, whose communicator `here` is, may use each processor."""
    mine, total = (np.zeros(_MOST_PROCESSORS, np.int32) for _ in range(2))
    mine[processors()] = 1
    here.Allreduce(mine, total)
    return total


def share_of(mine: Sequence[int], users: np.ndarray) -> int:
    """Return how many processors are for a process that may use `mine`.

    Launchers bind processes to some processors, or to none: those that may use the same ones share them.

    Args:
        mine: The numbers of processors.
        users: For each processor, how many processes may use it.
    """
    return max(1, int(sum(1.0 / users[list(mine)]) + 1e-6))


def _raw(array: np.ndarray) -> np.ndarray:
    """The bytes of a contiguous array, in the same memory."""
    return array.reshape(-1).view(np.uint8)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _library() -> ctypes.CDLL:
    """The library of MPI that mpi4py has loaded."""
    from mpi4py import MPI

    for place in (None, MPI.__file__):
        library = ctypes.CDLL(place)
        if hasattr(library, "MPI_Iallreduce"):
            return library
    for line in _mapped():
        if "libmpi" in os.path.basename(line):
            return ctypes.CDLL(line)
    text = "mpi4py has loaded a library of MPI that does not show its functions"
    raise misuse(FailedPreconditionError, text, "pip install mpi4py mpich")


def _mapped() -> list[str]:
    try:
        with open("/proc/self/maps") as maps:
            return [line.split()[-1] for line in maps if "/" in line]
    except OSError:
        return []


def _system_pause() -> Any:
    """A function of C without arguments that lets another process have the processor."""
    if sys.platform == "win32":
        return ctypes.windll.kernel32.SwitchToThread
    return ctypes.CDLL(None).sched_yield


def _pause() -> None:
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0)


def connect(timeout: float, count: int, group: tuple[int, int]) -> MpiWorld | None:
    """Enter the world of the processes that were started together, and return it; None if there is one.

    Args:
        timeout: The seconds after which waiting for the others is an error.
        count: The number of processes that the launcher has started.
        group: Processes with the same first number are a world, in the order of the second.

    Raises:
        FailedPreconditionError: There are several, and no mpi4py or no library of MPI to connect them.
    """
    if count == 1 and "mpi4py.MPI" not in sys.modules:
        return None
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        text = f"{count} processes were started together, and MPI cannot be loaded to connect them: {error}"
        hint = "pip install 'staticgraph[mpi]', or mpi4py for the MPI that is here"
        raise misuse(FailedPreconditionError, text, hint) from None
    found = MPI.COMM_WORLD.Get_size()
    if found != count and count > 1:
        text = f"the launcher has started {count} processes, and MPI connects {found}"
        hint = f"start them with the mpiexec of this MPI: {MPI.Get_library_version().splitlines()[0]}"
        raise misuse(FailedPreconditionError, text, hint)
    if found > 1:
        together = MPI.COMM_WORLD.Split(*group)
        if together.Get_size() > 1:
            world = MpiWorld(MPI, together, timeout)
            MEMBERSHIP.enter(world)
            return world
    return None


def leave_world() -> None:
    """Tell the others that this process has ended, and be alone."""
    world = MEMBERSHIP.world
    if isinstance(world, MpiWorld):
        world.end()
        MEMBERSHIP.enter(SingleProcess())


def fail_world(error: BaseException) -> None:
    """Tell the others of an error that ends this process."""
    world = MEMBERSHIP.world
    if isinstance(world, MpiWorld):
        world.peers.fail(error, final=True)


def tell(error: BaseException, graph: Graph, fetches: Any) -> None:
    """Tell the other processes that a run has failed here, if it exchanges something with them."""
    world = MEMBERSHIP.world
    if not isinstance(world, MpiWorld) or getattr(error, "is_told", False):
        return
    try:
        found = Fetches(graph, fetches)
    except FetchError:
        return
    wanted = ancestors([*found.targets, *(t.op for t in found.tensors)])
    if any(op.definition.effect is Effect.EXCHANGE for op in wanted):
        world.peers.fail(error)
        world.leave()  # the others may wait in an exchange that has no end
        error.is_told = True  # type: ignore[attr-defined]
