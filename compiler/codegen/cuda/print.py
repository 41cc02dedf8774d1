"""CUDA C of a schedule: the printer of each kind of function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from staticgraph.compiler.codegen.cuda.attention.online import online
from staticgraph.compiler.codegen.cuda.attention.whole import whole
from staticgraph.compiler.codegen.cuda.elements.cooperative import cooperative
from staticgraph.compiler.codegen.cuda.elements.pointwise import pointwise
from staticgraph.compiler.codegen.cuda.elements.scatter import notes, scatter
from staticgraph.compiler.codegen.cuda.elements.statements import statements
from staticgraph.compiler.codegen.cuda.elements.transposed import transposed
from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork
from staticgraph.compiler.codegen.cuda.products.direct import direct
from staticgraph.compiler.codegen.cuda.products.results import pointers, results
from staticgraph.compiler.codegen.cuda.products.tiles import tiles
from staticgraph.compiler.codegen.cuda.rows.rows import rows
from staticgraph.compiler.codegen.cuda.scans.radix import radix
from staticgraph.compiler.codegen.cuda.scans.scan import scan
from staticgraph.compiler.codegen.cuda.scans.sort import sort
from staticgraph.compiler.codegen.cuda.sums import sums
from staticgraph.compiler.graph.size_contexts import Undecided, naming
from staticgraph.compiler.graph.sizes import is_open
from staticgraph.compiler.kernel.schedule_gpu.attention.attention import OnlineAttention, WholeAttention
from staticgraph.compiler.kernel.schedule_gpu.elements.cooperative import CooperativeSchedule
from staticgraph.compiler.kernel.schedule_gpu.elements.loops import LoopSchedule
from staticgraph.compiler.kernel.schedule_gpu.elements.pointwise import PointwiseSchedule
from staticgraph.compiler.kernel.schedule_gpu.elements.scatter import NoteSchedule, ScatterSchedule
from staticgraph.compiler.kernel.schedule_gpu.elements.transpose import TransposeSchedule
from staticgraph.compiler.kernel.schedule_gpu.function import FunctionSchedule, GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.direct import DirectSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.library import PointerSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.kernel.schedule_gpu.products.results import ResultSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.tiles import TileSchedule
from staticgraph.compiler.kernel.schedule_gpu.rows.by_row import RowSchedule
from staticgraph.compiler.kernel.schedule_gpu.scans.radix import RadixSchedule
from staticgraph.compiler.kernel.schedule_gpu.scans.scan import ScanSchedule
from staticgraph.compiler.kernel.schedule_gpu.scans.sort import SortSchedule
from staticgraph.compiler.kernel.schedule_gpu.sums import SumSchedule

PRINTERS: Mapping[type, Callable[[Any], FunctionCall]] = {
    CooperativeSchedule: cooperative,
    DirectSchedule: direct,
    LoopSchedule: statements,
    NoteSchedule: notes,
    OnlineAttention: online,
    PointerSchedule: pointers,
    PointwiseSchedule: pointwise,
    RadixSchedule: radix,
    ResultSchedule: results,
    RowSchedule: rows,
    ScanSchedule: scan,
    ScatterSchedule: scatter,
    SortSchedule: sort,
    SumSchedule: sums,
    TileSchedule: tiles,
    TransposeSchedule: transposed,
    WholeAttention: whole,
}


def printed(made: GpuSchedule) -> KernelWork:
    """The functions of a schedule, and its calls of libraries."""
    return KernelWork(tuple(map(_call, made.functions)), made.scratch)


def _call(each: FunctionSchedule | Product | Convolution) -> FunctionCall | Product | Convolution:
    if not isinstance(each, FunctionSchedule):
        return each
    with naming() as sizes:
        found = PRINTERS[type(each)](each)
    if (sizes or is_open(each.grid)) and not each.takes_sizes:
        raise Undecided(f"the sizes of {found.function.name}")
    return found
