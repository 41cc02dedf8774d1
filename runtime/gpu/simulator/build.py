"""CUDA functions compiled for the processor, by the C++ compiler of the host.

All functions of one call become one shared library: our header, the prelude, their text, and a table of
launchers. Libraries are kept on disk with the other objects, under a hash of all that decides their content.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from staticgraph.compiler.codegen.cuda.function import CudaFunction, Extents
from staticgraph.compiler.support import forks
from staticgraph.runtime.disk import object_cache
from staticgraph.runtime.gpu.cuda.nvrtc import source

HEADERS = ("dialect.h", "fiber.h", "races.h", "simt.h")
COMPILERS = ("g++", "clang++", "c++")
# A frame may have half of the 65536 bytes of a thread's stack.
OPTIONS: tuple[str, ...] = (
    "-std=c++20",
    "-O1",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-ffp-contract=off",
)
OPTIONS += ("-fno-exceptions", "-fno-strict-aliasing", "-Werror=frame-larger-than=32768")
_TRIPLE = ctypes.c_uint * 3
_CALLS_FOR_ACCESSES = "-fsanitize=thread"
RACES = ("-DSIMT_RACES", _CALLS_FOR_ACCESSES, "-g1")  # the options that find data races


class BuildError(RuntimeError):
    """The compiler of the host is missing, or refuses the text of a function."""


class Unit:
    """Functions that are compiled together, and loaded."""

    def __init__(self, functions: Sequence[CudaFunction], options: Sequence[str] = ()) -> None:
        """`options`: more of the compiler's, such as `-fsanitize=undefined`."""
        self.functions: dict[str, CudaFunction] = {}
        for f in functions:
            if self.functions.setdefault(f.name, f) != f:
                raise ValueError(f"two functions have the name {f.name}")
        self._options = options
        self._places = {name: place for place, name in enumerate(self.functions)}
        self._library = _loaded(library(list(self.functions.values()), options))
        self._library.simt_run.restype = ctypes.c_char_p
        self._lock = threading.RLock()  # a library has one set of threads
        forks.in_child(self._forked)

    def run(
        self,
        name: str,
        addresses: Sequence[int],
        schedule: int = 0,
        grid: Extents | None = None,
        block: Extents | None = None,
        sizes: Sequence[int] = (),
    ) -> None:
        """Run a function on these addresses and sizes. RuntimeError that names it if its threads misbehave.

        `schedule`: 0 and 1, all warps go on by turns, from the first to the last or from the last to the
        first; 2 and 3, each goes as far as it can; from 4 on, the dice decide, differently for each number.
        """
        function = self.functions[name]
        place = self._places[name]
        arguments = [*addresses, *sizes]
        if len(arguments) != self._library.simt_parameters(place):
            wanted = self._library.simt_parameters(place)
            raise TypeError(f"{name} takes {wanted} arguments, and got {len(arguments)}")
        given = (ctypes.c_void_p * max(len(arguments), 1))(*arguments)
        with self._lock:
            extents = _TRIPLE(*(grid or function.grid or ())), _TRIPLE(*(block or function.block))
            wrong = self._library.simt_run(place, *extents, function.meets, schedule, given)
        if wrong:
            raise RuntimeError(f"{name}: {self._located(wrong.decode(errors='replace'), function)}")

    def _located(self, message: str, function: CudaFunction) -> str:
        """The message about a data race with names of arguments, and lines of functions."""
        names = [*(p.name for p in function.parameters), *function.sizes]
        message = re.sub(r"argument (\d+)", lambda found: f"`{names[int(found[1])]}`", message)
        places = re.findall(r"\+(0x[0-9a-f]+)", message)
        if places and (tool := shutil.which("addr2line")):
            with tempfile.NamedTemporaryFile(suffix=".so") as file:
                file.write(library(list(self.functions.values()), self._options))
                file.flush()
                # A call returns behind itself.
                addresses = [hex(int(place, 16) - 1) for place in places]
                lines = subprocess.run([tool, "-e", file.name, *addresses], capture_output=True, text=True)
            for place, line in zip(places, lines.stdout.splitlines(), strict=False):
                message = message.replace(f"+{place}", os.path.basename(line.split(" (")[0]), 1)
        return message

    def _forked(self) -> None:
        forks.reclaim(self._lock)


def translation_unit(functions: Sequence[CudaFunction]) -> str:
    """The text that the compiler of the host is given."""
    table = ", ".join(f"simt::Entry<{f.name}>::launcher" for f in functions)
    return f"""#include "dialect.h"
#include "simt.h"
{source(functions)}
#line 1 "table"
static const simt::Launcher launchers[] = {{{table}}};
#define SIMT_EXPORT extern "C" __attribute__((visibility("default")))
SIMT_EXPORT unsigned simt_parameters(unsigned which) {{ return launchers[which].parameters; }}
SIMT_EXPORT void simt_watch(const simt::Extent* those, size_t count) {{ simt::watch(those, count); }}
SIMT_EXPORT const char* simt_run(unsigned which, const unsigned* grid, const unsigned* block, bool meets,
                                 int schedule, void* const* arguments) {{
  return simt::launch(launchers[which], grid, block, meets, schedule, arguments);
}}
"""


def library(functions: Sequence[CudaFunction], options: Sequence[str]) -> bytes:
    """The shared library of some functions, from the folder of objects or compiled now."""
    text, compiler = translation_unit(functions), host_compiler()
    options = [*OPTIONS, *options]
    said = "\n".join([_version(compiler), *options, *_headers().values(), text])
    key = f"simt-{hashlib.sha256(said.encode()).hexdigest()[:40]}"
    found = object_cache.read(key)
    if found is None:
        found = _compiled(compiler, options, text)
        object_cache.write(key, found)
    return found


def host_compiler() -> str:
    """The path of a C++ compiler. BuildError if there is none."""
    found = _find_compiler()
    if found is None:
        raise BuildError(f"no C++ compiler found on PATH: looked for {', '.join(COMPILERS)}")
    return found


@cache
def _find_compiler() -> str | None:
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


@cache
def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


@cache
def _headers() -> dict[str, str]:
    here = resources.files("staticgraph.runtime.gpu.simulator")
    return {name: (here / name).read_text() for name in HEADERS}


def _compiled(compiler: str, options: Sequence[str], text: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="staticgraph-") as name:
        folder = Path(name)
        for header, content in _headers().items():
            (folder / header).write_text(content)
        (folder / "unit.cpp").write_text(text)
        commands = [[*options, "-o", "unit.so", "unit.cpp"]]
        if _CALLS_FOR_ACCESSES in options:  # the functions that it calls are ours: its library stays out
            compiled = [option for option in options if option != "-shared"]
            commands = [[*compiled, "-c", "-o", "unit.o", "unit.cpp"], ["-shared", "-o", "unit.so", "unit.o"]]
        for arguments in commands:
            done = subprocess.run([compiler, *arguments], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                said = done.stderr.splitlines()
                lines = [line for line in said if "error" in line] or said
                raise BuildError("the compiler of the host refuses a function:\n" + "\n".join(lines[:10]))
        return (folder / "unit.so").read_bytes()


def _loaded(content: bytes) -> ctypes.CDLL:
    handle, path = tempfile.mkstemp(prefix="staticgraph-", suffix=".so")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return ctypes.CDLL(path)
    finally:
        os.unlink(path)  # what is loaded stays
