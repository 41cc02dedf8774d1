"""Contractions as graphs bring them about, and the check of what a GPU does for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.compile import optimize
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.gpu.compile import LEFT_OUT
from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float64
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.kernel.contraction import Contraction, analyse
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import Launch, Loops
from staticgraph.runtime.gpu.simulator import product as products
from staticgraph.runtime.gpu.simulator.build import Unit
from tests.codegen.native import loaded, stored
from tests.gpu.meaning import meaning
from tests.gpu.running import run, unset
from tests.passes.steps import step_of

_TOLERANCE = {float64: 1e-13, float16: 2e-3, bfloat16: 2**-8}  # of the greatest result; others: 2e-6


@dataclass(frozen=True, slots=True)
class Case:
    """A contraction, and the nest that it is the normal form of."""

    nest: Nest
    product: Contraction

    def check(self, work: KernelWork, unit: Unit, least: float = 0.0) -> None:
        """Check that the work makes what the nest means of random numbers, and writes all of its results.

        `least`: how far results may be wrong at least, in the greatest result.
        """
        for call in work.calls:
            if isinstance(call, Product):
                products.check(call)
        c, rng = self.product, np.random.default_rng(0)
        read = {x.buffer for x in (c.a, c.b, *c.loads.values())}
        arrays = {name: random(b.dtype, b.shape, rng) for name, b in c.buffers.items()}
        expected = meaning([self.nest], c.buffers, (), (), arrays)
        memory = {name: stored(c.buffers[name].dtype, array) for name, array in arrays.items()}
        memory |= {n: unset(a.shape, a.dtype) for n, a in memory.items() if n not in read}
        found = run(work, memory, unit)
        for name, buffer in c.buffers.items():
            result, exact = loaded(buffer.dtype, found[name]), expected[name]
            if not buffer.written:
                assert np.array_equal(found[name], memory[name])
                continue
            tolerance = max(
                least, *(_TOLERANCE.get(dtype, 2e-6) for dtype in (buffer.dtype, c.dtype, c.a.dtype))
            )
            bound = tolerance * np.abs(exact.astype(np.float64)).max(initial=1e-3)
            difference = np.abs(result.astype(np.float64) - exact.astype(np.float64))
            assert (difference <= bound).all(), f"`{name}` is wrong by {difference.max()}, {bound} is allowed"


def random(dtype: DType, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Numbers of a dtype."""
    if dtype.is_bool:
        return rng.random(shape) < 0.5
    if dtype.is_integer:
        return rng.integers(0, 9, shape).astype(dtype.numpy)
    return np.asarray(dtype.round(rng.standard_normal(shape)))


def contractions(fetches: Iterable[Any], feeds: Mapping[Any, Any]) -> list[Case]:
    """Return the contractions of the step that computes `fetches`, each once."""
    step = step_of(list(fetches), feeds)
    fusion = optimize(step.function, without=LEFT_OUT)
    program = lower(fusion, step.fetches, step.updates, fuse=partial(fuse, without=LEFT_OUT))
    found = []
    for launch in program.instructions:
        if isinstance(launch, Launch) and isinstance(launch.work, Loops) and not launch.work.rows:
            (nest,) = launch.work.nests
            product = analyse(nest.domain, nest.stores, dict(launch.work.buffers))
            if product is not None:
                found.append(Case(nest, product))
    return found


def only(build: Any) -> Case:
    """The one contraction of the graph that `build` makes; it returns what is fetched, and the feeds."""
    return every(build)[0]


def every(build: Any) -> list[Case]:
    """The contractions of the graph that `build` makes."""
    with Graph().as_default():
        return contractions(*build())
