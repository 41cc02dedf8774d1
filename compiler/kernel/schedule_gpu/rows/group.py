"""Division of rows among threads: the number of threads per row, and the values cached in registers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from staticgraph.compiler.graph.dtypes import DType, bfloat16, float64, int64
from staticgraph.compiler.graph.sizes import MANY, AnySize, Size, at_least, at_most, content, estimate
from staticgraph.compiler.kernel.cost import operation_cost
from staticgraph.compiler.kernel.expr import Expr, Load, Local, Scalar, free_indices, walk
from staticgraph.compiler.kernel.schedule_gpu.rows.program import RowProgram, Sweep
from staticgraph.compiler.kernel.schedule_gpu.strides import accessed, reached
from staticgraph.compiler.kernel.schedule_gpu.target import BLOCKS, REGISTERS, THREADS, WARP
from staticgraph.compiler.kernel.stmt import Let, Loop, Stmt, Store, statements
from staticgraph.compiler.machine import GpuMachine
from staticgraph.compiler.support.dataclass import dataclass

_MOST_ROUNDS = 64  # of a kernel without sums: rows that a group does one after the other
_SHORT = 1024  # columns that one warp does
# Threads that do a row, columns that each may have at most, registers for all it keeps and for local buffers.
_ROOM = (
    *((lanes, 16, 32, 32) for lanes in (64, 128, 256)),
    (512, 16, 24, 16),
    (1024, 16, 12, 8),
    (512, 16, 64, 32),
    (512, 32, 64, 24),
)
_ROOM_OF_WARP = 64  # registers for what a thread keeps of a row that one warp does
# What a thread needs at most, as `Sharing` counts it, and the registers it gets. Where these are fewer, more
# blocks share a multiprocessor, so that some load while others compute.
_REGISTERS = ((40, 64), (128, 128), (math.inf, 255))
_OF_STREAM, _OF_TAIL, _OF_SUMS, _OF_DOUBLES = 8, 8, 24, 48  # for operands that are not kept, and so on
_OF_SUMS_OF_DOUBLES, _OF_ROUNDING = 60, 12  # sm_75 spills with fewer; bfloat16 is rounded by its bits
_ROOM_OF_DOUBLES = (48, 24)  # registers for all that a block keeps of a row, and with sums over rows
_STREAMING = 512  # threads for a row, of which nothing is kept
_EARLY = 64  # threads that meet at barriers, which keep the compiler from loading earlier by itself
_WORTH_KEEPING = 4.0  # the cost of an expression that is not computed again
_OF_ROW = 4  # numbers of a row that are loaded first
_AHEAD = 8  # vectors that a thread loads before it needs them, of a row that it does not keep


@dataclass(frozen=True, slots=True)
class Sharing:
    """`lanes` threads do a row, `groups` of as many are a block. Each group does rows in turn.

    `kept` are values of columns that threads keep in registers from one sweep to the next; `registers` is how
    many these take, local buffers, and what is needed beside them. `early`: what is kept of memory is loaded
    in the first sweep, which takes no more of them.
    """

    lanes: int
    groups: int
    blocks: AnySize
    kept: tuple[Expr, ...]
    registers: int
    early: bool = False

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.lanes * self.groups

    @property
    def blocks_per_core(self) -> int:
        """Number of blocks that a multiprocessor should have room for.

        The compiler must be told this number. Otherwise it may choose a number that leaves a thread too few
        registers.
        """
        return min(max(1, REGISTERS // (self.room * self.threads)), BLOCKS)

    @property
    def room(self) -> int:
        """Registers that a thread gets."""
        return next(room for most, room in _REGISTERS if self.registers <= most)

    def spills_scales(self, program: RowProgram) -> bool:
        """True if a thread has too few registers for what it loads for its columns in every row, as scales.

        The assembler would load all of that once, before the first row, and spill it.
        """
        scales = {
            (e, sweep.columns): _words(e.dtype) * self.rounds(sweep) * sweep.width
            for sweep in program.sweeps
            for e in reached(sweep.body)
            if isinstance(e, Load)
            and not program.buffers[e.buffer].local
            and program.row not in free_indices(e)
        }
        return self.registers + sum(scales.values()) > self.room

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return self.threads // WARP

    def rounds(self, sweep: Sweep) -> int:
        """Maximum number of vectors that a thread processes in a sweep."""
        return -(-sweep.vectors.extent // self.lanes)

    def goes_once(self, program: RowProgram) -> bool:
        """True if no group has more than one row."""
        return not isinstance(program.row.extent, Size) and program.row.extent <= self.blocks * self.groups

    def is_uneven(self, program: RowProgram) -> bool:
        """True if some groups of a warp may have no row when the others have one."""
        return self.lanes < WARP and content(program.row.extent) % (WARP // self.lanes) != 0

    def early_loads(self, program: RowProgram, sweep: Sweep, filled: Set[Expr]) -> list[Expr]:
        """Return the cached loads to make in the first sweep over these columns, also for later sweeps.

        Empty for any other sweep, and unless `early`. `filled` are there already.
        """
        alike = [s for s in program.sweeps if s.columns == sweep.columns]
        if sweep is not alike[0] or not self.early:
            return []
        there = {e for other in alike for e in reached(other.body)}
        return [e for e in self.kept if isinstance(e, Load) and e in there - filled]


def loads_ahead(sweep: Sweep) -> int:
    """Vectors of a sweep over columns that are not kept which a thread loads before it needs them."""
    streams = sum(isinstance(e, Load) for e in reached(sweep.body))
    return max(1, _AHEAD // max(streams, 2))


def of_row(program: RowProgram) -> list[Load]:
    """Numbers that all columns share, such as labels: they are loaded while those of columns are."""

    def depends_on_row_alone(load: Load) -> bool:
        parts = walk(*load.at)
        return free_indices(load) <= {program.row} and not any(isinstance(e, Load | Local) for e in parts)

    stmts = tuple(s for item in program.items for s in stmts_of(item))
    stored = {s.buffer for s in statements(stmts) if isinstance(s, Store)}
    loads = [e for e in reached(stmts) if isinstance(e, Load) and e.buffer not in stored]
    alone = [e for e in loads if not program.buffers[e.buffer].local and depends_on_row_alone(e)]
    return alone[:_OF_ROW]


def sharing(program: RowProgram, sums: bool, across: bool, machine: GpuMachine) -> Sharing | None:
    """Choose how threads share `program`. None if its local buffers do not fit in registers.

    `sums`: threads keep sums over rows as well. `across`: neighbours in memory are in different rows, so each
    thread does a row.
    """
    local = [name for name, b in program.buffers.items() if b.local]
    if _meet(program) or not all(_by_column(program, name) for name in local):
        return None
    fixed = sum(_words(program.buffers[name].dtype) for name in local)
    longest = max(program.sweeps, key=lambda s: s.vectors.extent)
    most = _ROOM_OF_DOUBLES[sums] if _has_doubles(program) else _ROOM_OF_WARP
    for kept, words, early in _choices(program):
        lanes = _lanes(longest, fixed + words, fixed if sums else 0, across, most)
        if lanes is not None:
            each = -(-longest.vectors.extent // lanes) * longest.width
            registers = (fixed + words) * each + _beside(program, kept, lanes, sums)
            shared = _spread(lanes, program.row.extent, sums, kept, registers, machine)
            return replace(shared, early=early and lanes >= _EARLY)
    return None


def of_tile(program: RowProgram, warps: int) -> Sharing | None:
    """Choose how the warps of a block share rows that wait in its shared memory.

    Each warp does one row after the other. None if threads exchange stored elements of a row, or if the
    program has local buffers.
    """
    if _meet(program) or any(b.local for b in program.buffers.values()):
        return None
    longest = max(program.sweeps, key=lambda s: s.vectors.extent)
    each = -(-longest.vectors.extent // WARP) * longest.width
    # The last of the choices keeps nothing, so there is always one with enough room.
    kept, words = next((k, words) for k, words, _ in _choices(program) if words * each <= _ROOM_OF_WARP)
    return Sharing(WARP, warps, 1, kept, words * each)


def _beside(program: RowProgram, kept: tuple[Expr, ...], lanes: int, sums: bool) -> int:
    """About how many registers a thread needs beside what it keeps, more than a softmax does."""
    passing = {
        e: _words(e.dtype)
        for sweep in program.sweeps
        for e in reached(sweep.body, set(kept))
        if isinstance(e, Load) and e not in kept and _moves(e, sweep) and not program.buffers[e.buffer].local
    }
    uneven = any(sweep.vectors.extent % lanes for sweep in program.sweeps)
    wide = (_OF_DOUBLES + _OF_SUMS_OF_DOUBLES * sums) * _has_doubles(program)
    rounded = _OF_ROUNDING * any(b.dtype is bfloat16 for b in program.buffers.values())
    return _OF_STREAM * sum(passing.values()) + _OF_TAIL * uneven + _OF_SUMS * sums + wide + rounded


def _has_doubles(program: RowProgram) -> bool:
    return any(b.dtype is float64 for b in program.buffers.values())


def _moves(expr: Expr, sweep: Sweep) -> bool:
    """True if an expression depends on the column."""
    return not free_indices(expr).isdisjoint({sweep.vectors, sweep.lane})


def _spread(
    lanes: int, rows: AnySize, sums: bool, kept: tuple[Expr, ...], registers: int, machine: GpuMachine
) -> Sharing:
    groups, about = max(1, THREADS // lanes) if lanes <= WARP else 1, estimate(rows, MANY)
    if not sums:
        groups = max(
            WARP // lanes, min(groups, 1 << (-(-about // machine.multiprocessors) - 1).bit_length()), 1
        )
    at_once = machine.multiprocessors * (machine.threads // max(lanes * groups, THREADS))
    most = at_once // 2 if sums else at_once * _MOST_ROUNDS
    # How many blocks have sums over rows decides how these are added up, which open sizes must not.
    blocks = at_least(at_most(-(-(about if sums else rows) // groups), most), 1)
    return Sharing(lanes, groups, blocks, kept, registers)


def _lanes(sweep: Sweep, words: int, fixed: int, across: bool, most: int) -> int | None:
    """Return the number of threads that do a row.

    They keep `words` registers for each column, `fixed` of them for the whole function. None if that is too
    much, or if it is more than `most` and a block does a row.
    """

    def each(lanes: int) -> int:
        return -(-sweep.vectors.extent // lanes) * sweep.width

    if across or sweep.columns <= _SHORT:
        lanes = 1 if across else min(WARP, 1 << (sweep.vectors.extent - 1).bit_length())
        if words * each(lanes) <= _ROOM_OF_WARP or across:
            return lanes if words * each(lanes) <= _ROOM_OF_WARP else None
    for lanes, columns, room, room_for_good in _ROOM if words else _ROOM[:3]:
        n = each(lanes)
        if n <= columns and n * words <= min(room, most) and n * fixed <= room_for_good:
            return lanes
    return None if words else _STREAMING


def _words(dtype: DType) -> int:
    return -(-dtype.size // 4)


def _by_column(program: RowProgram, name: str) -> bool:
    """True if every thread uses only its own columns of a local buffer."""
    found = {
        (_columns(item), access.at)
        for item in program.items
        for access in accessed(stmts_of(item))
        if access.buffer == name
    }
    size = program.buffers[name].size
    return found <= {(size, (s.column,)) for s in program.sweeps if s.columns == size}


def _meet(program: RowProgram) -> bool:
    """True if threads access what others of the row have stored, or store what others have read."""
    for early, late in itertools.combinations(program.items, 2):
        for a, b in itertools.product(accessed(stmts_of(early)), accessed(stmts_of(late))):
            stores = isinstance(a, Store) or isinstance(b, Store)
            if a.buffer == b.buffer and stores and not program.buffers[a.buffer].local:
                swept = isinstance(early, Sweep) and isinstance(late, Sweep)
                if not (swept and _columns(early) == _columns(late) and a.at == b.at):
                    return True
    return False


def _columns(item: Stmt | Sweep) -> int:
    return item.columns if isinstance(item, Sweep) else 0


def stmts_of(item: Stmt | Sweep) -> tuple[Stmt, ...]:
    """The statements of an item of a program."""
    return item.body if isinstance(item, Sweep) else (item,)


def _choices(program: RowProgram) -> Iterable[tuple[tuple[Expr, ...], int, bool]]:
    """Yield sets of values to cache in registers, the largest set first.

    Each comes with its number of registers per column. The last item is True if loading all cached loads in
    the first sweep takes no more registers.
    """
    kept = _worth_keeping(program)
    for chosen in (kept, [e for e in kept if isinstance(e, Scalar)], []):
        users = _users(program, chosen)
        spans = {e: (at[0], at[-1]) for e, at in users.items() if len(at) > 1}
        soon = {e: (-1 if isinstance(e, Load) else a, b) for e, (a, b) in spans.items()}
        words, words_soon = _most(spans), _most(soon)
        yield tuple(spans), words, words_soon == words


def _most(spans: Mapping[Expr, tuple[int, int]]) -> int:
    """Return the maximum number of registers in use at once for values cached from one item to another."""
    held = [(a, b, _words(e.dtype)) for e, (a, b) in spans.items()]
    return max((sum(w for a, b, w in held if a <= end < b) for end, _, _ in held), default=0)


def _worth_keeping(program: RowProgram) -> list[Expr]:
    """Loads and expensive expressions that several sweeps need, parts first."""
    users: dict[Expr, list[int]] = {}
    for n, item in enumerate(program.items):
        if isinstance(item, Sweep):
            for e in reached(item.body):
                if _is_value(e, item):
                    users.setdefault(e, []).append(n)
    shared = {
        e: at
        for e, at in users.items()
        if len(at) > 1 and _are_alike(program, at) and _unchanged(program, e, at[-1])
    }
    chosen: list[Expr] = []
    for e in reversed(walk(*shared)):
        whole = [w for w in chosen if e in shared and set(shared[e]) <= set(shared[w]) and e in walk(w)]
        if e in shared and (isinstance(e, Load) or not whole):
            chosen.append(e)
    kept: list[Expr] = []
    for e in reversed(chosen):
        if (
            isinstance(e, Load)
            or _cost(e, {x for x in kept if shared[x][0] <= shared[e][0]}) >= _WORTH_KEEPING
        ):
            kept.append(e)
    return kept


def _are_alike(program: RowProgram, items: Iterable[int]) -> bool:
    """True if a thread has the same columns in these sweeps, so that it can cache values of them."""
    return len({_columns(program.items[n]) for n in items}) == 1


def _users(program: RowProgram, kept: Sequence[Expr]) -> dict[Expr, list[int]]:
    """The items that need each of `kept`, where what an earlier one has computed is there."""
    users: dict[Expr, list[int]] = {e: [] for e in kept}
    for n, item in enumerate(program.items):
        if isinstance(item, Sweep):
            filled = {e for e, at in users.items() if at}
            for e in reached(item.body, filled):
                if e in users:
                    users[e].append(n)
    return users


def _cost(expr: Expr, known: Set[Expr]) -> float:
    """The cost of computing a value from what is `known`, without positions in memory."""
    parts = reached((Let(Local("", expr.dtype), expr),), known)
    operations = (e.op for e in parts if isinstance(e, Scalar) and e.dtype is not int64 and e not in known)
    return math.fsum(map(operation_cost, operations))


def _is_value(expr: Expr, sweep: Sweep) -> bool:
    """True if `expr` is a number for each column that another sweep could share."""
    if not isinstance(expr, Load) and not (isinstance(expr, Scalar) and expr.dtype.is_floating):
        return False
    inside = {s.local for s in statements(sweep.body) if isinstance(s, Let)} | {s.local for s in sweep.steps}
    loops = {s.index for s in statements(sweep.body) if isinstance(s, Loop)}
    return (
        _moves(expr, sweep)
        and free_indices(expr).isdisjoint(loops)
        and inside.isdisjoint(e for e in walk(expr) if isinstance(e, Local))
    )


def _unchanged(program: RowProgram, expr: Expr, last: int) -> bool:
    """True if no item before item `last` stores to a buffer that `expr` reads, and none of these is local."""
    reads = {e.buffer for e in walk(expr) if isinstance(e, Load)}
    stored = {
        s.buffer for item in program.items[:last] for s in statements(stmts_of(item)) if isinstance(s, Store)
    }
    return reads.isdisjoint(stored) and not any(program.buffers[name].local for name in reads)
