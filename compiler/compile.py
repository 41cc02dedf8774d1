"""The compiler on one screen: from the step of a graph to the text of its kernels."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen import abi
from staticgraph.compiler.codegen.llvm.clock import Clock, clock_of
from staticgraph.compiler.codegen.llvm.step_function import OpenNumbers
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.compiled_step import CompiledStep, Walked
from staticgraph.compiler.emit_step import TimeTable, Written, walk, write
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.fusion.group import Fusion, Group, is_control, is_host
from staticgraph.compiler.graph.function import Function, Node
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.open_sizes.undecided import Undecided, answering
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel.stmt import Kernel, structure
from staticgraph.compiler.lower.kernel_dedup import FEW, KernelTable
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.memory_use import ADDRESSABLE, MemoryUse, does_not_fit, memory_use
from staticgraph.compiler.lower.program import (
    Launch,
    Loops,
    Program,
)
from staticgraph.compiler.passes.pipeline import PIPELINE, pipeline
from staticgraph.compiler.rewrite.rule import Trace
from staticgraph.compiler.stages import Observer, observation, observing, report
from staticgraph.compiler.support.dataclass import dataclass, replace
from staticgraph.compiler.support.gc_pause import collector_paused

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.gemm.choice import Choice
    from staticgraph.compiler.generate import Search
    from staticgraph.compiler.kernel.contraction import Contraction


@dataclass(frozen=True, slots=True)
class Compiled(CompiledStep):
    """A program with its code: `kernels[i]` is the code of the i-th launch, `segments` say what runs when."""

    written: Written

    def walk(self) -> Iterator[Walked]:
        return walk(self.program, self.written)

    @property
    def kernels(self) -> tuple[abi.KernelCode, ...]:
        return self.written.kernels

    @property
    def segments(self) -> tuple[abi.Segment, ...]:
        return self.written.segments

    @property
    def entry(self) -> Code:
        """The function of the whole step."""
        return self.written.entry

    @property
    def codes(self) -> list[Code]:
        """Every function of the step, each once."""
        return self.written.codes

    @property
    def sizes(self) -> tuple[AnySize, ...]:
        """The open sizes that the code asks for, in order; 0 in place of those that it computes itself."""
        computed = self.written.computed
        return tuple([0 if size in computed else size for size in self.written.sizes])

    def at(self, values: Mapping[str, int]) -> Compiled:
        """The same for values of the open sizes: with the same code."""
        return replace(self, step=self.step.at(values), program=self.program.at(values))

    def closed(self, values: Mapping[str, int]) -> Compiled:
        """The same with all sizes known, also in the loops of kernels: to be looked at."""
        from staticgraph.compiler.lower.closed import closed_program

        program, written = closed_program(self.program, values), self.written.at(values)
        return replace(self.at(values), program=program, written=written)

    @property
    def shared(self) -> int:
        """Bytes of scratch memory that all threads share."""
        return self.written.shared

    @property
    def private(self) -> int:
        """Bytes of scratch memory that each thread needs."""
        return self.written.private

    @property
    def memory(self) -> MemoryUse:
        """Memory use of the step, by kind. Printed, it is a table."""
        return memory_use(self.program, len(self.step.feeds), self.shared + self.private)

    @property
    def cost(self) -> float:
        """The estimated time of a run on one core, in nanoseconds."""
        return self.written.cost

    @property
    def regions(self) -> tuple[AnySize, ...]:
        """The estimated time of each part that several threads may share, in nanoseconds."""
        return self.written.regions


class KernelCache(Protocol):
    """Code that was generated before, perhaps by another process, by the digest of what it was made from; and
    for a target that is `tuned`, how a product is done best.
    """

    def read(self, digest: str) -> abi.KernelCode | None: ...
    def write(self, digest: str, code: abi.KernelCode) -> None: ...
    def best(self, product: Contraction, target: CpuTarget) -> Choice: ...


def optimize(
    function: Function,
    observers: Sequence[Observer] = (),
    without: Container[str] = (),
    trace: Trace | None = None,
) -> Fusion:
    """The Function after all passes, but for those in `without`, partitioned into kernels."""
    with observing(*observers):
        passes = PIPELINE if not without and trace is None else pipeline(without, trace)
        return fuse(passes(function), without)


def compile(
    step: Step,
    target: CpuTarget,
    observers: Sequence[Observer] = (),
    written: Callable[[Code], None] = lambda code: None,
    memory_limit: int | None = None,
    kept: KernelCache | None = None,
    may_interpret: bool = True,
    without: Container[str] = (),
    trace: Trace | None = None,
    told: Callable[[int, int], None] = lambda number, total: None,
) -> Compiled:
    """The program and code of `step` for a processor. `written` gets each function at once.

    What is in `kept` is not generated again. If the step would need more than `memory_limit` bytes, values
    are computed again rather than stored. ResourceExhaustedError if that is not enough. With open sizes it is
    not known yet what the step needs. `may_interpret`: a
    step that only sets variables may be left to NumPy, which is sooner done. `without`: names of passes that
    are left out. `trace` is told of each rule that is applied, `told` that kernel `number` of `total` begins.
    """
    with collector_paused(), observing(*observers):
        kernels = _KernelCode(target, written, kept, told, shares="size_classes" not in without)
        coded = partial(_coded, step, target=target, kernels=kernels)
        if may_interpret and step.only_sets:
            from staticgraph.compiler.lower.interpret_initializers import by_meaning, runs_once

            if runs_once(step):
                program = by_meaning(step.function, step.checked)
                report("interpret_initializers", step.function, program)
                return coded(Fusion(step.function, ()), program)
        fusion = optimize(step.function, (), without, trace)
        fused = partial(fuse, without=without)
        lowered = partial(
            lower,
            fusion,
            step.fetches,
            step.updates,
            fuse=fused,
            kernels=kernels,
            checked=step.checked,
        )
        made = coded(fusion, lowered())
        if memory_limit is None:
            return made
        peak = made.memory.peak
        if isinstance(peak, int) and (over := peak - memory_limit) > 0:
            program = lowered(max(made.program.arena - over, 0))
            made = coded(fusion, program)
            if made.memory.peak > memory_limit:
                raise does_not_fit(made.memory, memory_limit)
        return made


def timed(compiled: Compiled, clock: Clock) -> tuple[Written, TimeTable]:
    """The code of a compiled step once more, so that it takes the time, and what the entries of its table of
    times are for. The kernels are the same.
    """
    codes = {id(instruction): code for instruction, code, _ in walk(compiled.program, compiled.written)}

    def code_of(launch: Launch) -> abi.KernelCode:
        found = codes[id(launch)]
        assert found is not None, launch
        return found

    times = TimeTable(clock)
    places = {size: n for n, size in enumerate(compiled.written.sizes)}
    numbers = OpenNumbers(compiled.program.numbers_slot, places)
    program, looks = compiled.program, clock
    return write(program, code_of, times=times, whole=0, looks=looks, numbers=numbers), times


_PRODUCTS = ("products",)
_MANY_PRODUCTS = 16  # LLVM may wait for so many: of fewer, the text of each is written at once


class _KernelCode(KernelTable):
    """Kernels of a step and their code, which is written as soon as a launch is in the program: it is then
    compiled while others are lowered. Observers see all of the lowering first.

    `written` gets each function, `told` that kernel `number` of `total` begins, of those known so far. If it
    `shares` code, launches wait for others that may differ in sizes alone.
    """

    def __init__(
        self,
        target: CpuTarget,
        written: Callable[[Code], None],
        kept: KernelCache | None,
        told: Callable[[int, int], None],
        shares: bool = True,
    ) -> None:
        super().__init__(parameters=True)
        self._shares = shares
        self._target, self._written, self._kept, self._told = target, written, kept, told
        self._codes: dict[int, tuple[Launch, abi.KernelCode]] = {}  # by the id of the launch
        self._alike = Counter[tuple[str, ...]]()  # the groups that are expected, by their operations
        self._waiting: dict[tuple[str, ...], list[Launch]] = {}  # for those that may be like them
        self._varies: dict[int, tuple[Loops, bool]] = {}  # by the id of the work
        self._total = self._number = self._seen = 0
        self._at_once = observation() is None

    def expect(self, groups: Iterable[Group]) -> None:
        groups = list(groups)
        self._total += sum(not (is_host(group.root) or is_control(group.root)) for group in groups)
        if self._shares and len(groups) >= FEW:
            self._alike.update(_operations(group.nodes) for group in groups if group.is_loops)
        super().expect(groups)

    def launched(self, launch: Launch) -> Launch:
        self._number += 1
        if self._at_once:
            self._told(self._number, max(self._number, self._total))
        alike = _operations(launch.nodes) if self._alike else ()
        least = _MANY_PRODUCTS if alike == _PRODUCTS else FEW
        if self._alike[alike] >= least and self._may_share(launch, alike):
            self._waiting.setdefault(alike, []).append(launch)
        else:
            self._alike[alike] -= 1
            if self._at_once:
                self._codes[id(launch)] = launch, self._code(launch)
        if self._at_once and alike in self._waiting and len(self._waiting[alike]) >= self._alike[alike]:
            self._finish(alike)
        return launch

    def _may_share(self, launch: Launch, alike: tuple[str, ...]) -> bool:
        """Return True if a launch may have the code of others that are like it."""
        work = launch.work
        if not isinstance(work, Loops) or alike == _PRODUCTS:
            return isinstance(work, Loops)
        if id(work) not in self._varies:
            from staticgraph.compiler.size_rules import may_vary  # for steps of many kernels

            with answering(None):
                self._varies[id(work)] = work, may_vary(work, self._target.vector_bytes)
        return self._varies[id(work)][1]

    def _finish(self, alike: tuple[str, ...]) -> None:
        """Generate the code of launches with the same operations, as one where only sizes differ."""
        from staticgraph.compiler.generate import product_of
        from staticgraph.compiler.share_kernels import shared, shared_products  # for steps of many kernels

        launches = self._waiting.pop(alike)
        works = {id(each.work): each.work for each in launches if isinstance(each.work, Loops)}
        emitted = partial(emit, target=self._target, kept=self._kept)
        codes: dict[int, abi.KernelCode] = {}
        with answering(None):
            if alike != _PRODUCTS:
                codes |= ((id(work), code) for work, code in shared([*works.values()], self._target, emitted))
            elif not self._target.tuned:
                new = [work for work in works.values() if not is_emitted(work, self._target, self._kept)]
                found = [(work, product) for work in new if (product := product_of(work)) is not None]
                for work, code in shared_products(found, self._target):
                    codes[id(work)] = keep(work, self._target, self._kept, code)
                    for phase in code.phases:
                        self._written(phase.code)
        for launch in launches:
            self._codes[id(launch)] = launch, self._code(launch, codes.get(id(launch.work)))

    def code(self, launch: Launch) -> abi.KernelCode:
        """The code of a launch."""
        for alike in [*self._waiting]:
            self._finish(alike)
        if id(launch) in self._codes:
            return self._codes[id(launch)][1]
        if not self._at_once:
            self._seen += 1
            self._told(self._seen, self._number)
        return self._code(launch)

    def _code(self, launch: Launch, made: abi.KernelCode | None = None) -> abi.KernelCode:
        try:
            with answering(None):  # code is kept for other runs
                made = emit(launch.work, self._target, self._kept) if made is None else made
        except Undecided as undecided:
            undecided.asked_by = undecided.asked_by or tuple((n.op.name, n.where) for n in launch.nodes)
            raise
        for phase in made.phases:
            self._written(phase.code)
        return made


def _operations(nodes: Iterable[Node]) -> tuple[str, ...]:
    """The operations of a kernel: kernels with other ones have other code, but for products."""
    names = []
    for node in nodes:
        if node.op.kind is Kind.CONTRACTION:
            return _PRODUCTS
        names.append(node.op.name)
    return tuple(names)


def _coded(step: Step, fusion: Fusion, program: Program, target: CpuTarget, kernels: _KernelCode) -> Compiled:
    step = replace(step, function=fusion.function)
    if not program.opens and (use := memory_use(program, len(step.feeds), scratch=0)).peak > ADDRESSABLE:
        raise does_not_fit(use)
    made = write(program, kernels.code, looks=clock_of(target.triple))
    report("emit_step", program, made)
    return Compiled(step, fusion, replace(program, watched=made.watched), made)


# By structure, so that the layers of a deep model are generated once.
_emitted: OrderedDict[tuple[object, ...], abi.KernelCode] = OrderedDict()
EMITTED_LIMIT = 4096


def emit(work: Loops | Kernel, target: CpuTarget, kept: KernelCache | None = None) -> abi.KernelCode:
    """The code of one kernel: a product where it is one, loops otherwise."""
    key = (target, *structure_of(work))
    found = _emitted.get(key)
    if is_shown(key) or found is None:
        found = _from(kept, work, target) if kept is not None else _generated(work, target)
        _remember(key, found)
    return found


def is_emitted(work: Loops, target: CpuTarget, kept: KernelCache | None) -> bool:
    """Return True if the code of a kernel need not be generated."""
    key = (target, *structure_of(work))
    if is_shown(key):
        return False
    return key in _emitted or (kept is not None and kept.read(_name(work, target)) is not None)


def keep(work: Loops, target: CpuTarget, kept: KernelCache | None, code: abi.KernelCode) -> abi.KernelCode:
    """Let `emit` find the code of a kernel. Return it."""
    _remember((target, *structure_of(work)), code)
    if kept is not None:
        kept.write(_name(work, target), code)
    return code


def _remember(key: tuple[object, ...], code: abi.KernelCode) -> None:
    _emitted[key] = code
    if len(_emitted) > EMITTED_LIMIT:
        _emitted.popitem(last=False)


def is_shown(kernel: tuple[object, ...]) -> bool:
    """Return True if observers have yet to see how a kernel is made, though its code is there."""
    watching = observation()
    return watching is not None and watching.first(kernel)


_text = cache(repr)  # of a processor, for each kernel


def _name(work: Loops | Kernel, target: CpuTarget) -> str:
    """The name of a kernel's code among what is kept."""
    from staticgraph.compiler.kernel.digest import digest  # only with a cache on disk

    return digest(_text(target), structure_of(work))


def _from(kept: KernelCache, work: Loops | Kernel, target: CpuTarget) -> abi.KernelCode:
    name = _name(work, target)
    found = kept.read(name) if observation() is None else None
    if found is None:
        found = _generated(work, target, kept.best if target.tuned else None)
        kept.write(name, found)
    return found


def structure_of(work: Loops | Kernel) -> tuple[object, ...]:
    """Return the content of a kernel as a hashable value, equal for kernels of equal content."""
    if isinstance(work, Loops):
        nests = [(nest.domain, *map(structure, nest.stores)) for nest in (*work.nests, *work.sums)]
        return (work.rows, len(work.sums), work.buffers, *nests)
    return (tuple(work.buffers.items()), *map(structure, work.body))


def _generated(work: Loops | Kernel, target: CpuTarget, search: Search | None = None) -> abi.KernelCode:
    # Where all code is kept from before, what writes code is not needed.
    from staticgraph.compiler.generate import generate

    return generate(work, target, search)
