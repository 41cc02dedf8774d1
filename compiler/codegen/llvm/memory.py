"""Elements of buffers to and from registers: single ones, vectors of neighbours, and scattered ones; all or
some lanes; through the caches or past them.

A `mask` is a vector of truth values (a name, or a constant); None means all lanes. Lanes that are masked off
are neither read nor written, and read as zero.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Iterator

from staticgraph.compiler.codegen.llvm.address import Address, Addresses, lane_steps
from staticgraph.compiler.codegen.llvm.expr import ExprPrinter, LlvmValue
from staticgraph.compiler.codegen.llvm.lanes import waits_for_memory
from staticgraph.compiler.codegen.llvm.scalar import narrow, widen
from staticgraph.compiler.codegen.llvm.text import Emitter, Site, memory_type, register_type, suffix, vector
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import MANY, AnySize, Size, estimate, same
from staticgraph.compiler.kernel.expr import Index, Load
from staticgraph.compiler.kernel.loops.dependence import accesses
from staticgraph.compiler.kernel.stmt import ALIGNMENT, Buffer, Kernel, Loop, Stmt, Store, statements
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

_LEAST_WIDTH = 32  # bytes: the narrowest vectors that are stored past the caches
_THOUSANDS = 4 * MANY  # the value of open sizes for which a result must be large


@dataclass(frozen=True, slots=True)
class Mask:
    """The lanes that take part. `guards`: a condition of the
    program, not only the end of the loop, turns some off.
    """

    text: str
    guards: bool


def narrowed(site: Site, mask: Mask | None, condition: str) -> Mask:
    """The mask of the lanes that take part and where a condition holds. `site` is that of truth values."""
    return Mask(condition if mask is None else site.op("and", mask.text, condition), guards=True)


def scratch(kernel: Kernel, shared: bool) -> tuple[dict[str, int], int]:
    """Return the offsets of buffers in scratch memory by name, and the size of all of them."""
    offsets, end = {}, 0
    for name, buffer in (kernel.shared if shared else kernel.locals).items():
        offsets[name] = end
        size = operator.index(buffer.size)  # undecided if it is open
        end += -(-size * buffer.dtype.size // ALIGNMENT) * ALIGNMENT
    return offsets, end


def first_lanes(count: int, lanes: int) -> str:
    """The mask of the first `count` lanes: for the end of a loop."""
    return "<" + ", ".join(["i1 true"] * count + ["i1 false"] * (lanes - count)) + ">"


def lanes_before(emitter: Emitter, count: str, lanes: int) -> str:
    """The mask of the first lanes, whose number is an i64 that is known at run time."""
    kind = vector("i32", lanes)
    number = emitter.value(f"trunc i64 {count} to i32")
    first = emitter.value(f"insertelement {kind} poison, i32 {number}, i64 0")
    spread = emitter.value(f"shufflevector {kind} {first}, {kind} poison, {kind} zeroinitializer")
    numbers = ", ".join(f"i32 {lane}" for lane in range(lanes))
    return emitter.value(f"icmp ult {kind} <{numbers}>, {spread}")


def load(site: Site, pointer: str, mask: str | None = None) -> str:
    """The elements that begin at `pointer`, one per lane."""
    kind, size = memory_type(site.dtype, site.lanes), site.dtype.size
    if mask is None:
        return widen(site, site.value(f"load {kind}, ptr {pointer}, align {size}"))
    if mask == first_lanes(1, site.lanes):
        element = memory_type(site.dtype)
        single = site.value(f"load {element}, ptr {pointer}, align {size}")
        return widen(site, site.value(f"insertelement {kind} zeroinitializer, {element} {single}, i64 0"))
    name = f"llvm.masked.load.{suffix(memory_type(site.dtype), site.lanes)}.p0"
    operands = ("ptr", pointer), ("i32", str(size)), (site.mask_type, mask), (kind, "zeroinitializer")
    return widen(site, site.emitter.call(kind, name, *operands))


def load_at(
    printer: ExprPrinter,
    address: Address,
    dtype: DType,
    masked: Mask | None,
    key: Hashable,
    stored: int | None,
) -> LlvmValue:
    """The elements at an address: single if it is the same one for all lanes.

    `key` stands for what the buffer holds, and `stored` is the level of the innermost loop that changes that,
    if there is one.
    """
    emitter, mask = printer.emitter, masked.text if masked else None
    guarded = masked is not None and masked.guards
    lanes = printer.lanes if address.moves or address.offsets or guarded else 1
    level = max(address.level, emitter.floor, stored or 0, emitter.level if guarded else 0)
    reads = address.reads if stored is None else address.reads | {key}
    with emitter.at(level):
        site, base = Site(emitter, dtype, lanes), address.base.text
        if lanes == 1:
            text = load(site, base)
        elif same(address.stride, 1):
            text = load(site, base, mask)
        elif same(address.stride, -1) or (same(address.stride, -2) and address.parity is not None):
            text = load_backwards(site, base, address.parity, mask)
        elif address.parity is not None:
            text = load_of_pairs(site, base, address.parity, mask)
        else:
            text = gather(site, base, *lane_steps(printer, address, lanes), mask)
    return LlvmValue(text, lanes, level, reads)


def store_at(printer: ExprPrinter, address: Address, site: Site, value: str, mask: str | None) -> None:
    """Write the elements at an address."""
    if site.lanes == 1 or same(address.stride, 1):
        store(site, value, address.base.text, mask)
    else:
        scatter(site, value, address.base.text, *lane_steps(printer, address, site.lanes), mask)


def load_of_pairs(site: Site, pointer: str, parity: int, mask: str | None) -> str:
    """The first (0) or the second (1) element of each of the pairs, one pair per lane.

    `pointer` is the address of such an element of the first lane.
    """
    pairs = _in_pairs(site)
    if parity:
        pointer = site.value(f"getelementptr {memory_type(site.dtype)}, ptr {pointer}, i64 -1")
    both = load(pairs, pointer, _mask_of_pairs(site, mask))
    return _lanes_of(pairs, both, [2 * lane + parity for lane in range(site.lanes)])


def load_backwards(site: Site, pointer: str, parity: int | None, mask: str | None) -> str:
    """Elements, or one of each of the pairs as above, of which each lane has the one before the last lane's.

    `pointer` is the address of that of the first lane.
    """
    step, last = 1 if parity is None else 2, site.lanes - 1
    start = site.value(f"getelementptr {memory_type(site.dtype)}, ptr {pointer}, i64 {-step * last}")
    turned = None if mask is None else _picked(site, mask, [last - lane for lane in range(site.lanes)])
    if parity is not None:
        found = load_of_pairs(site, start, parity, turned)
    else:
        found = load(site, start, turned)
    return _lanes_of(site, found, [last - lane for lane in range(site.lanes)])


def _lanes_of(site: Site, value: str, lanes: list[int]) -> str:
    return site.emitter.shuffle(site.type, lanes, value)


def store_together(site: Site, values: list[str], pointer: str, mask: str | None) -> None:
    """Write the elements that each lane has, one of each of `values`, side by side from `pointer` on.

    There are as many as a power of two, which takes that many steps: in each, two vectors are interleaved.
    """
    kind, lanes = register_type(site.dtype, site.lanes), site.lanes
    if len(values) == 2:
        both = site.emitter.shuffle(kind, _in_turns(range(lanes), lanes), *values)
        store(_in_pairs(site), both, pointer, _mask_of_pairs(site, mask))
        return

    def interleaved(parts: list[str]) -> list[str]:
        if len(parts) == 1:
            return parts
        made = []
        for one, other in zip(interleaved(parts[::2]), interleaved(parts[1::2]), strict=True):
            for half in (range(lanes // 2), range(lanes // 2, lanes)):
                made.append(site.emitter.shuffle(kind, _in_turns(half, lanes), one, other))
        return made

    for number, value in enumerate(interleaved(values)):
        place = site.value(f"getelementptr {memory_type(site.dtype)}, ptr {pointer}, i64 {number * lanes}")
        part = None
        if mask is not None:
            owners = [(number * lanes + k) // len(values) for k in range(lanes)]
            part = _picked(site, mask, owners)
        store(site, value, place, part)


def _in_turns(lanes: Iterable[int], count: int) -> list[int]:
    """The numbers of these lanes of two vectors with `count` lanes, one from each in turn."""
    return [number for lane in lanes for number in (lane, lane + count)]


def _picked(site: Site, mask: str, lanes: list[int]) -> str:
    """A mask that has in each lane what `mask` has in one of `lanes`."""
    if mask.startswith("<"):  # a constant, which LLVM would take long to find out
        known = mask[1:-1].split(", ")
        return "<" + ", ".join(known[lane] for lane in lanes) + ">"
    return site.emitter.shuffle(site.mask_type, lanes, mask)


def _in_pairs(site: Site) -> Site:
    return Site(site.emitter, site.dtype, 2 * site.lanes)


def _mask_of_pairs(site: Site, mask: str | None) -> str | None:
    return None if mask is None else _picked(site, mask, [k // 2 for k in range(2 * site.lanes)])


def stream(site: Site, value: str, pointer: str, alignment: int) -> None:
    """Write the lanes of `value` past the caches, to an address that is so aligned.

    A fence must follow before other threads may read.
    """
    kind = memory_type(site.dtype, site.lanes)
    stored = narrow(site, value)
    site.emitter.line(f"store {kind} {stored}, ptr {pointer}, align {alignment}, !nontemporal !{{i32 1}}")


def store(site: Site, value: str, pointer: str, mask: str | None = None) -> None:
    """Write the lanes of `value` to neighbouring elements."""
    kind, size = memory_type(site.dtype, site.lanes), site.dtype.size
    stored = narrow(site, value)
    if mask is None:
        site.emitter.line(f"store {kind} {stored}, ptr {pointer}, align {size}")
        return
    if mask == first_lanes(1, site.lanes):
        # LLVM 22 for x86 would write four bytes when the only lane of a masked store has two.
        single = site.value(f"extractelement {kind} {stored}, i64 0")
        site.emitter.line(f"store {memory_type(site.dtype)} {single}, ptr {pointer}, align {size}")
        return
    name = f"llvm.masked.store.{suffix(memory_type(site.dtype), site.lanes)}.p0"
    site.emitter.call(
        "void", name, (kind, stored), ("ptr", pointer), ("i32", str(size)), (site.mask_type, mask)
    )


def gather(site: Site, base: str, offsets: str, offset_type: str, mask: str | None = None) -> str:
    """The element at `base + offset` for every lane; `offsets` count elements."""
    kind = memory_type(site.dtype, site.lanes)
    name = f"llvm.masked.gather.{suffix(memory_type(site.dtype), site.lanes)}.{suffix('ptr', site.lanes)}"
    return widen(
        site,
        site.emitter.call(
            kind,
            name,
            (vector("ptr", site.lanes), _pointers(site, base, offsets, offset_type)),
            ("i32", str(site.dtype.size)),
            (site.mask_type, mask or "splat (i1 true)"),
            (kind, "zeroinitializer"),
        ),
    )


def scatter(
    site: Site, value: str, base: str, offsets: str, offset_type: str, mask: str | None = None
) -> None:
    """Write each lane to `base + offset`. Of lanes with equal offsets the last one wins."""
    kind = memory_type(site.dtype, site.lanes)
    name = f"llvm.masked.scatter.{suffix(memory_type(site.dtype), site.lanes)}.{suffix('ptr', site.lanes)}"
    site.emitter.call(
        "void",
        name,
        (kind, narrow(site, value)),
        (vector("ptr", site.lanes), _pointers(site, base, offsets, offset_type)),
        ("i32", str(site.dtype.size)),
        (site.mask_type, mask or "splat (i1 true)"),
    )


def _pointers(site: Site, base: str, offsets: str, offset_type: str) -> str:
    return site.value(f"getelementptr {memory_type(site.dtype)}, ptr {base}, {offset_type} {offsets}")


class PastCaches:
    """The stores of a kernel that may go past the caches, in loops limited by memory.

    Such a store saves reading the cache line first. Loops that compute much are better off with the caches,
    which write more evenly: past the caches, two results some whole pages apart took three times as long.

    A result must be large. An open one is so in some runs, for which there is code of its own.
    """

    def __init__(self, buffers: dict[str, Buffer], large: dict[str, AnySize], addresses: Addresses) -> None:
        self._buffers, self._large, self._addresses = buffers, large, addresses
        self._lane_index: Index | None = None  # of a loop that waits for memory
        self._is_large = False  # in code for runs in which open results are large
        self.used = False

    def enter(self, loop: Loop) -> None:
        """Begin a SIMD loop."""
        self._lane_index = loop.index if waits_for_memory(loop.body) else None

    def leave(self) -> None:
        """End the loop."""
        self._lane_index = None

    def cases(
        self, body: tuple[Stmt, ...], lanes: int, test: Callable[[Size, bool], str]
    ) -> Iterator[str | None]:
        """The cases for which whole vectors of `body` are written: None alone if there is but one.

        `test` gives the condition that so many bytes are large, or are not.
        """
        stores = [s for s in statements(body) if isinstance(s, Store) and self._fits(s, lanes)]
        sizes = [size for s in stores if isinstance(size := self._large[s.buffer], Size)]
        if not sizes:
            yield None
            return
        for self._is_large in (False, True):
            yield test(max(sizes, key=estimate), self._is_large)
        self._is_large = False

    def take(self, store: Store, lanes: int) -> bool:
        """Return True if a whole vector is to be stored so."""
        taken = self._fits(store, lanes) and (self._is_large or isinstance(self._large[store.buffer], int))
        self.used |= taken
        return taken

    def _fits(self, store: Store, lanes: int) -> bool:
        if self._lane_index is None or store.buffer not in self._large:
            return False
        size = self._buffers[store.buffer].dtype.size
        alignment = min(lanes * size, ALIGNMENT)
        unit = self._addresses.unit(store.buffer, store.at, self._lane_index)
        return alignment >= _LEAST_WIDTH and unit is not None and unit * size % alignment == 0


def large_results(kernel: Kernel, target: CpuTarget) -> dict[str, AnySize]:
    """Return the bytes of the results that may go past the caches: open ones for some thousand rows."""
    if not target.aligned:
        return {}
    loaded = {a.buffer for a in accesses(kernel.body) if isinstance(a, Load)}
    results = {name: b for name, b in kernel.arguments.items() if b.written and name not in loaded}
    found: dict[str, AnySize] = {name: b.size * b.dtype.size for name, b in results.items()}
    return {name: n for name, n in found.items() if estimate(n, _THOUSANDS) >= CPU.streamed_bytes}
