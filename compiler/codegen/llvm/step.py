"""The function of a whole step: it calls the kernels of a program, with other threads where that pays.

A region that one thread does is a list of calls. Any other becomes a function

    void @work(ptr table, i64 phase, i64 chunk, ptr private)

for the thread pool: see pool.py, whose `run` calls it for every chunk of every phase. Long lists of
calls are divided into functions of limited size: LLVM's time grows faster than the size of a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from staticgraph.compiler.codegen.abi import (
    BranchSegment,
    BufferRef,
    CollectiveSegment,
    CompletionSegment,
    HostCallSegment,
    KernelCall,
    LoopSegment,
    PhaseWork,
    RegionSegment,
    RequireSegment,
    Segment,
    Work,
)
from staticgraph.compiler.codegen.llvm.clock import PORTABLE, Clock
from staticgraph.compiler.codegen.llvm.step_function import (
    LOOK,
    OpenNumbers,
    StepFunction,
    Timer,
    ask,
    forget_skips,
    return_if_skipped,
    return_unless,
    skip_if_stopped,
    stop_unless,
)
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.native.dispatch_layout import UNSOUND
from staticgraph.compiler.graph.sizes import (
    AnySize,
    Size,
    is_open,
    same,
)
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.llvm.rounds import Rounds

_LIMIT = 128  # instructions of a function
_SEGMENTS = 64  # of a function
_PHASES = 24  # of a function
_REPEATED = 8  # phases of a region, some of which may be repeated
_CHUNK = ("ptr %table", "i64 %phase", "i64 %chunk", "ptr %private")  # a chunk of a region
_CHUNK_OPERANDS = ("ptr", "%table"), ("i64", "%phase"), ("i64", "%chunk"), ("ptr", "%private")
_USUAL_OPERANDS = 32  # of an instruction: one with more counts as several


def step(
    segments: Sequence[Segment],
    pool: BufferRef,
    private: BufferRef,
    watch: BufferRef,
    clock: Clock | None = None,
    times: int | None = None,
    looks: Clock = PORTABLE,
    numbers: OpenNumbers | None = None,
    outermost: bool = False,
) -> Code:
    """The function `i32 (ptr table)` that carries out `segments`. Its kernels must be loaded with it.

    `pool` is the thread pool, which parallel regions need; `private` is scratch memory of kernels; `watch`
    tells loops to stop, and timed code where its table of times is. `clock` is for timed code; `times` is the
    entry of the step as a whole. `looks` is the clock by which the watch is asked. `numbers` collects the
    open sizes that it asks for; the `outermost` step computes some of them first, also for those inside it.

    >>> from staticgraph.compiler.codegen.abi import Phase
    >>> phase = Phase(Code("kernel", ""))
    >>> region = RegionSegment(((PhaseWork((KernelCall(phase, (BufferRef(0, 64),), BufferRef(1)),)),),), 9.0)
    >>> code = step([region], BufferRef(3), BufferRef(2), BufferRef(4))
    >>> print(code.text.partition("entry:")[2].strip())
    %v1 = getelementptr ptr, ptr %table, i64 2
      %v2 = load ptr, ptr %v1, align 8
      %v3 = load ptr, ptr %table, align 8
      %v4 = getelementptr i8, ptr %v3, i64 64
      %v5 = getelementptr ptr, ptr %table, i64 1
      %v6 = load ptr, ptr %v5, align 8
      call void @kernel(ptr %v4, ptr %v6, ptr %v2, i64 0)
      ret i32 0
    }
    """
    writer = StepFunction(None if clock is None else Timer(clock, watch), numbers, computes=True)
    stopping = _Stopping(watch, private, looks)
    with writer.timed(times, lambda: writer.pointer(private)):
        if any(isinstance(segment, RegionSegment) and segment.watched for segment in segments):
            forget_skips(writer, writer.base(watch.slot))
        _segments(writer, segments, pool, stopping)
    if outermost and writer.numbers.computed:
        sizes = StepFunction(numbers=writer.numbers, computes=True)
        sizes.compute()
        symbol = writer.define(sizes, "ptr %table")
        writer.lines.insert(0, f"  call void @{symbol}(ptr %table)")
    return writer.finish(["ptr %table"], "i32 0")


@dataclass(frozen=True, slots=True)
class _Stopping:
    """Parts of a stop: the watch, the scratch memory of the thread that runs the step, and a clock."""

    watch: BufferRef
    private: BufferRef
    clock: Clock


def _segments(
    writer: StepFunction, segments: Sequence[Segment], pool: BufferRef, stopping: _Stopping
) -> None:
    """`segments` from beginning to end, in functions of their own if they are many: several threads compile
    them.
    """
    if len(segments) <= _SEGMENTS:
        for segment in segments:
            _segment(writer, segment, pool, stopping)
        return
    for start in range(0, len(segments), _SEGMENTS):
        part = StepFunction(writer.timer, writer.numbers)
        _segments(part, segments[start : start + _SEGMENTS], pool, stopping)
        status = writer.call_shared(part.finish(["ptr %table"], "i32 0"), ("ptr", "%table"), result="i32")
        return_unless(writer, writer.value(f"icmp eq i32 {status}, 0"), status)


def _segment(writer: StepFunction, segment: Segment, pool: BufferRef, stopping: _Stopping) -> None:
    private = writer.pointer(stopping.private)
    match segment:
        case RegionSegment(time=Size() as time) if segment.parallel and _is_short(segment):
            # There are chunks for many rows. With few, they are not worth another thread.
            alone, shared, done = writer.label(), writer.label(), writer.label()
            little = writer.value(f"icmp slt i64 {writer.number(time)}, {int(CPU.region_ns)}")
            with writer.scope():
                writer.branch_if(little, alone, shared)
                writer.start(alone)
                _alone(writer, segment, private)
                writer.branch(done)
                writer.start(shared)
                _run(writer, segment, pool, stopping)
                writer.branch(done)
                writer.start(done)
        case RegionSegment() if segment.parallel:
            _run(writer, segment, pool, stopping)
        case RegionSegment(phases):
            works: Sequence[Work] = _works(phases)
            if segment.watched:
                works = _with_looks(writer, works, segment.cost, stopping)
            _in_order(writer, works, private)
        case RequireSegment(flag):
            found = writer.value(f"load i8, ptr {writer.pointer(flag)}, align 1")
            return_unless(writer, writer.value(f"icmp ne i8 {found}, 0"), UNSOUND)
        case CollectiveSegment(times=times) | CompletionSegment(times=times):
            from staticgraph.compiler.codegen.llvm.collectives import begin, complete  # few steps have some

            with writer.timed(times, lambda: private):
                if isinstance(segment, CollectiveSegment):
                    begin(writer, segment, writer.base(stopping.watch.slot), writer.pointer, writer.number)
                else:
                    host = writer.base(segment.collective.slot)
                    complete(writer, segment.collective, writer.base(stopping.watch.slot), host)
        case HostCallSegment(slot, index, times=times):
            with writer.timed(times, lambda: private):
                stop_unless(writer, f"call i32 {writer.base(slot)}(i32 {index}, ptr %table)")
        case LoopSegment(times=times) | BranchSegment(times=times):
            from staticgraph.compiler.codegen.llvm.control_flow import branch, loop  # few steps have some

            with writer.timed(times, lambda: private):
                if isinstance(segment, LoopSegment):
                    loop(writer, segment, writer.pointer, writer.number, stopping.watch, stopping.clock)
                else:
                    branch(writer, segment, writer.pointer)


def _is_short(region: RegionSegment) -> bool:
    """Return True if a region may be written twice: with many calls, it hardly ever takes little time."""
    return sum(_amount(work) for parts in region.phases for part in parts for work in part.work) <= _LIMIT


def _alone(writer: StepFunction, region: RegionSegment, private: str) -> None:
    """All phases of a region, done by one thread."""
    first = 0
    for rounds in _rounds(region):
        _in_order(writer, _works(region.phases[first : rounds.start]), private)
        round_ = StepFunction(writer.timer, writer.numbers)
        round_.steps = rounds.steps
        _in_order(round_, _works(region.phases[rounds.start : rounds.repeats.start]), "%private")
        symbol = writer.define(round_, "ptr %table, ptr %private, i64 %round")
        with writer.loop(0, rounds.count) as values:
            writer.line(f"call void @{symbol}(ptr %table, ptr {private}, i64 {values.index})")
        first = rounds.stop
    _in_order(writer, _works(region.phases[first:]), private)


def _rounds(region: RegionSegment) -> Sequence[Rounds]:
    """The phases of a region that are repeated."""
    if len(region.phases) < _REPEATED:
        return ()
    from staticgraph.compiler.codegen.llvm.rounds import rounds_of  # few regions have so many phases

    return rounds_of(region)


def _works(phases: Sequence[Sequence[PhaseWork]]) -> list[Work]:
    return [work for parts in phases for part in parts for work in part.work]


def _in_order(writer: StepFunction, works: Sequence[Work], private: str) -> None:
    """`works` from beginning to end, in functions of their own if they are many."""
    parts = _divided(works)
    if len(parts) == 1:
        for work in works:
            writer.work(work, private)
        return
    for some in parts:
        part, taken, given = writer.inside()
        _in_order(part, some, "%private")
        symbol = writer.define(part, f"ptr %table, ptr %private{taken}")
        writer.line(f"call void @{symbol}(ptr %table, ptr {private}{given})")


def _divided(works: Sequence[Work]) -> list[list[Work]]:
    """`works` in runs, each of which is little enough for one function."""
    parts: list[list[Work]] = [[]]
    room = _LIMIT
    for work in works:
        room -= _amount(work)
        if room < 0 and parts[-1]:
            parts.append([])
            room = _LIMIT - _amount(work)
        parts[-1].append(work)
    return parts


def _amount(work: Work) -> int:
    """Return the number of instructions that a call or a copy counts as."""
    return 1 + len(work.args) // _USUAL_OPERANDS if isinstance(work, KernelCall) else 1


def _with_looks(
    writer: StepFunction, works: Sequence[Work], cost: float, stopping: _Stopping
) -> Sequence[Work]:
    """Write what one thread does of `works`, with looks at the watch in between; the others, which must not
    stop. These begin with the first one that overwrites a variable.
    """
    private, watch = writer.pointer(stopping.private), writer.base(stopping.watch.slot)
    free = next((n for n, work in enumerate(works) if work.commits), len(works))
    between = max(1, int(len(works) * LOOK / cost))
    for start in range(0, free, between):
        return_unless(writer, writer.value(f"icmp eq i32 {ask(writer, watch, stopping.clock)}, 0"))
        _in_order(writer, works[start : min(start + between, free)], private)
    return works[free:]


def _run(writer: StepFunction, region: RegionSegment, pool: BufferRef, stopping: _Stopping) -> None:
    """Have the pool do a region."""
    function, private = StepFunction(writer.timer, writer.numbers), writer.pointer(stopping.private)
    if region.watched:
        looks = 1 << max(0, int(math.log2(LOOK * sum(region.chunks) / region.cost)))
        watch, master = function.base(stopping.watch.slot), function.base(stopping.private.slot)
        skip_if_stopped(function, watch, master, region.committing, looks, stopping.clock)
    found = _rounds(region)
    if found:
        _in_rounds(function, region, found)
    else:
        _phases(function, region, range(len(region.phases)))
    work = writer.define(function, ", ".join(_CHUNK))
    counts = _counts(writer, region, work, found)
    cost, together = str(round(region.cost)), str(region.together)
    if region.time is not None:
        cost = writer.call("i64", "llvm.umax.i64", ("i64", writer.number(region.time)), ("i64", "1"))
        at_once = writer.value(f"udiv i64 {int(CPU.claimed_ns * sum(region.chunks))}, {cost}")
        together = writer.call("i64", "llvm.umax.i64", ("i64", at_once), ("i64", "1"))
    address = writer.pointer(pool)
    run = writer.value(f"load ptr, ptr {address}, align 8")
    writer.line(
        f"call void {run}(ptr {address}, ptr @{work}, ptr %table, ptr {counts}, i64 {len(region.phases)}, "
        f"ptr {private}, i64 {cost}, i64 {together})"
    )
    if region.watched:
        return_if_skipped(writer, writer.base(stopping.watch.slot))


def _in_rounds(writer: StepFunction, region: RegionSegment, found: Sequence[Rounds]) -> None:
    """Write code that does a chunk of any phase, those of rounds once."""
    place, round_ = "%phase", "0"
    steps: dict[int, int] = {}
    for rounds in found:
        steps |= rounds.steps
        after = writer.value(f"sub i64 %phase, {rounds.start}")
        inside = writer.value(f"icmp ult i64 {after}, {rounds.stop - rounds.start}")
        number = writer.value(f"udiv i64 {after}, {rounds.period}")
        rest = writer.value(f"urem i64 {after}, {rounds.period}")
        once = writer.value(f"add i64 {rest}, {rounds.start}")
        place = writer.value(f"select i1 {inside}, i64 {once}, i64 {place}")
        round_ = writer.value(f"select i1 {inside}, i64 {number}, i64 {round_}")
    repeats = {n for rounds in found for n in rounds.repeats}
    inner = StepFunction(writer.timer, writer.numbers)
    inner.steps = steps
    _phases(inner, region, [n for n in range(len(region.phases)) if n not in repeats])
    symbol = writer.define(inner, ", ".join((*_CHUNK, "i64 %round")))
    operands = f"ptr %table, i64 {place}, i64 %chunk, ptr %private, i64 {round_}"
    writer.line(f"call void @{symbol}({operands})")


def _phases(writer: StepFunction, region: RegionSegment, numbers: Sequence[int]) -> None:
    """Write code that does a chunk of one of these phases, in functions that are compiled on their own if the
    phases are many.
    """
    done = writer.label()
    cases: list[tuple[str, Sequence[int], Callable[[], object]]] = []
    groups = [numbers[n : n + _PHASES] for n in range(0, len(numbers), _PHASES)]
    for group in groups:
        part, taken, given = writer.inside()
        if len(groups) > 1:
            _phases(part, region, group)
            code = part.finish((*_CHUNK, *(("i64 %round",) if taken else ())))
            operands = (*_CHUNK_OPERANDS, *((("i64", "%round"),) if given else ()))
            cases.append((writer.label(), group, partial(writer.call_shared, code, *operands)))
            continue
        for n in group:
            symbol = _phase(writer, region.phases[n], region.small(n))
            line = f"call void @{symbol}(ptr %table, i64 %chunk, ptr %private{given})"
            cases.append((writer.label(), range(n, n + 1), partial(writer.line, line)))
    targets = " ".join(f"i64 {n}, label %{label}" for label, some, _ in cases for n in some)
    writer.line(f"switch i64 %phase, label %{done} [ {targets} ]")
    for label, _, call in cases:
        writer.start(label)
        call()
        writer.branch(done)
    writer.start(done)


def _is_little(writer: StepFunction, time: Size) -> str:
    """Return the condition that a phase of so many picoseconds is not worth a second thread."""
    return writer.value(f"icmp slt i64 {writer.number(time)}, {int(1000 * CPU.shared_ns)}")


def _counts(writer: StepFunction, region: RegionSegment, work: str, found: Sequence[Rounds]) -> str:
    """Return the address of the number of chunks of each phase: 1 if it turns out to be little work."""
    count = len(region.phases)
    small = [region.small(phase) for phase in range(count)]
    totals = [sum(part.count for part in parts) for parts in region.phases]
    if not is_open(totals) and not any(time is not None for time in small):
        numbers = ", ".join(f"i16 {n}" for n in region.chunks)
        writer.need(f"@counts_{work} = internal constant [{count} x i16] [{numbers}]")
        return f"@counts_{work}"
    with writer.at(0):
        counts = writer.value(f"alloca [{count} x i16], align 2")
    repeats = {n for rounds in found for n in rounds.repeats}
    stored: dict[int, str] = {}

    def put(number: str, phase: int | str) -> None:
        place = writer.value(f"getelementptr i16, ptr {counts}, i64 {phase}")
        writer.line(f"store i16 {number}, ptr {place}, align 2")

    for phase, (time, chunks) in enumerate(zip(small, totals, strict=True)):
        if phase in repeats:
            continue
        number = writer.number(chunks)
        if isinstance(chunks, Size):
            number = writer.value(f"trunc i64 {number} to i16")
        if time is not None:
            number = writer.value(f"select i1 {_is_little(writer, time)}, i16 1, i16 {number}")
        stored[phase] = number
        put(number, phase)
    for rounds in found:
        with writer.loop(rounds.repeats.start, rounds.stop, rounds.period) as values:
            for n in range(rounds.period):
                place = values.index if not n else writer.value(f"add i64 {values.index}, {n}")
                put(stored[rounds.start + n], place)
    return counts


def _phase(writer: StepFunction, parts: Sequence[PhaseWork], time: Size | None) -> str:
    """Write the function that does one chunk of a phase; its symbol. If `time` turns out to be little, there
    is one chunk, which does all.
    """
    function, taken, _ = writer.inside()
    with function.section():
        if time is None:
            _chunk(function, parts)
        elif len(parts) == 1:
            _chunks(function, parts[0], _is_little(function, time))
        else:
            whole, shared, done = function.label(), function.label(), function.label()
            function.branch_if(_is_little(function, time), whole, shared)
            function.start(whole)
            _in_order(function, [work for part in parts for work in part.work], "%private")
            function.branch(done)
            function.start(shared)
            _chunk(function, parts)
            function.branch(done)
            function.start(done)
    return writer.define(function, f"ptr %table, i64 %chunk, ptr %private{taken}")


def _chunk(writer: StepFunction, parts: Sequence[PhaseWork]) -> None:
    """One chunk of a phase."""
    small = sum(_amount(work) for part in parts for work in part.work) <= _LIMIT
    first: AnySize = 0
    done = writer.label() if len(parts) > 1 else ""
    for part in parts[:-1]:
        mine, others = writer.label(), writer.label()
        inside = writer.value(f"icmp ult i64 %chunk, {writer.number(first + part.count)}")
        writer.branch_if(inside, mine, others)
        writer.start(mine)
        _part(writer, part, first, small)
        writer.branch(done)
        writer.start(others)
        first += part.count
    _part(writer, parts[-1], first, small)
    if done:
        writer.branch(done)
        writer.start(done)


def _chunks(writer: StepFunction, part: PhaseWork, little: str) -> None:
    """One chunk of the only call of a phase, or all of them if there is `little` to do."""
    (call,) = part.work
    assert isinstance(call, KernelCall), call
    operands, before = writer.operands(call, "%private"), writer.first(call)
    chunk = writer.value(f"add i64 %chunk, {before}") if before != "0" else "%chunk"
    after = writer.value(f"add i64 {chunk}, 1")
    start = writer.value(f"select i1 {little}, i64 {before}, i64 {chunk}")
    stop = writer.value(f"select i1 {little}, i64 {writer.after(call)}, i64 {after}")
    with writer.timed(call.times, lambda: "%private", "%chunk"), writer.loop(start, stop) as values:
        writer.call("void", call.phase.code.name, *operands, ("i64", values.index))


def _part(writer: StepFunction, part: PhaseWork, first: AnySize, inline: bool) -> None:
    """The chunk of a part, whose first one has the number `first` in its phase."""
    if part.chunks == 1 and inline:
        _in_order(writer, part.work, "%private")
    elif part.chunks == 1:
        function, taken, given = writer.inside()
        _in_order(function, part.work, "%private")
        symbol = writer.define(function, f"ptr %table, ptr %private{taken}")
        writer.line(f"call void @{symbol}(ptr %table, ptr %private{given})")
    else:
        (call,) = part.work
        assert isinstance(call, KernelCall), call
        chunk = "%chunk" if same(first, 0) else writer.value(f"sub i64 %chunk, {writer.number(first)}")
        operands = writer.operands(call, "%private")
        with writer.timed(call.times, lambda: "%private", chunk):
            before = writer.first(call)
            number = writer.value(f"add i64 {chunk}, {before}") if before != "0" else chunk
            writer.call("void", call.phase.code.name, *operands, ("i64", number))
