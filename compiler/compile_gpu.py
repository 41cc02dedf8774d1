"""From the step of a graph to what a GPU runs: passes and plan of memory are those of a processor, the
code of each kernel is CUDA C.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace
from functools import partial

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall, KernelWork
from staticgraph.compiler.codegen.cuda.print import printed
from staticgraph.compiler.compile import CompiledStep, Walked, is_shown, structure_of
from staticgraph.compiler.fusion.attention import attention
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.fusion.group import Fusion, Group
from staticgraph.compiler.graph.function import Function as Graph
from staticgraph.compiler.graph.sizes import NOMINALS, is_open
from staticgraph.compiler.kernel.schedule_gpu.attention.attention import attention as in_one
from staticgraph.compiler.kernel.schedule_gpu.attention.form import keeps_to_rows
from staticgraph.compiler.kernel.schedule_gpu.function import GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.kernel.schedule_gpu.schedule import schedule, schedule_kernel
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.kernel.stmt import Kernel, padded
from staticgraph.compiler.lower.closed import closed_work
from staticgraph.compiler.lower.kernels import build_kernel
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.memory_use import MemoryUse, does_not_fit, memory_use
from staticgraph.compiler.lower.program import Instruction, Launch, Loops, Program, walk
from staticgraph.compiler.passes.long_routines import long_routines
from staticgraph.compiler.passes.pipeline import pipeline
from staticgraph.compiler.rewrite.engine import Trace
from staticgraph.compiler.stages import Observer, observing, report
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.gc_pause import collector_paused

_DEFAULT = GpuTarget()
# Bytes of scratch memory for launches that are done side by side, where they need as much.
SIDE_BY_SIDE = 8 << 20
# What pays on a processor only: a GPU has enough arithmetic, and would wait for the rounds of its loops.
LEFT_OUT = frozenset({"fewer_products"})


@dataclass(frozen=True)
class GpuCompiled(CompiledStep):
    """A program, and what a GPU does for each of its launches. Those that need scratch memory get some of
    their own as far as `room` goes.
    """

    works: dict[int, KernelWork] = field(repr=False)  # by the identity of the launch
    room: int = SIDE_BY_SIDE

    def work(self, launch: Launch) -> KernelWork:
        """Return the GPU work of a launch of the program, or of its loops and branches."""
        return self.works[id(launch)]

    def walk(self) -> Iterator[Walked]:
        for instruction, outer in walk(self.program):
            yield instruction, self.works.get(id(instruction)), outer

    @property
    def functions(self) -> list[CudaFunction]:
        """Every function of the step, each once."""
        calls = (call for work in self.works.values() for call in work.calls)
        return list(dict.fromkeys(call.function for call in calls if isinstance(call, FunctionCall)))

    @property
    def convolutions(self) -> list[Convolution]:
        """Convolutions requested from cuDNN, each once."""
        calls = (call for work in self.works.values() for call in work.calls)
        return list(dict.fromkeys(call for call in calls if isinstance(call, Convolution)))

    @property
    def multiplies(self) -> bool:
        """True if cuBLAS is asked for a product."""
        return any(isinstance(call, Product) for work in self.works.values() for call in work.calls)

    @property
    def scratch(self) -> int:
        """Bytes of scratch memory: at least what the launch with the most of it needs."""
        needs = [sum(padded(size) for _, size in work.scratch) for work in self.works.values()]
        return max(min(sum(needs), self.room), max(needs, default=0))

    @property
    def memory(self) -> MemoryUse:
        """Memory use of the step, by kind. Printed, it is a table."""
        return memory_use(self.program, len(self.step.feeds), self.scratch)


def compile_gpu(
    step: Step,
    observers: Sequence[Observer] = (),
    memory_limit: int | None = None,
    without: Collection[str] = (),
    trace: Trace | None = None,
    target: GpuTarget = _DEFAULT,
) -> GpuCompiled:
    """The program of `step` for a GPU. The other keywords are those of `compile`."""
    left_out = LEFT_OUT.union(without)
    with collector_paused(), observing(*observers):
        fusion = fused(pipeline(left_out, trace)(step.function), target, left_out)
        inner = partial(fused, target=target, without=left_out)
        lowered = partial(lower, fusion, step.fetches, step.updates, fuse=inner, checked=step.checked)
        made = coded(step, fusion, lowered(), target)
        if memory_limit is None or made.memory.peak <= memory_limit:
            return made
        if made.convolutions:  # which have workspaces that our own functions do without
            target = replace(target, refused=None)
            made = coded(step, fusion, made.program, target)
        made = replace(made, room=0)
        if (over := made.memory.peak - memory_limit) > 0:
            less = lowered(max(made.program.arena - over, 0))
            made = replace(coded(step, fusion, less, target), room=0)
            if made.memory.peak > memory_limit:
                raise does_not_fit(made.memory, memory_limit)
        return made


def fused(function: Graph, target: GpuTarget, without: Collection[str] = ()) -> Fusion:
    """The kernels that a Function becomes on a GPU, after all passes."""
    kept = long_routines(function)
    report("long_routines", function, kept)
    return with_attention(fuse(kept, without), target, without)


def with_attention(fusion: Fusion, target: GpuTarget, without: Collection[str] = ()) -> Fusion:
    """The same with attention as one group wherever a GPU has one function for it; unless `attention` is left
    out, or `join`, which makes one kernel of those that go through the same rows. What is open counts as it
    does in estimates.
    """
    known: dict[tuple[object, ...], bool] = {}  # by structure, as layers are alike

    def pays(group: Group) -> bool:
        stored, work = (build_kernel(g).work for g in (replace(group, local=set()), group))
        assert isinstance(stored, Loops) and isinstance(work, Loops)
        key = *structure_of(stored), *structure_of(work)
        if key not in known:
            if any(is_open(buffer.shape) for _, buffer in work.buffers):
                stored, work = (closed_work(each, NOMINALS) for each in (stored, work))
                assert isinstance(stored, Loops) and isinstance(work, Loops)
            buffers, machine = dict(work.buffers), target.machine
            found = in_one(work.nests, buffers, work.rows, work.sums, target.precision, machine)
            known[key] = found is not None and keeps_to_rows(stored.nests, stored.rows)
        return known[key]

    if "join" in without or "attention" in without:
        return fusion
    found = attention(fusion, pays)
    report("attention", fusion, found)
    return found


def coded(step: Step, fusion: Fusion, program: Program, target: GpuTarget) -> GpuCompiled:
    """A program that has been lowered, with what a GPU does for its launches."""
    launches = [i for i in every_instruction(program) if isinstance(i, Launch)]
    works = {id(launch): work_of(launch.work, target) for launch in launches}
    return GpuCompiled(replace(step, function=fusion.function), fusion, program, works)


def every_instruction(program: Program) -> Iterator[Instruction]:
    """Every instruction of a program, those of loops and branches after these."""
    return (instruction for instruction, _ in walk(program))


# By structure, so that the layers of a deep model are generated once.
_works: OrderedDict[tuple[object, ...], KernelWork] = OrderedDict()
WORKS_LIMIT = 4096


def work_of(work: Loops | Kernel, target: GpuTarget) -> KernelWork:
    """Return the GPU work of one kernel, cached by the structure of the kernel and the target."""
    key = target, *structure_of(work)
    found = _works.get(key)
    if is_shown(key) or found is None:
        made = scheduled(work, target)
        report("schedule_gpu", work, made)
        found = _works[key] = printed(made)
        report("print_cuda", made, found)
        if len(_works) > WORKS_LIMIT:
            _works.popitem(last=False)
    return found


def scheduled(work: Loops | Kernel, target: GpuTarget) -> GpuSchedule:
    """Return the functions that do a kernel: how each divides its loops among blocks and threads."""
    if isinstance(work, Kernel):
        return schedule_kernel(work, target)
    return schedule(work.nests, dict(work.buffers), work.rows, work.sums, target)
