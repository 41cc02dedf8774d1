"""Each barrier in what is generated is needed, and the stand-in would notice if one were missing.

Functions of real graphs are compiled once for each of their barriers, without it. Each must fail, or give
other numbers, in one of the orders of threads; a function for which it does not has a barrier too many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork, Parameter, call
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.gpu.step import every_instruction
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.lower.program import Launch
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.simulator.build import Unit
from tests.codegen.native import stored
from tests.gpu.running import SCHEDULES, compiled, run
from tests.passes.steps import step_of

pytestmark = pytest.mark.takes_long

_BARRIER = re.compile(r"__sync(threads|warp)\(\);|await_copies<\d+>\(\);")


def graph() -> tuple[list, dict]:
    """Rows of all lengths, columns, whole arrays, and contractions that take several steps."""
    x, y = sg.placeholder(sg.float32, [24, 300]), sg.placeholder(sg.float32, [12, 9000])
    images = sg.placeholder(sg.float32, [4, 9, 9, 24])
    features = sg.layers.conv2d(images, 16, 3, padding="same")
    fetches = [sg.nn.softmax(x), sg.nn.log_softmax(y), sg.reduce_sum(x, 0), sg.reduce_max(y), features]
    fetches += sg.gradients(sg.reduce_sum(sg.square(features)), [images, *sg.trainable_variables()])
    mean, variance = sg.nn.moments(x, [1], keep_dims=True)
    fetches += sg.gradients((x - mean) * sg.rsqrt(variance), x)
    return fetches, {v: np.zeros(v.shape.as_list()) for v in (x, y, images)}


@dataclass(frozen=True, slots=True)
class Case:
    """Work, the numbers that it starts from, and those that it should make of them."""

    work: KernelWork
    arrays: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]
    name: str = ""

    def is_caught(self, unit: Unit) -> bool:
        """Return True if a run shows that something is wrong."""
        try:
            found = run(self.work, self.arrays, unit, SCHEDULES)
        except (AssertionError, RuntimeError):
            return True
        return any(found[name].tobytes() != array.tobytes() for name, array in self.expected.items())

    def mutants(self) -> Iterator[Case]:
        """It with one barrier less."""
        for number, each in enumerate(self.work.calls):
            text = each.function.body if isinstance(each, FunctionCall) else ""
            for barrier in _BARRIER.finditer(text):
                name = f"{each.function.name}_line{text[: barrier.start()].count(chr(10)) + 2}"
                rest = text[: barrier.start()] + text[barrier.end() :]
                changed = replace(each.function, name=name, body=rest)
                calls = list(self.work.calls)
                calls[number] = replace(each, function=changed)
                yield Case(replace(self.work, calls=tuple(calls)), self.arrays, self.expected, name)


X, Y = Parameter("x", float32), Parameter("y", float32, written=True)
TWICE = call(
    "twice",
    [X, Y],
    """
SG_SHARED(float, partial, 8);
const float most = block_reduce<Maximum<float>, 256>(x[threadIdx.x], partial);
y[threadIdx.x] = block_reduce<Add<float>, 256>(x[threadIdx.x] - most, partial);
""",
    (1, 1, 1),
    (256, 1, 1),
    True,
)


@pytest.fixture
def cases(host: str, rng: np.random.Generator) -> list[Case]:
    with sg.Graph().as_default():
        made = compile_gpu(step_of(*graph()))
    launches = [i for i in every_instruction(made.program) if isinstance(i, Launch)]
    given = [(KernelWork((TWICE,)), {name: rng.standard_normal(256).astype(np.float32) for name in "xy"})]
    given += [(made.work(i), random(dict(i.work.buffers), rng)) for i in launches]
    unit = compiled(work for work, _ in given)
    return [Case(work, arrays, run(work, arrays, unit)) for work, arrays in given]


def random(buffers: dict[str, Buffer], rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        name: stored(b.dtype, np.asarray(b.dtype.round(rng.standard_normal(b.shape))))
        for name, b in buffers.items()
        if not b.local
    }


def test_no_barrier_can_be_left_out(cases: list[Case]):
    mutants = list({m.name: m for case in cases for m in case.mutants()}.values())
    unit = compiled(mutant.work for mutant in mutants)
    assert [mutant.name for mutant in mutants if not mutant.is_caught(unit)] == []
    assert len(mutants) >= 8
    assert len({mutant.name.split("_")[0] for mutant in mutants}) >= 3  # of several templates


def test_no_barrier_of_the_prelude_can_be_left_out(cases: list[Case], monkeypatch: pytest.MonkeyPatch):
    whole = nvrtc.PRELUDE
    places = [m.span() for m in _BARRIER.finditer(whole)]
    assert places
    for start, end in places:
        monkeypatch.setattr(nvrtc, "PRELUDE", whole[:start] + whole[end:])
        unit = compiled(case.work for case in cases)
        assert any(case.is_caught(unit) for case in cases), whole[start - 200 : end]
