"""No two threads of a kernel touch the same memory without an order, one of them to change it.

The simulator finds such races in any order of threads (`races.h`): a result that is right in all orders that
were tried may have one. Here are a sample of the registry, and the functions of other files with
`pytest -m slow`.
"""

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.elements.cooperative import cooperative as printed
from staticgraph.compiler.codegen.cuda.function import CudaFunction, Parameter, call
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.schedule_gpu.elements.cooperative import cooperative
from staticgraph.runtime.gpu.simulator import build
from staticgraph.runtime.gpu.simulator.build import RACES, Unit
from tests.gpu.test_factorizations import skipped, steps
from tests.gpu.test_registry import check
from tests.ops.harness import TESTED, dtype_choices, uses

FILES = (
    "test_attention.py",
    "test_barriers.py",
    "test_columns.py",
    "test_convolutions.py",
    "test_factorizations.py",
    "test_in_groups.py",
    "test_merging.py",
    "test_pieces.py",
    "test_pointwise.py",
    "test_registry.py",
    "test_rows.py",
    "test_scans.py",
    "test_scatter.py",
    "test_sorting.py",
    "test_statements.py",
    "test_tile.py",
    "test_transposed.py",
    "test_windows.py",
)
# Of each printer one or two: rows, columns, scans, sorts, scatters, products, and cooperating threads.
SAMPLE = (
    "softmax", "reduce_mean", "cumsum", "top_values", "gather", "scatter_add", "matmul", "cholesky", "conv2d",
    "segment_sum", "transpose", "argmax",
)  # fmt: skip

X, Y = Parameter("x", float32), Parameter("y", float32, written=True)
ROW = "SG_SHARED(float, row, 64); row[threadIdx.x] = x[threadIdx.x]; {}"
RIGHT = {
    "a barrier": ROW.format("__syncthreads(); y[threadIdx.x] = row[63 - threadIdx.x];"),
    "a warp": ROW.format("__syncwarp(); y[threadIdx.x] = row[threadIdx.x ^ 1];"),
    "an array of its own": "float k[4]; k[threadIdx.x % 4] = x[0]; y[threadIdx.x] = k[threadIdx.x % 4];",
    "atomic operations": "atomicAdd(reinterpret_cast<int*>(y), 1);",
    "other bytes": "reinterpret_cast<char*>(y)[threadIdx.x + 64 * blockIdx.x] = 1;",
}
WRONG = {
    "byte .* of `row`": ROW.format("y[threadIdx.x] = row[63 - threadIdx.x]; __syncthreads();"),
    "thread 0 .* thread 63": ROW.format("__syncwarp(); y[threadIdx.x] = row[63 - threadIdx.x];"),
    "of `row` at": ROW.format("y[threadIdx.x] = __shfl_sync(~0u, row[threadIdx.x ^ 1], 0);"),
    "block 1 writes byte 0 of `y`": "if (threadIdx.x == blockIdx.x) y[0] = 1.0f;",
    "changed it": "atomicAdd(reinterpret_cast<int*>(y), 1); if (threadIdx.x == 5) y[0] = 1.0f;",
    r"at races_\w+:2, .* at races_\w+:3 ": "y[threadIdx.x] = 1.0f;\ny[63 - threadIdx.x] = 2.0f;",
}


# Errors that are no races: a block reads shared memory that it has not written, or that is of no array.
UNWRITTEN = {
    "reads `row` at .*, where its block has not written": ROW.format("y[threadIdx.x] = 1.0f;").replace(
        "row[threadIdx.x] =", "if (threadIdx.x) row[threadIdx.x] ="
    )
    + "__syncthreads(); y[threadIdx.x] = row[threadIdx.x];",
    "changes `count` at": "SG_SHARED(int, count, 1); __syncthreads(); atomicAdd(count, 1);",
    "reads shared memory of no array": ROW.format("__syncthreads(); y[threadIdx.x] = row[64 + threadIdx.x];"),
}


def function_of(body: str) -> CudaFunction:
    two = any(word in body for word in ("blockIdx", "atomic"))
    return call("races", [X, Y], body, (1 + two, 1, 1), (64, 1, 1), meets="sync" in body).function


@pytest.fixture(scope="module")
def unit(host: str) -> Unit:
    """All functions of this file: a compiler takes its time to start."""
    return Unit(
        [function_of(body) for body in (*RIGHT.values(), *WRONG.values(), *UNWRITTEN.values())], RACES
    )


def run(unit: Unit, body: str) -> None:
    arrays = np.ones((2, 256), np.float32)
    for schedule in (0, 3):
        unit.run(function_of(body).name, [array.ctypes.data for array in arrays], schedule)


@pytest.mark.parametrize("what", RIGHT)
def test_threads_that_wait_or_stay_apart_do_not_race(unit: Unit, what: str):
    run(unit, RIGHT[what])


@pytest.mark.parametrize("what", WRONG)
def test_a_race_is_found_in_any_order_of_threads(unit: Unit, what: str):
    with pytest.raises(RuntimeError, match=f"a race: .*({what})"):
        run(unit, WRONG[what])


@pytest.mark.parametrize("what", UNWRITTEN)
def test_shared_memory_is_read_where_the_block_has_written(unit: Unit, what: str):
    with pytest.raises(RuntimeError, match=f"thread .* of block .* {what}"):
        run(unit, UNWRITTEN[what])


def test_cooperating_threads_do_not_race(host: str):
    """The loop in which they would meet has no iteration, or one, or two."""
    schedules = [cooperative(kernel) for kernel in (steps(7), skipped("span"), skipped("while"))]
    made = [printed(schedule.functions[0]) for schedule in schedules if schedule is not None]
    unit = Unit([each.function for each in made], RACES)
    for each in made:
        for count in (0, 1, 2):
            arrays = [np.full(1 << 14, count, np.int64) for _ in each.arguments]
            unit.run(each.function.name, [array.ctypes.data for array in arrays])


@pytest.mark.takes_long
def test_a_sample_of_the_registry_does_not_race(host: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(build, "OPTIONS", (*build.OPTIONS, *RACES))
    ops = [op for op in TESTED if op.name in SAMPLE]
    assert len(ops) == len(SAMPLE), {*SAMPLE} - {op.name for op in ops}
    check([use for op in ops for use in islice(uses(op, next(dtype_choices(op))), 1)])


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_function_has_a_race(host: str, name: str):
    file = str(Path(__file__).with_name(name))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", file]
    environment = {**os.environ, "TEST_SANITIZERS": " ".join(RACES)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
