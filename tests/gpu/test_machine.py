"""A GPU with fewer multiprocessors gets fewer blocks: every family of kernels asks the machine."""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.kernel.schedule_gpu.target import SHARED_BYTES, GpuTarget
from staticgraph.compiler.machine import H200, gpu_of
from staticgraph.runtime.gpu.device import Device, Image
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.passes.steps import step_of

SMALL = replace(H200, multiprocessors=4)
FAMILIES: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "sum of all": ((1 << 20,), sg.reduce_sum),
    "sums of columns": ((1 << 16, 64), lambda x: sg.reduce_sum(x, 0)),
    "rows": ((1 << 16, 100), sg.nn.softmax),
    "scan": ((1 << 20,), sg.cumsum),
    "scan across": ((1 << 16, 8), sg.cumsum),
    "product": ((24, 1 << 14), lambda x: sg.exp(sg.matmul(x, x, transpose_b=True))),
}


def blocks(family: str, target: GpuTarget) -> int:
    shape, build = FAMILIES[family]
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, shape)
        made = compile_gpu(step_of([build(x)], {x: np.zeros(shape, np.float32)}), target=target)
    calls = [call for work in made.works.values() for call in work.calls if isinstance(call, FunctionCall)]
    assert calls
    return sum(prod(call.function.grid) for call in calls)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_small_gpu_gets_fewer_blocks(family: str):
    assert blocks(family, GpuTarget(machine=SMALL)) < blocks(family, GpuTarget())


def test_a_block_gets_what_its_architecture_has():
    device = Device(Simulator())
    assert device.machine == H200
    device.driver.card = replace(device.driver.card, architecture="sm_75", multiprocessors=40)
    assert (device.machine.block_shared_bytes, device.machine.multiprocessors) == (64 << 10, 40)
    device.images.append(Image(frozenset(), b""))
    assert device.machine == gpu_of("sm_75") and gpu_of("sm_42").block_shared_bytes == SHARED_BYTES
