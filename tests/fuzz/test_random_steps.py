"""Random steps on several threads, cut into chunks however small: bit for bit the same, and right."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from random import Random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import staticgraph as sg
from staticgraph.compiler import kernel_codes
from staticgraph.compiler.codegen.gemm import chunks as contraction_grid
from staticgraph.compiler.codegen.gemm import pack as contraction_pack
from staticgraph.compiler.codegen.gemm import packed_operands
from staticgraph.compiler.codegen.gemm import plan as contraction_plan
from staticgraph.compiler.codegen.gemm import split_k as contraction_slices
from staticgraph.compiler.fusion import group
from staticgraph.compiler.fusion import horizontal_fusion as join
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.kernel import cost as kernel_cost
from staticgraph.compiler.kernel.schedule_cpu import parallelize as chunk
from staticgraph.compiler.kernel.schedule_cpu import row_schedule as place_rows
from staticgraph.compiler.lower import parallel_schedule as phases
from staticgraph.compiler.machine import CPU
from staticgraph.runtime.cpu.disk import disk_cache
from tests.fuzz.graphs import widened
from tests.fuzz.programs import Program
from tests.fuzz.test_random_graphs import fuzz
from tests.passes.steps import step_of

pytestmark = pytest.mark.takes_long

UNIT = {2: 2e-2, 4: 2e-4, 8: 1e-9}  # what may differ, by bytes per element
THREADS = (1, 2, 5)


@contextmanager
def small_pieces(random: Random) -> Iterator[None]:
    """Everything is shared out, and joined, however small it is."""
    count = random.choice([2, 3, 7, 16])
    settings = [
        (phases, {"CPU": replace(CPU, region_ns=0.0, joined_ns=random.choice([1.0, 500.0]))}),
        (kernel_codes, {"_emitted": OrderedDict()}),
        (disk_cache, {"KEPT": None}),  # what is generated here is of no use elsewhere
    ]
    choices = [
        (kernel_cost, {"CPU": replace(CPU, shared_ns=100.0)}),
        (chunk, {"chunk_count": lambda c: count if c > 1000.0 else 1}),
        (contraction_grid, {"chunks_wanted": lambda cost: count}),
        (contraction_pack, {"chunks_wanted": lambda cost: count}),
        (contraction_slices, {"chunks_wanted": lambda cost: 2 * count}),
        (contraction_slices, {"_SHALLOW": random.choice([1, 4, 16])}),
        (packed_operands, {"_PACKED_BYTES": dict.fromkeys((16, 32), 64), "_REUSED": 1}),
        (contraction_plan, {"_BLOCK_BYTES": random.choice([16, 64, 256])}),
        (place_rows, {"LEAST_ROWS": random.choice([1, 2])}),
        (join, {"FEW_ROWS": 1, "LEAST_ROW": 1, "LONG_ENOUGH": 1, "WIDE": random.choice([1, 8])}),
        (group, {"LEAST_ROW": 1}),
    ]
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, SG_CACHE_DIR=""))  # code as nobody else wants it
        for module, values in [*settings, *(c for c in choices if random.randrange(4))]:
            stack.enter_context(mock.patch.multiple(module, **values))
        yield


def assert_close(found: list, wanted: list, wide: list) -> None:
    """Equal up to some times what rounding itself changes there."""
    for got, near, exact in zip(found, wanted, wide, strict=True):
        got = np.asarray(got)
        assert (got.dtype, got.shape) == (near.dtype, near.shape)
        if not np.issubdtype(got.dtype, np.inexact):
            np.testing.assert_array_equal(got, near)
            continue
        scale = float(np.abs(near).max(initial=0.1))
        noise = float(np.abs(near - exact).max(initial=0.0))
        unit = UNIT[got.dtype.itemsize]
        np.testing.assert_allclose(got, near, rtol=unit, atol=unit * scale + 50 * noise)


def check(random: Random, steps: int, runs: int = 3) -> None:
    with sg.Graph().as_default():
        program = Program(random)
        for _ in range(steps):
            program.step()
        fetches, feeds = program.fetches(), program.feeds
        variables = program.variables
        read = [v.value() for v in variables]
        tensors = [not isinstance(f, sg.Operation) for f in fetches]
        init = sg.global_variables_initializer()
        step = step_of(fetches, feeds)
        named = {v.op.name: i for i, v in enumerate(variables)}
        first: list[bytes] = []
        for threads in THREADS:
            sg.set_num_threads(threads)
            made: list[bytes] = []
            with sg.Session() as sess:
                sess.run(init)
                for _ in range(runs):
                    before = sess.run(read)
                    found = [a for a, keep in zip(sess.run(fetches, feeds), tensors, strict=True) if keep]
                    after = sess.run(read)
                    made += [np.asarray(a).tobytes() for a in (*found, *after)]
                    if not first:
                        arguments = [
                            *(feeds[t] for t in step.feeds),
                            *(before[named[op.name]] for op in step.reads),
                        ]
                        new = [after[named[op.name]] for op in step.writes]
                        meaning = interpret(
                            step.function, dict(zip(step.function.params, arguments, strict=True))
                        )
                        other = widened(step.function)
                        wide = interpret(other, dict(zip(other.params, arguments, strict=True)))
                        assert_close([*found, *new], meaning, wide)
            first = first or made
            assert made == first, [a == b for a, b in zip(made, first, strict=True)]


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = sg.get_num_threads()
    yield
    sg.set_num_threads(before)


@fuzz(12)
@given(st.integers(0, 1 << 30), st.integers(3, 20))
def test_steps_in_small_pieces(seed: int, steps: int):
    random = Random(seed)
    with small_pieces(random):
        check(random, steps)


@pytest.mark.slow
@fuzz(1000)
@given(st.integers(0, 1 << 30), st.integers(3, 40))
def test_steps_at_length(seed: int, steps: int):
    check(Random(seed), steps)
