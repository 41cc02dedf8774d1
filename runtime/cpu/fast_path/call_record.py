"""A program bound to its arguments: the records that the dispatching function reads to call it.

Bindings are made for programs that do not call Python and whose values are the same bytes in NumPy and in
compiled code; the other programs are run from Python.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.codegen.native import dispatch_layout as at
from staticgraph.compiler.codegen.native.dispatch_layout import Cell, Conversion, Feed, Result, ResultForm
from staticgraph.compiler.graph.dtypes import DType, bfloat16
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.lower.program import ARGUMENTS
from staticgraph.runtime.backend import Programs
from staticgraph.runtime.cpu.executable import CpuExecutable
from staticgraph.runtime.cpu.fast_path.dispatch import Words, words
from staticgraph.runtime.state.memory import LARGE, aligned_bytes
from staticgraph.runtime.state.variables import VariableStore

SHORT = 20_000  # nanoseconds: as long may a run keep other threads of Python waiting
EXPECTED = 64  # bytes of a feed whose value decides which program is right, for machine code to compare
_BYTES_PER_NANOSECOND = 10  # of memory traffic
_FORMS: dict[type | None, ResultForm] = {
    None: ResultForm.SINGLE,
    list: ResultForm.LIST,
    tuple: ResultForm.TUPLE,
}
_CONVERSIONS = {
    "float32": Conversion.FLOAT32,
    "float64": Conversion.FLOAT64,
    "int32": Conversion.INT32,
    "int64": Conversion.INT64,
    "bool": Conversion.BOOL,
}


def bindable(programs: Programs, program: CpuExecutable, store: VariableStore) -> bool:
    """Return True if the dispatching function may call `program`, for the present values of the variables."""
    prepared = program.prepared
    step, layout = prepared.step, prepared.program
    crossing = [*(t.dtype for t in programs.feeds), *(t.dtype for t in programs.fetches.tensors)]
    results = layout.results[step.fetches :]
    new = zip(step.writes, results, strict=False)
    return (
        all(call.is_collective for call in layout.host_calls)  # others call Python, and can fail
        # No random ops in loops, whose states the step tells.
        and len(results) == len(step.writes) + step.checked
        and all(programs.feeds[i].dtype.size * layout.arguments[i].size <= EXPECTED for i in programs.static)
        and bfloat16 not in crossing
        and all(op in store and store.stored(op).shape == type.shape for op, type in new)
    )


class CallRecord:
    """`program` bound to its variables in `store`, with the feeds in `order` as its arguments.

    Good as long as the store's version is the same.
    """

    def __init__(
        self, programs: Programs, program: CpuExecutable, store: VariableStore, order: Sequence[int]
    ) -> None:
        self._keep: list[Any] = [programs, program, store]  # what the addresses lead to
        self._program = program
        self.version = store.version
        layout, step = program.prepared.program, program.prepared.step
        first = layout.first_result
        fetched = zip(layout.results[: step.fetches], programs.recyclers, strict=True)
        kind, outputs = programs.fetches.form
        form = _FORMS.get(kind, ResultForm.OTHER)
        together = program.collectives
        blocks = {
            at.Binding.FEEDS: [
                self._feed(ARGUMENTS + i, layout.arguments[i], program.static.get(i)) for i in order
            ],
            at.Binding.VARIABLES: [*self._reads(store), *self._writes(store)],
            at.Binding.FLIPS: self._flips(store),
            at.Binding.COUNTERS: self._counters(store),
            at.Binding.RESULTS: [self._result(first + i, t, r.words) for i, (t, r) in enumerate(fetched)],
            at.Binding.OUTPUTS: [[output] for output in outputs],
        }
        values = {
            at.Binding.NEXT: 0,
            at.Binding.STATE: self._address(store.state),
            at.Binding.VERSION: store.version,
            at.Binding.LONG: int(store.is_guarded or _may_be_long(program)),
            at.Binding.READY: self._ready(program, store),
            at.Binding.ENTRY: program.entry,
            at.Binding.TABLE: ctypes.addressof(program.table),
            at.Binding.CALLS: ctypes.addressof(program.count),
            at.Binding.CONNECTED: 0 if together is None else self._address(together.connected),
            at.Binding.FAILED: 0 if together is None else self._object(program.failed),
            at.Binding.FORM: form,
            at.Binding.ASSEMBLE: self._object(programs.fetches.assemble) if form is ResultForm.OTHER else 0,
        }
        fields = [*at.Binding]
        for block, records in blocks.items():
            values[block] = self._block(*records)
            values[fields[block + 1]] = len(records)
        self.words = words(*(values[word] for word in at.Binding))
        self.address = ctypes.addressof(self.words)
        program.bindings.add(self)

    def _ready(self, program: CpuExecutable, store: VariableStore) -> int:
        """The address of a word that is 0 if Python must take part in a run."""
        if store.is_guarded:
            return self._address(words(0))
        return program.pool.ready if program.parallel else 0

    def _feed(self, slot: int, type: TensorType, expected: bytes | None) -> list[int]:
        single = type.shape == ()
        values = {
            Feed.SLOT: self._slot(slot),
            Feed.DESCR: self._object(type.dtype.numpy),
            Feed.NDIM: len(type.static_shape),
            Feed.DIMS: self._block(type.static_shape),
            Feed.SCALAR: self._object(type.dtype.as_numpy_dtype) if single else 0,
            Feed.CONVERSION: _CONVERSIONS.get(type.dtype.name, 0) if single else Conversion.NONE,
            Feed.VALUE: self._place(type.dtype) if single else 0,
            Feed.EXPECTED: 0 if expected is None else self._address(_bytes(expected)),
            Feed.EXPECTED_BYTES: 0 if expected is None else len(expected),
        }
        return [values[word] for word in Feed]

    def _result(self, slot: int, type: TensorType, blocks: Words) -> list[int]:
        size = type.size * type.dtype.size
        values = {
            Result.SLOT: self._slot(slot),
            Result.DESCR: self._object(type.dtype.numpy),
            Result.NDIM: len(type.static_shape),
            Result.DIMS: self._block(type.static_shape),
            Result.BYTES: size,
            Result.VALUE: self._place(type.dtype) if type.shape == () else 0,
            Result.BLOCKS: self._address(blocks) if size >= LARGE else 0,
        }
        return [values[word] for word in Result]

    def _reads(self, store: VariableStore) -> list[list[int]]:
        """The slots of variables, and where their addresses are."""
        step = self._program.prepared.step
        slots = enumerate(step.reads, ARGUMENTS + len(step.feeds))
        return [[self._slot(i), self._address(store.cell(op))] for i, op in slots if op in store]

    def _writes(self, store: VariableStore) -> list[list[int]]:
        """The slots of new values, and where their addresses are."""
        layout = self._program.prepared.program
        found = []
        for i, op in self._written():
            place = self._address(store.cell(op))
            if not self._in_place(i):
                store.next_buffer(op, layout.results[i])
                place += ctypes.sizeof(ctypes.c_int64) * Cell.BACK
            found.append([self._slot(layout.first_result + i), place])
        return found

    def _flips(self, store: VariableStore) -> list[list[int]]:
        """The cells whose two places are exchanged."""
        return [[self._address(store.cell(op))] for i, op in self._written() if not self._in_place(i)]

    def _written(self) -> list[tuple[int, Operation]]:
        step = self._program.prepared.step
        return [*enumerate(step.writes, step.fetches)]

    def _in_place(self, result: int) -> bool:
        prepared = self._program.prepared
        return prepared.step.updates.get(result, -1) in prepared.program.in_place

    def _counters(self, store: VariableStore) -> list[list[int]]:
        """Return the address of each random state and how far a run advances it. The states never move."""
        step = self._program.prepared.step
        together = self._program.collectives
        found = [] if together is None else [[self._address(together.runs), 1]]
        slots = itertools.count(ARGUMENTS + len(step.feeds) + len(step.reads))
        for slot, op, advance in zip(slots, step.counters, step.advances, strict=False):
            state = store.random_state(op)
            self._keep.append(state)
            self._program.table[slot] = state.ctypes.data
            found.append([state.ctypes.data, advance])
        return found

    def _slot(self, slot: int) -> int:
        return ctypes.addressof(self._program.table) + ctypes.sizeof(ctypes.c_void_p) * slot

    def _place(self, dtype: DType) -> int:
        memory = aligned_bytes(dtype.size)
        self._keep.append(memory)
        return memory.ctypes.data

    def _block(self, *records: Sequence[int]) -> int:
        return self._address(words(*(word for record in records for word in record)))

    def _address(self, block: Words) -> int:
        self._keep.append(block)
        return ctypes.addressof(block)

    def _object(self, value: Any) -> int:
        self._keep.append(value)
        return id(value)


def _bytes(value: bytes) -> ctypes.Array:
    return ctypes.create_string_buffer(value, max(len(value), 1))


def _may_be_long(program: CpuExecutable) -> bool:
    """Return True if a run may take so long that other threads of Python should run meanwhile.

    Programs with loops count as long, since their run time is unknown.
    """
    prepared = program.prepared
    return program.parallel or prepared.program.may_stop or _nanoseconds(program) > SHORT


def _nanoseconds(program: CpuExecutable) -> float:
    """About how long a run takes."""
    layout = program.prepared.program
    touched = sum(type.size * type.dtype.size for type in (*layout.arguments, *layout.results))
    return max(program.prepared.cost, touched / _BYTES_PER_NANOSECOND)
