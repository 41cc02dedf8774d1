"""Kernels to LLVM: loops over scalar expressions become a function in SSA form with explicit vectors.

A SIMD loop runs in vector lanes: whole vectors first, then one more with the lanes beyond the end masked off.
A local that it reduces into has a partial result per lane; they are combined behind the loop. Everything else
in a SIMD loop works lane by lane: what a serial loop inside it updates is a vector, a condition is a mask.

A loop of an open extent may have no iteration. It is guarded, and nothing leaves the guard.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from staticgraph.compiler.codegen.abi import SCRATCH_PARAMETERS, KernelCode, Phase
from staticgraph.compiler.codegen.llvm import memory
from staticgraph.compiler.codegen.llvm.address import Addresses
from staticgraph.compiler.codegen.llvm.expr import ExprPrinter, LlvmValue
from staticgraph.compiler.codegen.llvm.lanes import (
    choose_lanes,
    horizontal,
    is_single,
    is_written_out,
    reductions,
)
from staticgraph.compiler.codegen.llvm.scalar import apply
from staticgraph.compiler.codegen.llvm.text import Code, Emitter, Site, register_type, vector
from staticgraph.compiler.codegen.llvm.trip_counts import TripCounts
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.sizes import AnySize, Size
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Local, identity
from staticgraph.compiler.kernel.lower_expressions import approximate
from staticgraph.compiler.kernel.stmt import (
    ALIGNMENT,
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    PhaseCall,
    Share,
    Span,
    Stmt,
    Store,
    Update,
    While,
    rewrite,
    statements,
    updates_of_outer,
)

_PARAMETER = re.compile(r"%([bs]\d+)\b")
_MANY = 30  # statements of a function that may be long
Begin = Callable[[Code], None]
Call = Callable[[tuple[Stmt, ...], "_KernelEmitter"], bool]


def emit(kernel: Kernel, target: CpuTarget, contract: bool = True) -> KernelCode:
    """The code of a kernel. `contract`: a product and a sum may be computed in one step."""
    return emit_phases([kernel], target, contract)


def emit_phases(
    kernels: Sequence[Kernel],
    target: CpuTarget,
    contract: bool = True,
    cost: float = 0.0,
    time: AnySize = 0,
    calls: Sequence[PhaseCall] | None = None,
    begin: Begin | None = None,
) -> KernelCode:
    """The code of a kernel in phases, which are kernels with the same buffers.

    Each is called once per iteration of the parallel loop around it, or once, in the order of `kernels` or as
    `calls` says. `cost`, `time`: see `KernelCode`. `begin` is called with each part of a long function.
    """
    sizes: dict[Size, str] = {}
    writers = [_of_phase(kernel, target, contract, sizes, begin) for kernel in kernels]
    for writer in writers:
        writer.write()
    if calls is None:
        calls = [PhaseCall(n, 0, kernel.chunks) for n, kernel in enumerate(kernels)]
    # What a short phase costs is to pass operands, again and again if it is repeated.
    repeats = len(calls) > len(kernels)
    made: list[tuple[Code, tuple[int, ...] | None]] = []
    for writer in writers:
        takes = writer.taken() if repeats else None
        made.append((writer.code(SCRATCH_PARAMETERS, takes), takes))
    phases: list[Phase] = []
    for call in calls:
        code, takes = made[call.phase]
        phases.append(Phase(code, call.chunks, None, call.first, (), takes))
    shared, private = (memory.scratch(kernels[0], is_shared)[1] for is_shared in (True, False))
    return KernelCode(tuple(phases), shared, private, cost, time, tuple(sizes))


def _of_phase(
    kernel: Kernel, target: CpuTarget, contract: bool, sizes: dict[Size, str], begin: Begin | None
) -> _KernelEmitter:
    body = rewrite(kernel.body, partial(approximate, fast_math=target.fast_math, numbers=target.table))
    stmts = statements(body)
    # Only in a serial kernel may arguments overlap, and then a store to one buffer may change any.
    serial = not any(isinstance(s, Loop) and s.kind is not LoopKind.SERIAL for s in stmts)
    large = memory.large_results(kernel, target)
    made = partial(_KernelEmitter, target=target, contract=contract, serial=serial, large=large)
    call = None
    if len(stmts) > _MANY and If in map(type, stmts):
        from staticgraph.compiler.codegen.llvm.parts import calls_of_parts  # few kernels are long

        call = calls_of_parts(kernel, body, made, begin)
    return made(Kernel(kernel.name, kernel.buffers, body), sizes, call=call)


class _KernelEmitter:
    """The function of a kernel whose body has approximations of functions.

    `sizes`: see `ExprPrinter`. `serial`: arguments may overlap. `large`: see `PastCaches`. `call`, given the
    body of an `If`, may write a call in its place, and then returns True.
    """

    def __init__(
        self,
        kernel: Kernel,
        sizes: dict[Size, str],
        target: CpuTarget,
        contract: bool,
        serial: bool,
        large: dict[str, AnySize],
        call: Call | None = None,
    ) -> None:
        self._kernel, self._target, self._sizes = kernel, target, sizes
        self._serial, self._call = serial, call
        self._emitter = Emitter(contract)
        self.printer = self._printer = ExprPrinter(self._emitter, 1, self._load, sizes)
        self._trips = TripCounts(self._printer)
        self.pointers = {name: f"%b{k}" for k, name in enumerate(kernel.arguments)}
        for block in ("shared", "private"):
            for name, start in memory.scratch(kernel, block == "shared")[0].items():
                self.pointers[name] = self._emitter.value(f"getelementptr i8, ptr %{block}, i64 {start}")
        self._addresses = Addresses(self._printer, kernel.buffers, self.pointers)
        self._lane_index: Index | None = None
        self.mask: memory.Mask | None = None
        given = Counter(s.local for s in statements(kernel.body) if isinstance(s, (Let, Update)))
        self._changing = {local for local, times in given.items() if times > 1}
        self._stored_at: dict[Hashable, int] = {}  # the level of the innermost loop that stores to a buffer
        self._past_caches = memory.PastCaches(kernel.buffers, large, self._addresses)

    def write(self) -> None:
        """Write the statements."""
        body = self._kernel.body
        match body:
            case (Loop(index, inner, LoopKind.PARALLEL),):
                self._printer.bind(index, LlvmValue("%chunk", 1, self._emitter.level))
                body = inner
        with self.inside(body):
            self._statements(body)
        if self._past_caches.used:
            self._emitter.line("fence seq_cst")

    def taken(self) -> tuple[int, ...]:
        """The numbers of the buffers and sizes that the statements need."""
        used = set(_PARAMETER.findall("\n".join(self._emitter.lines)))
        names = [f"b{k}" for k in range(len(self._kernel.arguments))]
        names += [name.removeprefix("%") for name in self._sizes.values()]
        return tuple([k for k, name in enumerate(names) if name in used])

    def code(self, more: Sequence[str], takes: Sequence[int] | None = None) -> Code:
        """The function, with `more` parameters: when all sizes that it needs are known.

        `takes`: the numbers of the buffers and sizes that it takes; None: all.
        """
        noalias = "" if self._serial else "noalias "
        parameters = [f"ptr {noalias}%b{k}" for k in range(len(self._kernel.arguments))]
        parameters += [f"i64 {name}" for name in self._sizes.values()]
        if takes is not None:
            parameters = [parameters[k] for k in takes]
        return self._emitter.finish([*parameters, *more])

    # Statements.

    def _statements(self, body: Iterable[Stmt]) -> None:
        stmts, written = tuple(body), 0
        for k, stmt in enumerate(stmts):
            match stmt:
                case _ if k < written:
                    pass
                case Store() if count := self._store_together(stmts[k:]):
                    written = k + count
                case Let(local, value):
                    self._define(local, value)
                case Update():
                    self._update(stmt)
                case Store():
                    self._store(stmt)
                case Loop(kind=LoopKind.SIMD) if self._lane_index is None and not is_single(stmt):
                    self._simd(stmt)
                case Loop():
                    self._loop(stmt)
                case If(condition, inner):
                    self._if(condition, inner)
                case While(condition, inner):
                    self._while(condition, inner)

    def _define(self, local: Local, expr: Expr) -> None:
        value = self._printer.value(expr)
        if local in self._changing:
            self.assign(local, self._printer.spread(value, local.dtype))
        else:  # it stays what it is, whatever becomes of what it was computed from
            known = self._printer.find(local)
            if known is not None and known.text != value.text:  # the next iteration of an unrolled loop
                self._printer.forget([local])
            self._printer.bind(local, value._replace(reads=frozenset((local,))))

    def assign(self, local: Local, text: str) -> None:
        """A changing local is a vector inside a SIMD loop: its lanes may part later."""
        self._printer.forget([local])
        value = LlvmValue(text, self._printer.lanes, self._emitter.level, frozenset((local,)))
        self._printer.bind(local, value)

    def _update(self, stmt: Update) -> None:
        printer, local = self._printer, stmt.local
        text = printer.vector(stmt.value)
        if self.mask is not None:
            site = Site(self._emitter, local.dtype, printer.lanes)
            text = site.select(self.mask.text, text, printer.vector(local))
        self.assign(local, text)

    def _loop(self, loop: Loop) -> None:
        index, body = loop.index, loop.body
        if is_written_out(loop):
            for k in range(operator.index(index.extent)):
                with self._emitter.section(), self.inside(body):
                    self._printer.bind(index, LlvmValue(str(k), 1, self._emitter.level))
                    self._statements(body)
                    # The scope is only one of names: the locals that it leaves behind stay valid.
                    final = [(local, self._printer.vector(local)) for local in self._carried(body)]
                for local, text in final:
                    self.assign(local, text)
            return
        first, after = self._trips.bounds(loop, self._trips.extent(index.extent))
        self._nonempty(loop, first, after, lambda: self._iterations(loop, first, after))

    def _iterations(self, loop: Loop, first: str, after: str) -> None:
        """The iterations of a serial loop from `first` to the one before `after`, of which there are some."""
        index, body = loop.index, loop.body
        carried = self._carried(body)
        self._printer.forget(self._stores(body))
        exact = isinstance(index.extent, Size)
        # Loops over a part of an axis, in lanes too, go along rows of strips or planes: no form of their
        # addresses is better than the one written, and to find that out is up to two fifths of LLVM's time.
        opaque, start = isinstance(loop.share, Span), self._initial(carried)
        with self._emitter.loop(first, after, 1, start, exact, opaque) as values, self.inside(body):
            self._printer.bind(index, LlvmValue(values.index, 1, self._emitter.level))
            self.assign_all(carried, values.carried)
            self._statements(body)
            values.next = [self._printer.vector(local) for local in carried]
        self.assign_all(carried, values.next)

    def _nonempty(self, loop: Loop, first: str, after: str, write: Callable[[], None]) -> None:
        """The code that `write` writes, guarded if the extent of `loop` is open, or if it has a span."""
        if isinstance(loop.index.extent, Size) or isinstance(loop.share, Span):
            self.guarded(self._trips.some(first, after), loop.body, write)
        else:
            write()

    def _if(self, condition: Expr, body: tuple[Stmt, ...]) -> None:
        test = self._printer.value(condition)
        if test.lanes > 1:
            with self._masked(test.text, body):
                self._statements(body)
        else:
            self.guarded(test.text, body, lambda: self._inside_if(body))

    def _inside_if(self, body: tuple[Stmt, ...]) -> None:
        if self._call is not None and self._lane_index is None and self._call(body, self):
            self._printer.forget(self._stores(body))
        else:
            self._statements(body)

    def guarded(self, test: str, body: tuple[Stmt, ...], write: Callable[[], object]) -> None:
        """Write code that runs only if `test` holds: the code that `write` generates for `body`."""
        emitter = self._emitter
        carried = self._carried(body)
        before = [self._printer.vector(local) for local in carried]
        then, done = emitter.label(), emitter.label()
        with emitter.scope(guarded=True), self.inside(body):
            emitter.branch_if(test, then, done)  # here, as hoisted code goes before this scope
            emitter.start(then)
            write()
            after = [self._printer.vector(local) for local in carried]
            origin, end = emitter.scopes[-2].block, emitter.block
            emitter.branch(done)
            emitter.start(done)
        merged = []
        for local, old, new in zip(carried, before, after, strict=True):
            kind = register_type(local.dtype, self._printer.lanes)
            merged.append(emitter.value(f"phi {kind} [ {old}, %{origin} ], [ {new}, %{end} ]"))
        self.assign_all(carried, merged)

    def _while(self, condition: Expr, body: tuple[Stmt, ...]) -> None:
        carried = self._carried(body)
        self._printer.forget(self._stores(body))
        outer = self.mask
        with ExitStack() as stack:

            def test(values: list[str]) -> str:
                stack.enter_context(self.inside(body))
                self.assign_all(carried, values)
                value = self._printer.value(condition)
                if value.lanes == 1:
                    return value.text
                self.mask = self._narrowed(value.text)
                mask_type = vector("i1", value.lanes)
                return self._emitter.call(
                    "i1", f"llvm.vector.reduce.or.v{value.lanes}i1", (mask_type, self.mask.text)
                )

            def inside(values: list[str]) -> list[str]:
                self._statements(body)
                return [self._printer.vector(local) for local in carried]

            final = self._emitter.while_loop(self._initial(carried), test, inside)
        self.mask = outer
        self.assign_all(carried, final)

    # What changes in a body.

    def _carried(self, body: tuple[Stmt, ...]) -> list[Local]:
        """The locals from outside that `body` updates."""
        return list(dict.fromkeys(s.local for s in updates_of_outer(body)))

    def _initial(self, carried: list[Local]) -> list[tuple[str, str]]:
        lanes = self._printer.lanes
        return [(register_type(local.dtype, lanes), self._printer.vector(local)) for local in carried]

    def _key(self, buffer: str) -> Hashable:
        """Return the key of the values that a store to `buffer` changes: in a serial kernel, of any."""
        return "any buffer" if self._serial else ("buffer", buffer)

    def _stores(self, body: tuple[Stmt, ...]) -> set[Hashable]:
        return set(map(self._key, {s.buffer for s in statements(body) if isinstance(s, Store)}))

    @contextmanager
    def inside(self, body: tuple[Stmt, ...]) -> Iterator[None]:
        """The innermost scope holds `body`: what `body` stores is loaded nowhere further out."""
        level, stores = self._emitter.level, self._stores(body)
        self._stored_at.update(dict.fromkeys(stores, level))
        yield
        self._printer.close(level)
        self._stored_at.update(dict.fromkeys(stores, level - 1))

    def assign_all(self, carried: list[Local], texts: list[str]) -> None:
        for local, text in zip(carried, texts, strict=True):
            self.assign(local, text)

    # Vector lanes.

    def _simd(self, loop: Loop) -> None:
        printer, emitter, index, body = self._printer, self._emitter, loop.index, loop.body
        one, registers = choose_lanes(loop, self._kernel.buffers, self._target)
        lanes = one * registers
        if isinstance(loop.share, Share):
            lanes = math.gcd(lanes, loop.share.unit)  # so that shares begin and end with whole vectors
        extent = index.extent
        whole, rest = (extent // lanes * lanes, extent % lanes) if isinstance(extent, int) else (0, 0)
        vectors, bounds = self._trips.vectors(loop, lanes, one)
        reduced = reductions(body)
        before = [printer.vector(local) for local in reduced]
        self._lane_index, printer.lanes = index, lanes
        self._past_caches.enter(loop)
        for local, combine in reduced.items():
            self.assign(local, Site(emitter, local.dtype, lanes).const(identity(combine, local.dtype).value))
        carried = list(reduced)
        printer.forget(self._stores(body))
        if vectors is not None:
            from staticgraph.compiler.codegen.llvm.trip_counts import open_vectors  # not for known sizes

            open_vectors(self, self._trips, loop, vectors, max(1, lanes // one), bounds, reduced)
            lanes = printer.lanes
        elif whole > lanes:
            self.vectors(body, carried, *bounds)
        elif whole:
            with emitter.section(), self.inside(body):
                final = self.lanes(body, carried, "0")
            self.assign_all(carried, final)
        if rest and vectors is None:
            self.mask = memory.Mask(memory.first_lanes(rest, lanes), guards=False)
            if loop.share is not None:
                last = emitter.value(f"icmp eq i64 {bounds[1]}, {whole}")
                self.guarded(last, body, lambda: self.lanes(body, carried, str(whole)))
            else:
                with emitter.section(), self.inside(body):
                    final = self.lanes(body, carried, str(whole))
                self.assign_all(carried, final)
            self.mask = None
        partial = [printer.vector(local) for local in reduced]
        self._lane_index, printer.lanes = None, 1
        printer.unbind_lanes()
        self._past_caches.leave()
        for (local, combine), start, text in zip(reduced.items(), before, partial, strict=True):
            total = horizontal(Site(emitter, local.dtype, lanes), combine, text)
            self.assign(local, apply(Site(emitter, local.dtype, 1), combine, start, total))

    def vectors(
        self, body: tuple[Stmt, ...], carried: list[Local], first: str, after: str, opaque: bool = False
    ) -> None:
        """The iterations from `first` on, before `after`, in whole vectors, of which there are some."""
        lanes, index = self._printer.lanes, self._lane_index
        exact = index is not None and isinstance(index.extent, Size)

        def write() -> None:
            start = self._initial(carried)
            with self._emitter.loop(first, after, lanes, start, exact, opaque) as values, self.inside(body):
                self.assign_all(carried, values.carried)
                values.next = self.lanes(body, carried, values.index)
            self.assign_all(carried, values.next)

        for test in self._past_caches.cases(body, lanes, self._trips.is_large):
            if test:
                self.guarded(test, body, write)
            else:
                write()

    def lanes(self, body: tuple[Stmt, ...], carried: list[Local], first: str) -> list[str]:
        """`body` for a vector of iterations that begins with number `first`."""
        assert self._lane_index is not None, "there are no lanes outside of a loop over them"
        self._printer.bind_lanes(self._lane_index, LlvmValue(first, 1, self._emitter.level))
        self._statements(body)
        return [self._printer.vector(local) for local in carried]

    def _narrowed(self, condition: str) -> memory.Mask:
        return memory.narrowed(Site(self._emitter, bool_, self._printer.lanes), self.mask, condition)

    @contextmanager
    def _masked(self, condition: str, body: tuple[Stmt, ...]) -> Iterator[None]:
        """Only the lanes where `condition` holds, in a scope of their own: others do not have their loads."""
        outer, carried = self.mask, self._carried(body)
        self.mask = self._narrowed(condition)
        with self._emitter.section(), self.inside(body):
            yield
            final = [self._printer.vector(local) for local in carried]
        self.mask = outer
        self.assign_all(carried, final)

    # Memory.

    def _load(self, printer: ExprPrinter, node: Load) -> LlvmValue:
        key = self._key(node.buffer)
        address = self._addresses.address(node.buffer, node.at, self._lane_index)
        return memory.load_at(printer, address, node.dtype, self.mask, key, self._stored_at.get(key))

    def _store_together(self, stmts: Sequence[Stmt]) -> int:
        """Write the first stores, if they fill the memory from each lane to the next; return their number."""
        printer, stores = self._printer, self._addresses.together(stmts, self._lane_index)
        if stores:
            buffer = stores[0].buffer
            address = self._addresses.address(buffer, stores[0].at, self._lane_index)
            site = Site(self._emitter, self._kernel.buffers[buffer].dtype, printer.lanes)
            values = [printer.vector(stmt.value) for stmt in stores]
            memory.store_together(site, values, address.base.text, self.mask.text if self.mask else None)
            printer.forget([self._key(buffer)])
        return len(stores)

    def _store(self, stmt: Store) -> None:
        printer, mask = self._printer, self.mask.text if self.mask else None
        site = Site(self._emitter, self._kernel.buffers[stmt.buffer].dtype, printer.lanes)
        text = printer.vector(stmt.value)
        address = self._addresses.address(stmt.buffer, stmt.at, self._lane_index)
        if mask is None and self._past_caches.take(stmt, printer.lanes):
            memory.stream(site, text, address.base.text, min(printer.lanes * site.dtype.size, ALIGNMENT))
        else:
            memory.store_at(printer, address, site, text, mask)
        printer.forget([self._key(stmt.buffer)])
