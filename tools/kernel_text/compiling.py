"""Compiles collected functions by NVRTC and says what a GPU would refuse, or do slowly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from kernel_text.collector import Found
from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.kernel.schedule_gpu.target import (
    ARGUMENT_BYTES,
    MOST_BLOCKS,
    REGISTERS,
    SHARED_BYTES,
    WARP,
)
from staticgraph.compiler.machine import gpu_of
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.cuda.nvrtc import CompileError, Usage, groups

_WARNING = re.compile(r"(?:(\w+)\(\d+\): )?(?:ptxas )?warning\s*(#\S+)?: ?(.*)", re.IGNORECASE)
_UNUSED = "177"  # a variable that is declared and not used, as generated text may have


@dataclass(slots=True)
class Report:
    """Resources by function, and what is wrong, as pairs of a function and a text."""

    usage: dict[str, Usage] = field(default_factory=dict)
    errors: list[tuple[str, str]] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)

    @property
    def spilling(self) -> dict[str, Usage]:
        """Functions that keep numbers in memory because registers ran out."""
        return {name: used for name, used in self.usage.items() if used.spills}


def compiled(
    found: Mapping[str, Found], architecture: str, jobs: int, progress: Callable[[int, int], None]
) -> Report:
    """Compile all functions, as many groups at a time as there are `jobs`."""
    report = Report()
    everything = groups([each.function for each in found.values()])
    with ThreadPoolExecutor(jobs) as pool:
        for number, made in enumerate(pool.map(lambda group: _inspected(group, architecture), everything)):
            for name, result in made:
                if isinstance(result, str):
                    report.errors.append((name, result))
                else:
                    report.usage.update(result.usage)
                    report.warnings.update(warnings(result.log))
            progress(number + 1, len(everything))
    for name, each in found.items():
        report.faults += ((name, fault) for fault in faults(each, report.usage.get(name), architecture))
    return report


def _inspected(group: list[CudaFunction], architecture: str) -> list[tuple[str, nvrtc.Inspection | str]]:
    try:
        return [("", nvrtc.inspect(group, architecture))]
    except CompileError as error:
        if len(group) > 1:
            return [each for function in group for each in _inspected([function], architecture)]
        return [(group[0].name, str(error))]


def warnings(log: str) -> Iterator[str]:
    """The warnings of a log, without those of variables that are not used.

    >>> list(warnings('f_12(3): warning #177-D: variable "a" was declared but never referenced'))
    []
    >>> list(warnings('f_12(3): warning #68-D: integer conversion resulted in a change of sign'))
    ['f: #68-D integer conversion resulted in a change of sign']
    """
    for name, number, text in _WARNING.findall(log):
        if not number.startswith(f"#{_UNUSED}"):
            kind = name.rpartition("_")[0] or name
            yield f"{kind}: {number} {text}".strip()


def faults(found: Found, used: Usage | None, architecture: str) -> Iterator[str]:
    """Reasons for which a GPU would refuse to load or to start a function."""
    function, machine = found.function, gpu_of(architecture)
    warps = -(-function.threads // WARP)
    if used is not None and used.registers * warps * WARP > REGISTERS:
        yield f"{used.registers} registers for each of {function.threads} threads"
    if used is not None and used.shared > SHARED_BYTES:
        yield f"declares {used.shared} bytes of shared memory"
    if function.shared > machine.block_shared_bytes:
        yield f"asks for {function.shared} bytes of shared memory"
    if 8 * len(function.parameters) + 4 * len(function.sizes) > ARGUMENT_BYTES:
        yield f"has {len(function.parameters)} pointers and {len(function.sizes)} sizes"
    for x, y, z in sorted(found.grids):
        if min(x, y, z) < 1 or x >= 1 << 31 or max(y, z) > MOST_BLOCKS:
            yield f"is started with a grid of {x} x {y} x {z} blocks"
