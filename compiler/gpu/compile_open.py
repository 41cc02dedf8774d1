"""A step with open sizes on a GPU: passes, fusion and plan of memory once, and functions that take sizes.

`compile_gpu_open` makes a program whose kernels are functions that take sizes, as far as these can be open:

    pointwise_1(const float* x, float* y, const int size0)      by n0 / 1024 blocks

Kernels that have to know a size are compiled when it is known (`step_open.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.fusion.group import Fusion
from staticgraph.compiler.gpu.compile import (
    LEFT_OUT,
    fused,
    work_of,
)
from staticgraph.compiler.gpu.step import launches
from staticgraph.compiler.gpu.step_open import OpenGpuCompiled, has_attention
from staticgraph.compiler.graph.size_contexts import Undecided, answering
from staticgraph.compiler.graph.sizes import NOMINALS, is_open
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.kernel.stmt import Kernel
from staticgraph.compiler.lower.closed import closed_work
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.passes.pipeline import pipeline
from staticgraph.compiler.rewrite import Trace
from staticgraph.compiler.stages import Observer, observing
from staticgraph.compiler.support.gc_pause import collector_paused

_DEFAULT = GpuTarget()


def compile_gpu_open(
    step: Step,
    observers: Sequence[Observer] = (),
    without: Collection[str] = (),
    trace: Trace | None = None,
    target: GpuTarget = _DEFAULT,
) -> OpenGpuCompiled:
    """The program of `step`, whose sizes are open, for a GPU. The keywords are those of `compile_gpu`.

    Raises:
        Undecided: If it cannot be compiled without knowing a size.
    """
    left_out = LEFT_OUT.union(without)
    with collector_paused(), observing(*observers):
        fusion = fused(pipeline(left_out, trace)(step.function), target, left_out)
        made = _lowered(step, fusion, target, left_out)
        found = frozenset(n for n, launch in enumerate(launches(made.program)) if _pays(launch.work, target))
        if not found:
            return made
        apart = left_out | {"attention"}
        plain = _lowered(step, fused(fusion.function, target, apart), target, apart)
        return replace(made, attentions=found, plain=plain)


def _lowered(step: Step, fusion: Fusion, target: GpuTarget, without: Collection[str]) -> OpenGpuCompiled:
    inner = partial(fused, target=target, without=without)
    program = lower(fusion, step.fetches, step.updates, fuse=inner, checked=step.checked)
    works = [_open_work(launch.work, target) for launch in launches(program)]
    return OpenGpuCompiled(replace(step, function=fusion.function), fusion, program, works)


def _open_work(work: Loops | Kernel, target: GpuTarget) -> KernelWork | None:
    """Return the GPU work of one kernel whatever its open sizes are; None if it needs to know them."""
    try:
        with answering(None):  # it is kept for other runs
            made = work_of(work, target)
    except Undecided:
        return None
    # What a library does is asked for each size anew.
    return None if any(isinstance(call, Convolution) for call in made.calls) else made


def _pays(work: Loops | Kernel, target: GpuTarget) -> bool:
    """True for attention that is one kernel for sizes as in estimates."""
    if isinstance(work, Kernel) or len(work.nests) < 2 or not any(is_open(b.shape) for _, b in work.buffers):
        return False
    return has_attention(work_of(closed_work(work, NOMINALS), target))
