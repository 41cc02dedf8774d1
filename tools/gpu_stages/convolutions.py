"""Layers of usual nets by cuDNN and by our own kernels: the same numbers, and what each takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import staticgraph as sg
from gpu_stages import card
from gpu_stages.setting import Setting
from staticgraph.compiler.compile_gpu import GpuCompiled, compile_gpu
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower.memory_use import bytes_of
from staticgraph.compiler.lower.program import ARENA, ARGUMENTS, CONSTANTS
from staticgraph.compiler.passes.specialise import specialise
from staticgraph.runtime.gpu import cudnn
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.driver import Direction
from staticgraph.runtime.gpu.recorder import Recorder, prepare
from staticgraph.runtime.memory import empty, from_storage, to_storage

# How far results may be off, in the largest of them.
_TOLERANCE = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
_KINDS = ("the result", "by the image", "by the filter")


@dataclass(frozen=True, slots=True)
class Layer:
    """Images of so many pixels and channels, so many taps along both axes."""

    size: int
    inputs: int
    outputs: int
    taps: int
    stride: int = 1

    @property
    def text(self) -> str:
        """What it is, to be read."""
        stride = f", stride {self.stride}" if self.stride > 1 else ""
        return f"{self.size}², {self.inputs} to {self.outputs}, {self.taps}×{self.taps}{stride}"


LAYERS = (
    Layer(56, 64, 64, 3), Layer(28, 128, 128, 3), Layer(14, 256, 256, 3), Layer(7, 512, 512, 3),
    Layer(56, 128, 128, 3, 2), Layer(56, 256, 512, 1, 2),
)  # fmt: skip
SMALL = (Layer(16, 64, 64, 3),)


def run(setting: Setting) -> None:
    """The stage."""
    with setting.driver() as driver:
        if setting.small:
            driver.convolutions = True
        if not driver.convolutions:
            setting.findings.note("convolutions", f"by our own kernels: {cudnn.lacking()}")
            return
        device = Device(driver)
        for dtype in (sg.float32,) if setting.small else (sg.float32, sg.float16, sg.bfloat16):
            for layer in SMALL if setting.small else LAYERS:
                for number, kind in enumerate(_KINDS):
                    name = f"{dtype.name} {layer.text}: {kind}"
                    if setting.within(name, 1):
                        with setting.findings.trying(name):
                            _compare(setting, device, layer, dtype, number, name)


def _compare(setting: Setting, device: Device, layer: Layer, dtype: DType, number: int, name: str) -> None:
    batch = setting.sized(64, 2)
    found, took = [], []
    for refused in (None, device.refused):
        compiled = _compiled(layer, batch, dtype, number, refused)
        if refused is not None and device.refuses(compiled.convolutions):
            setting.findings.note(name, "cuDNN has no algorithm for it that will do")
            return
        results, seconds = _ran(device, compiled, setting.small)
        found.append(results)
        took.append(seconds)
    own, library = (np.asarray(each, np.float64) for each in found)
    off = float(np.abs(own - library).max() / np.abs(own).max())
    setting.findings.check(f"{name}, the same numbers", off < _TOLERANCE[dtype.name], f"off by {off:.1e}")
    text = f"{1e6 * took[1]:.1f} us by cuDNN, {1e6 * took[0]:.1f} us by our own kernels"
    setting.findings.measured(name, took[0] / took[1], "times as fast by cuDNN", text=text)


def _compiled(
    layer: Layer, batch: int, dtype: DType, number: int, refused: frozenset[Any] | None
) -> GpuCompiled:
    """The step that computes a layer, or one of its derivatives."""
    with sg.Graph().as_default():
        x = sg.placeholder(dtype, [batch, layer.size, layer.size, layer.inputs])
        w = sg.placeholder(dtype, [layer.taps, layer.taps, layer.inputs, layer.outputs])
        y = sg.nn.conv2d(x, w, [1, layer.stride, layer.stride, 1], "SAME")
        g = sg.placeholder(dtype, y.shape)
        fetch = y if not number else sg.gradients(y, [x, w], g)[number - 1]
        fed = {t: TensorType(t.dtype, tuple(t.shape.as_list())) for t in (x, w, g)}
        step = specialise(fetch.graph, [fetch], [], fed, {})
    return compile_gpu(step, refused=refused)


def _ran(device: Device, compiled: GpuCompiled, small: bool) -> tuple[np.ndarray, float]:
    """What a step gives for random numbers, and how long it takes the card."""
    driver, program, rng = device.driver, compiled.program, np.random.default_rng(1)
    prepare(device, compiled)
    places: list[int] = []

    def room(size: int) -> int:
        places.append(driver.allocate(max(size, 1)))
        return places[-1]

    arena = room(padded(program.arena + 1) + compiled.scratch)
    table = [0] * program.slots
    table[ARENA], table[CONSTANTS] = arena, room(len(program.constants))
    for number, type in enumerate(program.arguments):
        values = to_storage(type.dtype.round(rng.standard_normal(type.shape)), type.dtype)
        table[ARGUMENTS + number] = room(values.nbytes)
        driver.copy(table[ARGUMENTS + number], values.ctypes.data, values.nbytes, Direction.TO_DEVICE)
    (made,) = program.results
    table[program.first_result] = room(bytes_of(made))
    recorder = Recorder(device, compiled, arena + padded(program.arena + 1))
    times, budget = (1, 0.0) if small else (10, 0.1)
    seconds = card.seconds(driver, lambda: recorder.program(program, table), times, budget)
    back = empty(made)
    driver.copy(back.ctypes.data, table[program.first_result], back.nbytes, Direction.FROM_DEVICE)
    driver.synchronize()
    for place in places:
        driver.free(place)
    return np.asarray(from_storage(back, made.dtype)), seconds
