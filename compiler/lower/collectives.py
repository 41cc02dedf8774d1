"""Places in a program at which collectives must be complete.

A collective begins where it stands in the program and works while others compute. It must be complete before
the first instruction that needs its result, or the memory of its result or input for something else:

    all_reduce(a) -> b;  c = kernel(x);  d = kernel(b)
    begin all_reduce;    c = kernel(x);  complete all_reduce;  d = kernel(b)

Before loops, branches, host calls and the end, all are complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from staticgraph.compiler.lower.parallel_schedule import ByteSpan
from staticgraph.compiler.lower.program import Begin, Complete, Copy, HostCall, Instruction

# The memory that an instruction reads, and what it writes.
Memory = tuple[Sequence[ByteSpan], Sequence[ByteSpan]]


def with_completions(
    instructions: Iterable[Instruction], memory: Callable[[Instruction], Memory | None]
) -> Iterator[Instruction | Begin | Complete]:
    """Yield the instructions of a program, its collectives as two each.

    Args:
        instructions: The instructions, in order.
        memory: What an instruction reads and writes; None if all collectives must be complete before it.
    """
    going: list[tuple[Begin, Memory]] = []
    number = 0
    for instruction in instructions:
        used = memory(instruction)
        due = [each for each in going if used is None or _meet(each[1], used)]
        yield from (Complete(begun) for begun, _ in due)
        going = [each for each in going if each not in due]
        if isinstance(instruction, HostCall) and instruction.is_collective:
            assert used is not None, instruction
            if instruction.node.op.name == "broadcast":  # it has one buffer, of which the root's is sent
                (source, type), (target, _) = instruction.inputs[0], instruction.outputs[0]
                yield Copy(target, source, type.size * type.dtype.size)
            begun = Begin(instruction, number)
            going.append((begun, used))
            number += 1
            yield begun
        else:
            yield instruction
    yield from (Complete(begun) for begun, _ in going)


def _meet(going: Memory, used: Memory) -> bool:
    """Return True if an instruction needs memory that a collective still works on."""
    (sources, targets), (reads, writes) = going, used
    return any(_overlap(one, other) for one in targets for other in (*reads, *writes)) or any(
        _overlap(one, other) for one in sources for other in writes
    )


def _overlap(one: ByteSpan, other: ByteSpan) -> bool:
    return one.slot == other.slot and one.start < other.stop and other.start < one.stop
