"""Instructions without host calls as regions: what threads share, in phases of independent parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from itertools import chain, takewhile

from staticgraph.compiler import stages
from staticgraph.compiler.codegen import abi
from staticgraph.compiler.codegen.llvm.clock import Clock
from staticgraph.compiler.graph.open_sizes import total
from staticgraph.compiler.graph.sizes import AnySize, Size, estimate, is_open
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower import parallel_schedule as phases
from staticgraph.compiler.lower.parallel_schedule import Places, arguments, span_of
from staticgraph.compiler.lower.program import SHARED, Complete, Copy, Instruction, Launch, Ref
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

_COPY_BYTES = 256 * 1024  # of a copy that one thread does in one go
_MOST_COPIES = 64  # that a large one becomes

Work = tuple[Launch, abi.KernelCode] | tuple[Copy, None]


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


def time_entry(times: TimeTable | None, instruction: Instruction | Complete, count: int = 1) -> int | None:
    """Return the first of as many new entries, None without a table."""
    return None if times is None else times.take(instruction, count)


def region_of(
    work: Sequence[Work],
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
                made = kernel.phases[phase]
                entry = time_entry(times, launch, made.most)
                commits = any(ref.slot in variables for ref in launch.writes)
                buffers, sizes = tuple(map(ref_of, args)), kernel.sizes
                if made.takes is not None:
                    count = len(buffers)
                    sizes = tuple(sizes[k - count] for k in made.takes if k >= count)
                    buffers = tuple(buffers[k] for k in made.takes if k < count)
                return abi.KernelCall(made, buffers, shared, entry, commits, (*sizes, *made.numbers))
            case Copy(target, source, size) as copy, _:
                commits = target.slot in variables
                return abi.CopyCall(ref_of(target), ref_of(source), size, time_entry(times, copy), commits)
        raise AssertionError(work[number])

    def part(p: phases.ScheduledPart) -> abi.PhaseWork:
        return abi.PhaseWork(tuple(unit(*u) for u in p.units), p.chunks)

    estimates = [_picoseconds(each) for each in work]
    time = total(estimates) if is_open(estimates) else sum(estimates)
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


def _picoseconds(work: Work) -> AnySize:
    """Estimate the time of an instruction in a run."""
    if isinstance(work[1], abi.KernelCode):
        return work[1].time
    return work[0].size * round(1000 * CPU.copied_byte_ns) if isinstance(work[0], Copy) else 0


def _tasks_of(parts: Iterable[phases.ScheduledPart]) -> set[int]:
    """Return the numbers of the instructions of a phase."""
    return {number for part in parts for number, _ in part.units}


def _task(work: Work, places: Places) -> phases.Task:
    """An instruction as the schedule sees it."""
    match work:
        case Launch(work=loops, args=args), abi.KernelCode() as kernel:
            buffers = arguments(loops)
            spans = [
                span_of(ref, b.size * b.dtype.size, places) for ref, b in zip(args, buffers, strict=True)
            ]
            read, written = list[phases.ByteSpan](), list[phases.ByteSpan]()
            for span, buffer in zip(spans, buffers, strict=True):
                (written if buffer.written else read).extend(span)
            ahead = takewhile(lambda reads: reads is not None, [phase.reads for phase in kernel.phases])
            return phases.Task(
                tuple([phase.most for phase in kernel.phases]),
                kernel.cost,
                tuple(read),
                tuple(written),
                kernel.shared_bytes,
                tuple(tuple(chain(*(spans[n] for n in reads or ()))) for reads in ahead),
                is_open([phase.chunks for phase in kernel.phases]),
            )
        case Copy(target, source, size), _:
            taken, given = (span_of(ref, size, places) for ref in (source, target))
            return phases.Task((1,), estimate(size) * CPU.copied_byte_ns, taken, given)
    raise AssertionError(work)


def copies(copy: Copy) -> list[Copy]:
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


def ref_of(ref: Ref) -> abi.BufferRef:
    """Return an address as the function of a step has it."""
    return abi.BufferRef(ref.slot, ref.offset)


def maybe_ref(ref: Ref | None) -> abi.BufferRef | None:
    """Return the same of an address that there may not be."""
    return None if ref is None else ref_of(ref)
