"""A kernel in phases for a processor: its loops chosen, and shared out to threads."""

from __future__ import annotations

from collections import OrderedDict
from itertools import chain

from staticgraph.compiler import stages
from staticgraph.compiler.kernel.lower_reductions import Placer
from staticgraph.compiler.kernel.schedule_cpu.parallelize import Chunked, chunked
from staticgraph.compiler.kernel.schedule_cpu.schedule import schedule
from staticgraph.compiler.kernel.stmt import Kernel
from staticgraph.compiler.lower.program import Loops

_KEPT = 64  # kernels, at most: those of one class are looked at before the first of them is written
_ahead: OrderedDict[tuple[int, int], tuple[Loops, Chunked]] = OrderedDict()  # by id, and bytes of vectors


def split(work: Loops | Kernel, vector_bytes: int) -> Chunked:
    """Return a kernel that is no product in phases, each with its loops in their order."""
    if not isinstance(work, Loops):
        return _split(work, vector_bytes)
    kept = _ahead.pop((id(work), vector_bytes), None)
    if kept is not None and kept[0] is work and stages.observation() is None:
        return kept[1]
    return _split(_rows(work), vector_bytes)


def adds_in_chunks(work: Loops, vector_bytes: int) -> bool:
    """Return True if chunks have sums of their own. If so, phases are kept for whoever asks for them next."""
    with stages.unobserved():
        rows = _rows(work)
        made = _split(rows, vector_bytes)
    adds = made.phases[0].shared.keys() != rows.shared.keys()
    if adds:
        _ahead[id(work), vector_bytes] = work, made
        while len(_ahead) > _KEPT:
            _ahead.popitem(last=False)
    return adds


def _rows(work: Loops) -> Kernel:
    return stages.report("row_schedule", work, _placed(work))


def _placed(work: Loops) -> Kernel:
    """Return nests over elements as loops."""
    buffers = dict(work.buffers)
    if not work.rows:
        return Kernel("loops", buffers, tuple(chain.from_iterable(map(Placer().nest, work.nests))))
    from staticgraph.compiler.kernel.schedule_cpu.row_schedule import place_rows  # few kernels have rows

    return place_rows("loops", buffers, work.rows, work.nests, work.sums)


def _split(kernel: Kernel, vector_bytes: int) -> Chunked:
    if kernel.form is not None:
        from staticgraph.compiler.lower.routine_forms import with_copies  # few kernels have a form

        kernel = with_copies(kernel)
    scheduled = schedule(kernel, vector_bytes)
    made = chunked(scheduled, vector_bytes)
    stages.report("parallelize", (scheduled,), made.phases)
    return made
