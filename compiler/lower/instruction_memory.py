"""The memory that an instruction of a program reads and writes: what runs before what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from staticgraph.compiler.graph.sizes import AnySize, is_open
from staticgraph.compiler.kernel.stmt import Buffer, Kernel
from staticgraph.compiler.lower.parallel_schedule import ByteSpan, Memory
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
