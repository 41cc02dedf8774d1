"""NVRTC, NVIDIA's compiler of CUDA C, through `ctypes`: machine code for a GPU that need not be here.

CuPy's way to it asks for CUDA's headers and flushes small numbers to zero; this one does neither. Images are
kept on disk with the other objects, under a hash of all that decides their content. It takes its time for
each function, and compiles several side by side.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from ctypes.util import find_library
from functools import cache
from importlib.metadata import PackageNotFoundError, files, version
from typing import Any

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.codegen.cuda.prelude import PRELUDE
from staticgraph.compiler.graph.errors import FailedPreconditionError
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.disk import object_cache

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")  # of GPUs since 2018
OPTIONS = ("--std=c++17",)
_WHEELS = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
_LIBRARY = re.compile(r"libnvrtc\.so\.\d+|libnvrtc\.dylib|nvrtc64_\d+_\d+\.dll")
_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_SHOWN = 10  # lines of a log
_GIVEN_AWAY = 64  # bytes, written and read: eight registers


class CompileError(RuntimeError):
    """NVRTC refuses the text of a function."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources of a function: registers per thread, and bytes of stack, of spills and of shared memory.

    `spilled` counts the bytes written and the bytes read again because registers ran out. `shared` is per
    block.
    """

    registers: int
    stack: int
    spilled: int
    shared: int

    @property
    def spills(self) -> bool:
        """True if registers ran out. The compiler gives some away to have room for one more block."""
        return self.spilled > _GIVEN_AWAY


@dataclass(frozen=True, slots=True)
class Inspection:
    """Functions compiled for an architecture, with what there is to read about them: `log` has warnings."""

    image: bytes
    ptx: str
    usage: dict[str, Usage]
    log: str


def compile(functions: Sequence[CudaFunction], architecture: str) -> bytes:
    """An image of them, a cubin, for GPUs of an architecture such as "sm_90".

    One that the disk has needs no library: loading it takes longer than all the rest.
    """
    text = source(functions)
    said = "\n".join([_version(), architecture, *OPTIONS, text])
    key = f"cubin-{hashlib.sha256(said.encode()).hexdigest()[:40]}"
    image = object_cache.read(key)
    if image is None:
        with _compiled(_library(), text, architecture, OPTIONS) as program:
            image = program("CUBIN")
        object_cache.write(key, image)
    return image


def inspect(functions: Sequence[CudaFunction], architecture: str) -> Inspection:
    """Compile them, and tell what the compiler says about each."""
    options = [*OPTIONS, "--ptxas-options=-v"]
    with _compiled(_library(), source(functions), architecture, options) as program:
        ptx, log = (program(part).rstrip(b"\0").decode() for part in ("PTX", "ProgramLog"))
        return Inspection(program("CUBIN"), ptx, usage(log), log)


def usage(log: str) -> dict[str, Usage]:
    """Return the resources of each function, from the log of a compiler that was asked for them.

    >>> usage('''ptxas info    : Compiling entry function 'f' for 'sm_90'
    ... ptxas info    : Function properties for f
    ... ptxas         .     8 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
    ... ptxas info    : Used 14 registers, used 1 barriers, 128 bytes smem''')
    {'f': Usage(registers=14, stack=8, spilled=20, shared=128)}
    """

    def number(pattern: str, text: str) -> int:
        return sum(map(int, re.findall(pattern, text)))

    _, *parts = _ENTRY.split(log)
    return {
        name: Usage(
            number(r"Used (\d+) registers", text),
            number(r"(\d+) bytes stack frame", text),
            number(r"(\d+) bytes spill", text),
            number(r"(\d+) bytes smem", text),
        )
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


def available() -> bool:
    """Return True if the NVRTC library is installed."""
    try:
        _library()
    except FailedPreconditionError:
        return False
    return True


@cache
def _library() -> Any:
    """The library, from CuPy's helper, from a wheel, or from where the system has it."""
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise FailedPreconditionError(
        "NVIDIA's compiler NVRTC, which makes machine code of kernels for a GPU, is not here",
        hint='pip install "staticgraph[cuda13]", or with cuda12 for a driver of CUDA 12, brings it',
    )


def _candidates() -> Iterator[str]:
    try:
        from cuda import pathfinder  # comes with CuPy
    except ImportError:
        pass
    else:
        with suppress(pathfinder.DynamicLibNotFoundError):
            yield pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path or ""
    for wheel in _WHEELS:
        try:
            listed = files(wheel) or []
        except PackageNotFoundError:
            continue
        yield from (str(path.locate()) for path in listed if _LIBRARY.fullmatch(path.name))
    found = find_library("nvrtc")
    if found is not None:
        yield found
    if sys.platform == "linux":
        yield from ("libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so")


@cache
def _version() -> str:
    """The version of the library: of the installed wheels as their names tell it, else as it says itself."""
    installed = []
    for wheel in _WHEELS:
        with suppress(PackageNotFoundError):
            installed.append(f"{wheel} {version(wheel)}")
    if installed:
        return " ".join(installed)
    library = _library()
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(library, library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"nvrtc {major.value}.{minor.value}"


@contextmanager
def _compiled(
    library: Any, text: str, architecture: str, options: Sequence[str]
) -> Iterator[Callable[[str], bytes]]:
    """Context of a compiled text: yields a function that returns a part of the result by its name.

    Raises CompileError if NVRTC refuses the text.
    """
    program = ctypes.c_void_p()
    place = ctypes.byref(program)
    _check(library, library.nvrtcCreateProgram(place, text.encode(), b"functions", 0, None, None))

    def part(name: str) -> bytes:
        size = ctypes.c_size_t()
        _check(library, getattr(library, f"nvrtcGet{name}Size")(program, ctypes.byref(size)))
        content = ctypes.create_string_buffer(size.value)
        _check(library, getattr(library, f"nvrtcGet{name}")(program, content))
        return content.raw

    try:
        given = [option.encode() for option in (*options, f"--gpu-architecture={architecture}")]
        status = library.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
        if status:
            lines = part("ProgramLog").rstrip(b"\0").decode(errors="replace").splitlines()
            wrong = [line for line in lines if "error" in line] or lines or [_words(library, status)]
            raise CompileError(f"NVRTC refuses a function for {architecture}:\n" + "\n".join(wrong[:_SHOWN]))
        yield part
    finally:
        library.nvrtcDestroyProgram(place)


def _words(library: Any, status: int) -> str:
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return str(library.nvrtcGetErrorString(status).decode())


def _check(library: Any, status: int) -> None:
    if status:
        raise RuntimeError(f"NVRTC: {_words(library, status)}")


def source(functions: Iterable[CudaFunction]) -> str:
    """The prelude and these functions. Lines are counted anew in each, so that a message names it."""
    parts = {PRELUDE: "prelude"}
    for function in functions:  # some of which may call the same ones
        parts |= dict.fromkeys((*function.before, function.definition), function.name)
    return "".join(f'#line 1 "{name}"\n{text}\n' for text, name in parts.items())


TOGETHER = 24 << 10  # characters of text that are worth what all functions have in common once more


def groups(functions: Sequence[CudaFunction]) -> list[list[CudaFunction]]:
    """Functions in their order, in groups that take about as long to compile."""
    found: list[list[CudaFunction]] = []
    size = TOGETHER
    for function in functions:
        if size >= TOGETHER:
            found.append([])
            size = 0
        found[-1].append(function)
        size += len(function.text)
    return found


def compiled(
    functions: Sequence[CudaFunction], architecture: str
) -> Iterator[tuple[list[CudaFunction], bytes]]:
    """Compile groups of functions, and yield each with its image."""
    parts = groups(functions)
    if len(parts) < 2:
        yield from ((part, compile(part, architecture)) for part in parts)
        return
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1), "nvrtc") as pool:
        # A thread does not have the switches of this one by itself, such as where the cache is.
        asked = [pool.submit(copy_context().run, compile, part, architecture) for part in parts]
        for part, image in zip(parts, asked, strict=True):
            yield part, image.result()
