"""Copies of variables, to restore them should a run fail between one update and the next.

What is captured is launched as a whole. The first run of a step is not: it asks for kernel after kernel, and
updates in place are done by then if a later one fails, or if Ctrl-C comes between two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from staticgraph.compiler.graph.errors import OpError, ResourceExhaustedError
from staticgraph.runtime.gpu.cuda.driver import Direction, Driver
from staticgraph.runtime.gpu.graphs.order import Span


@contextmanager
def untouched_if_it_fails(driver: Driver, spans: Sequence[Span]) -> Iterator[None]:
    """Context after which memory is as it was before, if an error ends it and the GPU still works.

    The memory is copied aside; without room for that, nothing is.
    """
    size = sum(end - start for start, end in spans)
    aside = 0
    if size:
        with suppress(ResourceExhaustedError):
            aside = driver.allocate(size)
    if not aside:
        yield
        return
    pairs, at = list[tuple[int, int, int]](), aside
    for start, end in spans:
        pairs.append((start, at, end - start))
        at += end - start
    complete = False
    try:
        for place, copy, length in pairs:
            driver.copy(copy, place, length, Direction.ON_DEVICE)
        driver.synchronize()
        complete = True
        yield
        driver.synchronize()
    except BaseException:
        if complete:
            with suppress(OpError):  # of a GPU that does nothing any more
                for place, copy, length in pairs:
                    driver.copy(place, copy, length, Direction.ON_DEVICE)
                driver.synchronize()
        raise
    finally:
        with suppress(OpError):
            driver.free(aside)
