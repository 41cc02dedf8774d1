"""Code of the kernels of a step, and which of them share it.

Kernels that do the same, or nearly so, share code: it is generated, compiled and cached once. Results have
the same bits as with code for each. There are six ways, in the order in which they are tried:

    groups alike but for the values they read       one kernel                 lower/kernel_dedup.py
    groups alike but for numbers, or rows read      one kernel with parameters lower/kernel_dedup.py
    kernels that are equal, in any step             one code, from a cache     `emit` below
    loops alike but for sizes, three in a step      one kernel with open sizes share_kernels.py
    texts alike but for numbers, three in a step    one text with parameters   codegen/llvm/merge_functions.py
    products alike but for numbers, 16 in a step    one text with parameters   codegen/gemm/share_text.py

The last three look at several kernels of a step at once. So a launch waits in `KernelCodes` until the last
one with the same operations is in the program. The code of any other launch is written at once, and LLVM
compiles it while more groups are lowered.

Sizes decide different things. Most sizes of loops decide nothing, so they become symbols before the loops are
scheduled (`size_rules.py` says which). The sizes of a product decide its tiles, so each product is designed
for itself, and those whose designs have one form are written as one. Whatever else sizes decide, such as the
order of sums, texts that came out alike are compiled as one.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Protocol

from staticgraph.compiler.codegen import abi
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.fusion.group import Group, is_control, is_host
from staticgraph.compiler.graph.function import Node
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.size_contexts import Undecided, answering
from staticgraph.compiler.kernel.stmt import Kernel, structure
from staticgraph.compiler.lower.kernel_dedup import FEW, KernelTable
from staticgraph.compiler.lower.program import Launch, Loops
from staticgraph.compiler.stages import observation

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.gemm.choice import Choice
    from staticgraph.compiler.generate import Search
    from staticgraph.compiler.kernel.contraction import Contraction

_Operations = tuple[str, ...]
_PRODUCTS: _Operations = ("products",)
_MANY_PRODUCTS = 16  # LLVM may wait for so many: of fewer, the text of each is written at once
_emitted: OrderedDict[tuple[object, ...], abi.KernelCode] = OrderedDict()  # by processor and structure
EMITTED_LIMIT = 4096


class KernelCache(Protocol):
    """Code that was generated before, perhaps by another process, by the digest of what it was made from; and
    for a target that is `tuned`, how a product is done best.
    """

    def read(self, digest: str) -> abi.KernelCode | None: ...
    def write(self, digest: str, code: abi.KernelCode) -> None: ...
    def best(self, product: Contraction, target: CpuTarget) -> Choice: ...


class KernelCodes(KernelTable):
    """Kernels of a step and their code.

    Observers see all of the lowering before any code; without observers, code is generated for each launch.

    Args:
        target: The processor.
        written: Called with each function, as soon as it is there.
        kept: Code that was generated before; None if there is no cache.
        told: Called when kernel `number` of `total` begins, of those known so far.
        shares: If launches wait for others that have the same operations, to share code.
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
        self._awaited = Counter[_Operations]()  # groups whose launches are not in the program, or wait
        self._waiting: dict[_Operations, list[Launch]] = {}
        self._total = self._number = self._seen = 0
        self._at_once = observation() is None

    def expect(self, groups: Iterable[Group]) -> None:
        groups = list(groups)
        self._total += sum(not (is_host(group.root) or is_control(group.root)) for group in groups)
        if self._shares and len(groups) >= FEW:
            self._awaited.update(
                _operations(group.nodes) for group in groups if group.is_loops or group.in_pieces
            )
        super().expect(groups)

    def launched(self, launch: Launch) -> Launch:
        self._number += 1
        if self._at_once:
            self._told(self._number, max(self._number, self._total))
        operations = _operations(launch.nodes) if self._awaited else ()
        least = _MANY_PRODUCTS if operations == _PRODUCTS else FEW
        if self._awaited[operations] >= least and self._may_share(launch, operations):
            self._waiting.setdefault(operations, []).append(launch)
        else:
            self._awaited[operations] -= 1
            if self._at_once:
                self._codes[id(launch)] = launch, self._code(launch)
        waiting = self._waiting.get(operations, ())
        if waiting and self._at_once and len(waiting) >= self._awaited[operations]:
            self._finish(operations)
        return launch

    def code(self, launch: Launch) -> abi.KernelCode:
        """The code of a launch."""
        for operations in [*self._waiting]:
            self._finish(operations)
        if id(launch) in self._codes:
            return self._codes[id(launch)][1]
        if not self._at_once:
            self._seen += 1
            self._told(self._seen, self._number)
        return self._code(launch)

    def _may_share(self, launch: Launch, operations: _Operations) -> bool:
        """Return True if a launch may have the code of others with the same operations."""
        work = launch.work
        if operations == _PRODUCTS:
            return isinstance(work, Loops)
        if isinstance(work, Kernel):
            return True
        from staticgraph.compiler.generate import transposed_copy_of  # for steps of many kernels

        with answering(None):
            return transposed_copy_of(work) is None

    def _finish(self, operations: _Operations) -> None:
        """Generate the code of the launches that wait with the same operations."""
        launches = self._waiting.pop(operations)
        works = [*{id(each.work): each.work for each in launches}.values()]
        loops = [work for work in works if isinstance(work, Loops)]
        with answering(None):  # code is kept for other runs
            if operations == _PRODUCTS:
                codes = self._codes_of_products(loops)
            else:
                codes = self._codes_of_loops(loops)
                codes |= self._codes_of_texts([work for work in works if id(work) not in codes])
        for launch in launches:
            self._codes[id(launch)] = launch, self._code(launch, codes.get(id(launch.work)))

    def _codes_of_loops(self, works: list[Loops]) -> dict[int, abi.KernelCode]:
        """Generate the code that loops share, by the ids of the kernels."""
        from staticgraph.compiler.share_kernels import shared  # for steps of many kernels

        emitted = partial(emit, target=self._target, kept=self._kept)
        return {id(work): code for work, code in shared(works, self._target, emitted)}

    def _codes_of_texts(self, works: list[Loops | Kernel]) -> dict[int, abi.KernelCode]:
        """Generate the code of kernels that is not in a cache, with one function for those that are alike."""
        new = [work for work in works if not is_emitted(work, self._target, self._kept)]
        if len(new) < 2 or self._target.tuned:
            return {}
        from staticgraph.compiler.codegen.llvm.merge_functions import merged  # for steps of many kernels

        found: list[tuple[Loops | Kernel, abi.KernelCode]] = []
        for work in new:
            with suppress(Undecided):  # `_code` tells of it
                found.append((work, _generated(work, self._target, None, None)))
        codes = merged([code for _, code in found])
        pairs = zip(found, codes, strict=True)
        return {id(work): keep(work, self._target, self._kept, code) for (work, _), code in pairs}

    def _codes_of_products(self, works: list[Loops]) -> dict[int, abi.KernelCode]:
        """Generate the code of products that are not in a cache, by the ids of the kernels."""
        if self._target.tuned:
            return {}  # each has its own measured tiles
        from staticgraph.compiler.generate import product_of
        from staticgraph.compiler.share_kernels import shared_products  # for steps of many kernels

        codes: dict[int, abi.KernelCode] = {}
        new = [work for work in works if not is_emitted(work, self._target, self._kept)]
        found = [(work, product) for work in new if (product := product_of(work)) is not None]
        for work, code in shared_products(found, self._target):
            codes[id(work)] = keep(work, self._target, self._kept, code)
            for phase in code.phases:
                self._written(phase.code)
        return codes

    def _code(self, launch: Launch, made: abi.KernelCode | None = None) -> abi.KernelCode:
        try:
            with answering(None):  # code is kept for other runs
                made = made or emit(launch.work, self._target, self._kept, self._written)
        except Undecided as undecided:
            undecided.asked_by = undecided.asked_by or tuple((n.op.name, n.where) for n in launch.nodes)
            raise
        for phase in made.phases:
            self._written(phase.code)
        return made


def _operations(nodes: Iterable[Node]) -> _Operations:
    """Return the names of a kernel's operations, which decide the text of loops, or that it is a product."""
    names = []
    for node in nodes:
        if node.op.kind is Kind.CONTRACTION:
            return _PRODUCTS
        names.append(node.op.name)
    return tuple(names)


def emit(
    work: Loops | Kernel,
    target: CpuTarget,
    kept: KernelCache | None = None,
    begin: Callable[[Code], None] | None = None,
) -> abi.KernelCode:
    """The code of one kernel: a product where it is one, loops otherwise.

    `begin` is called with parts of code that is generated, before all of it is there.
    """
    key = (target, *structure_of(work))
    found = _emitted.get(key)
    if is_shown(key) or found is None:
        if kept is not None:
            found = _from(kept, work, target, begin)
        else:
            found = _generated(work, target, None, begin)
        _remember(key, found)
    return found


def is_emitted(work: Loops | Kernel, target: CpuTarget, kept: KernelCache | None) -> bool:
    """Return True if the code of a kernel need not be generated."""
    key = (target, *structure_of(work))
    if is_shown(key):
        return False
    return key in _emitted or (kept is not None and kept.read(_name(work, target)) is not None)


def keep(
    work: Loops | Kernel, target: CpuTarget, kept: KernelCache | None, code: abi.KernelCode
) -> abi.KernelCode:
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
    return _digest(target, structure_of(work))


@lru_cache(EMITTED_LIMIT)  # code is looked for under its name, and kept under it
def _digest(target: CpuTarget, structure: tuple[object, ...]) -> str:
    from staticgraph.compiler.kernel.digest import digest  # only with a cache on disk

    return digest(_text(target), structure)


def _from(
    kept: KernelCache, work: Loops | Kernel, target: CpuTarget, begin: Callable[[Code], None] | None
) -> abi.KernelCode:
    name = _name(work, target)
    found = kept.read(name) if observation() is None else None
    if found is None:
        found = _generated(work, target, kept.best if target.tuned else None, begin)
        kept.write(name, found)
    return found


def structure_of(work: Loops | Kernel) -> tuple[object, ...]:
    """Return the content of a kernel as a hashable value, equal for kernels of equal content."""
    if isinstance(work, Loops):
        nests = [(nest.domain, *map(structure, nest.stores)) for nest in (*work.nests, *work.sums)]
        return (work.rows, len(work.sums), work.buffers, *nests)
    return (tuple(work.buffers.items()), *map(structure, work.body))


def _generated(
    work: Loops | Kernel, target: CpuTarget, search: Search | None, begin: Callable[[Code], None] | None
) -> abi.KernelCode:
    # Where all code is kept from before, what writes code is not needed.
    from staticgraph.compiler.generate import generate

    return generate(work, target, search, begin)
