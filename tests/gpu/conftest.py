"""Tests of the GPU back end run its functions by the stand-in, which needs a C++ compiler."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gpu_stages import setting as of_stages
from gpu_stages.findings import Findings
from gpu_stages.setting import Setting
from staticgraph.runtime.gpu.simulator import build
from staticgraph.runtime.gpu.simulator.build import BuildError
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.running import SCHEDULES


@pytest.fixture
def setting(tmp_path: Path, host: str) -> Setting:
    """The setting of a stage on the simulator, whose findings are in `test.jsonl`."""
    return Setting("standin", 600, tmp_path, Findings("test", tmp_path / "test.jsonl"), time.monotonic())


@pytest.fixture(autouse=True, scope="session")
def _impatient() -> Iterator[None]:
    """Times of the stand-in say nothing: the tool for machines with a GPU takes each from few calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_stages, "PATIENCE", 0.0)
        yield


@pytest.fixture(autouse=True, scope="session")
def _compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Skip what needs the C++ compiler if there is none. If the environment says so, the compiler
    checks what functions do: see test_sanitized.py.

    Most functions run once, on little: without optimization the compiler takes a third of the time, and the
    headers, which are the same for all, are compiled beforehand. On Linux the linker does without the
    library of C++, of which functions use nothing: that takes it longer than the rest.
    """
    with pytest.MonkeyPatch.context() as patch:
        checks = os.environ.get("TEST_SANITIZERS", "").split()
        quick = ("-O0", "-nostdlib", "-Wl,--no-as-needed", "-lm", "-lgcc_s")
        quick = quick if sys.platform == "linux" else ("-O0",)
        options = (*build.OPTIONS, *(("-Og", *checks) if checks else quick))  # checks make frames larger
        patch.setattr(build, "OPTIONS", options)
        try:
            headers = precompiled(build.host_compiler(), options, tmp_path_factory.mktemp("headers"))
            patch.setattr(build, "OPTIONS", (*options, "-include", str(headers)))
        except BuildError as error:
            reason = str(error)
            patch.setattr(build, "host_compiler", lambda: pytest.skip(reason))
        yield


def precompiled(compiler: str, options: Sequence[str], folder: Path) -> Path:
    """A header that includes those of the stand-in; beside it, what the compiler made of it."""
    for name, text in build._headers().items():
        (folder / name).write_text(text)
    headers = folder / "all.h"
    headers.write_text('#include "dialect.h"\n#include "simt.h"\n')
    command = [compiler, *options, "-x", "c++-header", "-o", f"{headers}.gch", headers]
    subprocess.run([word for word in command if word != "-shared"], check=True)
    return headers


@pytest.fixture(scope="session")
def host(_compiler: None) -> str:
    """The path of the C++ compiler."""
    return build.host_compiler()


@pytest.fixture(params=SCHEDULES, ids=lambda schedule: f"schedule{schedule}")
def driver(request: pytest.FixtureRequest, host: str) -> Simulator:
    """A stand-in for a card, in each of the three schedules. In the last one no work is put off."""
    return Simulator(request.param, deferred=request.param != SCHEDULES[-1])


@pytest.fixture
def one_driver(host: str) -> Simulator:
    """A stand-in for a card, once: for tests in which threads do not matter."""
    return Simulator(SCHEDULES[1])
