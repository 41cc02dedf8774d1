"""A program and the code of its kernels as what runs when: regions for all threads, and between them host
calls, loops and branches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import groupby

from staticgraph.compiler.codegen import abi
from staticgraph.compiler.codegen.llvm.clock import PORTABLE, Clock
from staticgraph.compiler.codegen.llvm.step import step
from staticgraph.compiler.codegen.llvm.step_function import LOOK, STOPPABLE, OpenNumbers
from staticgraph.compiler.codegen.llvm.text import Code, with_calls
from staticgraph.compiler.emit_region import TimeTable, Work, copies, maybe_ref, ref_of, region_of, time_entry
from staticgraph.compiler.graph.sizes import AnySize, Size, evaluate
from staticgraph.compiler.lower.parallel_schedule import Places, memory_of, open_spans
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
    own = sum(isinstance(i, HostCall) for i in program.instructions)
    made = _Assembly(program, emit, times, looks, numbers, first_host, first_host + own, not may_stop)
    places = open_spans(program)
    if not all(isinstance(i, Launch | Copy) for i in program.instructions):
        fixed = ()  # scratch memory is not kept while something else runs
    for alone, group in groupby(_instructions(program), lambda i: not isinstance(i, Launch | Copy)):
        if alone:
            for instruction in group:
                made.add_alone(instruction)
        else:
            work = [each for i in group if isinstance(i, Launch | Copy) for each in made.work(i)]
            made.add_region(work, fixed, places, outermost)
    pool, private, watch = map(abi.BufferRef, (program.pool_slot, PRIVATE, program.watch_slot))
    clock = None if times is None else times.clock
    entry = step(made.segments, pool, private, watch, clock, whole, looks, numbers, outermost)
    prepare = step(made.before, pool, private, watch, clock, numbers=numbers) if made.before else None
    return Written(
        _with_effort(entry, made.cost),
        tuple(made.kernels),
        tuple(made.segments),
        tuple(made.inner),
        max([made.shared, *(each.shared for each in made.inner)]),
        max([0, *(k.private_bytes for k in made.kernels), *(each.private for each in made.inner)]),
        made.cost,
        made.inner_host - first_host,
        prepare,
        tuple(numbers.sizes),
        frozenset(numbers.computed),
    )


@dataclass(slots=True)
class _Assembly:
    """The segments of a program so far, with the code that they call.

    `host` and `inner_host` are the next numbers of host calls, of the program and of its inner ones.
    `unwatched` is the cost since the last look at the watch. `committed`: variables may be overwritten
    already.
    """

    program: Program
    emit: Callable[[Launch], abi.KernelCode]
    times: TimeTable | None
    looks: Clock
    numbers: OpenNumbers
    host: int
    inner_host: int
    committed: bool
    kernels: list[abi.KernelCode] = field(default_factory=list)
    segments: list[abi.Segment] = field(default_factory=list)
    inner: list[Written] = field(default_factory=list)
    before: list[abi.Segment] = field(default_factory=list)
    begun: dict[int, abi.CollectiveSegment] = field(default_factory=dict)
    shared: int = 0
    unwatched: float = 0.0

    def work(self, instruction: Launch | Copy) -> list[Work]:
        """The work of an instruction that joins those beside it in a region."""
        if isinstance(instruction, Copy):
            return [(copy, None) for copy in copies(instruction)]
        self.kernels.append(self.emit(instruction))
        return [(instruction, self.kernels[-1])]

    def add_region(
        self, work: Sequence[Work], fixed: Collection[int], places: Places, outermost: bool
    ) -> None:
        """Add work that threads share. What it overwrites are variables if the program is the `outermost`."""
        variables = frozenset(ARGUMENTS + argument for argument in self.program.in_place if outermost)
        once, region, shared = region_of(work, self.times, fixed, variables, places)
        self.unwatched += region.cost
        watched = self.unwatched >= STOPPABLE and region.committing > 0 and not self.committed
        self.segments.append(replace(region, watched=watched))
        self.unwatched = 0.0 if watched else self.unwatched
        self.committed |= region.committing < len(region.phases)
        self.before += [once] if once.phases else []
        self.shared = max(self.shared, shared)

    def add_alone(self, instruction: Instruction | Begin | Complete) -> None:
        """Add an instruction that runs by itself, between regions."""
        match instruction:
            case HostCall():
                entry = time_entry(self.times, instruction)
                self.segments.append(abi.HostCallSegment(self.program.host_slot, self.host, entry))
                self.host += 1
            case Begin(call, number):
                entry = time_entry(self.times, call)
                self.begun[number] = _collective(self.program, instruction, self.host, entry)
                self.segments.append(self.begun[number])
                self.host += 1
            case Complete(begin):
                collective = self.begun.pop(begin.number)
                self.segments.append(abi.CompletionSegment(collective, time_entry(self.times, instruction)))
            case Require(flag):
                self.segments.append(abi.RequireSegment(ref_of(flag)))
            case LoopInstruction() | Branch():
                made = [self._written(instruction, each.program) for each in inner_programs(instruction)]
                self.inner += made
                control = _control(self.program, instruction, made)
                self.segments.append(replace(control, times=time_entry(self.times, instruction)))

    def _written(self, instruction: LoopInstruction | Branch, program: Program) -> Written:
        made = write(
            program,
            self.emit,
            self.inner_host,
            self.times,
            fixed=_fixed(instruction),
            looks=self.looks,
            outermost=False,
            may_stop=not self.committed,
            numbers=self.numbers,
        )
        self.inner_host += made.hosted
        return made

    @property
    def cost(self) -> float:
        """The estimated time of all of it."""
        costs = {each.entry.name: each.cost for each in self.inner}
        return sum([k.cost for k in self.kernels]) + sum([_cost(s, costs) for s in self.segments])


def _instructions(program: Program) -> Iterable[Instruction | Begin | Complete]:
    if not any(isinstance(i, HostCall) and i.is_collective for i in program.instructions):
        return program.instructions
    from staticgraph.compiler.lower.collectives import with_completions  # few programs have some

    return with_completions(program.instructions, memory_of(program))


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


_LONG = 15.0  # ns per character of the function of a step: what it calls takes hundreds of times as long
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
            ref_of(instruction.index), tuple(_inner(program, i, w, places) for i, w in inners)
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
            maybe_ref(c.init),
            ref_of(c.final),
            maybe_ref(c.other),
        )
        for n, c in enumerate(instruction.carried)
    )
    first_read = body.program.first_result - len(reads)
    first_write = body.program.first_result + 1 + len(moving)
    rows = [_row(first_read + n, row) for n, row in enumerate(instruction.reads)]
    rows += [_row(first_write + n, row) for n, row in enumerate(instruction.writes)]
    copies = tuple(
        abi.CopyCall(ref_of(w.final), ref_of(w.init), w.size) for w in instruction.whole if w.init is not None
    )
    patience = 1 << math.ceil(math.log2(max(1.0, LOOK / (written.cost + CPU.round_ns))))
    return abi.LoopSegment(
        inner,
        ref_of(instruction.pred),
        ref_of(body.pred),
        carried,
        tuple(rows),
        copies,
        ref_of(instruction.spare),
        instruction.row,
        None if instruction.node.attrs["brief"] else patience,
    )


def _row(slot: int, row: RowAt) -> abi.RowPointer:
    return abi.RowPointer(
        slot, ref_of(row.base), row.counter, row.counter_bytes, row.offset, row.rows, row.size
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
    table = tuple(map(maybe_ref, slots))
    return abi.InnerStep(written.entry, ref_of(inner.table), table, written.before)


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
        ref_of(source),
        ref_of(target),
        count if combines else count * taken.dtype.size,
        taken.dtype.name if combines else "byte",
        call.attrs.get("combine", ""),
        call.attrs.get("root", 0),
        program.host_slot,
        -1 - index,
        times,
    )
