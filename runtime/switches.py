"""The switches: all that can be chosen from outside, as data. Nothing else here reads `SG_...` variables.

A switch is a variable of the environment, an argument of `staticgraph.options`, and, if sessions may differ
in it, a keyword of `Session`. The innermost choice counts: the keyword, else the context, else the
environment. A session keeps what was in force when it was made.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.stages import STAGES
from staticgraph.compiler.support.dataclass import dataclass

MOST_THREADS = 256
OPTIONAL_PASSES = tuple(stage.name for stage in STAGES if stage.optional)
_PREFIX = "SG_"
TRACES = ("compiles", "rules", "stages")


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch. `read` makes its value of a Python value or of text: ValueError or TypeError if that is
    not what it `takes`. `of_session`: sessions may differ in it; otherwise it is one for the process.
    """

    name: str
    takes: str
    default: str
    meaning: str
    read: Callable[[Any], Any]
    initial: Any = None
    of_session: bool = True
    hint: str | None = None

    @property
    def variable(self) -> str:
        """The environment's name for it."""
        return f"{_PREFIX}{self.name.upper()}"


def _bytes(value: Any) -> Any:
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, Real):
        raise TypeError
    if not float(value) > 0:  # nor for NaN
        raise ValueError
    return value


def _truth(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if value in ("", "0", "1"):
        return bool(value == "1")
    raise ValueError


def _threads(value: Any) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError
    if not 1 <= value <= MOST_THREADS:
        raise ValueError
    return int(value)


def _folder(value: Any) -> str | None:
    return None if value is None else os.fspath(value)


def _device(value: Any) -> str:
    """A device by its short name: `/device:GPU:1` is gpu:1."""
    name = "auto" if value in (None, "") else value.strip().lower().removeprefix("/").removeprefix("device:")
    kind, _, number = name.partition(":")
    if kind == "gpu" and (number or "0").isdecimal():
        return f"gpu:{int(number or 0)}"
    if name.removesuffix(":0") not in ("auto", "cpu", "standin"):
        raise ValueError
    return str(kind)


def _math(value: Any) -> str:
    if value not in (None, "", "fast", "precise"):
        raise ValueError
    return value or "precise"


def _precision(value: Any) -> str:
    if value not in (None, "", "float32", "tf32", "bfloat16"):
        raise ValueError
    return value or "float32"


def _left_out(value: Any) -> frozenset[str]:
    names = [] if value is None else [part.strip() for part in value.split(",") if part.strip()]
    if any(name[:1] != "-" or name[1:] not in OPTIONAL_PASSES for name in names):
        raise ValueError
    return frozenset(name[1:] for name in names)


def _traces(value: Any) -> frozenset[str]:
    names = [] if value is None else [part.strip() for part in value.split(",") if part.strip()]
    if not set(names) <= set(TRACES):
        raise ValueError
    return frozenset(names)


SWITCHES = {
    switch.name: switch
    for switch in (
        Switch(
            "all_frames", "0 or 1", "0",
            "1: an error that a program does not catch is shown with the frames inside of staticgraph, too",
            _truth, False, of_session=False,
        ),
        Switch(
            "cache_dir", "a folder", "a folder in the user's cache",
            "where compiled code is [cached](#the-cache-of-compiled-code) for the next process: a folder "
            "that only you can use; empty: no cache",
            _folder, of_session=False,
        ),
        Switch(
            "check_bounds", "0 or 1", "1",
            "0: a run does not look for indices, labels and the like that are [out of range]"
            "(seeing.md#out-of-range), nor for integer divisors of 0",
            _truth, True,
        ),
        Switch(
            "check_nan", "0 or 1", "0",
            "1: an error where a run makes NaN or an infinite number, which [names the first op and its line]"
            "(seeing.md#not-finite-the-guard)",
            _truth, False,
        ),
        Switch(
            "cudnn", "0 or 1", "1",
            "0: on a GPU our own kernels do all [convolutions](gpu.md#convolutions), though cuDNN is there",
            _truth, True,
        ),
        Switch(
            "data_workers", "0 or 1", "1",
            "0: `Dataset.map(..., num_parallel_calls=)` uses threads only, no processes of its own",
            _truth, True, of_session=False,
        ),
        Switch(
            "device", "'auto', 'cpu', 'gpu' or a name such as 'gpu:1'", "a GPU if there is one",
            "where steps run: on the processor or [on a GPU](gpu.md)",
            _device, "auto",
        ),
        Switch(
            "dump", "a folder", "nowhere",
            "what each compile made is written there: a file for each stage that changed something, the "
            "kernels, their code",
            _folder,
        ),
        Switch(
            "failures", "a folder", "nowhere",
            "a run that fails is written there, [to be done again](seeing.md#a-run-that-failed)",
            _folder,
        ),
        Switch(
            "improve", "0 or 1", "1",
            "0: formulas are computed as they are written, without the [rules that improve results]"
            "(accuracy.md#rules-that-improve-results), such as `log(exp(x))` to `x`",
            _truth, True,
        ),
        Switch(
            "math", "'precise' or 'fast'", "precise",
            "fast: shorter `tanh`, `erf` and what is made of them in float32, [less precise]"
            "(accuracy.md#faster-less-precise)",
            _math, "precise",
        ),
        Switch(
            "matmul_precision", "'float32', 'tf32' or 'bfloat16'", "float32",
            "what products of float32 may round their operands to on a GPU, which [makes them faster]"
            "(gpu.md#precision)",
            _precision, "float32",
        ),
        Switch(
            "memory_limit", "a number of bytes above zero", "none",
            "what a run may need; values are computed again rather than kept where it would need more",
            _bytes, hint="500 * 2**20 is 500 MB; leave it out for no limit",
        ),
        Switch(
            "no_compile", "0 or 1", "0",
            "1: an error where a run would have to compile something, which says what and why",
            _truth, False,
        ),
        Switch(
            "open_sizes", "0 or 1", "1",
            "0: a step is compiled for the sizes of each run, also for those that its graph leaves open",
            _truth, True,
        ),
        Switch(
            "overlap", "0 or 1", "1",
            "0: a GPU does the work of a step in order, nothing of it [side by side](gpu.md#side-by-side)",
            _truth, True,
        ),
        Switch(
            "passes", "names of passes to leave out, such as -fuse,-join", "all passes",
            "passes that are left out, to find the one at fault: "
            + ", ".join(f"-{name}" for name in OPTIONAL_PASSES),
            _left_out, frozenset(),
        ),
        Switch(
            "progress", "0 or 1", "1",
            "0: no line on a terminal that tells how far a long compile or search is",
            _truth, True, of_session=False,
        ),
        Switch(
            "threads", f"a number from 1 to {MOST_THREADS}",
            "the processors that the process may use, divided among several processes",
            "threads that work on a step, as `set_num_threads` sets",
            _threads, of_session=False,
        ),
        Switch(
            "trace", f"any of {', '.join(TRACES)}", "nothing",
            "what is reported on the standard error stream: each compile with its cause, every stage of a "
            "compile with its time and effect, each rewriting rule that is applied",
            _traces, frozenset(),
        ),
        Switch(
            "tune", "0 or 1", "0",
            "1: when a step is compiled for the processor, products and convolutions are [measured in "
            "several forms](cpu.md#measured-products); the fastest is kept, with the same results",
            _truth, False,
        ),
    )
}

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_IN_CONTEXT: ContextVar[Mapping[str, Any]] = ContextVar("options", default=_NOTHING)  # of sessions: by thread
_IN_PROCESS: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Settings:
    """The switches of a session, as they were when it was made."""

    check_bounds: bool = True
    check_nan: bool = False
    cudnn: bool = True
    device: str = "auto"
    dump: str | None = None
    failures: str | None = None
    improve: bool = True
    math: str = "precise"
    matmul_precision: str = "float32"
    memory_limit: Any = None
    no_compile: bool = False
    open_sizes: bool = True
    overlap: bool = True
    passes: frozenset[str] = frozenset()
    trace: frozenset[str] = frozenset()
    tune: bool = False

    @property
    def left_out(self) -> frozenset[str]:
        """Names of the passes to leave out, and `improve` if the rules that improve results are."""
        return self.passes if self.improve else self.passes | {"improve"}


def settings(**chosen: Any) -> Settings:
    """Return the settings of a session made now with these keywords.

    A keyword of None counts as not given.
    """
    given = {name: checked(name, value) for name, value in chosen.items() if value is not None}
    names = [switch.name for switch in SWITCHES.values() if switch.of_session]
    return Settings(**{name: given[name] if name in given else current(name) for name in names})


def current(name: str) -> Any:
    """The value of a switch here and now."""
    for chosen in (_IN_CONTEXT.get(), _IN_PROCESS):
        if name in chosen:
            return chosen[name]
    return from_environment(name)


def cache_folder() -> Path | None:
    """Return the folder of the cache on disk: `SG_CACHE_DIR`, or one of ours in the user's cache folder.

    None (no cache on disk) if it is set to "" or there is no home folder.
    """
    chosen = current("cache_dir")
    if chosen is not None:
        return _path(chosen) if chosen else None
    return _usual_cache_folder(tuple(map(os.environ.get, _PLACES)))


_path = cache(Path)  # the folder is asked for several times for each kernel
# The variables of the environment that tell where a user's files are.
_PLACES = ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH")


@cache
def _usual_cache_folder(places: tuple[str | None, ...]) -> Path | None:
    """Return the folder for these values of the environment."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "staticgraph" / "kernels"


def from_environment(name: str) -> Any:
    """Return the value of a switch in the environment, or its default.

    An invalid value gives the default and a warning.
    """
    text = os.environ.get(f"{_PREFIX}{name.upper()}")
    return SWITCHES[name].initial if text is None else _parsed(name, text)


@cache
def _parsed(name: str, text: str) -> Any:
    switch = SWITCHES[name]
    try:
        return switch.read(text)
    except (TypeError, ValueError):
        message = f"{switch.variable}={text!r}: expected {switch.takes}; it is taken as {switch.default}"
        warnings.warn(message, RuntimeWarning, stacklevel=4)
        return switch.initial


def in_environment() -> dict[str, str]:
    """The variables of the environment that are switches, or are named like one."""
    return {name: text for name, text in sorted(os.environ.items()) if name.startswith(_PREFIX)}


def checked(name: str, value: Any) -> Any:
    """The value of a switch that a program gives; an error that says what was expected."""
    switch = SWITCHES[name]
    try:
        return switch.read(value)
    except (AttributeError, TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        text = f"{name} is {value!r}, it must be {switch.takes}"
        raise misuse(kind, text, switch.hint or "docs/switches.md tells what each one does") from None


def choose(**values: Any) -> Callable[[], None]:
    """Put checked values in force, until the function that this returns is called."""
    mine = {name: value for name, value in values.items() if SWITCHES[name].of_session}
    token = _IN_CONTEXT.set({**_IN_CONTEXT.get(), **mine})
    before = dict(_IN_PROCESS)
    _IN_PROCESS.update({name: value for name, value in values.items() if name not in mine})

    def restore() -> None:
        _IN_CONTEXT.reset(token)
        for name in values.keys() - mine.keys():
            _IN_PROCESS.pop(name, None)
            if name in before:
                _IN_PROCESS[name] = before[name]

    return restore
