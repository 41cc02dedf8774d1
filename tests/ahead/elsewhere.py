"""Objects for other systems, linked by a cross compiler and run by an emulator, where both are installed.

On Debian: `apt install gcc-aarch64-linux-gnu qemu-user` and `apt install gcc-mingw-w64-x86-64 wine64`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.runtime.aot.build import Built
from staticgraph.runtime.aot.interface import Array, CFunction, Interface
from staticgraph.runtime.cpu.jit import host
from staticgraph.runtime.cpu.target import target_of

# Answers calls: a byte that says which function, then its inputs; a byte with its status, then its outputs.
_PROGRAM = """
#include <stdio.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif
#include "{name}.h"

static {name} state;

static int take(void *to, size_t bytes) {{ return fread(to, 1, bytes, stdin) == bytes; }}
static void give(const void *from, size_t bytes) {{ fwrite(from, 1, bytes, stdout); }}

{functions}
int main(void) {{
    int which;
#ifdef _WIN32
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
#endif
    if ({name}_init(&state)) return 2;
    while ((which = getchar()) != EOF) {{
        switch (which) {{
{cases}
            default: return 3;
        }}
        fflush(stdout);
    }}
    return 0;
}}
"""


@dataclass(frozen=True)
class System:
    """A system whose programs can be run here. `compiler` and `emulator`: commands."""

    triple: str
    compiler: tuple[str, ...]
    emulator: tuple[str, ...]

    @property
    def alike(self) -> bool:
        """Return True if its programs are for processors like this one."""
        return self.triple.partition("-")[0] == host().triple.partition("-")[0]

    @property
    def target(self) -> CpuTarget:
        """This processor, or what all processors of another kind can do."""
        here = host()
        return target_of(self.triple, here.cpu, here.features) if self.alike else target_of(self.triple)

    @property
    def missing(self) -> str:
        """A program that is not installed, or nothing."""
        return next((name for name, *_ in (self.compiler, self.emulator) if shutil.which(name) is None), "")

    def link(self, *arguments: str, cwd: Path) -> None:
        """Run the compiler, which must not complain."""
        done = subprocess.run([*self.compiler, *arguments], cwd=cwd, capture_output=True, text=True)
        assert not done.returncode and not done.stderr, done.stderr

    def start(self, program: Path, **options: Any) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(program.parent.parent / "wine")}
        return subprocess.Popen([*self.emulator, str(program)], env=environment, **options)


SYSTEMS = (
    System("aarch64-linux-gnu", ("aarch64-linux-gnu-gcc", "-static"), ("qemu-aarch64",)),
    System("x86_64-w64-mingw32", ("x86_64-w64-mingw32-gcc", "-static"), ("wine",)),
)


class Elsewhere:
    """A compiled graph in a process of another system."""

    def __init__(self, system: System, made: Built, folder: Path) -> None:
        self.functions = {f.label: (n, f) for n, f in enumerate(made.interface.functions)}
        name = made.interface.name
        made.write(folder / name)
        (folder / "serve.c").write_text(_program(made.interface))
        system.link("-std=c99", "-O1", "serve.c", f"{name}.o", "-lm", "-o", f"{name}.exe", cwd=folder)
        pipe = subprocess.PIPE
        self.process = system.start(folder / f"{name}.exe", stdin=pipe, stdout=pipe)

    def __call__(self, label: str, *inputs: Any) -> list[np.ndarray]:
        """The outputs of a function, in their order."""
        number, function = self.functions[label]
        assert self.process.stdin and self.process.stdout
        parts = (_bytes(v, a) for v, a in zip(inputs, function.inputs, strict=True))
        self.process.stdin.write(bytes([number]) + b"".join(parts))
        self.process.stdin.flush()
        assert self.process.stdout.read(1) == b"\0"
        return [_received(self.process.stdout, array) for array in function.outputs]

    def __enter__(self) -> Elsewhere:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait() == 0


def _bytes(value: Any, array: Array) -> bytes:
    dtype = array.type.dtype
    found = np.asarray(value, dtype.numpy)
    assert found.shape == array.type.static_shape
    return dtype.to_bytes(found).ljust(array.stored, b"\0")


def _received(stream: BinaryIO, array: Array) -> np.ndarray:
    data = stream.read(array.stored)[: array.bytes]
    return array.type.dtype.from_bytes(data, array.type.static_shape)


def _program(interface: Interface) -> str:
    functions = [*enumerate(interface.functions)]
    cases = (f"case {n}: if (!serve{n}()) return 4; break;" for n, _ in functions)
    return _PROGRAM.format(
        name=interface.name,
        functions="\n".join(_served(n, f) for n, f in functions),
        cases="\n".join(" " * 12 + case for case in cases),
    )


def _served(number: int, function: CFunction) -> str:
    """A function of C that takes the inputs, calls, and gives the outputs."""
    arrays = [(f"a{n}", array) for n, array in enumerate(function.arrays)]
    inputs, outputs = arrays[: len(function.inputs)], arrays[len(function.inputs) :]
    lines = [
        *(f"static {array.c_type} {a}[{array.elements}];" for a, array in arrays),
        *(f"if (!take({a}, sizeof {a})) return 0;" for a, _ in inputs),
        f"putchar({function.symbol}(&state{''.join(f', {a}' for a, _ in arrays)}));",
        *(f"give({a}, sizeof {a});" for a, _ in outputs),
        "return 1;",
    ]
    return "\n    ".join([f"static int serve{number}(void) {{", *lines]) + "\n}\n"
