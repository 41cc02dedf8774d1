"""The memory of a program over time: what lies in its arena from which instruction to which."""

from __future__ import annotations

from collections.abc import Iterator

from staticgraph.compiler.kernel.stmt import Buffer, Kernel, padded
from staticgraph.compiler.lower.program import (
    ARENA,
    Branch,
    Copy,
    HostCall,
    Instruction,
    Launch,
    LoopInstruction,
    Loops,
    Program,
    Ref,
    inner_programs,
)
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(slots=True)
class Block:
    """Memory of one value: written by the instruction `first`, read for the last time by `last`."""

    offset: int
    size: int
    first: int
    last: int
    text: str


@dataclass(frozen=True, slots=True)
class _Use:
    """A place in the arena that an instruction reads or writes; its size in bytes, if that is known."""

    ref: Ref
    size: int
    written: bool
    text: str = ""


def timeline(program: Program) -> list[Block]:
    """The blocks of the arena, in the order in which they come to life.

    A value that another one overwrites in place ends where that begins.
    """
    living: dict[int, Block] = {}
    found: list[Block] = []
    for number, instruction in enumerate(program.instructions):
        uses = [use for use in _uses(instruction) if use.ref.slot == ARENA]
        for use in uses:
            if not use.written and use.ref.offset in living:
                living[use.ref.offset].last = number
        for use in uses:
            if use.written:
                end = use.ref.offset + use.size
                gone = [at for at, block in living.items() if at < end and use.ref.offset < at + block.size]
                for at in gone:
                    del living[at]
                block = living[use.ref.offset] = Block(use.ref.offset, use.size, number, number, use.text)
                found.append(block)
    return found


def live_bytes(blocks: list[Block], instructions: int) -> list[int]:
    """Return the number of bytes that are live during each instruction."""
    live = [0] * instructions
    for block in blocks:
        for number in range(block.first, block.last + 1):
            live[number] += block.size
    return live


def _uses(instruction: Instruction) -> Iterator[_Use]:
    match instruction:
        case Launch():
            arrays = dict(zip(instruction.args, _arguments(instruction.work), strict=True))
            yield from (_Use(ref, 0, False) for ref in instruction.reads)
            for ref in instruction.writes:
                array = arrays[ref]
                sizes = ", ".join(map(str, array.shape))
                yield _Use(ref, array.size * array.dtype.size, True, f"{array.dtype}[{sizes}]")
        case Copy(target, source, size):
            yield _Use(source, size, False)
            yield _Use(target, size, True, "a copy")
        case HostCall(inputs=inputs, outputs=outputs, node=node):
            yield from (_Use(ref, 0, False) for ref, _ in inputs)
            for ref, type in outputs:
                yield _Use(ref, type.size * type.dtype.size, True, f"{type} of {node.op.name}")
        case LoopInstruction():
            read = [instruction.pred, *instruction.captures, *(row.base for row in instruction.reads)]
            read += [c.init for c in (*instruction.carried, *instruction.whole) if c.init is not None]
            yield from (_Use(ref, 0, False) for ref in read)
            for carried in (*instruction.carried, *instruction.whole):
                yield _Use(carried.final, carried.size, True, "what a loop carries")
                if carried.other is not None:
                    yield _Use(carried.other, carried.size, True, "what a loop carries, by turns")
            yield from _inner(instruction)
        case Branch(index, inputs, outputs):
            yield from (_Use(ref, 0, False) for ref in (index, *inputs))
            values = instruction.node.outputs
            for ref, value in zip(outputs, values, strict=True):
                yield _Use(ref, value.size * value.dtype.size, True, f"{value.type} of a branch")
            yield from _inner(instruction)


def _arguments(work: Loops | Kernel) -> list[Buffer]:
    buffers = work.buffers.values() if isinstance(work, Kernel) else dict(work.buffers).values()
    return [b for b in buffers if not (b.local or b.shared)]


def _inner(instruction: LoopInstruction | Branch) -> Iterator[_Use]:
    """The memory of what a loop runs, or of the branch that takes most: its table, arena and condition."""
    inner = max(inner_programs(instruction), key=lambda each: each.program.arena)
    size = inner.pred.offset + padded(1) - inner.table.offset
    yield _Use(inner.table, size, True, "memory inside a loop or branch")
