"""A GPU's code in a saved graph: the functions of its programs, compiled for one architecture of GPUs.

A member is a safetensors file of bytes: `programs.json` tells the architecture, what each program works on,
and the names of the functions in `image`. A name is a digest of the function's text, so an image is of use
where this version writes the same text, with the same prelude; other functions are compiled when they are
needed, as without it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.codegen.cuda.prelude import PRELUDE
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.gpu.step_open import OpenGpuCompiled
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.machine import gpu_of
from staticgraph.runtime.files.attributes import Kinds, dump, encode_type, fields, items, parse
from staticgraph.runtime.files.code.cpu import feeds, packed, unpacked
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.device import Device, Image

_PROGRAMS, _IMAGE = "programs.json", "image"
_HEAD: Kinds = {"architecture": (str,), "prelude": (str,), "programs": (list,), "functions": (list,)}
_PROGRAM: Kinds = {"signature": (str,), "feeds": (list,), "arguments": (list,)}


@cache
def prelude_digest() -> str:
    """A digest of what all functions have in common, which their names do not tell."""
    return hashlib.sha256(PRELUDE.encode()).hexdigest()[:16]


def is_card(target: str) -> bool:
    """Return True if a target is a GPU architecture, such as sm_90."""
    return re.fullmatch(r"sm_\d{2,3}[af]?", target) is not None


Opened = tuple[OpenGpuCompiled, Mapping[str, int]]  # a program with open sizes, and values of these


def write(architecture: str, steps: Iterable[tuple[str, Sequence[str], Step, Opened | None]]) -> list[Any]:
    """The pieces of a member with steps, each with its signature, the names of its feeds, and how sessions
    with open sizes compile it.
    """
    functions: dict[str, CudaFunction] = {}
    programs = []
    plain = GpuTarget(machine=gpu_of(architecture))
    # Who loads it may have cuDNN, and then needs what goes before and after its convolutions.
    library = replace(plain, refused=frozenset())
    for signature, names, step, opened in steps:
        compiled = compile_gpu(step, target=plain)
        made = [compiled, compile_gpu(step, target=library)]
        if opened is not None:
            program, values = opened
            made += [program.at(values, target) for target in (plain, library)]
        functions |= {f.name: f for each in made for f in each.functions}
        types = compiled.program.arguments[: len(names)]
        programs.append(
            {"signature": signature, "feeds": list(names), "arguments": [encode_type(t) for t in types]}
        )
    head = {
        "architecture": architecture,
        "prelude": prelude_digest(),
        "programs": programs,
        "functions": [*functions],
    }
    image = nvrtc.compile([*functions.values()], architecture) if functions else b""
    return packed({_PROGRAMS: dump(head).encode(), _IMAGE: image})


def described(member: memoryview) -> tuple[str, list[dict[str, Any]]]:
    """Return a member's description: its architecture, and signature and feeds of each program."""
    head, _ = _parts(member)
    told = [fields(program, "a program", _PROGRAM) for program in head["programs"]]
    return head["architecture"], [{"signature": p["signature"], "feeds": feeds(p)} for p in told]


def provide(members: Iterable[bytes], device: Device) -> None:
    """Let a device take functions from these members, those for its own architecture first."""
    found = []
    for data in members:
        head, image = _parts(memoryview(data))
        names = frozenset(items(head["functions"], "the functions of an image", str))
        if head["prelude"] == prelude_digest():
            found.append((head["architecture"], Image(names, image)))
    found.sort(key=lambda each: each[0] != device.driver.card.architecture)
    device.images += [image for _, image in found]


def _parts(member: memoryview) -> tuple[dict[str, Any], bytes]:
    entries = unpacked(member)
    if entries.keys() != {_PROGRAMS, _IMAGE}:
        raise InvalidFileError(f"its code for GPUs has no {_PROGRAMS} or no {_IMAGE}")
    return fields(parse(entries[_PROGRAMS], _PROGRAMS), _PROGRAMS, _HEAD), entries[_IMAGE]
