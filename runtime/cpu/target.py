"""The processor and the system that code is compiled for, by the names that a user gives them."""

from __future__ import annotations

from staticgraph.compiler.codegen.target import CpuTarget, vector_bytes
from staticgraph.compiler.graph.errors import InvalidArgumentError, layout
from staticgraph.runtime.cpu.cpu_features import probe
from staticgraph.runtime.cpu.jit import fast_math, host

# Architectures, by the names they go by, and the processors that run what all of them can do.
_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "arm64"}
_BASELINE = {"x86_64": "x86-64", "aarch64": "generic", "arm64": "generic"}
_SYSTEMS = {
    "linux": "unknown-linux-gnu",
    "windows": "pc-windows-msvc",
    "mingw32": "pc-windows-gnu",
    "darwin": "apple-darwin",
    "macos": "apple-macos",
    "macosx": "apple-macosx",
    "freebsd": "unknown-freebsd",
}


def target_of(triple: str | None = None, cpu: str | None = None, features: str = "") -> CpuTarget:
    """The target that these names stand for.

    `triple`: `x86_64-linux-gnu`, `aarch64-linux-gnu`, `arm64-apple-darwin`, `x86_64-windows`, ...; by default
    this machine. `cpu`: a processor as LLVM calls it, or "native" for this one, which is the default without
    a triple; with one it is the oldest of the architecture. `features`: "+avx2,-fma", in addition.
    InvalidArgumentError for what is not known.
    """
    here = host()
    chosen = here.triple if triple is None else normalized(triple)
    if cpu == "native" or (cpu is None and triple is None):
        if chosen.split("-")[::2] != here.triple.split("-")[::2]:  # whatever the vendors
            raise _refuse(f"--cpu native is a processor of {here.triple}, not of {triple}")
        if not features:
            return here
        cpu, features = here.cpu, f"{here.features},{features}"
    cpu = _baseline(chosen) if cpu is None else cpu
    data_layout, found = probe(chosen, cpu, features)
    return CpuTarget(chosen, data_layout, cpu, found, vector_bytes(found), fast_math())


def normalized(triple: str) -> str:
    """A triple with all its parts, as LLVM wants them.

    >>> normalized("x86_64-linux-gnu"), normalized("x86_64-windows"), normalized("arm64-apple-darwin")
    ('x86_64-unknown-linux-gnu', 'x86_64-pc-windows-msvc', 'arm64-apple-darwin')
    """
    architecture, *parts = triple.lower().split("-")
    known = _ARCHITECTURES.get(architecture)
    where = next((n for n, part in enumerate(parts) if _system(part)), None)
    if known is None or where is None or where > 1 or len(parts) > where + 2:
        raise _refuse(f"the target {triple!r} is not known")
    usual = _SYSTEMS[_system(parts[where])].split("-")
    vendor, (system, *environment) = usual[0], usual[1:]
    kept = parts[where] if system in parts[where] else system  # macosx14.0 says more than macosx
    return "-".join([known, parts[0] if where else vendor, kept, *(parts[where + 1 :] or environment)])


def _system(part: str) -> str:
    """The entry of the table that a part of a triple names, "" if it names no system."""
    return next((name for name in sorted(_SYSTEMS, key=len, reverse=True) if part.startswith(name)), "")


def _baseline(triple: str) -> str:
    architecture = triple.partition("-")[0]
    return "apple-m1" if architecture != "x86_64" and "-apple-" in triple else _BASELINE[architecture]


def _refuse(text: str) -> InvalidArgumentError:
    hint = "targets are x86_64, aarch64 or arm64, with linux-gnu, apple-darwin, windows or freebsd"
    return InvalidArgumentError(layout(text, hint=hint))
