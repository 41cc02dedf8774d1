"""The work of a GPU for what tests have in hand: a schedule, printed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec

from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork
from staticgraph.compiler.codegen.cuda.print import PRINTERS, printed
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu import schedule as schedules
from staticgraph.compiler.kernel.schedule_gpu.elements import loops
from staticgraph.compiler.kernel.schedule_gpu.elements import pointwise as elements
from staticgraph.compiler.kernel.schedule_gpu.function import GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.products import contraction
from staticgraph.compiler.kernel.schedule_gpu.products import library as libraries
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.machine import H200

P = ParamSpec("P")


def _printed(schedule: Callable[P, GpuSchedule | None]) -> Callable[P, KernelWork]:
    """The same with the work instead of the schedule; None stays None."""

    def work(*args: P.args, **kwargs: P.kwargs) -> KernelWork:
        made = schedule(*args, **kwargs)
        return made if made is None else printed(made)  # type: ignore[return-value]

    return work


emit = _printed(schedules.schedule)
emit_kernel = _printed(partial(schedules.schedule_kernel, target=GpuTarget()))
statements = _printed(partial(loops.statements, machine=H200))
own, by_tiles = map(_printed, (contraction.own, contraction.by_tiles))
library = _printed(libraries.library)
tile = _printed(lambda product: contraction.by_library(product, GpuTarget()) or contraction.own(product))


def pointwise(nests: list[Nest], buffers: dict[str, Buffer]) -> list[FunctionCall]:
    """The calls that do nests without reductions."""
    return [PRINTERS[type(made)](made) for made in elements.pointwise(nests, buffers, H200)]
