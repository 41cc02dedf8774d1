"""Objects for other processors and systems than this one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.runtime.aot.build import build
from staticgraph.runtime.aot.steps import Shapes
from staticgraph.runtime.cpu.jit import host
from staticgraph.runtime.cpu.target import normalized, target_of
from staticgraph.runtime.files.loaded import LoadedGraph, load
from tests.ahead.digits import draw, lenet
from tests.ahead.native import Native, needs_compiler, saved
from tests.ahead.objects import read

pytestmark = pytest.mark.takes_long

X86_ELF, ARM_ELF, ARM_MACH_O, X86_MACH_O, X86_COFF, ARM_COFF = 62, 183, 0x100000C, 0x1000007, 0x8664, 0xAA64
# The first of each two is always built: all formats and machines.
TARGETS = {
    "x86_64-linux-gnu": ("ELF", X86_ELF),
    "aarch64-linux-gnu": ("ELF", ARM_ELF),
    "arm64-apple-darwin": ("Mach-O", ARM_MACH_O),
    "x86_64-apple-macos": ("Mach-O", X86_MACH_O),
    "x86_64-windows": ("COFF", X86_COFF),
    "x86_64-w64-mingw32": ("COFF", X86_COFF),
    "aarch64-windows": ("COFF", ARM_COFF),
    "aarch64-linux-musl": ("ELF", ARM_ELF),
}
# What the C library of every system has, and what those of Windows call the start of a program's numbers and
# a look at the stack.
LIBC = {"memcpy", "memset", "memmove", "bzero", "fmaf", "fma", "_fltused", "__chkstk", "___chkstk_ms"}


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with LeNet for images of 8 by 8."""
    path = tmp_path_factory.mktemp("digits") / "digits.sg"
    with sg.Graph().as_default():
        saved(path, lenet(8))
    return path


def plain(names: frozenset[str], format: str) -> set[str]:
    """Symbols without the mark that some systems put before all."""
    return {name.removeprefix("_") if format == "Mach-O" else name for name in names}


@pytest.mark.takes_long(2)
@pytest.mark.parametrize("triple", TARGETS)
def test_the_object_is_of_the_target_s_format_and_needs_only_its_c_library(triple: str, digits: Path):
    made = build(load(digits), "net", target_of(triple), Shapes({}, 4))
    found = read(made.object)
    assert (found.format, found.machine) == TARGETS[triple]
    assert plain(found.undefined, found.format) <= LIBC
    assert {"net_init", "net_predict", "net_train"} <= plain(found.defined, found.format)
    assert normalized(triple) in made.header


def test_a_thread_pool_for_each_system(digits: Path):
    expected = {
        "arm64-apple-darwin": "pthread_cond_wait",
        "x86_64-windows": "SleepConditionVariableSRW",
        "aarch64-linux-gnu": "sched_setaffinity",
    }
    for triple, name in expected.items():
        made = build(load(digits), "net", target_of(triple), Shapes({}, 4), threads=4)
        found = read(made.object)
        assert name in plain(found.undefined, found.format)
        assert "net_pool_help" in plain(found.defined, found.format)


@needs_compiler
@pytest.mark.skipif("+avx2" not in host().features.split(","), reason="this processor is not like a haswell")
@pytest.mark.parametrize("cpu", ["haswell", pytest.param("x86-64", marks=pytest.mark.slow)])
def test_an_older_processor_gives_the_same_up_to_rounding(
    digits: Path, tmp_path: Path, rng: np.random.Generator, cpu: str
):
    net = load(digits)
    native = Native(build(net, "net", target_of("x86_64-linux-gnu", cpu), Shapes({}, 20)), tmp_path)
    native.init()
    for _ in range(3):
        images, labels = draw(rng, 20, 8)
        wanted = net.signatures["train"](images=images, labels=labels)
        np.testing.assert_allclose(native("train", images, labels)[0], wanted["loss"], rtol=1e-4)
    wanted = net.signatures["predict"](images=images)
    np.testing.assert_allclose(native("predict", images)[1], wanted["probabilities"], rtol=1e-3, atol=1e-5)


def half_net(path: Path) -> LoadedGraph:
    """A graph that computes in float16."""
    x = sg.placeholder(sg.float32, [64], name="x")
    return saved(path, {"half": sg.Signature({"y": sg.cast(sg.cast(x, sg.float16) * 3.0, sg.float32)})})


@needs_compiler
def test_conversions_of_float16_are_in_the_object_where_the_processor_has_none(tmp_path: Path):
    if not host().triple.startswith("x86_64-") or "linux" not in host().triple:
        pytest.skip("needs x86 and Linux")
    net = half_net(tmp_path / "half.sg")
    made = build(net, "net", target_of("x86_64-linux-gnu"), Shapes({}))
    assert read(made.object).undefined <= LIBC
    native = Native(made, tmp_path)
    native.init()
    x = np.linspace(-70000, 70000, 64, dtype=np.float32)
    np.testing.assert_array_equal(native("half", x)[0], net(x=x)["y"])


def test_what_a_processor_can_do_is_found_out():
    wide = {"x86-64": 16, "haswell": 32, "znver4": 64, "skylake-avx512": 64}
    for cpu, bytes in wide.items():
        assert target_of("x86_64-linux-gnu", cpu).vector_bytes == bytes
    assert target_of("x86_64-linux-gnu", "x86-64", "+avx2").vector_bytes == 32
    assert target_of("aarch64-linux-gnu").vector_bytes == 16
    assert target_of("arm64-apple-darwin").cpu == "apple-m1"
    assert target_of().features == target_of(host().triple, "native").features == host().features


def test_modules_in_the_working_folder_are_not_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("types", "struct", "linecache"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert target_of("x86_64-linux-gnu", "haswell").vector_bytes == 32


@pytest.mark.parametrize(
    "names, message",
    [
        (("vax-vms",), "the target 'vax-vms' is not known"),
        (("riscv64-linux-gnu",), "the target 'riscv64-linux-gnu' is not known"),
        (("x86_64",), "the target 'x86_64' is not known"),
        (("x86_64-linux-gnu", "486dx2"), "'486dx2' is not a recognized processor"),
        (("aarch64-linux-gnu", "haswell"), "'haswell' is not a recognized processor"),
        (("x86_64-linux-gnu", "haswell", "+wings"), r"'\+wings' is not a recognized feature"),
        (("arm64-apple-darwin", "native"), "--cpu native is a processor of"),
    ],
)
def test_names_that_do_not_exist(names: tuple[str, ...], message: str):
    with pytest.raises(InvalidArgumentError, match=message):
        target_of(*names)
