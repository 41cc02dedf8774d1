"""From the step of a graph to what a GPU runs: passes and plan of memory are those of a processor, the
code of each kernel is CUDA C.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.codegen.cuda.print import printed
from staticgraph.compiler.fusion.attention import attention
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.fusion.group import Fusion, Group
from staticgraph.compiler.gpu.step import GpuCompiled, launches
from staticgraph.compiler.graph.function import Function as Graph
from staticgraph.compiler.graph.sizes import NOMINALS, is_open
from staticgraph.compiler.kernel.schedule_gpu.attention.attention import attention as in_one
from staticgraph.compiler.kernel.schedule_gpu.attention.form import keeps_to_rows
from staticgraph.compiler.kernel.schedule_gpu.function import GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.schedule import schedule, schedule_kernel
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.kernel.stmt import Kernel
from staticgraph.compiler.kernel_codes import is_shown, structure_of
from staticgraph.compiler.lower.buffer_assignment import does_not_fit
from staticgraph.compiler.lower.closed import closed_work
from staticgraph.compiler.lower.kernels import build_kernel
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import Loops, Program
from staticgraph.compiler.passes.long_routines import long_routines
from staticgraph.compiler.passes.pipeline import pipeline
from staticgraph.compiler.rewrite import Trace
from staticgraph.compiler.stages import Observer, observing, report
from staticgraph.compiler.support.gc_pause import collector_paused

_DEFAULT = GpuTarget()
# What is for processors only: a GPU has enough arithmetic, and would wait for the rounds of its loops. The
# scratch memory of its kernels has known sizes.
LEFT_OUT = frozenset({"fewer_products", "open_scratch"})


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


def with_attention(fusion: Fusion, target: GpuTarget, without: Collection[str]) -> Fusion:
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
    works = {id(launch): work_of(launch.work, target) for launch in launches(program)}
    return GpuCompiled(replace(step, function=fusion.function), fusion, program, works)


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
