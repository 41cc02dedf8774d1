"""A program and the code of its kernels as what runs when: regions for all threads, and between them host
calls, loops and branches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, groupby, takewhile

from staticgraph.compiler import stages
from staticgraph.compiler.codegen import abi
from staticgraph.compiler.codegen.llvm.clock import PORTABLE, Clock
from staticgraph.compiler.codegen.llvm.step import step
from staticgraph.compiler.codegen.llvm.step_function import OpenNumbers
from staticgraph.compiler.codegen.llvm.stop import LOOK, STOPPABLE
from staticgraph.compiler.codegen.llvm.text import Code, with_calls
from staticgraph.compiler.graph.sizes import AnySize, Size, estimate, evaluate, is_open
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower import parallel_schedule as phases
from staticgraph.compiler.lower.instruction_memory import Places, arguments, memory_of, open_spans, span_of
from staticgraph.compiler.lower.program import (
    ARGUMENTS,
    CONSTANTS,
    PRIVATE,
    SHARED,
    Begin,
    Branch,
    Complete,
    Copy,
    HostCall,
    Inner,
    Instruction,
    Launch,
    LoopInstruction,
    Program,
    Ref,
    Require,
    RowAt,
    inner_programs,
)
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass, replace

_COPY_BYTES = 256 * 1024  # of a copy that one thread does in one go
_MOST_COPIES = 64  # that a large one becomes


_Work = tuple[Launch, abi.KernelCode] | tuple[Copy, None]


@dataclass(frozen=True, slots=True)
class Written:
    """A program as code: its function, what else must be loaded with it, and what it needs.

    `before` is the function of what is done once, however often the program runs after that. `hosted` is how
    many host calls there are in it, those of inner programs included; their numbers begin with the one that
    the program was given. `sizes` are the open sizes that it asks for, in order, of which it computes the
    `computed` ones itself.
    """

    entry: Code
    kernels: tuple[abi.KernelCode, ...]
    segments: tuple[abi.Segment, ...]
    inner: tuple[Written, ...]
    shared: int
    private: int
    cost: float
    hosted: int
    before: Code | None = None
    sizes: tuple[Size, ...] = ()
    computed: frozenset[Size] = frozenset()

    def at(self, values: Mapping[str, int]) -> Written:
        """Return the same with the costs of kernels for values of the open sizes: to be looked at."""
        kernels = tuple(
            replace(kernel, cost=evaluate(time, values) / 1000)
            if isinstance(time := kernel.time, Size)
            else kernel
            for kernel in self.kernels
        )
        return replace(self, kernels=kernels, inner=tuple(each.at(values) for each in self.inner))

    @property
    def codes(self) -> list[Code]:
        """Every function, each once."""
        found: list[Code] = []
        self._add_codes(found)
        return with_calls(found)

    def _add_codes(self, found: list[Code]) -> None:
        found += (phase.code for kernel in self.kernels for phase in kernel.phases)
        for each in self.inner:
            each._add_codes(found)
        found += (self.entry,) if self.before is None else (self.before, self.entry)

    @property
    def regions(self) -> tuple[AnySize, ...]:
        """The estimated time of each region that several threads may share, in nanoseconds."""
        mine = (s for s in self.segments if isinstance(s, abi.RegionSegment) and s.parallel)
        times = [max(math.ceil(s.cost), CPU.region_ns) if s.time is None else s.time for s in mine]
        return tuple(dict.fromkeys([*times, *(time for each in self.inner for time in each.regions)]))

    @property
    def parallel(self) -> bool:
        """True if several threads can work on the program."""
        return bool(self.regions)

    @property
    def watched(self) -> bool:
        """Return True if a region of it looks at the watch."""
        mine = any(isinstance(s, abi.RegionSegment) and s.watched for s in self.segments)
        return mine or any(each.watched for each in self.inner)


@dataclass(frozen=True, slots=True)
class TimeTable:
    """The entries of a table of times: the instruction of each, None for the step as a whole.

    A collective has two: one for its begin, and one for the wait until it is complete.
    """

    clock: Clock
    entries: list[Instruction | Complete | None] = field(default_factory=lambda: [None])

    def take(self, instruction: Instruction | Complete, count: int = 1) -> int:
        """The first of as many new entries."""
        self.entries.extend([instruction] * count)
        return len(self.entries) - count


def write(
    program: Program,
    emit: Callable[[Launch], abi.KernelCode],
    first_host: int = 0,
    times: TimeTable | None = None,
    whole: int | None = None,
    fixed: Collection[int] = (),
    looks: Clock = PORTABLE,
    outermost: bool = True,
    may_stop: bool = True,
    numbers: OpenNumbers | None = None,
) -> Written:
    """The code of `program`; `emit` gives that of a kernel. Its host calls are numbered from `first_host`.

    With `times` it takes the time; `whole` is the entry of all of it. The slots `fixed` hold the same in
    every run. `looks` is the clock by which the watch is asked. `outermost`: what it overwrites are
    variables. `may_stop`: none are overwritten yet.
    """
    numbers = OpenNumbers(program.numbers_slot) if numbers is None else numbers.inside(program.numbers_slot)
    kernels: list[abi.KernelCode] = []
    segments: list[abi.Segment] = []
    inner: list[Written] = []
    before: list[abi.Segment] = []
    begun: dict[int, abi.CollectiveSegment] = {}
    places = open_spans(program)
    most, unwatched, committed = 0, 0.0, not may_stop
    variables = frozenset(ARGUMENTS + argument for argument in program.in_place if outermost)
    if not all(isinstance(i, Launch | Copy) for i in program.instructions):
        fixed = ()  # scratch memory is not kept while something else runs
    own = sum(isinstance(i, HostCall) for i in program.instructions)
    host, inner_host = first_host, first_host + own
    instructions: Iterable[Instruction | Begin | Complete] = program.instructions
    if any(isinstance(i, HostCall) and i.is_collective for i in instructions):
        from staticgraph.compiler.lower.collectives import with_completions  # few programs have some

        instructions = with_completions(program.instructions, memory_of(program))
    for alone, group in groupby(instructions, lambda i: not isinstance(i, Launch | Copy)):
        work: list[_Work] = []
        for instruction in group:
            match instruction:
                case Launch():
                    kernels.append(emit(instruction))
                    work.append((instruction, kernels[-1]))
                case Copy():
                    work += [(copy, None) for copy in _copies(instruction)]
                case HostCall():
                    segments.append(abi.HostCallSegment(program.host_slot, host, _entry(times, instruction)))
                    host += 1
                case Begin(call, number):
                    begun[number] = _collective(program, instruction, host, _entry(times, call))
                    segments.append(begun[number])
                    host += 1
                case Complete(begin):
                    collective = begun.pop(begin.number)
                    segments.append(abi.CompletionSegment(collective, _entry(times, instruction)))
                case Require(flag):
                    segments.append(abi.RequireSegment(_ref(flag)))
                case LoopInstruction() | Branch():
                    made = []
                    for each in inner_programs(instruction):
                        code = write(
                            each.program,
                            emit,
                            inner_host,
                            times,
                            fixed=_fixed(instruction),
                            looks=looks,
                            outermost=False,
                            may_stop=not committed,
                            numbers=numbers,
                        )
                        made.append(code)
                        inner_host += made[-1].hosted
                    inner += made
                    control = _control(program, instruction, made)
                    segments.append(replace(control, times=_entry(times, instruction)))
        if not alone:
            once, region, shared = _region(work, times, fixed, variables, places)
            unwatched += region.cost
            watched = unwatched >= STOPPABLE and region.committing > 0 and not committed
            segments.append(replace(region, watched=watched))
            unwatched = 0.0 if watched else unwatched
            committed |= region.committing < len(region.phases)
            before += [once] if once.phases else []
            most = max(most, shared)
    pool, private, watch = map(abi.BufferRef, (program.pool_slot, PRIVATE, program.watch_slot))
    clock = None if times is None else times.clock
    entry = step(segments, pool, private, watch, clock, whole, looks, numbers, outermost)
    prepare = step(before, pool, private, watch, clock, numbers=numbers) if before else None
    costs = {each.entry.name: each.cost for each in inner}
    cost = sum(k.cost for k in kernels) + sum(_cost(s, costs) for s in segments)
    return Written(
        _with_effort(entry, cost),
        tuple(kernels),
        tuple(segments),
        tuple(inner),
        max([most, *(each.shared for each in inner)]),
        max([0, *(k.private_bytes for k in kernels), *(each.private for each in inner)]),
        cost,
        inner_host - first_host,
        prepare,
        tuple(numbers.sizes),
        frozenset(numbers.computed),
    )


def walk(
    program: Program, written: Written, outer: LoopInstruction | Branch | None = None
) -> Iterator[tuple[Instruction, abi.KernelCode | None, LoopInstruction | Branch | None]]:
    """Every instruction of a program, those of loops and branches after these; the code of launches; and the
    loop or branch that it is in.
    """
    kernels, inner = iter(written.kernels), iter(written.inner)
    for instruction in program.instructions:
        yield instruction, next(kernels) if isinstance(instruction, Launch) else None, outer
        if isinstance(instruction, LoopInstruction | Branch):
            for each in inner_programs(instruction):
                yield from walk(each.program, next(inner), instruction)


def _entry(times: TimeTable | None, instruction: Instruction | Complete, count: int = 1) -> int | None:
    return None if times is None else times.take(instruction, count)


_LONG = 30.0  # ns per character of the function of a step: what it calls takes a thousand times as long
_FEW_BRANCHES = 16  # times as many characters in parts without branches as in those with some


def _with_effort(entry: Code, cost: float) -> Code:
    """Mark the function of a step and its parts as plain if LLVM need not choose their instructions well.

    What they call takes far longer, or they only load and call, with hardly a branch, as most small steps do.
    """
    texts = [text for code in with_calls([entry]) for text in (code.text, *code.needs)]
    characters = sum(map(len, texts))
    branching = sum(len(text) for text in texts if "\n  br " in text)
    plain = cost > _LONG * characters or _FEW_BRANCHES * branching < characters
    return replace(entry, plain=plain, calls=tuple(replace(part, plain=plain) for part in entry.calls))


_ROUNDS = 1000  # of a loop of which nothing is known


def _cost(segment: abi.Segment, costs: Mapping[str, float]) -> float:
    """Estimate the time of a loop or branch from the costs of inner steps by name, in nanoseconds."""
    match segment:
        case abi.LoopSegment(body=body):
            return (costs[body.code.name] + CPU.round_ns) * _ROUNDS
        case abi.BranchSegment(branches=branches):
            return max(costs[each.code.name] for each in branches)
    return 0.0


def _control(
    program: Program, instruction: LoopInstruction | Branch, made: Sequence[Written]
) -> abi.LoopSegment | abi.BranchSegment:
    """A loop or branch, whose inner programs are written."""
    if isinstance(instruction, Branch):
        places = (*instruction.inputs, *instruction.outputs)
        inners = zip(instruction.branches, made, strict=True)
        return abi.BranchSegment(
            _ref(instruction.index), tuple(_inner(program, i, w, places) for i, w in inners)
        )
    body, (written,) = instruction.body, made
    moving: list[Ref | None] = [None] * len(instruction.carried)
    reads: list[Ref | None] = [None] * len(instruction.reads)
    writes: list[Ref | None] = [None] * len(instruction.writes)
    slots = [*moving, *instruction.captures, *reads, body.pred, *moving, *writes]
    inner = _inner(program, body, written, slots)
    carried = tuple(
        abi.CarriedSlots(
            ARGUMENTS + n,
            body.program.first_result + 1 + n,
            c.size,
            _maybe(c.init),
            _ref(c.final),
            _maybe(c.other),
        )
        for n, c in enumerate(instruction.carried)
    )
    first_read = body.program.first_result - len(reads)
    first_write = body.program.first_result + 1 + len(moving)
    rows = [_row(first_read + n, row) for n, row in enumerate(instruction.reads)]
    rows += [_row(first_write + n, row) for n, row in enumerate(instruction.writes)]
    copies = tuple(
        abi.CopyCall(_ref(w.final), _ref(w.init), w.size) for w in instruction.whole if w.init is not None
    )
    patience = 1 << math.ceil(math.log2(max(1.0, LOOK / (written.cost + CPU.round_ns))))
    return abi.LoopSegment(
        inner,
        _ref(instruction.pred),
        _ref(body.pred),
        carried,
        tuple(rows),
        copies,
        _ref(instruction.spare),
        instruction.row,
        None if instruction.node.attrs["brief"] else patience,
    )


def _row(slot: int, row: RowAt) -> abi.RowPointer:
    return abi.RowPointer(
        slot, _ref(row.base), row.counter, row.counter_bytes, row.offset, row.rows, row.size
    )


def _fixed(instruction: LoopInstruction | Branch) -> Collection[int]:
    """The slots of an inner program that hold the same in every round of a loop: constants and captures."""
    if isinstance(instruction, Branch):
        return ()
    first = ARGUMENTS + len(instruction.carried)
    return (CONSTANTS, *range(first, first + len(instruction.captures)))


def _inner(program: Program, inner: Inner, written: Written, places: Sequence[Ref | None]) -> abi.InnerStep:
    """An inner step; `places` are those of its arguments and results."""
    lent = [program.host_slot, program.pool_slot, program.watch_slot]
    lent += [program.numbers_slot] if inner.program.opens else []
    blocks = (inner.arena, Ref(SHARED), Ref(PRIVATE), inner.constants)
    slots: list[Ref | None] = [*blocks, *places, *map(Ref, lent)]
    table = tuple(map(_maybe, slots))
    return abi.InnerStep(written.entry, _ref(inner.table), table, written.before)


def _collective(program: Program, begin: Begin, index: int, times: int | None) -> abi.CollectiveSegment:
    """The call of MPI for a collective; its host call is number `index`."""
    call = begin.call
    (source, taken), (target, given) = call.inputs[0], call.outputs[0]
    name, workers = call.node.op.name, call.attrs["workers"]
    count = {"reduce_scatter": given.size, "all_to_all": taken.size // workers}.get(name, taken.size)
    combines = "combine" in call.attrs
    return abi.CollectiveSegment(
        name,
        begin.number,
        _ref(source),
        _ref(target),
        count if combines else count * taken.dtype.size,
        taken.dtype.name if combines else "byte",
        call.attrs.get("combine", ""),
        call.attrs.get("root", 0),
        program.host_slot,
        -1 - index,
        times,
    )


def _region(
    work: Sequence[_Work],
    times: TimeTable | None,
    fixed: Collection[int],
    variables: Collection[int],
    places: Places,
) -> tuple[abi.RegionSegment, abi.RegionSegment, int]:
    """Instructions without host calls as two regions, what is done once and what is done in every run, and
    the shared scratch memory that they need. The slots `fixed` hold the same in every run; those of
    `variables` are of such that are overwritten. `places` has the memory at open offsets.
    """
    tasks = [_task(each, places) for each in work]
    schedule = phases.schedule(tasks, fixed)
    stages.report("parallel_schedule", tasks, schedule)

    def unit(number: int, phase: int) -> abi.Work:
        match work[number]:
            case Launch(args=args) as launch, abi.KernelCode() as kernel:
                shared = abi.BufferRef(SHARED, schedule.offsets.get(number, 0))
                entry = _entry(times, launch, kernel.phases[phase].most)
                commits = any(ref.slot in variables for ref in launch.writes)
                buffers = tuple(map(_ref, args))
                return abi.KernelCall(kernel.phases[phase], buffers, shared, entry, commits, kernel.sizes)
            case Copy(target, source, size) as copy, _:
                commits = target.slot in variables
                return abi.CopyCall(_ref(target), _ref(source), size, _entry(times, copy), commits)
        raise AssertionError(work[number])

    def part(p: phases.ScheduledPart) -> abi.Part:
        return abi.Part(tuple(unit(*u) for u in p.units), p.chunks)

    estimates = [_picoseconds(each) for each in work]
    time = sum(estimates)
    before, made = (
        abi.RegionSegment(
            tuple(tuple(map(part, parts)) for parts in some),
            schedule.cost,
            time=time // 1000 if is_open((time,)) else None,
            phase_times=tuple(sum(map(estimates.__getitem__, _tasks_of(parts))) for parts in some),
        )
        for some in (schedule.before, schedule.phases)
    )
    return before, made, schedule.shared


def _picoseconds(work: _Work) -> AnySize:
    """Estimate the time of an instruction in a run."""
    if isinstance(work[1], abi.KernelCode):
        return work[1].time
    return work[0].size * round(1000 * CPU.copied_byte_ns) if isinstance(work[0], Copy) else 0


def _tasks_of(parts: Iterable[phases.ScheduledPart]) -> set[int]:
    """Return the numbers of the instructions of a phase."""
    return {number for part in parts for number, _ in part.units}


def _task(work: _Work, places: Places) -> phases.Task:
    """An instruction as the schedule sees it."""
    match work:
        case Launch(work=loops, args=args), abi.KernelCode() as kernel:
            buffers = arguments(loops)
            spans = [
                span_of(ref, b.size * b.dtype.size, places) for ref, b in zip(args, buffers, strict=True)
            ]
            ahead = takewhile(lambda reads: reads is not None, (phase.reads for phase in kernel.phases))
            return phases.Task(
                tuple(phase.most for phase in kernel.phases),
                kernel.cost,
                tuple(chain(*(span for span, b in zip(spans, buffers, strict=True) if not b.written))),
                tuple(chain(*(span for span, b in zip(spans, buffers, strict=True) if b.written))),
                kernel.shared_bytes,
                tuple(tuple(chain(*(spans[n] for n in reads or ()))) for reads in ahead),
                is_open(phase.chunks for phase in kernel.phases),
            )
        case Copy(target, source, size), _:
            read, written = (span_of(ref, size, places) for ref in (source, target))
            return phases.Task((1,), estimate(size) * CPU.copied_byte_ns, read, written)
    raise AssertionError(work)


def _copies(copy: Copy) -> list[Copy]:
    """A large copy as several."""
    if isinstance(copy.size, Size):
        return [copy]
    piece = max(_COPY_BYTES, padded(-(-copy.size // _MOST_COPIES)))
    return [
        Copy(_after(copy.target, start), _after(copy.source, start), min(piece, copy.size - start))
        for start in range(0, max(copy.size, 1), piece)
    ]


def _after(ref: Ref, offset: int) -> Ref:
    return Ref(ref.slot, ref.offset + offset)


def _ref(ref: Ref) -> abi.BufferRef:
    return abi.BufferRef(ref.slot, ref.offset)


def _maybe(ref: Ref | None) -> abi.BufferRef | None:
    return None if ref is None else _ref(ref)
