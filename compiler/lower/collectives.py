"""Order of collectives in a program: where they begin, and at which places they must be complete.

A collective begins where it stands in the program and works while others compute. It must be complete before
the first instruction that needs its result, or the memory of its result or input for something else:

    all_reduce(a) -> b;  c = kernel(x);  d = kernel(b)
    begin all_reduce;    c = kernel(x);  complete all_reduce;  d = kernel(b)

Before loops, branches, host calls and the end, all are complete. A collective begins as soon as its input is
there, whatever else could be computed first. They stay in the order in which they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from staticgraph.compiler.fusion.group import Group, is_collective, is_whole
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.lower.buffer_assignment import Candidate
from staticgraph.compiler.lower.parallel_schedule import ByteSpan, Memory
from staticgraph.compiler.lower.program import Begin, Complete, Copy, HostCall, Instruction, Launch


def sent_early(groups: Sequence[Group], reads: Mapping[Group, Sequence[Value]]) -> list[Group]:
    """Return groups in an order in which each collective follows what computes its input.

    Loops, branches and host calls stay where they are, with all that is before and after them.

    Args:
        groups: The groups, in an order in which they can run.
        reads: The values that each group reads.
    """
    readers: dict[Value, list[Group]] = {}
    for group, values in reads.items():
        for value in values:
            readers.setdefault(value, []).append(group)
    order: list[Group] = []
    for is_fence, run in groupby(groups, lambda g: is_whole(g.root) and not is_collective(g.root)):
        members = list(run)
        order += members if is_fence else _between_fences(members, reads, readers)
    return order


def _between_fences(
    groups: list[Group], reads: Mapping[Group, Sequence[Value]], readers: Mapping[Value, Sequence[Group]]
) -> list[Group]:
    waiting = [g for g in groups if is_collective(g.root)]
    # What only collectives read, such as the vector of several gradients, is made when they are sent.
    made_for = set(waiting)
    for group in reversed(groups):
        using = [user for value in group.outputs for user in readers.get(value, ())]
        if using and made_for.issuperset(using):
            made_for.add(group)
    home = {value: g for g in groups for value in g.outputs}
    order: dict[Group, None] = {}

    def needs(group: Group) -> list[Group]:
        """Return what only `group` needs and is not there yet, in order, and the group itself."""
        before = [home[v] for v in reads[group] if v in home and home[v] not in order]
        found = [g for each in before if each in made_for for g in needs(each)]
        return [*dict.fromkeys(found), group]

    def send() -> None:
        """Begin the collectives whose input can be made."""
        while waiting:
            chain = needs(waiting[0])
            lacking = (home[v] for each in chain for v in reads[each] if v in home)
            if any(each not in order and each not in chain for each in lacking):
                return
            order.update(dict.fromkeys(chain))
            waiting.pop(0)

    send()
    for group in groups:
        if group not in made_for:
            order[group] = None
            send()
    return [*order, *(g for g in groups if g not in order)]


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


def held(items: Sequence[Candidate]) -> list[Candidate]:
    """Return items that keep what is sent until something reads what comes back."""
    found = list(items)
    for i, item in enumerate(items):
        if is_collective(item.group.root):
            back = set(item.writes)
            later = (j for j in range(i + 1, len(found)) if not back.isdisjoint(found[j].reads))
            reader = next(later, len(found) - 1)
            found[reader] = replace(found[reader], reads=(*found[reader].reads, *item.reads))
    return found


def overlaps(
    instructions: Iterable[Instruction], memory: Callable[[Instruction], Memory | None]
) -> list[tuple[HostCall, list[Launch]]]:
    """Return the collectives of a program, each with the kernels that run while it is under way."""
    found: list[tuple[HostCall, list[Launch]]] = []
    going: dict[int, list[Launch]] = {}
    for each in with_completions(instructions, memory):
        match each:
            case Begin(call, number):
                found.append((call, going.setdefault(number, [])))
            case Complete(begin):
                del going[begin.number]
            case Launch():
                for meanwhile in going.values():
                    meanwhile.append(each)
    return found


def _meet(going: Memory, used: Memory) -> bool:
    """Return True if an instruction needs memory that a collective still works on."""
    (sources, targets), (reads, writes) = going, used
    return any(_overlap(one, other) for one in targets for other in (*reads, *writes)) or any(
        _overlap(one, other) for one in sources for other in writes
    )


def _overlap(one: ByteSpan, other: ByteSpan) -> bool:
    return one.slot == other.slot and one.start < other.stop and other.start < one.stop
