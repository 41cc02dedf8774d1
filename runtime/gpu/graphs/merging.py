"""Small pieces of work that become one launch: beside each other, or one after the other in a single block.

A launch in a captured graph costs a GPU as much time as some ten thousand additions. Pieces of few blocks
that need not wait for each other become one function, in which each has blocks of its own; a piece that waits
for nothing but another one, both of a single block, follows it in that block. What a piece depends on is
found from the bytes that it reads and writes, as it is for work side by side.

    dW -> w'        three pieces of a block each, the first two in order, become one launch,
    b'              if nothing that b' waits for waits for w'
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall
from staticgraph.compiler.codegen.cuda.merged import Lanes, can_be_part, merged, shared_by
from staticgraph.compiler.kernel.schedule_gpu.target import ARGUMENT_BYTES, SHARED_BYTES
from staticgraph.compiler.machine import GpuMachine
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.graphs.order import Order, Span

_LONGEST_LANE = 8  # functions in one block
_MOST_ARGUMENTS = ARGUMENT_BYTES // 8 - 64  # of one function: pointers, and some room for sizes


@dataclass(slots=True, eq=False)
class RecordedWork:
    """One piece of work: a call of a function with these bytes as arguments, or another `action`."""

    reads: Sequence[Span]
    writes: Sequence[Span]
    action: Callable[[], None] | None = None
    call: FunctionCall | None = None
    given: Sequence[Span] = ()

    @property
    def blocks(self) -> int:
        """Blocks of a call."""
        assert self.call is not None
        x, y, z = self.call.grid
        return x * y * z


@dataclass(slots=True, eq=False)
class Lane:
    """Pieces in order, of which each but the first waits for nothing but earlier ones."""

    pieces: list[RecordedWork]
    waits: set[int] = field(default_factory=set)  # numbers of lanes

    @property
    def functions(self) -> tuple[CudaFunction, ...]:
        """The functions of its calls."""
        return tuple(piece.call.function for piece in self.pieces if piece.call is not None)


@dataclass(frozen=True, slots=True)
class LaunchGroup:
    """Lanes that are one launch, or a lane of one piece."""

    lanes: tuple[Lane, ...]

    @property
    def pieces(self) -> list[RecordedWork]:
        """All pieces, in an order in which they can be done."""
        return [piece for lane in self.lanes for piece in lane.pieces]

    @property
    def is_one_piece(self) -> bool:
        """True if there is nothing to merge."""
        return len(self.lanes) == 1 == len(self.lanes[0].pieces)

    @property
    def function(self) -> CudaFunction:
        """The function of the launch."""
        lanes: Lanes = tuple(lane.functions for lane in self.lanes)
        return merged(lanes)

    @property
    def call(self) -> tuple[list[int], list[int], tuple[int, int, int]]:
        """Addresses, sizes and grid of the launch."""
        calls = [piece.call for piece in self.pieces if piece.call is not None]
        addresses = [start for piece in self.pieces for start, _ in piece.given]
        sizes = [n for call in calls for n in call.sizes]
        firsts, first = [], 0
        for lane in self.lanes:
            assert lane.pieces[0].call is not None
            firsts += [first, lane.pieces[0].call.grid[0]]
            first += lane.pieces[0].blocks
        if any(call.function.grid is None for call in calls):
            sizes += firsts
        return addresses, sizes, (first, 1, 1)


def plan(pieces: Sequence[RecordedWork], machine: GpuMachine) -> list[LaunchGroup]:
    """Return groups of all pieces, in an order in which they can be done."""
    if len(pieces) < 2:
        return apart(pieces)
    lanes = _lanes(pieces, machine)
    levels = _levels(lanes)
    by_level: dict[int, list[Lane]] = defaultdict(list)
    for lane, level in zip(lanes, levels, strict=True):
        by_level[level].append(lane)
    return [group for level in sorted(by_level) for group in _groups(by_level[level], machine)]


def apart(pieces: Sequence[RecordedWork]) -> list[LaunchGroup]:
    """Return a group for each piece."""
    return [LaunchGroup((Lane([piece]),)) for piece in pieces]


def _lanes(pieces: Sequence[RecordedWork], machine: GpuMachine) -> list[Lane]:
    """Put each piece of a single block that waits for one lane alone into that lane."""
    order, lanes, lane_of = Order(), list[Lane](), list[int]()
    for piece in pieces:
        waits = {lane_of[n] for n in order.add(piece.reads, piece.writes)}
        number = min(waits, default=-1)
        if len(waits) == 1 and _follows(lanes[number], piece, machine):
            lanes[number].pieces.append(piece)
        else:
            number = len(lanes)
            lanes.append(Lane([piece], waits))
        lane_of.append(number)
    return lanes


def _follows(lane: Lane, piece: RecordedWork, machine: GpuMachine) -> bool:
    """Return True if a piece can be done by the block that does a lane."""
    ends = (lane.pieces[0], piece)
    if len(lane.pieces) >= _LONGEST_LANE or not all(_is_small(each, machine) for each in ends):
        return False
    one, other = (each.call for each in ends)
    return (
        all(each.blocks == 1 for each in ends)
        and _threads(one) == _threads(other)
        and _fits([lane, Lane([piece])])
    )


def _levels(lanes: Sequence[Lane]) -> list[int]:
    """Return for each lane how late it can be: the one before the first lane that waits for it.

    Lanes come after those that they wait for. Lanes of the same level do not wait for each other.
    """
    levels = [0] * len(lanes)
    for number in range(len(lanes) - 1, -1, -1):
        for wait in lanes[number].waits:
            levels[wait] = min(levels[wait], levels[number] - 1)
    return levels


def _groups(lanes: Sequence[Lane], machine: GpuMachine) -> Iterator[LaunchGroup]:
    """Merge lanes of the same level that have the same number of threads."""
    alike: dict[int, list[Lane]] = {}
    for lane in lanes:
        if not _is_small(lane.pieces[0], machine):
            yield LaunchGroup((lane,))
            continue
        threads = _threads(lane.pieces[0].call)
        found = alike.setdefault(threads, [])
        blocks = sum(each.pieces[0].blocks for each in (*found, lane))
        if found and (blocks > machine.few_blocks or not _fits([*found, lane])):
            yield LaunchGroup(tuple(found))
            found = alike[threads] = []
        found.append(lane)
    for found in alike.values():
        yield LaunchGroup(tuple(found))


def _is_small(piece: RecordedWork, machine: GpuMachine) -> bool:
    """Return True for a call that leaves most of the GPU idle and that can be part of another function."""
    call = piece.call
    if call is None or call.grid[2] != 1 or not 0 < piece.blocks <= machine.multiprocessors:
        return False
    return can_be_part(call.function)


def _threads(call: FunctionCall | None) -> int:
    assert call is not None
    return call.function.threads


def _fits(lanes: Sequence[Lane]) -> bool:
    """Return True if a function has room for the arguments and the shared memory of all lanes."""
    pieces = [piece for lane in lanes for piece in lane.pieces]
    count = sum(len(piece.given) + len(piece.call.sizes) for piece in pieces if piece.call is not None)
    shared = shared_by([lane.functions for lane in lanes])
    return shared <= SHARED_BYTES and count + 2 * len(lanes) <= _MOST_ARGUMENTS
