"""Loops and branches of a step.

A loop or branch calls inner steps, with tables that are filled just before. A round costs two stores for each
carried value that is not overwritten in place, a call, and a test. What a body prepares for all rounds, as
packed weights, is done before the first one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from staticgraph.compiler.codegen.abi import (
    BranchSegment,
    BufferRef,
    InnerStep,
    LoopSegment,
    RowPointer,
)
from staticgraph.compiler.codegen.llvm.clock import Clock
from staticgraph.compiler.codegen.llvm.step_function import ask, stop_unless
from staticgraph.compiler.codegen.llvm.text import Emitter
from staticgraph.compiler.graph.sizes import AnySize, Size

Address = Callable[[BufferRef], str]
Number = Callable[[AnySize], str]


def branch(writer: Emitter, segment: BranchSegment, address: Address) -> None:
    """Call one of several inner steps."""
    index = writer.value(f"load i32, ptr {address(segment.index)}, align 4")
    cases = [(writer.label(), inner) for inner in segment.branches]
    done, last = writer.label(), cases[-1][0]
    refs = {r for inner in segment.branches for r in (inner.table, *inner.slots) if r is not None}
    places = {ref: address(ref) for ref in sorted(refs, key=_order)}
    targets = " ".join(f"i32 {n}, label %{label}" for n, (label, _) in enumerate(cases[:-1]))
    writer.line(f"switch i32 {index}, label %{last} [ {targets} ]")
    for label, inner in cases:
        writer.start(label)
        _fill(writer, inner, places.__getitem__)
        _call(writer, inner, places[inner.table])
        writer.branch(done)
    writer.start(done)


def _order(ref: BufferRef) -> tuple[int, int, str]:
    return (ref.slot, 0, str(ref.offset)) if isinstance(ref.offset, Size) else (ref.slot, ref.offset, "")


class _Turn(NamedTuple):
    """Addresses of a value that rounds write to two places in turns: now, in the next one, and the spare."""

    current: str
    target: str
    spare: str

    def phis(self, first: tuple[str, str, str], before: str, latch: str) -> list[str]:
        """Return the three in a round: `first` after the block `before`, one on after the block `latch`."""
        nexts = self.target, self.spare, self.target
        return [
            f"  {mine} = phi ptr [ {start}, %{before} ], [ {following}, %{latch} ]"
            for mine, start, following in zip(self, first, nexts, strict=True)
        ]


def loop(
    writer: Emitter, segment: LoopSegment, address: Address, number: Number, watch: BufferRef, clock: Clock
) -> None:
    """Call an inner step as often as it asks for."""
    written = _Loop(writer, segment, address, number, watch)
    written.prepare()
    written.rounds(clock)
    written.keep()


class _Loop:
    """Writer of one loop. Addresses are read here, before the loop, and not in each round."""

    def __init__(
        self, writer: Emitter, segment: LoopSegment, address: Address, number: Number, watch: BufferRef
    ) -> None:
        carried = segment.carried
        self._writer, self._segment, self._number = writer, segment, number
        self._table = address(segment.body.table)
        self._finals = [address(c.final) for c in carried]
        self._inits = [
            final if c.init is None else address(c.init)
            for c, final in zip(carried, self._finals, strict=True)
        ]
        self._others = {n: address(c.other) for n, c in enumerate(carried) if c.other is not None}
        self._again = address(segment.again)
        self._watch = "" if segment.patience is None else address(watch)
        _fill(writer, segment.body, address)
        if segment.body.before is not None:
            writer.need(f"declare i32 @{segment.body.before.name}(ptr)")
            writer.value(f"call i32 @{segment.body.before.name}(ptr {self._table})")
        self._pred = writer.value(f"load i8, ptr {address(segment.pred)}, align 1")
        self._spare = address(segment.spare) if segment.rows else ""
        # Open sizes are read where they are first asked for: not in a round, which may never come.
        self._rows = [(row, address(row.base), number(row.rows), number(row.size)) for row in segment.rows]
        for copy in segment.copies:
            _copy(writer, address(copy.target), address(copy.source), number(copy.size))
        self._turns: dict[int, _Turn] = {}

    def prepare(self) -> None:
        """Write what happens once before the first round."""
        writer, segment = self._writer, self._segment
        if segment.rows:
            writer.clear(self._spare, self._number(segment.spare_bytes))
        for carried, init, final in zip(segment.carried, self._inits, self._finals, strict=True):
            if carried.other is None:  # overwritten in place
                _copy(writer, final, init, self._number(carried.size))
                _set(writer, self._table, carried.argument, final)
                _set(writer, self._table, carried.result, final)

    def rounds(self, clock: Clock) -> None:
        """Write the loop itself, which is left when a round says so, or when the run is stopped."""
        writer, segment = self._writer, self._segment
        head, inside, stopped, done = (writer.label() for _ in range(4))
        self._turns = {n: _Turn(writer.reserve(), writer.reserve(), writer.reserve()) for n in self._others}
        runs, rounds, following = (writer.reserve() for _ in range(3))
        first = writer.value(f"icmp ne i8 {self._pred}, 0")
        before = writer.block
        writer.branch(head)
        # The phis name the block that the rounds end in, which is not known yet: they are put in afterwards.
        writer.start(head)
        place = len(writer.lines)
        writer.branch_if(runs, inside, done)
        writer.start(inside)
        self._call(stopped)
        if segment.patience is not None:
            _look(writer, self._watch, clock, rounds, following, segment.patience, stopped)
        last = writer.value(f"load i8, ptr {self._again}, align 1")
        holds = writer.value(f"icmp ne i8 {last}, 0")
        latch = writer.block
        writer.branch(head)
        phis = [f"  {runs} = phi i1 [ {first}, %{before} ], [ {holds}, %{latch} ]"]
        if segment.patience is not None:
            phis.append(f"  {rounds} = phi i64 [ 0, %{before} ], [ {following}, %{latch} ]")
        for n, turn in self._turns.items():
            phis += turn.phis((self._inits[n], self._finals[n], self._others[n]), before, latch)
        writer.lines[place:place] = phis
        writer.start(stopped)
        writer.line("ret i32 1")
        writer.start(done)

    def _call(self, stopped: str) -> None:
        """Call the inner step, with the addresses that change from round to round."""
        writer, table = self._writer, self._table
        for n, turn in self._turns.items():
            _set(writer, table, self._segment.carried[n].argument, turn.current)
            _set(writer, table, self._segment.carried[n].result, turn.target)
        for row, base, count, size in self._rows:
            counter = (
                self._turns[row.counter].current if row.counter in self._turns else self._finals[row.counter]
            )
            _set(writer, table, row.slot, _row(writer, row, base, counter, self._spare, count, size))
        name = self._segment.body.code.name
        status = writer.value(f"call i32 @{name}(ptr {table})")
        writer.need(f"declare i32 @{name}(ptr)")
        _stop_if(writer, status, stopped)

    def keep(self) -> None:
        """Write the copies of values that did not end where they are wanted."""
        for n, turn in self._turns.items():
            size = self._number(self._segment.carried[n].size)
            _copy_if_elsewhere(self._writer, self._finals[n], turn.current, size)


def _row(writer: Emitter, row: RowPointer, base: str, counter: str, spare: str, count: str, size: str) -> str:
    """The address of a row, or of spare memory if there is no such row."""
    index = writer.value(f"load i{8 * row.counter_bytes}, ptr {counter}, align {row.counter_bytes}")
    if row.counter_bytes < 8:
        index = writer.value(f"sext i{8 * row.counter_bytes} {index} to i64")
    if row.offset:
        index = writer.value(f"add i64 {index}, {row.offset}")
    exists = writer.value(f"icmp ult i64 {index}, {count}")
    offset = writer.value(f"mul i64 {index}, {size}")
    place = writer.value(f"getelementptr i8, ptr {base}, i64 {offset}")
    return writer.value(f"select i1 {exists}, ptr {place}, ptr {spare}")


def _look(
    writer: Emitter, watch: str, clock: Clock, rounds: str, following: str, patience: int, stopped: str
) -> None:
    """Every so many rounds, ask the watch whether to stop."""
    writer.line(f"{following} = add i64 {rounds}, 1")
    wait = writer.value(f"and i64 {following}, {patience - 1}")
    due = writer.value(f"icmp eq i64 {wait}, 0")
    look, go_on = writer.label(), writer.label()
    writer.branch_if(due, look, go_on)
    writer.start(look)
    _stop_if(writer, ask(writer, watch, clock), stopped)
    writer.branch(go_on)
    writer.start(go_on)


def _stop_if(writer: Emitter, status: str, stopped: str) -> None:
    following = writer.label()
    writer.branch_if(writer.value(f"icmp ne i32 {status}, 0"), stopped, following)
    writer.start(following)


def _fill(writer: Emitter, inner: InnerStep, address: Address) -> None:
    table = address(inner.table)
    for slot, ref in enumerate(inner.slots):
        if ref is not None:
            _set(writer, table, slot, address(ref))


def _set(writer: Emitter, table: str, slot: int, value: str) -> None:
    place = writer.value(f"getelementptr ptr, ptr {table}, i64 {slot}") if slot else table
    writer.line(f"store ptr {value}, ptr {place}, align 8")


def _call(writer: Emitter, inner: InnerStep, table: str) -> None:
    writer.need(f"declare i32 @{inner.code.name}(ptr)")
    stop_unless(writer, f"call i32 @{inner.code.name}(ptr {table})")


def _copy(writer: Emitter, target: str, source: str, size: str) -> None:
    if target != source:
        writer.copy(target, source, size)


def _copy_if_elsewhere(writer: Emitter, target: str, source: str, size: str) -> None:
    copy, done = writer.label(), writer.label()
    same = writer.value(f"icmp eq ptr {target}, {source}")
    writer.branch_if(same, done, copy)
    writer.start(copy)
    _copy(writer, target, source, size)
    writer.branch(done)
    writer.start(done)
