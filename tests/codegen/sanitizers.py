"""Native support code under a sanitizer: instrumented by LLVM, and called by tests in another process.

clang, or LLVM's opt and llc, put the checks into the text. The runtime of the sanitizer is a library of the C
compiler's, which must be in a process before all others: LD_PRELOAD. Only instrumented code is checked, but
the runtime knows the memory that Python allocates as well.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from staticgraph.compiler.codegen.llvm.text import Code, module
from staticgraph.runtime.cpu.jit import host

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "NATIVE_LIBRARY"  # the variable that tells sanitized.py where the instrumented functions are
_PASSES = {"address": "asan", "thread": "tsan-module,function(tsan)"}
_LIBRARIES = {"address": "asan", "thread": "tsan"}
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:alloc_dealloc_mismatch=0",  # Python keeps much memory until its end
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66",
    "PYTHONMALLOC": "malloc",  # each object gets a surrounding of its own
}
# LLVM 15 and newer call it, and the libraries of GCC 12 and older check memcpy itself.
_MORE = """\
#include <string.h>
void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
"""
Tool = Callable[[str, Path, Path], None]  # (sanitizer, text, object)


def needs(sanitizer: str) -> pytest.MarkDecorator:
    """Skip a test where its tools are missing."""
    why = _missing(sanitizer)
    return pytest.mark.skipif(why is not None, reason=str(why))


def library(folder: Path, sanitizer: str, codes: Sequence[Code], plant: Callable[[str], str] = str) -> Path:
    """A library of these functions, instrumented. `plant` changes their text, for a test of the sanitizer."""
    text = plant(module(codes, host()))
    marked = re.sub(r"(?m)^(define .*) nounwind \{$", rf"\1 nounwind sanitize_{sanitizer} {{", text)
    assert marked.count(f"sanitize_{sanitizer}") == text.count("define ")
    source, object, made, more = (folder / name for name in ("native.ll", "native.o", "native.so", "more.c"))
    source.write_text(marked)
    more.write_text(_MORE)
    tool = _tool()
    assert tool is not None
    tool(sanitizer, source, object)
    _run(_compilers()[0], "-shared", "-fPIC", object, more, "-o", made)
    return made


def checked(sanitizer: str, made: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    """Run tests of this checkout with the functions in a library instead of those that LLVM compiles here."""
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "tests.codegen.sanitized"]
    command += ["-p", "no:cacheprovider", "-p", "no:faulthandler", *tests]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment |= {**_OPTIONS, LIBRARY: str(made), "LD_PRELOAD": str(_runtime(sanitizer))}
    return subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )


@functools.cache
def _missing(sanitizer: str) -> str | None:
    """Say why nothing can be checked here."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return "sanitizers are tried on Linux only"
    if _tool() is None:
        return "no clang 15 or newer is installed, nor opt and llc of LLVM 14 or newer"
    if _runtime(sanitizer) is None:
        return f"no C compiler has the library of the {sanitizer} sanitizer"
    return None


@functools.cache
def _tool() -> Tool | None:
    """The tool that puts checks into LLVM text and compiles it."""
    if _version("clang") >= 15:
        return _by_clang
    return _by_opt if _version("opt") == _version("llc") >= 14 else None


def _by_clang(sanitizer: str, text: Path, object: Path) -> None:
    options = ("-O1", "-fPIC", f"-fsanitize={sanitizer}", "-Wno-override-module")
    _run("clang", *options, "-c", "-x", "ir", text, "-o", object)


def _by_opt(sanitizer: str, text: Path, object: Path) -> None:
    old = _version("opt") == 14
    opaque = ("-opaque-pointers",) if old else ()
    passes = "asan-module" if old and sanitizer == "address" else _PASSES[sanitizer]
    instrumented = text.with_suffix(".bc")
    _run("opt", *opaque, f"-passes={passes}", text, "-o", instrumented)
    _run("llc", *opaque, "-O1", "-filetype=obj", "-relocation-model=pic", instrumented, "-o", object)


@functools.cache
def _version(tool: str) -> int:
    """The major version of LLVM of a tool, 0 if it is not installed."""
    if shutil.which(tool) is None:
        return 0
    told = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d+)", told)
    return int(found[1]) if found else 0


def _compilers() -> list[str]:
    return [name for name in ("gcc", "clang") if shutil.which(name)]


@functools.cache
def _runtime(sanitizer: str) -> Path | None:
    """The library of a sanitizer."""
    name = _LIBRARIES[sanitizer]
    files = f"lib{name}.so", f"libclang_rt.{name}-{platform.machine()}.so", f"libclang_rt.{name}.so"
    for compiler in _compilers():
        for file in files:
            command = [compiler, f"-print-file-name={file}"]
            path = Path(subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip())
            if path.is_absolute() and path.exists():
                return path
    return None


def _run(*command: str | Path) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
