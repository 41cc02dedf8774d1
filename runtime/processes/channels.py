"""Communicators that serve again after a failed run, since all processes take part in what one has begun.

MPI cannot take back a collective that was begun, and frees no communicator on which one is incomplete; it has
some thousand communicators. So each process notes what it begins. After a failure, processes tell each other
what they have begun, begin what they lack, with memory that nobody reads, and wait until all is complete. If
they have begun different things on one communicator, another one takes its place.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Generator, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.codegen.native.layouts import COMBINERS, ELEMENTS, KINDS, Begun

Word = Sequence[int] | ctypes.Array[ctypes.c_int64]
_KNOWN = 64  # collectives of a communicator that others are told after a failure
DUPLICATE = "duplicate"  # makes the communicator of another channel
_TYPES = (
    "BYTE",
    "FLOAT",
    "DOUBLE",
    *(f"{sign}INT{bits}_T" for sign in ("", "U") for bits in (8, 16, 32, 64)),
)


class Collective(NamedTuple):
    """A collective, as all processes begin it.

    Attributes:
        kind: Its name.
        length: The number of elements that a process gets, or of bytes that it gives to each.
        element: The number of the type of elements in `ELEMENTS`.
        how: The number in `COMBINERS` for a reduction, the root of a broadcast.
    """

    kind: str
    length: int = 0
    element: int = 0
    how: int = 0


class PendingCollective(NamedTuple):
    """A collective that this process has begun, and that may not be complete."""

    what: Collective
    request: Any
    memory: Any  # that MPI reads or writes
    made: Any = None  # a communicator


class Handles:
    """The types of elements and the combiners, as mpi4py has them."""

    def __init__(self, mpi: Any) -> None:
        self.mpi = mpi
        self.types = [getattr(mpi, name) for name in _TYPES]
        self.combiners = [getattr(mpi, name.upper()) for name in COMBINERS]


class Channel:
    """A communicator, and what this process has begun on it.

    Attributes:
        comm: The communicator.
        begun: One word, the number of collectives that were begun. Native code counts it, too.
        open: Those that may not be complete, by their numbers from 1 on.
        known: What they and some before them are. One process may have completed what others lack.
    """

    def __init__(self, handles: Handles, comm: Any) -> None:
        self._handles = handles
        self.begun = (ctypes.c_int64 * 1)()
        self.open: dict[int, PendingCollective] = {}
        self.known: dict[int, Collective] = {}
        self.enter(comm)

    def enter(self, comm: Any) -> None:
        """Go on with a communicator that is new."""
        comm.Set_errhandler(self._handles.mpi.ERRORS_RETURN)
        self.comm, self.begun[0] = comm, 0
        self.open.clear()
        self.known.clear()

    def begin(self, what: Collective, source: Any = None, target: Any = None) -> int:
        """Begin a collective with bytes of arrays, and return its number."""
        comm, made = self.comm, None
        give, get = ([array, self._handles.types[what.element]] for array in (source, target))
        op = self._handles.combiners[what.how if "reduce" in what.kind else 0]
        self.begun[0] += 1
        match what.kind:
            case "all_reduce":
                request = comm.Iallreduce(give, get, op)
            case "reduce_scatter":
                request = comm.Ireduce_scatter_block(give, get, op)
            case "all_gather":
                request = comm.Iallgather(give, get)
            case "all_to_all":
                request = comm.Ialltoall(give, get)
            case "broadcast":
                request = comm.Ibcast(get, what.how)
            case _:
                made, request = comm.Idup()
        number = self.begun[0]
        self.open[number], self.known[number] = PendingCollective(what, request, (source, target), made), what
        self.known.pop(number - _KNOWN, None)
        return number

    def take_part(self, what: Collective) -> None:
        """Begin what others have begun, with memory that nobody reads."""
        size = what.length * _size(what.element)
        parts = size * self.comm.Get_size()
        given = parts if what.kind in ("reduce_scatter", "all_to_all") else size
        taken = parts if what.kind in ("all_gather", "all_to_all") else size
        self.begin(what, np.zeros(given, np.uint8), np.zeros(taken, np.uint8))

    def told(self) -> list[Any]:
        """The numbers that the others are told after a failure."""
        self.known = dict(sorted(self.known.items())[-_KNOWN:])
        return [self.begun[0], [*self.known.items()]]


class Channels:
    """The communicators of a world, after that from which they are made.

    Attributes:
        outside: For collectives outside of steps.
        steps: For steps, as far as they were needed.
        handles: The types and the combiners of MPI.

    Args:
        mpi: The module of mpi4py.
        everyone: The communicator that others are made from, on which nothing is ever left incomplete.
    """

    def __init__(self, mpi: Any, everyone: Any) -> None:
        self._everyone, self.handles = everyone, Handles(mpi)
        self.outside = Channel(self.handles, everyone.Dup())
        self.steps: list[Channel] = []
        self._left: list[Any] = []  # memory that MPI may use for ever

    def close(self, channel: Channel, number: int) -> None:
        """Note that a collective is complete."""
        work = channel.open.pop(number)
        if work.made is not None:
            self.steps.append(Channel(self.handles, work.made))

    def note(self, requests: Word, notes: Word, memory: Any) -> None:
        """Keep what native code has begun, and the memory that MPI may use until it is complete.

        `requests` has their handles, and `notes` a record `Begun` for each.
        """
        none = handle_of(self.handles.mpi, self.handles.mpi.REQUEST_NULL)
        channels = {handle_of(self.handles.mpi, channel.comm): channel for channel in self.steps}
        for at, request in enumerate(requests):
            words = notes[at * len(Begun) : (at + 1) * len(Begun)]
            if (channel := channels.get(words[Begun.COMM])) is None:  # no step has so many
                continue
            number, what = words[Begun.NUMBER], Collective(KINDS[words[Begun.KIND]], *words[Begun.COUNT :])
            channel.known[number] = what
            if request != none:
                channel.open[number] = PendingCollective(
                    what, self.handles.mpi.Request.fromhandle(request), memory
                )

    def restored(self, runs: int) -> Generator[Any, None, int]:
        """Complete all that any process has begun. All processes do this after a failure.

        Args:
            runs: The number of this run.

        Yields:
            Requests, to go on when they are complete.

        Returns:
            The greatest number of a run.
        """
        mine = {"runs": runs, "channels": [channel.told() for channel in (self.outside, *self.steps)]}
        told = yield from self._gathered(mine)
        for at in count():
            states = [each["channels"][at] for each in told if at < len(each["channels"])]
            if not states:
                break
            channel = (self.outside, *self.steps)[at]
            known = in_common(states, len(told))
            if known is None:
                yield from self._replace(channel)
                if channel is self.outside:  # which makes the others: they begin anew, too
                    self._left.append(self.steps)
                    self.steps = []
                    break
                continue
            for number in range(channel.begun[0] + 1, max(begun for begun, _ in states) + 1):
                channel.take_part(known[number])
            for number, work in sorted(channel.open.items()):
                yield work.request
                self.close(channel, number)
        return max(each["runs"] for each in told)

    def _replace(self, channel: Channel) -> Generator[Any, None, None]:
        self._left.append([*channel.open.values()])
        comm, request = self._everyone.Idup()
        yield request
        channel.enter(comm)

    def _gathered(self, mine: dict[str, Any]) -> Generator[Any, None, list[dict[str, Any]]]:
        data = np.frombuffer(json.dumps(mine).encode(), np.uint8)
        sizes = np.zeros(self._everyone.Get_size(), np.int64)
        yield self._everyone.Iallgather(np.array([len(data)]), sizes)
        padded, rows = np.zeros(sizes.max(), np.uint8), np.zeros((len(sizes), sizes.max()), np.uint8)
        padded[: len(data)] = data
        yield self._everyone.Iallgather(padded, rows)
        return [json.loads(bytes(row[:size])) for row, size in zip(rows, sizes.tolist(), strict=True)]


def in_common(states: Sequence[Any], processes: int) -> dict[int, Collective] | None:
    """Return what processes have begun, by number; None if they differ, or nobody knows what others lack.

    Args:
        states: What the processes that have the channel tell of it, see `Channel.told`.
        processes: The number of all.
    """
    known: dict[int, Collective] = {}
    for _, recent in states:
        for number, (kind, *numbers) in recent:
            what = Collective(kind, *numbers)
            if known.setdefault(number, what) != what:
                return None
    begun = [each for each, _ in states] + [0] * (processes - len(states))
    return known if all(n in known for n in range(min(begun) + 1, max(begun) + 1)) else None


def element_of(array: np.ndarray) -> int:
    """The number in `ELEMENTS` of the type of an array that is reduced."""
    return ELEMENTS.index(array.dtype.name)


def handle_of(mpi: Any, thing: Any) -> int:
    """The handle of a communicator, type or operation, as its C type has it, in 64 bits."""
    address, size = mpi._addressof(thing), mpi._sizeof(thing)
    kind = {4: ctypes.c_int32, 8: ctypes.c_int64}[size]
    return kind.from_address(address).value


def _size(element: int) -> int:
    name = ELEMENTS[element]
    return 1 if name == "byte" else np.dtype(name).itemsize
