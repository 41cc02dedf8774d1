"""Layers of usual nets by cuDNN and by our own kernels: right numbers by both, and what each takes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from gpu_stages import card, layers
from gpu_stages.crew import Broken, crew, processes
from gpu_stages.layers import Case
from gpu_stages.sampled import sampled
from gpu_stages.setting import Setting
from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower.buffer_assignment import bytes_of
from staticgraph.compiler.lower.program import ARENA, ARGUMENTS, CONSTANTS
from staticgraph.runtime.gpu.cuda import cudnn
from staticgraph.runtime.gpu.cuda.driver import Direction
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.graphs.recorder import GraphRecorder, prepare
from staticgraph.runtime.state.memory import empty, from_storage

# How far results may be off, in the largest of them.
_TOLERANCE = {"float32": 1e-5, "float32 by tf32": 3e-3, "float16": 4e-3, "bfloat16": 3e-2}
OURS, CUDNNS = "ours", "cuDNN's"
_TIMES, _SECONDS = 5, 0.04  # how often, and for how long, each is done to take its time

Numbers = dict[str, np.ndarray]
Places = dict[str, int]  # addresses on the card


def run(setting: Setting) -> None:
    """The stage."""
    with setting.driver() as driver:
        if setting.small:
            driver.convolutions = True
        if not driver.convolutions:
            setting.findings.note("convolutions", f"by our own kernels: {cudnn.lacking()}")
            return
        all_ = list(layers.cases(setting.small))
        if not setting.small:
            _compile_ahead(setting, driver.card.architecture, all_)
        device = Device(driver)
        for _, kinds in itertools.groupby(all_, lambda case: (case.layer, case.numbers_text)):
            _compare_kinds(setting, device, list(kinds))


def _compile_ahead(setting: Setting, architecture: str, all_: Iterable[Case]) -> None:
    """By many processes, so that hardly anything is left to compile when times are taken."""
    start = time.monotonic()
    with crew(partial(layers.compile_ahead, architecture), processes()) as compiling:
        compiling.ask(all_)
        for case, answer in compiling.answers(setting.began + setting.seconds / 2):
            if isinstance(answer, Broken):
                print(f"{case.name} is not compiled ahead: {answer.why}", flush=True)
    print(f"compiled in {time.monotonic() - start:.1f} s", flush=True)


def _compare_kinds(setting: Setting, device: Device, kinds: list[Case]) -> None:
    """A layer and its derivatives, which all have the same numbers to compute from."""
    driver, kinds = device.driver, [case for case in kinds if setting.within(case.name, 1)]
    if not kinds:
        return
    numbers = kinds[0].numbers()
    places = {name: driver.allocate(array.nbytes) for name, array in numbers.items()}
    for name, array in numbers.items():
        driver.copy(places[name], array.ctypes.data, array.nbytes, Direction.TO_DEVICE)
    for case in kinds:
        with setting.findings.trying(case.name):
            _compare(setting, device, case, numbers, places)
    for place in places.values():
        driver.free(place)


def _compare(setting: Setting, device: Device, case: Case, numbers: Numbers, places: Places) -> None:
    found: dict[str, np.ndarray] = {}
    took: dict[str, float] = {}
    for who, refused in ((OURS, None), (CUDNNS, device.refused)):
        compiled = case.compiled(refused)
        if refused is not None and not compiled.convolutions:
            continue  # it is not asked for these
        if refused is not None and device.refuses(compiled.convolutions):
            setting.findings.note(case.name, "cuDNN has no algorithm for it that will do")
            continue
        found[who], took[who] = _ran(device, compiled, places, setting.small)
    _check(setting, case, numbers, found)
    if len(took) == 1:
        text = f"{1e6 * took[OURS]:.1f} us by our own kernels"
        setting.findings.measured(case.name, case.flops / took[OURS] / 1e12, "TFLOP/s", text=text)
    else:
        text = f"{1e6 * took[CUDNNS]:.1f} us by cuDNN, {1e6 * took[OURS]:.1f} us by our own kernels"
        ratio = took[OURS] / took[CUDNNS]
        setting.findings.measured(case.name, ratio, "times as fast by cuDNN", text=text)


def _check(setting: Setting, case: Case, numbers: Numbers, found: dict[str, np.ndarray]) -> None:
    """Each result against float64 at some places. Where the two differ most is one of them, so that each
    difference is the fault of one that is named.
    """
    first, *others = found.values()
    apart = np.abs(first - (others[0] if others else 0))
    worst = tuple(int(each) for each in np.unravel_index(apart.argmax(), apart.shape))  # NaN counts as most
    with np.errstate(invalid="ignore"):
        scale = float(np.fmin.reduce([np.abs(each).max() for each in found.values()]))  # of one that is sane
    most = _TOLERANCE[case.numbers_text]
    at, right = sampled(case, numbers, worst)
    for who, results in found.items():
        off = np.abs(results[at].astype(np.float64) - right) / scale
        place = int(off.argmax())
        text, holds = f"off by {off[place]:.1e}", bool(off[place] < most)
        if not holds:
            where = ", ".join(str(each[place]) for each in at)
            wrong = f"{results[at][place]:.6g} at ({where}) instead of {right[place]:.6g}"
            text += f": {wrong}; so are {np.mean(~(off < most)):.0%} of {off.size} places"
            if others:
                text += f"; both differ in {100 * np.mean(~(apart <= most * scale)):.2g} % of all numbers"
        setting.findings.check(f"{case.name}: {who}", holds, text)


def _ran(device: Device, compiled: GpuCompiled, given: Places, small: bool) -> tuple[np.ndarray, float]:
    """Return the result of a step, and the time that it takes the card."""
    driver, program = device.driver, compiled.program
    prepare(device, compiled)
    places: list[int] = []

    def room(size: int) -> int:
        places.append(driver.allocate(max(size, 1)))
        return places[-1]

    arena = room(padded(program.arena + 1) + compiled.scratch)
    table: list[Any] = [0] * program.slots
    table[ARENA], table[CONSTANTS] = arena, room(len(program.constants))
    for number, tensor in enumerate(compiled.step.feeds):
        table[ARGUMENTS + number] = given[tensor.op.name]
    (made,) = program.results
    table[program.first_result] = room(bytes_of(made))
    recorder = GraphRecorder(device, compiled, arena + padded(program.arena + 1))
    times, budget = (1, 0.0) if small else (_TIMES, _SECONDS)
    seconds = card.seconds(driver, lambda: recorder.program(program, table), times, budget)
    back = empty(made)
    driver.copy(back.ctypes.data, table[program.first_result], back.nbytes, Direction.FROM_DEVICE)
    driver.synchronize()
    for place in places:
        driver.free(place)
    return np.asarray(from_storage(back, made.dtype), np.float32), seconds
