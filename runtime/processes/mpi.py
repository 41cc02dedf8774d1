"""World of processes that MPI connects: mpi4py for Python, and addresses of MPI's functions for steps.

mpi4py finds the library of MPI that is there. A step calls the functions of that same library.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import numpy as np

from staticgraph.compiler.codegen.native.collective_layout import COMBINERS, ELEMENTS, Collectives
from staticgraph.compiler.graph.dependencies import ancestors
from staticgraph.compiler.graph.errors import FailedPreconditionError, FetchError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.world import MEMBERSHIP, Alone
from staticgraph.runtime.fetches import Fetches
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
_TYPES = (
    "BYTE",
    "FLOAT",
    "DOUBLE",
    *(f"{sign}INT{bits}_T" for sign in ("", "U") for bits in (8, 16, 32, 64)),
)
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
        self._comm = self._everyone.Dup()  # of collectives outside of steps
        self._comm.Set_errhandler(mpi.ERRORS_RETURN)
        self._is_connected = True  # False after a failure
        self._requests = (ctypes.c_int64 * 64)()
        self.mended = 0
        self._apart: list[Any] = []  # communicators of steps
        self._left: list[Any] = []
        self._mending: Any = None  # a communicator that is being made, and its request
        self._words = self._described()
        self._records: WeakSet[StepRecord] = WeakSet()

    # For steps

    def record(self, requests: int) -> StepRecord:
        """Return the record of a step with so many collectives."""
        if requests > len(self._requests):
            self._request_by(2 * requests)
        made = StepRecord(self._words)
        made.request_by(ctypes.addressof(self._requests))
        self._records.add(made)
        return made

    def agree(self, record: StepRecord, what: str, digest: str, version: str) -> None:
        """Compare a step with those of the others, unless that was done, and connect it."""
        number = self.peers.agree(what, digest, version) % _APART
        while number >= len(self._apart):  # in all processes, since they count alike
            self._apart.append(self._finished(self._begun()))
        record.connect(_handle(self._mpi, self._apart[number]))

    def error_of(self, record: StepRecord) -> str:
        """The text of the error of MPI that a step has found, or an empty text."""
        return self._mpi.Get_error_string(record.error) if record.error else ""

    def leave(self, *memory: Any) -> None:
        """Go on after a failed exchange, with another communicator. MPI may still write to `memory`."""
        self._left.append((memory, self._requests))
        self._request_by(len(self._requests))
        for record in self._records:
            record.disconnect()
        self._is_connected = False
        self.peers.completed[0] += 1  # this process waits no more

    def mend(self) -> None:
        """After a failure, make a new communicator, together with all others."""
        if self._is_connected:
            return
        if self._mending is None:  # else it was begun in a run that has failed by now
            self._mending = self._begun()
        self._comm, self._mending = self._finished(self._mending), None
        self._apart.clear()
        self.peers.forget()
        self._is_connected = True
        self.mended += 1
        runs = np.array([self.peers.runs[0]])
        self.peers.settle(int(self.exchange("all_reduce", runs, "max")[0]))

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
        comm, byte = self._comm, self._mpi.BYTE
        if kind == "broadcast":
            made = value.copy()
            self._finish(comm.Ibcast([_raw(made), byte], root), kind)
            return made
        shape = {
            "all_gather": lambda: (value.shape[0] * self.size, *value.shape[1:]),
            "reduce_scatter": lambda: (value.shape[0] // self.size, *value.shape[1:]),
        }.get(kind, lambda: value.shape)()
        made = np.empty(shape, value.dtype)
        if kind in ("all_reduce", "reduce_scatter"):
            op = getattr(self._mpi, combine.upper())
            begin: Callable[..., Any] = (
                comm.Iallreduce if kind == "all_reduce" else comm.Ireduce_scatter_block
            )
            self._finish(begin(value, made, op), kind)
        else:
            begin = comm.Iallgather if kind == "all_gather" else comm.Ialltoall
            self._finish(begin([_raw(value), byte], [_raw(made), byte]), kind)
        return made

    def _request_by(self, count: int) -> None:
        """Have other memory for the requests of steps."""
        self._requests = (ctypes.c_int64 * count)()
        for record in self._records:
            record.request_by(ctypes.addressof(self._requests))

    def _begun(self) -> Any:
        """Begin to make a communicator, and return it with its request. All call this."""
        with self._exhausted():
            return self._everyone.Idup()

    def _finished(self, begun: Any) -> Any:
        """Return a communicator once it is made."""
        made, request = begun
        with self._exhausted():
            self._finish(request, "a new communicator")
        made.Set_errhandler(self._mpi.ERRORS_RETURN)
        return made

    @contextmanager
    def _exhausted(self) -> Iterator[None]:
        """Context in which errors of MPI tell that it has only so many communicators: some thousands."""
        try:
            yield
        except self._mpi.Exception as error:
            text = f"MPI makes no more communicators, after {self.mended} failed runs: {error}"
            hint = "begin a new program, from the last checkpoint"
            raise misuse(FailedPreconditionError, text, hint) from None

    def _finish(self, request: Any, what: str) -> None:
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
        except BaseException:
            self.leave(request)
            raise
        self.peers.completed[0] += 1

    def _described(self) -> list[int]:
        """The record of what any step needs."""
        library = _library()
        record = [0] * len(Collectives)
        for field, name in _FUNCTIONS.items():
            record[field] = _address(getattr(library, name))
        record[Collectives.PAUSE] = _address(_system_pause())
        self._types = (ctypes.c_int64 * len(ELEMENTS))(
            *(_handle(self._mpi, getattr(self._mpi, name)) for name in _TYPES)
        )
        self._combiners = (ctypes.c_int64 * len(COMBINERS))(
            *(_handle(self._mpi, getattr(self._mpi, name.upper())) for name in COMBINERS)
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


def _handle(mpi: Any, thing: Any) -> int:
    """The handle of a communicator, type or operation, as its C type has it, in 64 bits."""
    address, size = mpi._addressof(thing), mpi._sizeof(thing)
    kind = {4: ctypes.c_int32, 8: ctypes.c_int64}[size]
    return kind.from_address(address).value


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


def connect(timeout: float, count: int, group: tuple[int, int] = (0, 0)) -> MpiWorld | None:
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
        MEMBERSHIP.enter(Alone())


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
