"""Loops and branches of a step: their text, and what they call when they run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from staticgraph.compiler.codegen.abi import (
    BranchSegment,
    BufferRef,
    CarriedSlots,
    CopyCall,
    HostCallSegment,
    InnerStep,
    LoopSegment,
    RowPointer,
)
from staticgraph.compiler.codegen.llvm.step import step
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.native.watch import guarded
from staticgraph.runtime.cpu import jit as cpu_jit

MEMORY, HOST, WATCH = range(3)  # slots of the table of a step
TABLE, AGAIN, PRED, INDEX, SPARE, ROWS = (BufferRef(MEMORY, 64 * n) for n in (8, 9, 10, 11, 12, 16))
UNUSED = BufferRef(MEMORY)
BODY = Code("body", "")


def turns(argument: int, result: int, place: int) -> CarriedSlots:
    """Four bytes that are written to two places by turns."""
    init, final, other = (BufferRef(MEMORY, 64 * (place + n)) for n in range(3))
    return CarriedSlots(argument, result, 4, init, final, other)


def written(segment: LoopSegment | BranchSegment) -> Code:
    return step([segment], UNUSED, UNUSED, BufferRef(WATCH))


def test_the_text_of_a_loop(golden: Callable[[str, str], None]):
    """One value by turns, one in place and without a first value, a row, a copy before."""
    body = InnerStep(BODY, TABLE, (None, None, None, BufferRef(HOST)))
    in_place = CarriedSlots(2, 2, 8, None, BufferRef(MEMORY, 256), None)
    row = RowPointer(3, ROWS, 0, 4, -1, 10, 64)
    copies = (CopyCall(BufferRef(MEMORY, 320), BufferRef(MEMORY, 384), 16),)
    segment = LoopSegment(body, PRED, AGAIN, (turns(0, 1, 0), in_place), (row,), copies, SPARE, 64, 1024)
    golden("loop.txt", written(segment).text)


def test_the_text_of_a_branch(golden: Callable[[str, str], None]):
    inners = tuple(
        InnerStep(Code(f"branch{n}", ""), TABLE, (UNUSED, BufferRef(HOST, 8 * n))) for n in range(3)
    )
    golden("branch.txt", written(BranchSegment(INDEX, inners)).text)


def test_the_text_of_a_step_that_can_be_stopped(golden: Callable[[str, str], None]):
    golden("guarded.txt", guarded.code().text)


@dataclass
class Machine:
    """Memory, and a table of a step in it, whose host calls go to a Python function."""

    called: Callable[[int, Sequence[int]], int]
    memory: np.ndarray = field(default_factory=lambda: np.zeros(64 * 64, np.uint8))
    stop: int = 0

    def run(self, segment: LoopSegment | BranchSegment, *inner: Code) -> int:
        @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
        def host(index: int, table: int) -> int:
            return self.called(index, (ctypes.c_int64 * 4).from_address(table))

        words = (ctypes.c_int64 * 8)(self.stop)
        address = ctypes.cast(host, ctypes.c_void_p).value
        table = (ctypes.c_void_p * 3)(self.memory.ctypes.data, address, ctypes.addressof(words))
        code = written(segment)
        library = cpu_jit.load([*inner, code], verify=True)
        run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(library[code.name])
        return run(ctypes.addressof(table))

    def number(self, ref: BufferRef) -> np.ndarray:
        return self.memory[ref.offset : ref.offset + 4].view(np.int32)


def hosted(index: int) -> Code:
    """An inner step that calls the function in its slot 3."""
    return step([HostCallSegment(3, index)], UNUSED, UNUSED, UNUSED)


def place(machine: Machine, address: int) -> int:
    return (address - machine.memory.ctypes.data) // 64


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 6])
def test_rounds_write_by_turns_and_end_in_one_place(rounds: int):
    seen: list[tuple[int, int]] = []

    def called(index: int, table: Sequence[int]) -> int:
        seen.append((place(machine, table[0]), place(machine, table[1])))
        source, target = ((ctypes.c_int32).from_address(table[n]) for n in (0, 1))
        target.value = source.value * 3
        machine.memory[AGAIN.offset] = len(seen) < rounds
        return 0

    machine, body = Machine(called), hosted(5)
    machine.number(BufferRef(MEMORY))[...] = 1
    machine.memory[PRED.offset] = rounds > 0
    inner = InnerStep(body, TABLE, (None, None, None, BufferRef(HOST)))
    segment = LoopSegment(inner, PRED, AGAIN, (turns(0, 1, 0),), (), (), SPARE, 0, 1024)
    assert machine.run(segment, body) == 0
    assert seen == [(0, 1), (1, 2), (2, 1), (1, 2), (2, 1), (1, 2)][:rounds]
    assert machine.number(BufferRef(MEMORY, 64)) == 3**rounds
    assert machine.number(BufferRef(MEMORY)) == 1


def test_what_a_body_prepares_is_done_before_the_first_round():
    seen: list[int] = []

    def called(index: int, table: Sequence[int]) -> int:
        seen.append(index)
        machine.memory[AGAIN.offset] = len(seen) < 4
        return 0

    machine, before, body = Machine(called), hosted(1), hosted(2)
    machine.memory[PRED.offset] = 1
    inner = InnerStep(body, TABLE, (None, None, None, BufferRef(HOST)), before)
    assert machine.run(LoopSegment(inner, PRED, AGAIN, (), (), (), SPARE, 0, 1024), before, body) == 0
    assert seen == [1, 2, 2, 2]


def test_rows_follow_a_counter_and_missing_ones_are_spare():
    rows: list[int] = []

    def called(index: int, table: Sequence[int]) -> int:
        rows.append(place(machine, table[1]))
        counter = (ctypes.c_int32).from_address(table[0])
        counter.value += 1
        machine.memory[AGAIN.offset] = len(rows) < 5
        return 0

    machine, body = Machine(called), hosted(5)
    machine.memory[PRED.offset] = 1
    machine.memory[SPARE.offset : SPARE.offset + 64] = 7
    inner = InnerStep(body, TABLE, (None, None, None, BufferRef(HOST)))
    counter = CarriedSlots(0, 0, 4, BufferRef(MEMORY), BufferRef(MEMORY, 64), None)
    row = RowPointer(1, ROWS, 0, 4, -1, 3, 64)
    assert machine.run(LoopSegment(inner, PRED, AGAIN, (counter,), (row,), (), SPARE, 64, 1024), body) == 0
    assert rows == [12, 16, 17, 18, 12]  # rows -1 and 3 of three do not exist
    assert not machine.memory[SPARE.offset : SPARE.offset + 64].any()


def test_a_loop_ends_where_its_body_fails():
    calls: list[int] = []

    def called(index: int, table: Sequence[int]) -> int:
        calls.append(index)
        machine.memory[AGAIN.offset] = 1
        return int(len(calls) == 3)

    machine, body = Machine(called), hosted(5)
    machine.memory[PRED.offset] = 1
    inner = InnerStep(body, TABLE, (None, None, None, BufferRef(HOST)))
    assert machine.run(LoopSegment(inner, PRED, AGAIN, (), (), (), SPARE, 0, 1024), body) == 1
    assert calls == [5, 5, 5]


@pytest.mark.parametrize("patience", [1, 4])
def test_a_loop_ends_where_the_watch_says_so(patience: int):
    calls: list[int] = []

    def called(index: int, table: Sequence[int]) -> int:
        calls.append(index)
        machine.memory[AGAIN.offset] = 1
        return 0

    machine, body = Machine(called, stop=1), hosted(5)
    machine.memory[PRED.offset] = 1
    inner = InnerStep(body, TABLE, (None, None, None, BufferRef(HOST)))
    assert machine.run(LoopSegment(inner, PRED, AGAIN, (), (), (), SPARE, 0, patience), body) == 1
    assert len(calls) == patience


def test_a_loop_without_patience_asks_nobody():
    calls: list[int] = []

    def called(index: int, table: Sequence[int]) -> int:
        calls.append(index)
        machine.memory[AGAIN.offset] = len(calls) < 3
        return 0

    machine, body = Machine(called, stop=1), hosted(5)
    machine.memory[PRED.offset] = 1
    inner = InnerStep(body, TABLE, (None, None, None, BufferRef(HOST)))
    assert machine.run(LoopSegment(inner, PRED, AGAIN, (), (), (), SPARE, 0, None), body) == 0
    assert len(calls) == 3


@pytest.mark.parametrize(("index", "taken"), [(0, 0), (1, 1), (2, 2), (3, 2), (-1, 2), (2**31 - 1, 2)])
def test_one_branch_is_called_the_last_for_numbers_that_there_is_none_of(index: int, taken: int):
    calls: list[int] = []

    def called(index: int, table: Sequence[int]) -> int:
        calls.append(index)
        return 0

    machine, bodies = Machine(called), [hosted(n) for n in range(3)]
    machine.number(INDEX)[...] = index
    slots = (UNUSED, UNUSED, UNUSED, BufferRef(HOST))
    assert machine.run(BranchSegment(INDEX, tuple(InnerStep(b, TABLE, slots) for b in bodies)), *bodies) == 0
    assert calls == [taken]
