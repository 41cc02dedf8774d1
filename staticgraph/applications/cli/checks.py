"""Checks of `doctor`: what this machine offers, and what is missing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path

import numpy as np

from staticgraph.applications.cli import machine
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.nearest import nearest_name
from staticgraph.compiler.support.system_memory import memory
from staticgraph.runtime import switches
from staticgraph.runtime.gpu.cuda.installed import version
from staticgraph.runtime.reports.table import duration

REQUIRED = {"numpy": "1.26", "llvmlite": "0.44", "networkx": "3.2", "graphviz": "0.20"}
_PYTHON = (3, 11)

# The features of processors that code is written for, or that say how old one is.
# fmt: off
_FEATURES = (
    "sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512vnni", "avx512bf16",
    "neon", "fullfp16", "dotprod", "bf16", "sve", "sve2",
)
# fmt: on
_SELF_TEST_ERROR = 1e-5  # relative: sums are added in another order


class State(Enum):
    """State of a checked item. Only BAD keeps graphs from running."""

    OK = "ok"
    MISSING = "no"  # and not needed
    DOUBTFUL = "??"
    BAD = "BAD"


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional dependency: the extra of the package, what it installs, and what for."""

    name: str
    package: str
    least: str
    use: str


EXTRAS = (
    Extra("images", "pillow", "10.1", "JPEG, PNG, GIF and BMP files"),
    Extra("hdf5", "h5py", "3.8", "Keras's .h5 files"),
    Extra("viz", "resvg-py", "0.5", "PNG pictures; SVG are drawn without it"),
    Extra("viz", "pygraphviz", "2.0", "PDF pictures without a dot program"),
    Extra("tensorboard", "tensorboard", "2.21", "showing event files"),
    Extra("watch", "bokeh", "3.6", "the page of curves of the command watch"),
    Extra("onnx", "onnx", "1.18", "onnx.backend.Backend; models are read without it"),
    Extra("mpi", "mpi4py", "4", "several processes"),
    Extra("scipy", "scipy", "1.11", "contrib.opt.ScipyOptimizerInterface"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing, how it is, and how to mend it."""

    name: str
    state: State
    text: str
    hint: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        """The same as for JSON, without the name."""
        return {"state": self.state.value, "text": self.text, "hint": self.hint}


def needed() -> Iterator[Finding]:
    """Python and the packages without which nothing works."""
    bits = 64 if sys.maxsize > 2**32 else 32
    text = f"{platform.python_version()}, {platform.python_implementation()}, {bits} bits"
    fine = sys.version_info >= _PYTHON
    hint = None if fine else "3.11 or later is needed"
    yield Finding("Python", State.OK if fine else State.BAD, text, hint)
    for package, least in REQUIRED.items():
        yield _package(package, least, State.BAD, f'pip install "{package}>={least}"')


def processor() -> Iterator[Finding]:
    """The processor and the memory."""
    from staticgraph.runtime.cpu.jit import host  # imports LLVM, which may be what is missing
    from staticgraph.runtime.cpu.threads import get_num_threads

    target = host()
    yield Finding("processor", State.OK, f"{machine.processor() or 'not known'} ({target.cpu} to LLVM)")
    there = {name for name in target.features.split(",") if name.startswith("+")}
    yield Finding("features", State.OK, " ".join(f for f in _FEATURES if f"+{f}" in there) or "none of note")
    lanes = target.vector_bytes // 4
    yield Finding("vectors", State.OK, f"{8 * target.vector_bytes} bits, {lanes} float32 at once")
    count, usable = machine.cores()
    threads = get_num_threads()
    work = "1 thread works" if threads == 1 else f"{threads} threads work"
    yield Finding("cores", State.OK, f"{count}, of which {usable} may be used; {work} on a step")
    found = memory()
    if found is not None:
        free = f", {found[1] / 2**30:.1f} GiB free" if found[1] is not None else ""
        yield Finding("memory", State.OK, f"{found[0] / 2**30:.1f} GiB{free}")


def running() -> Iterator[Finding]:
    """Check if a step compiles and runs, if calls take the fast path, and if compiled code is cached."""
    yield self_test()
    from staticgraph.runtime.cpu.fast_path.dispatch import unsupported

    why = unsupported()
    text = "runs go without Python in between" if why is None else f"runs go through ctypes: {why}"
    yield Finding("calls", State.OK if why is None else State.DOUBTFUL, text)
    yield cache()


def self_test(device: str = "cpu") -> Finding:
    """A small step, compiled anew for a device and compared with its meaning."""
    import staticgraph as sg
    from staticgraph.compiler.graph.interpret import interpret

    rng, start = np.random.default_rng(0), time.perf_counter()
    with sg.Graph().as_default(), sg.options(cache_dir="", device=device):
        shapes = ((9, 20), (20, 7))
        x, w = (sg.placeholder(sg.float32, shape) for shape in shapes)
        loss = sg.reduce_mean(sg.log(sg.reduce_sum(sg.exp(sg.tanh(sg.matmul(x, w))), axis=1)))
        fetches = [loss, *sg.gradients(loss, [w])]
        feeds = {t: rng.standard_normal(shape) for t, shape in zip((x, w), shapes, strict=True)}
        with sg.Session() as session:
            found = session.run(fetches, feeds)
            took = duration(1e9 * (time.perf_counter() - start))
            step = session.executable(fetches, feeds).compiled.step
            arguments = {p: feeds[t] for p, t in zip(step.function.params, step.feeds, strict=True)}
    meant = interpret(step.function, arguments)
    error = max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(found, meant, strict=True))
    if error <= _SELF_TEST_ERROR:
        return Finding("self test", State.OK, f"a step compiled and ran in {took}, and gave what it should")
    text = f"a step gave wrong numbers: a relative error of {error:.2g}"
    return Finding("self test", State.BAD, text, "please report this, with what is shown here")


def cache() -> Finding:
    """The folder of compiled code."""
    from staticgraph.runtime.disk import object_cache
    from staticgraph.runtime.disk.private_folder import Untrusted

    where = switches.cache_folder()
    if where is None:
        hint = "set the switch cache_dir, so that the next process need not compile again"
        return Finding("kernel cache", State.MISSING, "none: every process compiles anew", hint)
    try:
        entries = object_cache.entries(where) if where.exists() else []
        with tempfile.TemporaryFile(dir=_there(where)):
            pass
    except OSError as error:
        text = f"{_short(where)} cannot be written ({error.strerror}): every process compiles anew"
        return Finding("kernel cache", State.DOUBTFUL, text, "choose another folder by the switch cache_dir")
    except Untrusted as reason:
        text = f"{_short(where)} is not used: {reason}"
        return Finding("kernel cache", State.DOUBTFUL, text, reason.hint)
    size = f"{sum(entries) / 2**20:.1f} of {object_cache.LIMIT / 2**20:.0f} MiB"
    return Finding("kernel cache", State.OK, f"{_short(where)}: {len(entries):,} entries, {size}")


def drawing() -> Iterator[Finding]:
    """Check for Graphviz: the `dot` program or pygraphviz, either is enough."""
    dot, library = shutil.which("dot"), version("pygraphviz")
    found = [*([f"dot, {dot}"] if dot else []), *([f"pygraphviz {library}"] if library else [])]
    if found:
        yield Finding("Graphviz", State.OK, "; ".join(found))
    else:
        hint = 'pip install "staticgraph[viz]" (or: apt install graphviz)'
        text = 'neither dot nor pygraphviz: no PDF pictures and no engine="dot"'
        yield Finding("Graphviz", State.MISSING, text, hint)


def gpu() -> Iterator[Finding]:
    """The GPUs, what drives them, and whether sessions can run on them."""
    from staticgraph.runtime.gpu.cuda import present  # the other sections do not need it

    system, driver = present.system(), machine.nvidia_driver()
    if system is None:
        lacking = "no driver" if driver is None else f"driver {driver}, but its library libcuda is not found"
        yield Finding("NVIDIA", State.MISSING, f"{lacking}: steps run on the processor")
        return
    cuda = ".".join(map(str, system.cuda))
    yield Finding("NVIDIA", State.OK, f"driver {driver or 'of a version that is not told'}, for CUDA {cuda}")
    for number, card in enumerate(system.cards):
        parts = f"{card.architecture}, {card.multiprocessors} multiprocessors, {card.memory / 2**30:.1f} GiB"
        yield Finding(f"gpu:{number}", State.OK, f"{card.name}, {parts}")
    packages = [f"{name} {version}" for name, version in present.packages().items()]
    if packages:
        yield Finding("CuPy", State.OK, ", ".join(packages))
        yield _cudnn(min(system.cuda[0], 13))
    if error := present.unmet(0):
        text = f"run on the processor: {error.message}"
        yield Finding("sessions", State.DOUBTFUL, text, error.hint)
    else:
        yield Finding("sessions", State.OK, "run on gpu:0, unless they are given another device")
        yield self_test("gpu")


def _cudnn(major: int) -> Finding:
    """Check for cuDNN, which computes large convolutions on a GPU."""
    from staticgraph.runtime.gpu.cuda import cudnn

    if lacking := cudnn.lacking():
        text = f"{lacking}: kernels of this package do convolutions"
        return Finding("cuDNN", State.MISSING, text, f'pip install "staticgraph[cudnn{major}]"')
    found = ", ".join(f"{name} {version}" for name, version in cudnn.packages().items())
    return Finding("cuDNN", State.OK, f"{found}: does large convolutions")


def extras() -> Iterator[Finding]:
    """Packages for some uses only."""
    for extra in EXTRAS:
        hint = f'pip install "staticgraph[{extra.name}]"'
        found = _package(extra.package, extra.least, State.MISSING, hint)
        yield Finding(found.name, found.state, f"{found.text}: {extra.use}", found.hint)


def switched() -> Iterator[Finding]:
    """The switches that the environment sets, and what is only named like one."""
    known = {switch.variable: switch for switch in switches.SWITCHES.values()}
    for name, text in switches.in_environment().items():
        if name not in known:
            close = nearest_name(name, known)
            hint = f"did you mean {close}?" if close else "docs/switches.md lists them"
            yield Finding(name, State.DOUBTFUL, f"{text!r}: there is no such switch", hint)
            continue
        try:
            known[name].read(text)
        except (TypeError, ValueError):
            told = f"{text!r} is taken as {known[name].default}"
            yield Finding(name, State.DOUBTFUL, told, f"it takes {known[name].takes}")
        else:
            yield Finding(name, State.OK, repr(text))


SECTIONS: dict[str, Callable[[], Iterator[Finding]]] = {
    "needed": needed,
    "machine": processor,
    "running": running,
    "drawing": drawing,
    "GPU": gpu,
    "extras": extras,
    "switches in the environment": switched,
}


def findings(section: str) -> list[Finding]:
    """Return the findings of a section. If the section fails, the last finding is BAD and names the error."""
    found: list[Finding] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of switches: they have a section of their own
            found.extend(SECTIONS[section]())
    except Exception as error:  # whatever it is, that it happens here is what is to be shown
        lines = str(error).splitlines() or [""]
        found.append(Finding(section, State.BAD, f"{type(error).__name__}: {lines[0]}"))
    return found


def _package(package: str, least: str, otherwise: State, hint: str) -> Finding:
    found = version(package)
    if found is None:
        return Finding(package, otherwise, "not installed", hint)
    if _numbers(found) < _numbers(least):
        return Finding(package, otherwise, f"{found}, and {least} or later is needed", hint)
    return Finding(package, State.OK, found)


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with.

    >>> _numbers("10.1") < _numbers("10.12.dev3")
    True
    """
    told = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, told[0].split("."))) if told else ()


def _there(where: Path) -> Path:
    """The folder, or that in which it would be made."""
    return next(folder for folder in (where, *where.parents) if folder.is_dir())


def _short(path: Path) -> str:
    home = os.path.expanduser("~")
    text = str(path)
    return text.replace(home, "~", 1) if home not in ("~", "/") and text.startswith(home + os.sep) else text
