"""The calling convention of compiled code, which code generators and the runtime share.

A kernel is one or more functions, its phases:

    void (ptr buffer0, ..., i64 size0, ..., i64 number0, ..., ptr shared, ptr private, i64 chunk)

The sizes are the open ones that it needs: see `compiler/graph/sizes.py`. The numbers are sizes, strides and
counts in which kernels with one function differ. Each phase is called once per chunk,
in any order and at the same time; the next one begins when all chunks of the one before are done. How many
chunks there are, and what each does, depends on shapes and target only, never on the number of threads: so
results do not either.

A step is `i32 (ptr table)`: the table holds the addresses of the memory blocks that kernels work in (slots
such as feeds, variables, arena), those of host functions, that of the thread pool, that of the watch, and
that of the open sizes that its code asks for. It returns 0, or something else where it ended early: a host
call failed, or the watch told a loop to stop. The bodies of loops and the branches of a step are steps too,
with tables of their own.

A step may also be written so that it takes the time: then each part of its work has an entry in a table of
times, or one for each chunk. `times` is the number of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from staticgraph.compiler.codegen.llvm.text import Code, with_calls
from staticgraph.compiler.graph.sizes import AnySize, Size, bounds
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Listing:
    """A function that a kernel runs, or what it asks of a library. Equal ones have equal names.

    `how`: on a GPU, what kind of function it is, its blocks and the threads of each; else empty.
    """

    name: str
    text: str
    how: str = ""


class LaunchCode(Protocol):
    """The code of one kernel."""

    @property
    def cost(self) -> float | None:
        """The estimated time on one core, in nanoseconds; None if there is no estimate."""

    @property
    def listings(self) -> tuple[Listing, ...]:
        """Functions and library calls that the kernel runs, in order."""


SCRATCH_PARAMETERS = ("ptr %shared", "ptr %private", "i64 %chunk")  # those of a kernel after its buffers


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a kernel's work: `chunks` calls of a function, independent of each other.

    Their number may be open: then it is 1 if they are little work. They are numbered from `first` on. Phases
    that differ in nothing else have one function.
    A phase that prepares an operand in scratch memory says which of the kernel's arguments it `reads`; it
    need not wait for the others. Of other phases it is None.
    `numbers` are arguments after the open sizes: those in which kernels with the same function differ.
    `takes` are those of the kernel's arguments and open sizes that the function takes, by their numbers in
    that order; None: all.
    """

    code: Code
    chunks: AnySize = 1
    reads: tuple[int, ...] | None = None
    first: int = 0
    numbers: tuple[int, ...] = ()
    takes: tuple[int, ...] | None = None

    @property
    def most(self) -> int:
        """Maximum number of chunks, whatever the sizes are."""
        return bounds(self.chunks)[1]

    def taken(self, operands: Sequence[_T]) -> Sequence[_T]:
        """Return what the function takes of the operands of all phases: arguments, and then open sizes."""
        return operands if self.takes is None else [operands[k] for k in self.takes]


@dataclass(frozen=True, slots=True)
class KernelCode:
    """A kernel, ready to be called.

    `shared_bytes` of scratch memory are seen by all calls of one launch; `private_bytes` belong to one call
    while it runs. `cost` estimates the time of all calls on one core, in nanoseconds, of `MANY` if sizes are
    open; `time` is the same in picoseconds, with open sizes as such. `sizes` are the open sizes that its
    functions take, after the buffers: see `Phase.takes`.
    """

    phases: tuple[Phase, ...]
    shared_bytes: int = 0
    private_bytes: int = 0
    cost: float = 0.0
    time: AnySize = 0
    sizes: tuple[Size, ...] = ()

    @property
    def listings(self) -> tuple[Listing, ...]:
        """Its functions and those that they call, to be looked at."""
        codes = with_calls([phase.code for phase in self.phases])
        return tuple(Listing(code.name, code.text) for code in codes)


@dataclass(frozen=True, slots=True)
class BufferRef:
    """The bytes from `offset` in the block whose address is in `slot` of the table."""

    slot: int
    offset: AnySize = 0


@dataclass(frozen=True, slots=True)
class KernelCall:
    """All chunks of one phase of a kernel, over its buffers in the order of its parameters.

    `shared` is the scratch memory that the phases of this launch have in common. `commits`: it overwrites a
    variable, so that from here on the step can only go on to its end. It takes `sizes`, and the numbers of
    its phase.
    """

    phase: Phase
    args: tuple[BufferRef, ...]
    shared: BufferRef
    times: int | None = None
    commits: bool = False
    sizes: tuple[AnySize, ...] = ()


@dataclass(frozen=True, slots=True)
class CopyCall:
    """Copy `size` bytes; source and target do not overlap. `commits`: as of a `KernelCall`."""

    target: BufferRef
    source: BufferRef
    size: AnySize
    times: int | None = None
    commits: bool = False


@dataclass(frozen=True, slots=True)
class HostCallSegment:
    """Call back into the host: the function `i32 (i32, ptr)` whose address is in `slot`, with `index` and the
    table. It returns 0 if all went well.
    """

    slot: int
    index: int
    times: int | None = None


@dataclass(frozen=True, slots=True)
class CollectiveSegment:
    """Begin a collective of this name with all other processes.

    `count` elements of the type `element` are combined by `combine`, or else that many bytes go to or come
    from each process; of a broadcast, those of the process `root`. `number` counts the collectives of a step.
    The host function in `slot` looks after it if it takes long: it is called with `index`.
    """

    name: str
    number: int
    source: BufferRef
    target: BufferRef
    count: AnySize
    element: str
    combine: str
    root: int
    slot: int
    index: int
    times: int | None = None


@dataclass(frozen=True, slots=True)
class CompletionSegment:
    """Wait until a collective of the step is complete."""

    collective: CollectiveSegment
    times: int | None = None


Work = KernelCall | CopyCall


@dataclass(frozen=True, slots=True)
class PhaseWork:
    """Work of one phase of a region: one call whose chunks are chunks of the region, or else one chunk that
    does everything in order.
    """

    work: tuple[Work, ...]
    chunks: int = 1  # the most of them, if their number is open

    @property
    def count(self) -> AnySize:
        """The number of chunks in a run."""
        (first, *_) = self.work
        return first.phase.chunks if self.chunks > 1 and isinstance(first, KernelCall) else 1


@dataclass(frozen=True, slots=True)
class RegionSegment:
    """Work for all threads: the chunks of a phase are independent of each other, phases follow one another.

    `cost` is an estimate of the time on one core, in nanoseconds. `watched`: chunks look at the watch,
    and are skipped if the step is to stop. `time`: the same estimate in a run, if sizes are open, and
    `phase_times` those of phases, in picoseconds: of all of the kernels that a phase is a part of.
    """

    phases: tuple[tuple[PhaseWork, ...], ...]
    cost: float
    watched: bool = False
    time: Size | None = None
    phase_times: tuple[AnySize, ...] = ()

    @property
    def committing(self) -> int:
        """The number of the first phase that overwrites a variable; that of all phases if none does."""
        found = (n for n, parts in enumerate(self.phases) if any(w.commits for p in parts for w in p.work))
        return next(found, len(self.phases))

    @property
    def chunks(self) -> tuple[int, ...]:
        """Maximum number of chunks of each phase."""
        return tuple([sum([part.chunks for part in parts]) for parts in self.phases])

    def small(self, phase: int) -> Size | None:
        """The picoseconds of a phase for several threads that may turn out to be too few for that.

        None if it is always for one thread, or always for several, or if its numbers of chunks tell.
        """
        time = self.phase_times[phase] if self.phase_times else 0
        known = any(part.chunks > 1 and isinstance(part.count, int) for part in self.phases[phase])
        return time if isinstance(time, Size) and known else None

    @property
    def together(self) -> int:
        """Maximum number of chunks that a thread claims at once.

        Long chunks are claimed one by one, so that any idle thread can take the next.
        """
        return max(1, int(CPU.claimed_ns * sum(self.chunks) / self.cost)) if self.cost else 1

    @property
    def parallel(self) -> bool:
        """True if several threads can work on the region at the same time."""
        return max(self.chunks, default=0) > 1


@dataclass(frozen=True, slots=True)
class InnerStep:
    """A step inside another one: its code, the memory of its table, and what its slots hold, None for those
    that are set from round to round.

    `before`: a step over the same table, to be done once before all rounds. It cannot fail.
    """

    code: Code
    table: BufferRef
    slots: tuple[BufferRef | None, ...]
    before: Code | None = None


@dataclass(frozen=True, slots=True)
class CarriedSlots:
    """A value of `size` bytes that a loop carries from iteration to iteration.

    `argument` is the slot of the value before an iteration, `result` that of the value after it. The value
    starts in `init`, if it has an initial value, and ends in `final`. Iterations either overwrite it in
    `final`, or write alternately to `final` and `other`.
    """

    argument: int
    result: int
    size: AnySize
    init: BufferRef | None
    final: BufferRef
    other: BufferRef | None


@dataclass(frozen=True, slots=True)
class RowPointer:
    """The row of a tensor that a round works on: its address goes into `slot`.

    Row 0 begins at `base`, there are `rows` of `size` bytes. The number of the row is that in the carried
    value `counter`, of so many bytes, plus `offset`. Rows that do not exist are in the loop's spare memory.
    """

    slot: int
    base: BufferRef
    counter: int
    counter_bytes: int
    offset: int
    rows: AnySize
    size: AnySize


@dataclass(frozen=True, slots=True)
class LoopSegment:
    """Rounds of `body` while a truth value holds, `pred` at first and then what the body leaves in `again`.

    `copies` are done before the first round. `spare` has `spare_bytes` of memory, zeros at first. After every
    `patience` rounds the loop asks the watch whether to stop; never, where that is None.
    """

    body: InnerStep
    pred: BufferRef
    again: BufferRef
    carried: tuple[CarriedSlots, ...]
    rows: tuple[RowPointer, ...]
    copies: tuple[CopyCall, ...]
    spare: BufferRef
    spare_bytes: AnySize
    patience: int | None
    times: int | None = None


@dataclass(frozen=True, slots=True)
class BranchSegment:
    """The one of `branches` whose number is in `index`, an i32; the last one if there is none."""

    index: BufferRef
    branches: tuple[InnerStep, ...]
    times: int | None = None


@dataclass(frozen=True, slots=True)
class RequireSegment:
    """Return with UNSOUND unless the byte in `flag` is a truth value that holds."""

    flag: BufferRef


Segment = (
    RegionSegment
    | HostCallSegment
    | LoopSegment
    | BranchSegment
    | RequireSegment
    | CollectiveSegment
    | CompletionSegment
)
