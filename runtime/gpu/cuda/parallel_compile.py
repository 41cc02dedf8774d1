"""Functions compiled side by side: NVIDIA's compiler takes its time for each, and runs in several threads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.runtime.gpu.cuda import nvrtc

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
        yield from ((part, nvrtc.compile(part, architecture)) for part in parts)
        return
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1), "nvrtc") as pool:
        # A thread does not have the switches of this one by itself, such as where the cache is.
        asked = [pool.submit(copy_context().run, nvrtc.compile, part, architecture) for part in parts]
        for part, image in zip(parts, asked, strict=True):
            yield part, image.result()
