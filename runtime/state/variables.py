"""The only state that outlives a run: values of variables, and states of random ops.

A variable has two places. Its value lies in the front one; a step that cannot overwrite it writes the next
value to the back one, and exchanges the two when it is done. So a step that fails changes nothing. Compiled
code finds both places through the variable's `Cell`, two words that never move.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.codegen.native.dispatch_layout import Cell, State
from staticgraph.compiler.graph.dtypes import as_dtype, string
from staticgraph.compiler.graph.errors import (
    AbortedError,
    ClosedSessionError,
    DeadlineExceededError,
    OpError,
    misuse,
)
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.support.forks import in_child, reclaim
from staticgraph.runtime.state.memory import address_of, empty, from_storage, to_storage
from staticgraph.runtime.state.resources import MOMENT, Resources, closed_meanwhile, remaining

if TYPE_CHECKING:
    from staticgraph.compiler.capture.step import Step


class _Places:
    """The two places of a variable."""

    __slots__ = ("cell", "_arrays")

    def __init__(self, value: np.ndarray) -> None:
        self.cell = (ctypes.c_int64 * len(Cell))(address_of(value), 0)
        self._arrays = {address_of(value): value}

    @property
    def front(self) -> np.ndarray:
        return self._arrays[self.cell[Cell.FRONT]]

    @property
    def back(self) -> np.ndarray | None:
        return self._arrays.get(self.cell[Cell.BACK])

    @back.setter
    def back(self, array: np.ndarray | None) -> None:
        front = self.front
        self.cell[Cell.BACK] = 0 if array is None else address_of(array)
        self._arrays = {address_of(a): a for a in (front, array) if a is not None}

    def put(self, value: np.ndarray) -> None:
        """Make `value` the front. If it is the back, the front before becomes the back.

        After an interrupt it may be called again: there is no back until the front is the new one.
        """
        before, back = self.front, self.back
        if value is not before:
            back = before if value is back else back
            self.cell[Cell.BACK] = 0
            self._arrays[address_of(value)] = value
            self.cell[Cell.FRONT] = address_of(value)
            self.back = back if back is not None and back.shape == value.shape else None


def _closed() -> ClosedSessionError:
    return misuse(ClosedSessionError, "the session is closed", "open a new Session")


def _torn() -> AbortedError:
    used = "this process was forked while another thread of its parent used the session"
    text = f"{used}: the values of variables may be half changed"
    hint = "open a new Session here, or fork while no other thread runs the session"
    return misuse(AbortedError, text, hint)


@functools.cache
def _owner_offset() -> int:
    """Return at which byte of a lock is the thread that holds it: the word that is 0 if none does."""
    lock, thread = threading.RLock(), threading.get_ident()
    words = (ctypes.c_int64 * (lock.__sizeof__() // ctypes.sizeof(ctypes.c_int64))).from_address(id(lock))
    free = [*words]
    with lock:
        held = [*words]
    [number] = [n for n, now in enumerate(held) if now == thread and not free[n]]
    return number * ctypes.sizeof(ctypes.c_int64)


class _LeavesLock:
    """Context manager whose end is a method of a lock, in C: nothing can interrupt it before it begins."""

    __slots__ = ("__exit__", "__dict__", "__weakref__")

    __exit__: Callable[..., None]


class _Held(_LeavesLock):
    """Context that holds a store, for which it waits so many seconds: without end if that is -1."""

    def __init__(self, store: VariableStore, timeout: float, guarded: bool = True) -> None:
        self._store, self._timeout, self._guarded = store, timeout, guarded
        self.__exit__ = store.__exit__

    def __enter__(self) -> None:
        self._store.acquire(self._timeout, self._guarded)


class VariableStore(_LeavesLock):
    """Values by variable, as compiled code holds them.

    `with store:` no other thread's run takes place. ClosedSessionError if the session is closed.
    """

    def __init__(self) -> None:
        self.resources = Resources()
        self._places: dict[Operation, _Places] = {}
        self._random: dict[Operation, np.ndarray] = {}
        self._lock = threading.RLock()  # for as long as a run takes
        in_child(self._forked)
        self._functions = self._lock.acquire, self._lock.release
        self.__exit__ = self._lock.__exit__
        owner = id(self._lock) + _owner_offset()
        self.state = (ctypes.c_int64 * len(State))(0, owner, *map(id, self._functions))
        self._guard: Callable[[], OpError | None] | None = None  # says why there can be no run

    def __enter__(self) -> VariableStore:
        self.acquire()
        return self

    def acquire(self, timeout: float = -1, guarded: bool = True) -> None:
        """Take the lock, or wait so many seconds for it. An interrupt leaves it as it was.

        Ctrl-C raises between any two calls of Python. So one call of C takes the lock and notes that in
        `taken`. To leave is the lock's own method: no line of Python comes first that could be interrupted.

        Raises:
            DeadlineExceededError: The time is over.
        """
        taken: list[bool] = []
        try:
            taken.extend(map(self._lock.acquire, (True,), (timeout,)))
            if not taken[0]:
                text = "the time that the run was given is over; runs of other threads were not"
                raise misuse(DeadlineExceededError, text)
            if guarded and self._guard is not None and (error := self._guard()) is not None:
                raise error
        except BaseException:
            if any(taken):
                self._lock.release()
            raise

    def in_time(self) -> _Held:
        """As `with store:`, for a run that has only so much time: it does not wait longer for others."""
        left = remaining()
        return _Held(self, -1 if left is None else left)

    @contextmanager
    def released(self) -> Iterator[None]:
        """Context in which other threads may run: for what waits for them. Inside `with store:` only."""
        held: list[Any] = []
        try:
            held.extend(map(methodcaller("_release_save"), (self._lock,)))  # however often it was taken
            yield
        finally:
            for depth in held:
                methodcaller("_acquire_restore", depth)(self._lock)
        if self._guard is not None and (error := self._guard()) is not None:
            raise closed_meanwhile() if isinstance(error, ClosedSessionError) else error

    @property
    def is_guarded(self) -> bool:
        """Return True if something must be looked at before each run."""
        return self._guard is not None

    def guard(self, look: Callable[[], OpError | None]) -> None:
        """Have `look` called before each run. If it returns an error, that is raised, and nothing runs."""
        self._guard = look

    @property
    def version(self) -> int:
        """A number that changes when a variable gets its first value, or one of another shape."""
        return self.state[State.VERSION]

    def __contains__(self, variable: Operation) -> bool:
        return variable in self._places

    def type_of(self, variable: Operation) -> TensorType | None:
        """The type of the present value, or None."""
        places = self._places.get(variable)
        return None if places is None else TensorType(variable.outputs[0].dtype, places.front.shape)

    def stored(self, variable: Operation) -> np.ndarray:
        """The present value as compiled code holds it. KeyError if there is none."""
        return self._places[variable].front

    def arguments(self, step: Step, types: Sequence[TensorType]) -> list[np.ndarray]:
        """Return the arguments of a step after its feeds: values of variables, then counters of random ops.

        Args:
            step: The step.
            types: Their types. A variable without a value gets memory of its type, which is not read.
        """
        read = zip(step.reads, types, strict=False)
        values = [self.stored(op) if op in self else empty(type) for op, type in read]
        return [*values, *map(self.random_state, step.counters)]

    def cell(self, variable: Operation) -> ctypes.Array:
        """The words with the addresses of the value and, after `next_buffer`, of memory for the next.

        KeyError if there is no value.
        """
        return self._places[variable].cell

    def read(self, variable: Operation) -> np.ndarray:
        """A copy of the present value."""
        return from_storage(self.stored(variable).copy(), variable.outputs[0].dtype)

    def write(self, variable: Operation, value: object) -> None:
        """Set the value, converted to the variable's dtype."""
        dtype = as_dtype(variable.outputs[0].dtype)
        array = dtype.round(value)
        if dtype is string:
            self.commit(variable, array.copy())
            return
        buffer = empty(TensorType(dtype, array.shape))
        buffer[...] = to_storage(array, dtype)
        self.commit(variable, buffer)

    def next_buffer(self, variable: Operation, type: TensorType) -> np.ndarray:
        """Memory for a new value while the present one is still being read."""
        places = self._places.get(variable)
        if places is None or places.front.shape != type.shape:
            return empty(type)
        if places.back is None:
            places.back = empty(type)
        return places.back

    def commit(self, variable: Operation, buffer: np.ndarray) -> None:
        """Make `buffer` the value."""
        places = self._places.get(variable)
        before = None if places is None else places.front.shape
        if places is None:
            self._places[variable] = _Places(buffer)
        else:
            places.put(buffer)
        if before != buffer.shape:
            self.state[State.VERSION] += 1

    def random_state(self, op: Operation) -> np.ndarray:
        """The state of a random op: how much of its stream is used up, and its seeds, as uint64.

        Without any seed the stream starts anywhere.
        """
        if op not in self._random:
            seeds = [op.attrs.get(name, 0) % 2**64 for name in ("seed", "seed2")]
            used = 0 if any(seeds) else int.from_bytes(os.urandom(8)) >> 2
            self._random[op] = np.array([used, *seeds], np.uint64)
        return self._random[op]

    def close(self, cancel: Callable[[], None] | None = None) -> None:
        """Free everything. Nothing can be run or read any more.

        Args:
            cancel: Called while a run of another thread goes on, to end it. Default: wait for its end.
        """
        self.resources.close()
        while True:
            try:
                with _Held(self, -1 if cancel is None else MOMENT, guarded=False):
                    self._end(_closed)
                return
            except DeadlineExceededError:
                assert cancel is not None
                cancel()

    def __del__(self) -> None:
        """End what threads compute ahead for a session that nobody has closed: they know its resources."""
        self.resources.close()

    def _end(self, error: Callable[[], OpError]) -> None:
        self._guard = error
        self.state[State.VERSION] += 1
        self._places.clear()
        self._random.clear()

    def _forked(self) -> None:
        """In a forked process: give up what a run of another thread has perhaps half changed."""
        if reclaim(self._lock):
            if self._places or self._random:
                self._end(_torn)


class PendingWrites:
    """Pending writes of a run, committed only if the whole run succeeds.

    Args:
        values: New values of variables, as compiled code holds them.
        advances: How far the counters of random ops move.
        states: New states of random ops, if only the step knows how far.
    """

    __slots__ = ("values", "advances", "states", "_new_states")

    def __init__(
        self,
        values: dict[Operation, np.ndarray] | None = None,
        advances: dict[Operation, int] | None = None,
        states: dict[Operation, np.ndarray] | None = None,
    ) -> None:
        self.values = {} if values is None else values
        self.advances = {} if advances is None else advances
        self.states = {} if states is None else states
        self._new_states: list[tuple[np.ndarray, np.ndarray]] | None = None  # once it is being committed

    @classmethod
    def of(cls, step: Step, writes: Sequence[Operation], new: Sequence[np.ndarray]) -> PendingWrites:
        """Return the pending writes of a step: values of variables, and states or advances of random ops.

        Args:
            step: The step that ran.
            writes: The variables to write.
            new: The values of these variables, followed by the states of random ops.
        """
        return cls(
            dict(zip(writes, new, strict=False)),
            dict(zip(step.counters, step.advances, strict=True)),
            dict(zip(step.draws, new[len(writes) :], strict=False)),
        )

    def __bool__(self) -> bool:
        return bool(self.values or self.advances or self.states)

    def add(self, more: PendingWrites) -> None:
        """Take in what another stage changes. Where both change the same, it is to the same."""
        self.values |= more.values
        self.advances |= more.advances
        self.states |= more.states

    def commit(self, store: VariableStore) -> None:
        """Make the writes, all of them: an interrupt meanwhile is raised once they are made.

        To commit again does no harm.
        """
        if self._new_states is None:
            self._new_states = self._states(store)
        states = self._new_states
        try:
            self._write(store, states)
        except BaseException as interrupt:
            if isinstance(interrupt, Exception):
                raise
            self._write(store, states)
            raise

    def _states(self, store: VariableStore) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the states of random ops, each with what it becomes."""
        made = [(store.random_state(op), state) for op, state in self.states.items()]
        for op, advance in self.advances.items():
            if op not in self.states:
                state = store.random_state(op).copy()
                state[0] += np.uint64(advance)
                made.append((store.random_state(op), state))
        return made

    def _write(self, store: VariableStore, states: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Make the writes. It does no harm to make them twice."""
        for op, buffer in self.values.items():
            store.commit(op, buffer)
        for old, new in states:
            old[...] = new
