"""Orders of updates that several launches of a step need: sorted once, and kept for the others.

Each gradient of `gather`, each sum of segments and the like brings its indices in order first. Layers of a
graph net all have the same indices, so that most of their work is to sort these again:

    sort(senders)  gather_grad                 sort(senders)  gather_grad
    sort(senders)  gather_grad        becomes                 gather_grad
    sort(senders)  unsorted_segment_sum                       unsorted_segment_sum

Constant indices are sorted in the first run alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower.program import (
    ARENA,
    ARGUMENTS,
    CONSTANTS,
    Copy,
    Launch,
    Program,
    Ref,
    buffers_of,
)
from staticgraph.compiler.support.dataclass import dataclass

SORTING = frozenset({"radix_count", "scan", "radix", "sort"})  # kinds of functions
MOST = 1 << 28  # bytes of what is kept, of all launches together

Place = tuple[Ref, int]  # memory, and how many bytes


@dataclass(frozen=True, slots=True)
class KeptSort:
    """Calls of a launch, from `start` to `end`, that sort, and the scratch memory with what they have found.

    Attributes:
        start, end: The first of them, and the one after the last.
        places: Where in the memory that is kept that is, and how many bytes, by name.
        sorts: True if the launch does them, False if one before it has.
        once: True if the first run of the step has done them for all runs.
    """

    start: int
    end: int
    places: Mapping[str, tuple[int, int]]
    sorts: bool
    once: bool


@dataclass(frozen=True, slots=True)
class KeptSorts:
    """Kept sorts by the identity of the launch, in `size` bytes of memory."""

    of: Mapping[int, KeptSort]
    size: int


NOTHING = KeptSorts({}, 0)


@dataclass(slots=True)
class _Sort:
    """A sort, where it is in its launch, and the launches that need it."""

    inputs: tuple[Place, ...]
    sizes: dict[str, int]
    users: list[tuple[Launch, int, int]]

    @property
    def once(self) -> bool:
        return all(ref.slot == CONSTANTS for ref, _ in self.inputs)


def kept_sorts(program: Program, works: Mapping[int, KernelWork], feeds: int) -> KeptSorts:
    """Return the sorts of a program that are worth to be kept.

    Args:
        program: The program, whose first arguments are so many `feeds`. All sizes are known.
        works: What a GPU does, by the identity of the launch.
        feeds: Number of feeds.
    """
    known: dict[object, _Sort] = {}  # whose inputs have not changed since
    found: list[_Sort] = []
    fed = range(ARGUMENTS, ARGUMENTS + feeds)
    for instruction in program.instructions:
        match instruction:
            case Launch():
                places = _places(instruction)
                _note(instruction, works[id(instruction)], places, fed, known, found)
                written = [(ref, places.get(ref, -1)) for ref in instruction.writes]
            case Copy(target, _, size):
                assert isinstance(size, int)
                written = [(target, size)]
            case _:  # who knows what it writes
                known.clear()
                continue
        changed = [
            key for key, sort in known.items() if any(_meet(a, b) for a in sort.inputs for b in written)
        ]
        for key in changed:
            del known[key]
    return _laid_out(found)


def _places(launch: Launch) -> dict[Ref, int]:
    """The sizes in bytes of the arguments of a launch."""
    buffers = [b for b in buffers_of(launch.work).values() if not (b.local or b.shared)]
    places: dict[Ref, int] = {}
    for ref, buffer in zip(launch.args, buffers, strict=True):
        size = buffer.size * buffer.dtype.size
        assert isinstance(size, int)
        places[ref] = max(size, places.get(ref, 0))
    return places


def _note(
    launch: Launch,
    work: KernelWork,
    places: Mapping[Ref, int],
    feeds: range,
    known: dict[object, _Sort],
    found: list[_Sort],
) -> None:
    """Add the sort of a launch, if it has one whose result could be kept."""
    kinds = [c.function.kind if isinstance(c, FunctionCall) else "" for c in work.calls]
    start = next((n for n, kind in enumerate(kinds) if kind in SORTING), None)
    if start is None:
        return
    end = next((n for n in range(start, len(kinds)) if kinds[n] not in SORTING), len(kinds))
    sorting, rest = work.calls[start:end], (*work.calls[:start], *work.calls[end:])
    scratch = dict(work.scratch)
    names = [name for name, b in buffers_of(launch.work).items() if not (b.local or b.shared)]
    arguments = dict(zip(names, launch.args, strict=True))
    made, taken = _uses(sorting), _uses(rest)
    results = [name for name in made.written if name in taken.read]
    outside = tuple(name for name in made.read if name in arguments)
    if not results or any(name not in scratch or name in taken.written for name in results):
        return
    inside = made.read & scratch.keys()
    if any(name in arguments for name in made.written) or not inside <= made.written - taken.written:
        return
    inputs = tuple((arguments[name], places[arguments[name]]) for name in sorted(outside))
    if not all(ref.slot in (ARENA, CONSTANTS) or ref.slot in feeds for ref, _ in inputs):
        return
    calls = tuple((c.function, c.arguments, c.sizes) for c in sorting if isinstance(c, FunctionCall))
    key = calls, inputs
    if key not in known:
        sizes = {name: padded(scratch[name]) for name in sorted(results)}
        known[key] = _Sort(inputs, sizes, [])
        found.append(known[key])
    known[key].users.append((launch, start, end))


@dataclass(frozen=True, slots=True)
class _Uses:
    read: set[str]
    written: set[str]


def _uses(calls: tuple[object, ...]) -> _Uses:
    """The names of what calls read and write; those of libraries count as if they did both."""
    read, written = set[str](), set[str]()
    for call in calls:
        match call:
            case FunctionCall(arguments=arguments, written=flags):
                for name, flag in zip(arguments, flags, strict=True):
                    (written if flag else read).add(name)
            case _:
                names = getattr(call, "arguments", ())
                read |= {*names}
                written |= {*names}
    return _Uses(read, written)


def _meet(one: Place, other: Place) -> bool:
    """True if two pieces of memory overlap, or if it is not known how large the other one is."""
    (a, size), (b, length) = one, other
    if a.slot != b.slot:
        return False
    return length < 0 or (a.offset < b.offset + length and b.offset < a.offset + size)


def _laid_out(found: list[_Sort]) -> KeptSorts:
    """Give each sort that is worth it memory of its own, as far as there is room."""
    of: dict[int, KeptSort] = {}
    size = 0
    for sort in found:
        need = sum(sort.sizes.values())
        if (len(sort.users) < 2 and not sort.once) or size + need > MOST:
            continue
        places = {}
        for name, bytes in sort.sizes.items():
            places[name] = size, bytes
            size += bytes
        for number, (launch, start, end) in enumerate(sort.users):
            of[id(launch)] = KeptSort(start, end, places, sorts=number == 0, once=sort.once)
    return KeptSorts(of, size)
