"""Text of a bisection: the kernel, pass or rule at fault, and the effect of leaving out passes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import SaveError, layout
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.printer import function_text
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.lower.program import Launch
from staticgraph.compiler.stages import NAMES
from staticgraph.runtime.debug.bisect import Bisection
from staticgraph.runtime.debug.compare import Difference
from staticgraph.runtime.debug.wrong_kernel import WrongKernel
from staticgraph.runtime.debug.wrong_pass import WrongPass
from staticgraph.runtime.files.arrays import weights
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.reports.dump import as_kernel
from staticgraph.runtime.state.memory import to_storage

_SHOWN = 8  # results that differ


def text(found: Bisection, dumped: Path | None = None) -> str:
    """Return the findings as text for a person.

    `dumped`: the folder with the files of the kernel at fault.
    """
    return "\n".join(_lines(found, dumped))


def _lines(found: Bisection, dumped: Path | None) -> Iterator[str]:
    count = f"{found.kernels} kernel{'s' if found.kernels != 1 else ''}"
    if found.agrees and found.stopped is not None:
        yield f"{found.what}: {count} do what NumPy does, until an op fails, and nothing else was looked at"
        yield f"  {found.stopped.partition(chr(10))[0]}"
    elif found.broken is not None:
        yield f"{found.what}: the kernel {found.broken} does not come to its end, and NumPy does"
        yield f"  {(found.stopped or '').partition(chr(10))[0]}"
    elif found.agrees:
        yield f"{found.what}: {count} and the whole program do what NumPy does"
    else:
        yield f"{found.what}: compiled code differs from NumPy"
    if found.kernel is not None:
        yield from _kernel_lines(found.kernel, dumped)
    elif not found.agrees and found.broken is None:
        yield f"each of {count} does by itself what its ops mean"
    if found.wrong_pass is not None:
        yield from _pass_lines(found.wrong_pass)
    wrong = [(name, difference) for name, difference in found.results.items() if difference is not None]
    if wrong:
        yield f"{len(wrong)} of {len(found.results)} results of the whole program differ"
        for name, difference in wrong[:_SHOWN]:
            yield f"  {name}\n    {difference}"
        yield from ["  ..."] if len(wrong) > _SHOWN else []
    if found.without:
        yield "with one pass left out"
        width = max(map(len, found.without))
        for name, right in found.without.items():
            yield f"  -{name:<{width}}  {'the results are right' if right else 'the results still differ'}"
    if not found.agrees:
        yield f"at fault: {found.fault}"


def _kernel_lines(kernel: WrongKernel, dumped: Path | None) -> Iterator[str]:
    rounds = "".join(f", in round {number} of a loop" for number in kernel.rounds)
    yield f"the first kernel that differs is {kernel.name}{rounds}"
    yield f"  ops    {' '.join(kernel.ops)}"
    yield f"  lines  {', '.join(where.short for where in kernel.lines)}"
    yield f"  differs: {kernel.difference}"
    if kernel.stage is not None:
        yield f"  by the stage {kernel.stage} of the compiler: {NAMES[kernel.stage].about}"
    if dumped is not None:
        yield f"  its code and its inputs are in {dumped}"


def _pass_lines(wrong: WrongPass) -> Iterator[str]:
    yield f"the first pass that changes what the step means is {wrong.name}"
    yield f"  {wrong.result}"
    yield f"    {wrong.difference.in_words('before', 'after')}"
    if wrong.rule is not None:
        place = f", applied to {wrong.where.short}" if wrong.where is not None else ""
        yield f"  by its rule {wrong.rule.name!r}{place}"


def dump(kernel: WrongKernel, folder: str | os.PathLike[str]) -> Path:
    """Write a kernel's graph, loops and code, what it was given, and both results. SaveError."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        launches = [i for i in kernel.compiled.program.instructions if isinstance(i, Launch)]
        texts = {
            "graph.txt": function_text(kernel.compiled.step.function),
            "kernel.txt": "\n".join(kernel_text(as_kernel(each.work)) for each in launches),
            f"code.{kernel.backend.language}": kernel.backend.code(kernel.compiled),
        }
        for name, written in texts.items():
            (path / name).write_text(written, encoding="utf-8")
    except OSError as error:
        raise SaveError(layout(f"cannot write to {folder}: {error.strerror}")) from None
    function = kernel.compiled.step.function
    weights.write(
        path / "values.npz",
        {
            **_stored("input", function.params, kernel.inputs),
            **_stored("expected", function.results, kernel.expected),
            **_stored("found", function.results, kernel.found),
        },
    )
    return path


def _stored(label: str, values: Sequence[Value], arrays: Sequence[np.ndarray]) -> dict[str, Stored]:
    pairs = enumerate(zip(values, arrays, strict=True))
    return {f"{label} {i}": (v.dtype, np.ascontiguousarray(to_storage(a, v.dtype))) for i, (v, a) in pairs}


def as_dict(found: Bisection) -> dict[str, Any]:
    """The same as dicts, lists, texts and numbers, as for JSON."""
    kernel, wrong = found.kernel, found.wrong_pass
    return {
        "what": found.what,
        "agrees": found.agrees,
        "fault": found.fault,
        "kernels": found.kernels,
        "kernel": None
        if kernel is None
        else {
            "name": kernel.name,
            "ops": list(kernel.ops),
            "lines": [where.short for where in kernel.lines],
            "rounds": list(kernel.rounds),
            "stage": kernel.stage,
            "difference": _difference(kernel.difference),
        },
        "pass": None
        if wrong is None
        else {
            "name": wrong.name,
            "result": wrong.result,
            "rule": None if wrong.rule is None else wrong.rule.name,
            "line": None if wrong.where is None else wrong.where.short,
            "difference": _difference(wrong.difference),
        },
        "results": {name: _difference(difference) for name, difference in found.results.items()},
        "without": dict(found.without),
        "stopped": found.stopped,
        "broken": found.broken,
    }


def _difference(found: Difference | None) -> Mapping[str, Any] | None:
    if found is None:
        return None
    return {
        "elements": found.count,
        "of": found.size,
        "at": list(found.index),
        "expected": str(found.expected),
        "found": str(found.found),
        "ulps": found.ulps,
    }
