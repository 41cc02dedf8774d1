"""Kernels that say what they compute: where many threads have a better way than the loops."""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.kernel.expr import Load, walk
from staticgraph.compiler.kernel.form import Scan, Selection, StagedForm, Updates
from staticgraph.compiler.kernel.schedule_gpu.elements.loops import statements
from staticgraph.compiler.kernel.schedule_gpu.function import GpuSchedule, joined
from staticgraph.compiler.kernel.schedule_gpu.scans import scan as scans
from staticgraph.compiler.kernel.schedule_gpu.scans.radix import radix
from staticgraph.compiler.kernel.schedule_gpu.scans.ranking import Ranking
from staticgraph.compiler.kernel.schedule_gpu.scans.sort import largest, sort
from staticgraph.compiler.kernel.stmt import Buffer, Kernel
from staticgraph.compiler.machine import GpuMachine

_FEW_ITEMS = 16  # that a single thread may as well bring in order
_FEW = 8  # pieces are worth to be brought in order if no more than one of so many pairs goes on
_STAGED = 1024  # elements that are worth several functions, rather than one with few threads
_CROWDED = 1 << 28  # notes of updates, where each row that is written looks at all of them for its own
_MANY, _RUN = 1 << 14, 64  # updates, and updates of a row: too many of them to be done one after the other


def by_form(kernel: Kernel, machine: GpuMachine) -> GpuSchedule | None:
    """The schedule of a kernel by what it computes; None if its loops are as good."""
    match kernel.form:
        case Scan() as form if scans.is_worth(form):
            return scans.scan(form, kernel.buffers, machine)
        case Selection() as form if _is_worth(form):
            return _select(form, kernel.buffers)
        case StagedForm((Selection() as only,)) as form if _is_worth(only):
            return _staged(kernel, form, machine)
        case StagedForm() as form if max(b.size for b in kernel.buffers.values()) >= _STAGED:
            return _staged(kernel, form, machine)
        case Updates(staged) as form if _is_crowded(form):
            return _staged(kernel, staged, machine)
    return None


def _is_crowded(form: Updates) -> bool:
    """True if sorting the updates is faster than having each row search all of them for its own."""
    looked_at = form.count * min(form.count, form.rows)
    return looked_at >= _CROWDED or (form.count >= _MANY and form.count >= _RUN * form.rows)


def _staged(kernel: Kernel, form: StagedForm, machine: GpuMachine) -> GpuSchedule:
    buffers, works = kernel.buffers | form.scratch, []
    for stage in form.stages:
        match stage:
            case Scan():
                works.append(scans.scan(stage, buffers, machine))
            case Selection():
                works.append(_select(stage, buffers))
            case body:
                works.append(statements(Kernel(kernel.name, buffers, body), machine))
    return joined(works, [(name, b.size * b.dtype.size) for name, b in form.scratch.items()])


def _is_worth(found: Selection) -> bool:
    """True if many threads per row do a selection faster than its loops, in which one thread does a row.

    Items and keys must not read the buffers that the selection writes.
    """
    reads = {e.buffer for e in walk(found.item, found.key) if isinstance(e, Load)}
    is_apart = reads.isdisjoint({found.values, found.places})
    return found.rows > 0 and found.count > 0 and found.column.extent >= _FEW_ITEMS and is_apart


def _select(found: Selection, buffers: Mapping[str, Buffer]) -> GpuSchedule:
    """The functions that do a selection of something."""
    ranking = Ranking(found, buffers)
    most = largest(ranking)
    long = ranking.length > most and found.count * _FEW > most
    return radix(ranking) if long else sort(ranking)
