"""Parallel schedule of a step: groups its instructions into phases of independent chunks.

Two instructions conflict if one writes memory that the other reads or writes. Each instruction goes into the
first phase after those that it conflicts with. For example, the products that give the gradients of the
weights and of the input of a layer run side by side, and so do all updates of an optimizer. An instruction of
several phases has several levels, one after the other.

Preparing an operand, such as packing it, may overlap with computing the others, if its input is ready and
that computation is single-threaded. Beside other work, one thread might have to prepare all that several of
them use.

An operand may come from memory that stays the same in all iterations of a loop, such as weights. Then it is
prepared once, before the first iteration, and its scratch memory is not shared in the meantime.

At the end of a phase, threads meet, which costs about as much as a small kernel. So small instructions are
done by one chunk, in order, and so are consecutive phases of nothing but small instructions.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from functools import partial

from staticgraph.compiler.graph.sizes import AnySize, is_open
from staticgraph.compiler.kernel.stmt import Buffer, Kernel
from staticgraph.compiler.lower.buffer_assignment import plan_arena
from staticgraph.compiler.lower.program import (
    ARENA,
    Copy,
    HostCall,
    Instruction,
    Launch,
    Loops,
    OpenPlace,
    Program,
    Ref,
)
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass, replace

_KEPT_BYTES = 32 << 20  # of scratch memory that is kept for all rounds of a loop
MOST_CHUNKS = 2**15  # of a phase


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """The bytes from `start` to `stop` of a slot."""

    slot: int
    start: int
    stop: int


Memory = tuple[Sequence[ByteSpan], Sequence[ByteSpan]]  # what an instruction reads, and what it writes


@dataclass(frozen=True, slots=True)
class Task:
    """An instruction, as far as its place in time matters.

    `chunks` has the number of chunks of each of its phases; `shared` is the size of the scratch memory that
    they have in common. The first phases may be `ahead`, independent of each other: they read no more than
    what is told here of each, and write scratch memory. The number of chunks is the greatest one if it is
    `open`: then it grows with the sizes of a run, which `cost` knows nothing of.
    """

    chunks: tuple[int, ...]
    cost: float
    reads: tuple[ByteSpan, ...]
    writes: tuple[ByteSpan, ...]
    shared: int = 0
    ahead: tuple[tuple[ByteSpan, ...], ...] = ()
    open: bool = False

    @property
    def parallel(self) -> bool:
        """True if several threads can work on the task."""
        return max(self.chunks) > 1


Unit = tuple[int, int]  # the number of a task, and which of its phases


@dataclass(frozen=True, slots=True)
class ScheduledPart:
    """Units that one chunk does in order, or one unit that is `chunks` chunks."""

    units: tuple[Unit, ...]
    chunks: int = 1


@dataclass(frozen=True, slots=True)
class Schedule:
    """The phases of a step, and where the scratch memory of each task lies in the `shared` bytes of all.

    `before` are the phases of what is done once, however often the step is done after that.
    """

    phases: tuple[tuple[ScheduledPart, ...], ...]
    before: tuple[tuple[ScheduledPart, ...], ...]
    offsets: dict[int, int]
    shared: int
    cost: float


def schedule(tasks: Sequence[Task], fixed: Collection[int] = ()) -> Schedule:
    """The phases in which `tasks`, given in an order in which they may run, can run together.

    The slots `fixed` hold the same whenever the step is done.

    >>> x, y, z = ByteSpan(0, 0, 64), ByteSpan(0, 64, 128), ByteSpan(0, 128, 192)
    >>> tasks = [Task((4,), 3e4, (x,), (y,)), Task((2,), 2e4, (x,), (z,)), Task((1,), 9.0, (y, z), (x,))]
    >>> for phase in schedule(tasks).phases:
    ...     print(phase)
    (ScheduledPart(units=((0, 0),), chunks=4), ScheduledPart(units=((1, 0),), chunks=2))
    (ScheduledPart(units=((2, 0),), chunks=1),)
    """
    cost = sum(task.cost for task in tasks)
    if cost >= CPU.region_ns:
        # What is little work for a usual size is so beside what is much, which grows as well.
        tasks = [
            replace(t, chunks=(1,) * len(t.chunks)) if t.open and t.cost < CPU.shared_ns else t for t in tasks
        ]
    once = _once(tasks, fixed)
    every = [(n, phase) for n, task in enumerate(tasks) for phase in range(len(task.chunks))]
    rounds = [unit for unit in every if unit not in once]
    phases, before = _alone(rounds), _alone(once)
    if cost >= CPU.region_ns or any(task.open for task in tasks):
        phases = _merged(tasks, _levels(tasks, once))
    if any(part.chunks > 1 for parts in phases for part in parts):
        before = _limited([ScheduledPart((unit,), tasks[unit[0]].chunks[unit[1]]) for unit in once])
    offsets, shared = _place_shared(tasks, phases, once)
    return Schedule(tuple(phases), tuple(filter(None, before)), offsets, shared, cost)


def _alone(units: Collection[Unit]) -> list[tuple[ScheduledPart, ...]]:
    """One chunk does them all."""
    return [(ScheduledPart(tuple(units)),)] if units else []


def _once(tasks: Sequence[Task], fixed: Collection[int]) -> dict[Unit, None]:
    """Return the units that prepare operands from `fixed` slots alone, as far as memory for them suffices."""
    found: dict[Unit, None] = {}
    room = _KEPT_BYTES
    for number, task in enumerate(tasks):
        units = [
            (number, phase)
            for phase, spans in enumerate(task.ahead)
            if spans and all(span.slot in fixed for span in spans)
        ]
        if units and task.shared <= room:
            room -= task.shared
            found |= dict.fromkeys(units)
    return found


def _levels(tasks: Sequence[Task], once: Collection[Unit]) -> list[list[Unit]]:
    """Every unit on the first level where it may run, but for those that are done `once`."""
    levels: list[list[Unit]] = []
    spread: set[int] = set()  # levels with work for several threads
    slots: defaultdict[int, _Accesses] = defaultdict(_Accesses)

    def written(spans: Sequence[ByteSpan]) -> int:
        """The first level on which they may be read."""
        return max((1 + r.written for span in spans for r in slots[span.slot].of(span)), default=0)

    for number, task in enumerate(tasks):
        first = written(task.reads)
        for span in task.writes:
            for range_ in slots[span.slot].of(span):
                first = max(first, 1 + range_.used)
        if task.parallel:
            early = first - 1 not in spread
            ahead = [
                -1 if (number, phase) in once else max(first - early, written(spans))
                for phase, spans in enumerate(task.ahead)
            ]
            first = max([first, *(1 + level for level in ahead)])
            at = [*ahead, *range(first, first + len(task.chunks) - len(ahead))]
        else:  # by one thread, one after the other
            at = [first] * len(task.chunks)
        last = at[-1]
        for phase, level in enumerate(at):
            if (number, phase) in once:
                continue
            while len(levels) <= level:
                levels.append([])
            levels[level].append((number, phase))
            if task.chunks[phase] > 1:
                spread.add(level)
        for span in task.reads:
            slots[span.slot].read(span, last)
        for span in task.writes:
            slots[span.slot].write(span, last)
    return levels


@dataclass(slots=True)
class _Range:
    """Bytes up to `stop`, and the last levels on which all of them were written, and read or written."""

    stop: float
    written: int = -1
    used: int = -1


@dataclass(slots=True)
class _Accesses:
    """The history of a slot in ranges, by where they start, that cover it without gaps."""

    starts: list[int] = field(default_factory=lambda: [0])  # in ascending order
    ranges: dict[int, _Range] = field(default_factory=lambda: {0: _Range(math.inf)})

    def of(self, span: ByteSpan) -> list[_Range]:
        """The ranges that make up `span`."""
        whole = self.ranges.get(span.start)
        if whole is not None and whole.stop == span.stop:
            return [whole]
        first, last = self._cut(span.start), self._cut(span.stop)
        return [self.ranges[start] for start in self.starts[first:last]]

    def read(self, span: ByteSpan, level: int) -> None:
        for range_ in self.of(span):
            range_.used = max(level, range_.used)

    def write(self, span: ByteSpan, level: int) -> None:
        if len(self.of(span)) > 1:
            first, last = self._cut(span.start), self._cut(span.stop)
            for start in self.starts[first + 1 : last]:
                del self.ranges[start]
            del self.starts[first + 1 : last]
        self.ranges[span.start] = _Range(span.stop, level, level)

    def _cut(self, at: int) -> int:
        """The number of the range that starts `at` a byte, made so if need be."""
        n = bisect.bisect_left(self.starts, at)
        if n == len(self.starts) or self.starts[n] != at:
            before = self.ranges[self.starts[n - 1]]
            self.starts.insert(n, at)
            self.ranges[at] = replace(before)
            before.stop = at
        return n


def _merged(tasks: Sequence[Task], levels: list[list[Unit]]) -> list[tuple[ScheduledPart, ...]]:
    """The phases that levels become: those without work for several threads are done by one."""
    phases: list[tuple[ScheduledPart, ...]] = []
    serial: list[Unit] = []

    def flush() -> None:
        if serial:
            phases.append((ScheduledPart(tuple(sorted(serial))),))
            serial.clear()

    for level in levels:
        spread = [
            ScheduledPart((unit,), chunks) for unit in level if (chunks := tasks[unit[0]].chunks[unit[1]]) > 1
        ]
        small = _parts(tasks, [(n, phase) for n, phase in level if tasks[n].chunks[phase] == 1])
        if not spread and len(small) < 2:
            serial += level
            continue
        flush()
        phases += _limited([*spread, *small])
    flush()
    return phases


def _parts(tasks: Sequence[Task], units: list[Unit]) -> list[ScheduledPart]:
    """Units that are one chunk each, in parts that are worth a thread."""
    parts: list[ScheduledPart] = []
    gathered: list[Unit] = []
    cost = 0.0
    for number, phase in units:
        gathered.append((number, phase))
        task = tasks[number]
        if not task.parallel and phase == len(task.chunks) - 1:  # all phases of a task go into one part
            cost += task.cost
        if cost >= CPU.joined_ns:
            parts.append(ScheduledPart(tuple(gathered)))
            gathered, cost = [], 0.0
    if gathered and parts:  # what is left is worth no thread of its own
        *parts, last = parts
        gathered = [*last.units, *gathered]
    return [*parts, ScheduledPart(tuple(gathered))] if gathered else parts


def _limited(parts: list[ScheduledPart]) -> list[tuple[ScheduledPart, ...]]:
    """`parts` in as few phases as their number of chunks allows."""
    phases: list[list[ScheduledPart]] = [[]]
    chunks = 0
    for part in parts:
        chunks += part.chunks
        if chunks > MOST_CHUNKS and phases[-1]:
            phases.append([])
            chunks = part.chunks
        phases[-1].append(part)
    return [tuple(phase) for phase in phases]


def _place_shared(
    tasks: Sequence[Task], phases: list[tuple[ScheduledPart, ...]], once: Collection[Unit]
) -> tuple[dict[int, int], int]:
    """Tasks that run at the same time have scratch memory of their own, those that keep it for all time."""
    times: dict[int, list[int]] = {}
    now = 0
    for parts in phases:
        for part in parts:
            for number, _ in part.units:
                times.setdefault(number, []).append(now)
                now += len(parts) == 1
        now += 1
    for number, _ in once:
        times[number] += [0, now]
    needing = {n: (tasks[n].shared, min(t), max(t)) for n, t in times.items() if tasks[n].shared}
    return plan_arena(needing) if needing else ({}, 0)


_END = 1 << 62  # bytes: where a block of open size ends at the latest

Places = Mapping[AnySize, ByteSpan]  # by offset in the arena


def memory_of(program: Program) -> Callable[[Instruction], Memory | None]:
    """Return a function that gives the memory of an instruction of a program."""
    return partial(_memory, places=open_spans(program))


def _memory(instruction: Instruction, places: Places) -> Memory | None:
    """The memory of an instruction; None if it is one of those for which collectives must be complete."""
    match instruction:
        case Launch(work=loops, args=args):
            reads: list[ByteSpan] = []
            writes: list[ByteSpan] = []
            for ref, buffer in zip(args, arguments(loops), strict=True):
                span = span_of(ref, buffer.size * buffer.dtype.size, places)
                (writes if buffer.written else reads).extend(span)
            return reads, writes
        case Copy(target, source, size):
            return span_of(source, size, places), span_of(target, size, places)
        case HostCall(inputs=inputs, outputs=outputs) if instruction.is_collective:
            spans = [
                [span for ref, type in some for span in span_of(ref, type.size * type.dtype.size, places)]
                for some in (inputs, outputs)
            ]
            return spans[0], spans[1]
    return None


def open_spans(program: Program) -> Places:
    """The memory at each open offset in the arena. What has one unit may overlap: it counts as one slot."""
    units: dict[AnySize, int] = {}
    spans: dict[AnySize, list[OpenPlace]] = {}
    for place in program.places:
        spans.setdefault(place.offset, []).append(place)
    return {
        offset: ByteSpan(
            program.slots + units.setdefault(found[0].unit, len(units)),
            found[0].start,
            max(place.stop for place in found),
        )
        for offset, found in spans.items()
    }


def span_of(ref: Ref, size: AnySize, places: Places) -> tuple[ByteSpan, ...]:
    """The memory that `size` bytes are in, for the schedule to see if it is that of other values too."""
    if ref.slot == ARENA and ref.offset in places:
        return (places[ref.offset],)
    if is_open((ref.offset, size)):  # a block of its own, or memory of an inner program
        return (ByteSpan(ref.slot, 0, _END),)
    return (ByteSpan(ref.slot, ref.offset, ref.offset + size),) if size else ()


def arguments(work: Loops | Kernel) -> list[Buffer]:
    """The buffers that a kernel is called with."""
    buffers = dict(work.buffers) if isinstance(work, Loops) else work.buffers
    return [b for b in buffers.values() if not (b.local or b.shared)]
