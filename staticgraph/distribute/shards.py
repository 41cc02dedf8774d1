"""Fixed shards of a batch: which ones a process has, and the tree by which what they give is added.

Row i of a global batch belongs to shard i % shards. What two halves of the shards give is added last:

    ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7))

So the shards of a process, those with the same number modulo a power of two, are a whole subtree, and the sum
has the same bits whoever computes which part of it. If the number of processes is a power of two, the rows
`rank`, `rank + size`, ... of a batch are those of the shards of a process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from staticgraph.compiler.graph.errors import FailedPreconditionError, misuse, shown
from staticgraph.distribute.world import rank, size

_T = TypeVar("_T")
_SHOWN = 6  # instructions that a message names
# A subtree: the first of its shards, and how far they are apart.
Subtree = tuple[int, int]


def local_shards(shards: int) -> list[int]:
    """Return the numbers of the shards of a batch that this process computes.

    Args:
        shards: The number of all shards, a power of two, at least the number of processes.

    Returns:
        Their numbers, in order. Row i of a batch of all processes belongs to shard `i % shards`.

    Raises:
        ValueError: `shards` is no power of two, or is less than the number of processes.

    >>> import staticgraph as sg
    >>> sg.distribute.local_shards(4)
    [0, 1, 2, 3]
    """
    first, step = subtrees(shards, size())[rank()]
    return list(range(first, shards, step))


def subtrees(shards: int, workers: int) -> list[Subtree]:
    """Return the subtree of each process: as equal as can be, in order of their first shards."""
    if isinstance(shards, bool) or not isinstance(shards, int) or shards < 1 or shards & (shards - 1):
        raise misuse(ValueError, f"shards is {shown(shards)}, and must be a power of two")
    if shards < workers:
        text = f"there are {workers} processes and only {shards} shards"
        raise misuse(ValueError, text, "each process needs a shard of the batch: take more shards")
    found = [(0, 1)]
    while len(found) < workers:
        first, step = min(found, key=lambda each: (each[1], each[0]))
        found.remove((first, step))
        found += [(first, 2 * step), (first + step, 2 * step)]
    return sorted(found)


def check_processors() -> None:
    """Raise an error if the processors of all processes do not have the same instructions.

    They would compute other bits: one may round a product before a sum, where another does both at once.

    Raises:
        FailedPreconditionError: They differ.
    """
    if size() == 1:
        return
    from staticgraph.runtime.cpu import jit  # loads LLVM
    from staticgraph.runtime.processes.texts import texts_of_all

    here = jit.host()
    every = texts_of_all(f"{here.cpu} {here.features}")
    for worker, text in enumerate(every):
        if text != every[0]:
            first, other = (set(each.split(" ", 1)[1].split(",")) for each in (every[0], text))
            apart = ", ".join(sorted(first ^ other)[:_SHOWN]) or "the name alone"
            names = f"process 0 has {every[0].split()[0]}, process {worker} has {text.split()[0]}"
            what = f"shards: processors differ, and would compute other bits: {names}, apart in {apart}"
            raise misuse(
                FailedPreconditionError, what, "start processes on equal processors, or leave shards out"
            )


def added(parts: dict[Subtree, _T], add: Callable[[_T, _T], _T], at: Subtree = (0, 1)) -> _T:
    """Return the sum of what subtrees give, along the tree."""
    if at in parts:
        return parts[at]
    first, step = at
    return add(added(parts, add, (first, 2 * step)), added(parts, add, (first + step, 2 * step)))
