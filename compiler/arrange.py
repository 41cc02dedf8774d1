"""A program and the code of its kernels as what runs when: regions for all threads, between host calls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from staticgraph.compiler.codegen import abi
from staticgraph.compiler.kernel.stmt import Buffer, Kernel
from staticgraph.compiler.lower import phases
from staticgraph.compiler.lower.program import (
    SHARED,
    Copy,
    HostCall,
    Launch,
    Loops,
    Program,
    Ref,
    padded,
)

_COPY_COST = 0.1  # ns per byte
_COPY_BYTES = 256 * 1024  # of a copy that one thread does in one go
_MOST_COPIES = 64  # that a large one becomes


_Work = tuple[Launch, abi.KernelCode] | tuple[Copy, None]


def arrange(program: Program, kernels: Sequence[abi.KernelCode]) -> tuple[list[abi.Segment], int]:
    """What of a program runs when, between its host calls; and how much scratch memory is shared."""
    codes = iter(kernels)
    segments: list[abi.Segment] = []
    most = hosted = 0
    for host, group in groupby(program.instructions, lambda i: isinstance(i, HostCall)):
        work: list[_Work] = []
        for instruction in group:
            match instruction:
                case Launch():
                    work.append((instruction, next(codes)))
                case Copy():
                    work += [(copy, None) for copy in _copies(instruction)]
                case HostCall():
                    segments.append(abi.HostCall(program.host_slot, hosted))
                    hosted += 1
        if not host:
            region, shared = _region(work)
            segments.append(region)
            most = max(most, shared)
    return segments, most


def _region(work: Sequence[_Work]) -> tuple[abi.Region, int]:
    """Instructions without host calls as one region, and the shared scratch memory that it needs."""
    schedule = phases.schedule(list(map(_task, work)))

    def unit(number: int, phase: int) -> abi.Work:
        match work[number]:
            case Launch(args=args), abi.KernelCode() as kernel:
                shared = abi.BufferRef(SHARED, schedule.offsets.get(number, 0))
                return abi.Call(kernel.phases[phase], tuple(map(_ref, args)), shared)
            case Copy(target, source, size), _:
                return abi.Copy(_ref(target), _ref(source), size)
        raise AssertionError(work[number])

    def part(p: phases.Part) -> abi.Part:
        return abi.Part(tuple(unit(*u) for u in p.units), p.chunks)

    made = tuple(tuple(map(part, parts)) for parts in schedule.phases)
    return abi.Region(made, schedule.cost), schedule.shared


def _task(work: _Work) -> phases.Task:
    """An instruction as the schedule sees it."""
    match work:
        case Launch(work=loops, args=args), abi.KernelCode() as kernel:
            spans: dict[bool, list[phases.Span]] = {False: [], True: []}
            for ref, buffer in zip(args, _arguments(loops), strict=True):
                spans[buffer.written] += _span(ref, buffer.size * buffer.dtype.size)
            chunks = tuple(phase.chunks for phase in kernel.phases)
            return phases.Task(
                chunks, kernel.cost, tuple(spans[False]), tuple(spans[True]), kernel.shared_bytes
            )
        case Copy(target, source, size), _:
            return phases.Task((1,), size * _COPY_COST, _span(source, size), _span(target, size))
    raise AssertionError(work)


def _arguments(work: Loops | Kernel) -> list[Buffer]:
    """The buffers that a kernel is called with."""
    buffers = dict(work.buffers) if isinstance(work, Loops) else work.buffers
    return [b for b in buffers.values() if not (b.local or b.shared)]


def _span(ref: Ref, size: int) -> tuple[phases.Span, ...]:
    return (phases.Span(ref.slot, ref.offset, ref.offset + size),) if size else ()


def _copies(copy: Copy) -> list[Copy]:
    """A large copy as several."""
    piece = max(_COPY_BYTES, padded(-(-copy.size // _MOST_COPIES)))
    return [
        Copy(_after(copy.target, start), _after(copy.source, start), min(piece, copy.size - start))
        for start in range(0, max(copy.size, 1), piece)
    ]


def _after(ref: Ref, offset: int) -> Ref:
    return Ref(ref.slot, ref.offset + offset)


def _ref(ref: Ref) -> abi.BufferRef:
    return abi.BufferRef(ref.slot, ref.offset)
