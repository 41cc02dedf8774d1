"""Each family of kernels is divided among blocks and threads by a stage of its own, which observers see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.print import PRINTERS, printed
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.kernel.schedule_gpu.function import FunctionSchedule, GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.results import ProductSchedule
from staticgraph.compiler.stages import observing
from tests.passes.steps import step_of


def attention(q: Any, k: Any, v: Any) -> Any:
    return sg.matmul(sg.nn.softmax(sg.matmul(q, k, transpose_b=True)), v)


def scatter(x: Any, y: Any) -> Any:
    return sg.tensor_scatter_add(x, sg.constant(np.arange(500).reshape(-1, 1) % 7), y)


# What a family is made of -> what its schedule says. Numbers are those of an H200.
FAMILIES: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any], str]] = {
    "elements": (
        [(1000, 1001)],
        lambda x: x * 2.0 + 1.0,
        "pointwise: 489 blocks of 256 threads; 2 of 250250 vectors of 4",
    ),
    "transpose": (
        [(1024, 512)],
        sg.transpose,
        "transposed: 128 blocks of 256 threads that meet at barriers; tiles of 64 x 64 of 1 operands, "
        "vectors of 4",
    ),
    "sums": (
        [(1 << 16, 64)],
        lambda x: sg.reduce_sum(x, 0),
        "columns: 256 blocks of 256 threads that meet at barriers; vectors of 4 columns, 64 columns a block, "
        "rows in 256 parts\n"
        "columns: 4 blocks of 256 threads that meet at barriers; vectors of 4 columns, 16 columns a block, "
        "rows in 1 parts\n"
        "scratch partial0: 65536 bytes",
    ),
    "rows": (
        [(1 << 16, 100)],
        sg.nn.softmax,
        "rows: 8192 blocks of 256 threads that meet at barriers; 32 threads a row, 8 rows a block, 3 sweeps, "
        "2 values of columns in registers, 0 sums over rows",
    ),
    "scan": (
        [(1 << 20,)],
        sg.cumsum,
        "scan_totals: 511 blocks of 256 threads that meet at barriers; a block for each of 511 parts of 1 "
        "rows\n"
        "scan: 512 blocks of 256 threads that meet at barriers; a block for each of 512 parts of 1 rows\n"
        "scratch scan_partial: 2048 bytes",
    ),
    "sort": (
        [(64, 10_000)],
        lambda x: sg.nn.top_k(x, 5)[0],
        "sort: 192 blocks of 512 threads that meet at barriers; pieces of 4096, 5 of each go on, 1 rows a "
        "block\n"
        "sort: 2 blocks of 256 threads that meet at barriers; pieces of 16, 5 of each go on, 32 rows a "
        "block\n"
        "scratch best_keys0: 3840 bytes\n"
        "scratch best_columns0: 3840 bytes",
    ),
    "sort of all": (
        [(64, 100)],
        sg.sort,
        "sort: 16 blocks of 256 threads that meet at barriers; pieces of 128, 100 of each go on, 4 rows a "
        "block\n"
        "scratch value_places: 25600 bytes",
    ),
    "tiles": (
        [(24, 1 << 14)],
        lambda x: sg.exp(sg.matmul(x, x, transpose_b=True)),
        "tiles: 128 blocks of 256 threads that meet at barriers; tiles of 32 x 32, 4 x 4 for each thread, "
        "4 stages of 32 products, 4 parts of a step, 128 slices\n"
        "add_slices: 72 blocks of 256 threads that meet at barriers; 576 packs of 1, each of 128 slices\n"
        "scratch partial: 294912 bytes",
    ),
    "library": (
        [(256, 512)],
        lambda x: sg.matmul(x, x, transpose_b=True),
        "cuBLAS, float32:\n  b1[256, 256] = b0[256, 512] @ b0ᵀ[512, 256]",
    ),
    "direct": (
        [(4096, 1000), (1000, 1)],
        sg.matmul,
        "direct: 512 blocks of 256 threads that meet at barriers; a result for each warp, 4096 in all",
    ),
    "attention": (
        [(64, 128, 32)] * 3,
        attention,
        "attention: 128 blocks of 256 threads that meet at barriers; 64 queries a block, 47360 bytes of "
        "shared memory",
    ),
    "attention of long rows": (
        [(16, 4096, 64)] * 3,
        attention,
        "online_attention: 1024 blocks of 256 threads that meet at barriers; 64 queries a block, 35584 bytes "
        "of shared memory",
    ),
    "scatter": (
        [(100, 64), (500, 64)],
        scatter,
        "pointwise: 7 blocks of 256 threads; 1 of 1600 vectors of 4\n"
        "scatter_notes: 2 blocks of 256 threads; an update for each thread\n"
        "scatter: 13 blocks of 256 threads that meet at barriers; a warp for each of 100 rows\n"
        "scratch scatter_keys: 2000 bytes",
    ),
}


def schedules(shapes: list[tuple[int, ...]], build: Callable[..., Any]) -> list[GpuSchedule]:
    """The schedules of the kernels of a graph, as observers see them."""
    found: list[GpuSchedule] = []
    with sg.Graph().as_default():
        feeds = [sg.placeholder(sg.float32, shape) for shape in shapes]
        zeros = {x: np.zeros(shape, np.float32) for x, shape in zip(feeds, shapes, strict=True)}
        with observing(lambda stage, _, made: found.append(made) if stage == "schedule_gpu" else None):
            compile_gpu(step_of([build(*feeds)], zeros))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_a_schedule_tells_its_blocks_and_threads(family: str):
    shapes, build, expected = FAMILIES[family]
    assert "\n".join(map(str, schedules(shapes, build))) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_a_printer_leaves_blocks_and_threads_as_they_are(family: str):
    shapes, build, _ = FAMILIES[family]
    for made in schedules(shapes, build):
        work = printed(made)
        assert work.scratch == made.scratch
        for each, call in zip(made.functions, work.calls, strict=True):
            if isinstance(each, FunctionSchedule):
                function = call.function
                assert (function.kind, function.grid, function.meets) == (each.kind, each.grid, each.meets)
                assert function.block == (each.threads, 1, 1)
            else:
                assert call is each


def test_every_kind_of_function_has_a_printer():
    def below(kind: type) -> set[type]:
        return {kind, *(c for child in kind.__subclasses__() for c in below(child))}

    kinds = {k for k in below(FunctionSchedule) if isinstance(vars(k).get("kind"), str | property)}
    assert kinds - {FunctionSchedule, ProductSchedule} == PRINTERS.keys()
