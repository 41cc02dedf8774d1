"""Time of compiling and loading the kernels of whole steps, and what they need."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import staticgraph as sg
from gpu_stages.setting import Setting
from gpu_stages.sizes import STEPS
from gpu_stages.training import ours
from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.cuda.driver import Driver
from staticgraph.runtime.gpu.device import Device

MOST_FIRST = 10.0  # seconds until the first step of a model is done


def run(setting: Setting) -> None:
    """The stage."""
    # The cache may still be written to while its folder is removed.
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with setting.driver() as driver, folder as empty, sg.options(cache_dir=empty):
        for name in STEPS:
            if setting.within(name, 4):
                with setting.findings.trying(name):
                    _built(setting, driver, name)


def _built(setting: Setting, driver: Driver, name: str) -> None:
    findings, step = setting.findings, STEPS[name]
    data = step.data(setting.small)
    with noted() as functions:
        start = time.perf_counter()
        ours(step, data, setting.device)()
        took = time.perf_counter() - start
    text = f"{len(functions)} functions"
    most = None if setting.small else MOST_FIRST
    findings.measured(f"{name}: until the first step is done", took, "s", most, most=True, text=text)
    image = driver.image(functions)
    (setting.folder / f"{name}_{driver.card.architecture}.cubin").write_bytes(image)
    start = time.perf_counter()
    driver.load(functions, [image])
    took = time.perf_counter() - start
    findings.measured(f"{name}: loaded from an image", 1e3 * took, "ms", text=f"{len(image) / 1024:.0f} KiB")
    if not setting.small:
        needs = nvrtc.inspect(functions, driver.card.architecture).usage
        spilling = {kernel: use.spilled for kernel, use in needs.items() if use.spills}
        most_registers = max(use.registers for use in needs.values())
        what = f"at most {most_registers} registers; spilled: {spilling or 'nothing'}"
        findings.check(f"{name}: no kernel spills", not spilling, what)


@contextmanager
def noted() -> Iterator[list[CudaFunction]]:
    """The functions that sessions have loaded meanwhile, each once."""
    load = Device.load

    def loading(device: Device, functions: Iterable[CudaFunction], *more: Any) -> Any:
        functions = list(functions)
        result.extend(each for each in functions if each not in result)
        return load(device, functions, *more)

    result: list[CudaFunction] = []
    Device.load = loading  # type: ignore[method-assign]
    try:
        yield result
    finally:
        Device.load = load  # type: ignore[method-assign]
