"""A compiled step of the CPU in memory: one native call over a table of pointers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import starmap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol
from weakref import WeakSet

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.native.dispatch_layout import UNSOUND
from staticgraph.compiler.codegen.native.dispatch_layout import Binding as Word
from staticgraph.compiler.graph.errors import DeadlineExceededError, OpError, ResourceExhaustedError, misuse
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.lower.program import ARGUMENTS, HostCall, Ref
from staticgraph.compiler.support.dataclass import cached_property
from staticgraph.runtime.cpu.jit import host
from staticgraph.runtime.cpu.open_step import OpenStep
from staticgraph.runtime.executable import Checks, Origins
from staticgraph.runtime.state.memory import (
    address_of,
    empty,
    from_storage,
    storage_dtype,
    to_storage,
)
from staticgraph.runtime.state.resources import closed_meanwhile, remaining
from staticgraph.runtime.state.variables import PendingWrites

if TYPE_CHECKING:
    from staticgraph.compiler.compile import Compiled
    from staticgraph.runtime.cpu.disk.loaded_program import LoadedProgram
    from staticgraph.runtime.cpu.pool import Pool
    from staticgraph.runtime.cpu.watch import Watch
    from staticgraph.runtime.processes.collective_calls import CollectiveCalls
    from staticgraph.runtime.state.memory import BufferPool
    from staticgraph.runtime.state.variables import VariableStore

NO_VALUES: Mapping[str, int] = MappingProxyType({})
_STEP = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_HOST = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)


def plain(step: int) -> Callable[[int], int]:
    """The step at this address, as a function of the address of its table: one that nothing can stop."""
    return _STEP(step)


class Caller(Protocol):
    """Memory by which native code calls an executable: `words` hold the address of its function."""

    words: Any


class CpuExecutable:
    """The machine code of a step, with its arena, constants
    and table of pointers. Not for two threads at once.

    `entry` is the address of the native function, which takes the address of `table`. To call it directly is
    as good as calling the executable, where the program has no host calls. `prepared` has open sizes if
    there are `values` of these; executables for different values share what the `first` has `shared`.
    """

    version = -1
    origins: Origins = (0, 0, 0)
    shared: OpenStep
    parallel: bool

    def __init__(
        self,
        prepared: Compiled | LoadedProgram,
        static: Iterable[tuple[int, bytes]] = (),
        checks: Checks | None = None,
        again: Callable[[], Compiled] | None = None,
        values: Mapping[str, int] = NO_VALUES,
        first: CpuExecutable | None = None,
    ) -> None:
        try:
            shared = OpenStep(prepared) if first is None else first.shared
            self.shared = shared
            self.prepared = shared.at(values) if values else prepared  # what a run needs of the step
            shared.require_memory(self.prepared.program)
            self._again = again
            self.values = values
            self.checks = checks  # of a checked step: says what is wrong where results are not finite
            self.static = dict(static)  # feeds by number, and the values that the program is good for
            self.count = (ctypes.c_int64 * 1)()
            self.needed = shared.needed
            self.entry = shared.entry
            self.table = (ctypes.c_void_p * shared.slots)()
            shared.workspace.enter(self.table, self.prepared.program.arena)
        except MemoryError:
            raise _does_not_fit(prepared, values) from None
        program = prepared.program
        self.watch = _watch() if shared.may_stop else None
        self.bindings: WeakSet[Caller] = WeakSet()  # what calls the native function without Python
        self._ended: list[int] = []  # what the native function has returned
        self._pending: PendingWrites | None = None  # of a run that overwrites variables
        self._address = ctypes.addressof(self.table)
        self.enter(self.entry)
        # Threads start with the first run that has work for them.
        numbers, self.parallel = shared.numbers_at(values)
        if program.opens:
            self._numbers = (ctypes.c_int64 * len(numbers))(*numbers)
            self.table[shared.numbers_slot] = ctypes.addressof(self._numbers)
        self._hosts = [call.at(values) if values else call for call in shared.host_calls]
        self._failure: BaseException | None = None
        if self._hosts:
            self._host = _HOST(self._run_host)
            self.table[program.host_slot] = ctypes.cast(self._host, ctypes.c_void_p).value
        self.collectives: CollectiveCalls | None = None
        if self.watch is not None:
            self.table[program.watch_slot] = self.watch.address
            if calls := [call for call in self._hosts if call.is_collective]:
                self.collectives = self._exchanging(calls, self.watch)
        if checks is not None:
            self.table[program.host_slot - 1] = checks.sound.ctypes.data

    @cached_property
    def compiled(self) -> Compiled | LoadedProgram:
        """All that is known of the step, with its sizes known."""
        return self.opened.closed(self.values) if self.values else self.opened

    @cached_property
    def opened(self) -> Compiled | LoadedProgram:
        """The same with the sizes open for which its code is: `again` compiles it, if this is only what a run
        needs.
        """
        return self.shared.made if self._again is None else self._again()

    @property
    def pool(self) -> Pool:
        """The threads that help with a parallel step."""
        pool = self.shared.workspace.pool
        assert pool is not None
        return pool

    def enter(self, entry: int) -> None:
        """Run the function at this address from now on, which does the same as the one before."""
        self.entry = entry
        table, watch = self._address, self.watch
        self._call = partial(plain(entry), table) if watch is None else watch.guarded_call(entry, table)
        for binding in self.bindings:
            binding.words[Word.ENTRY] = entry

    def __call__(self, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> bool:
        """Run the step: read `arguments`, write `results`. Return False if a check of the step failed.

        Arrays are C-contiguous, of the program's types.
        """
        table = self.table
        slot = ARGUMENTS
        for array in arguments:
            table[slot] = address_of(array)
            slot += 1
        for array in results:
            table[slot] = address_of(array)
            slot += 1
        self.count[0] += 1
        if self.collectives is not None:
            self.collectives.begin()
        if self.parallel:
            self.pool.ensure()
        left = remaining()
        ended = self._ended
        ended.clear()
        try:
            # One call of C, so that an interrupt after the step finds that the step has ended.
            if left is None or self.watch is None:
                ended.extend(starmap(self._call, ((),)))
            else:
                with self.watch.limit(left):
                    ended.extend(starmap(self._call, ((),)))
            [stopped] = ended
            if self._failure is not None:
                error, self._failure = self._failure, None
                raise error
        except BaseException:
            if self.collectives is not None:
                self.collectives.fail(self, arguments, results)
            raise
        if self.collectives is not None:
            if stopped:
                self.collectives.fail(self, arguments, results)
            else:
                self.collectives.succeed()
        if stopped and stopped != UNSOUND:
            raise self._stopped()
        return not stopped

    def step(
        self, feeds: Sequence[np.ndarray], store: VariableStore, recyclers: Sequence[BufferPool] = ()
    ) -> tuple[list[np.ndarray], PendingWrites]:
        """Run the step for variables in `store`: what is fetched, as compiled code holds it, and what is to
        change in the store. Results are in memory of `recyclers`, as far as there are any.
        """
        if self.collectives is not None:
            self.collectives.begin(store)
        try:
            arguments, results = self._arrays(feeds, store, recyclers)
        except MemoryError:
            raise _does_not_fit(self.shared.made, self.values) from None
        step = self.prepared.step
        changes = PendingWrites.of(step, step.writes, results[step.fetches :])
        self._ended.clear()
        self._pending = changes if self.prepared.program.in_place else None
        if not self(arguments, results) and self.checks is not None:
            self.checks.fail(arguments)
        return results[: step.fetches], changes

    def settle(self, store: VariableStore, interrupted: bool) -> None:
        """Forget the writes of a run. If an interrupt came after it had overwritten variables, commit all."""
        pending, self._pending = self._pending, None
        if interrupted and pending is not None and self._ended == [0]:
            pending.commit(store)

    def _arrays(
        self, feeds: Sequence[np.ndarray], store: VariableStore, recyclers: Sequence[BufferPool]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the arrays that a run reads, and those that it writes."""
        step, layout = self.prepared.step, self.prepared.program
        arguments = [*feeds, *store.arguments(step, layout.arguments[len(feeds) :])]
        results = [r.array(t) for r, t in zip(recyclers, layout.results, strict=False)]
        results += [empty(t) for t in layout.results[len(results) : step.fetches]]
        for i, op in enumerate(step.writes, step.fetches):
            old = step.updates.get(i, -1)
            overwritten = old in layout.in_place
            results.append(arguments[old] if overwritten else store.next_buffer(op, layout.results[i]))
        results += [empty(t) for t in layout.results[len(results) :]]
        if self.checks is not None:
            results[-1] = self.checks.sound
        return arguments, results

    def _exchanging(self, calls: Sequence[HostCall], watch: Watch) -> CollectiveCalls:
        """Return what the collectives of the program need."""
        from staticgraph.runtime.processes.collective_calls import CollectiveCalls  # few programs have some

        found = CollectiveCalls(calls, self.prepared.step, "processor")
        watch.collectives_by(found.address)
        return found

    def failed(self, *kept: Any) -> NoReturn:
        """Raise the error of a run by native code in which a collective may not be complete.

        `kept`: what MPI may still read.
        """
        assert self.collectives is not None
        self.collectives.fail(self, kept)
        if self._failure is not None:
            error, self._failure = self._failure, None
            raise error
        if self.checks is not None and not self.checks.sound[()]:
            program, table = self.prepared.program, ctypes.addressof(self.table)
            slots = enumerate(program.arguments, ARGUMENTS)
            self.checks.fail([_view(table, Ref(slot), type) for slot, type in slots])
        raise self._stopped()

    def _stopped(self) -> OpError:
        """Return the error of a run that its watch has stopped."""
        if self.watch is not None and self.watch.is_cancelled:
            return closed_meanwhile()
        text = "the time that the run was given is over; all variables are as they were before it"
        return misuse(DeadlineExceededError, text)

    @property
    def calls(self) -> int:
        """The number of calls of the native function."""
        return self.count[0]

    def _run_host(self, index: int, table: int) -> int:
        """Called from the native code: an op without native form, computed by its NumPy meaning.

        A negative number is that of a collective that takes long.
        """
        if self.watch is not None and self.watch.is_told:
            return 1
        if index < 0:
            return self._look(self._hosts[-1 - index])
        call = self._hosts[index]
        try:
            with np.errstate(all="ignore"):
                inputs = [from_storage(_view(table, ref, type), type.dtype) for ref, type in call.inputs]
                made = call.function(*inputs, **call.attrs)
            made = made if isinstance(made, tuple) else (made,)
            for (ref, type), value in zip(call.outputs, made, strict=True):
                _view(table, ref, type)[...] = to_storage(type.dtype.round(value), type.dtype)
        except BaseException as error:  # native code cannot be unwound; it is raised when the call returns
            self._failure = _told(error, call)
        return int(self._failure is not None)

    def _look(self, call: HostCall) -> int:
        """Look if a collective can still be complete. Return 0 if so."""
        assert self.collectives is not None
        try:
            self.collectives.look(call.node)
        except BaseException as error:
            self._failure = _told(error, call)
        return int(self._failure is not None)


def _told(error: BaseException, call: HostCall) -> BaseException:
    """Return what the user sees of an error in a call."""
    from staticgraph.compiler.graph.interpret import failure  # compiled steps do without

    return failure(error, call.node.op.name, call.node.where) if isinstance(error, Exception) else error


def _watch() -> Watch:
    from staticgraph.runtime.cpu.watch import Watch  # only loops and long steps have one

    return Watch()


def _does_not_fit(made: Compiled | LoadedProgram, values: Mapping[str, int]) -> ResourceExhaustedError:
    """The error for a step that needs more memory than there is."""
    from staticgraph.compiler.lower.buffer_assignment import does_not_fit  # needed only then

    return does_not_fit((made.closed(values) if values else made).memory)


def _view(table: int, ref: Ref, type: TensorType) -> np.ndarray:
    """The array in a place of the table at this address."""
    dtype = storage_dtype(type.dtype)
    size = type.size * dtype.itemsize
    base = ctypes.c_void_p.from_address(table + ctypes.sizeof(ctypes.c_void_p) * ref.slot).value or 0
    block = memoryview((ctypes.c_char * size).from_address(base + ref.offset))
    return np.frombuffer(block, dtype).reshape(type.static_shape)


def evaluate(function: Function, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of `function`, compiled for this machine and run once. The compiled form of `interpret`.

    >>> from staticgraph.compiler.graph.builder import Builder
    >>> x = Builder().parameter("x", "float32", (2,))
    >>> evaluate(Function((x,), (x * 2 + 1,)), [np.array([1, 2])])
    [array([3., 5.], dtype=float32)]
    """
    from staticgraph.compiler.compile import compile  # slow to import, and loaded programs do not need it

    step = Step(function, (), (), (), (), len(function.results), ())
    executable = CpuExecutable(compile(step, host()))
    stored = [
        np.ascontiguousarray(to_storage(p.dtype.round(a), p.dtype)).reshape(p.shape)
        for p, a in zip(function.params, arguments, strict=True)
    ]
    results = [empty(r.type) for r in function.results]
    executable(stored, results)
    return [from_storage(r, v.dtype) for r, v in zip(results, function.results, strict=True)]
