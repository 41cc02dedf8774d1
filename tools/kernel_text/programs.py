"""Programs whose functions are compiled: ops of the registry, training steps, rows of README, and nets."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import staticgraph as sg
from benchmarks import staticgraph_row
from benchmarks.nets.table import NETS
from benchmarks.workloads import WORKLOADS
from gpu_stages.kernels import TOGETHER, Pair, choices
from gpu_stages.sizes import STEPS
from gpu_stages.training import ours
from kernel_text.collector import run_thrice
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.graph.dtypes import DTYPES
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.simulator import driver as simulator
from staticgraph.runtime.gpu.store import DeviceStore
from staticgraph.runtime.state.memory import to_storage
from tests.ops.harness import TESTED, Build, uses

STANDIN = "standin"
Program = tuple[str, Callable[[], None]]


def programs(kinds: Iterable[str]) -> Iterator[Program]:
    """Name and run of each program of these kinds."""
    for kind in kinds:
        yield from KINDS[kind]()


def ops() -> Iterator[Program]:
    """All ops of the registry in all dtypes, many in a graph."""
    pairs = list(choices(TESTED))
    for at in range(0, len(pairs), TOGETHER):
        group = pairs[at : at + TOGETHER]
        yield f"ops {at}: {group[0][0]} to {group[-1][0]}", lambda group=group: _ops(group)  # type: ignore[misc]


def _ops(group: list[Pair]) -> None:
    build = Build()
    found = [
        result
        for name, dtypes in group
        for use in uses(OPS[name], {letter: DTYPES[dtype] for letter, dtype in dtypes.items()})
        for result in build.add(use)[1]
    ]
    function, device = build.function(found), Device(simulator.Simulator())
    step = Step(function, tuple(function.params), (), (), (), len(found), ())
    executable, store = GpuExecutable(compile_gpu(step), device), DeviceStore(device)
    given = [to_storage(a, p.dtype) for a, p in zip(build.arrays, build.params, strict=True)]
    run_thrice(lambda: executable.step(given, store))


def steps() -> Iterator[Program]:
    """Steps that `tools/gpu_check.py` times, at a GPU's sizes and at small ones."""
    for (name, step), small in itertools.product(STEPS.items(), (False, True)):

        def run(step: Any = step, small: bool = small) -> None:
            run_thrice(ours(step, step.data(small=small), STANDIN))

        yield f"step {name}{' small' * small}", run


def rows() -> Iterator[Program]:
    """Rows of the README at their own sizes."""
    for name, work in WORKLOADS.items():
        if name != "dag_100000":

            def run(work: Any = work) -> None:
                with sg.Graph().as_default(), sg.options(device=STANDIN):
                    run_thrice(getattr(staticgraph_row, work.make.__name__)(work.data()))

            yield f"row {name}", run


def nets() -> Iterator[Program]:
    """Nets of the benchmark at a GPU's sizes."""
    side: Any = importlib.import_module("benchmarks.sizes.graph_side")
    for name, entry in NETS.items():

        def run(entry: Any = entry) -> None:
            with sg.Graph().as_default():
                side.setup("staticgraph", 1, STANDIN)
                net = entry.net("gpu")
                step, batch = side.step_of(net), entry.batches(net, "gpu")[0]
                run_thrice(lambda: step(*batch))

        yield f"net {name}", run


KINDS = {"steps": steps, "rows": rows, "nets": nets, "ops": ops}
