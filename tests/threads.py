"""One program in several numbers of threads: compiled once, since machine code does not know the number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import staticgraph as sg


def same_bits(
    function: Callable[..., Sequence[Any]],
    *arrays: np.ndarray,
    counts: Sequence[int] = (1, 2, 3, 7),
    open_sizes: bool = False,
) -> list[np.ndarray]:
    """Run a program in each number of threads.

    Args:
        function: Takes a placeholder per array, and returns the fetches.
        *arrays: What is fed.
        counts: The numbers of threads.
        open_sizes: If the placeholders leave all sizes open.

    Returns:
        The results, which have the same bits in all of them.
    """
    before, found = sg.get_num_threads(), []
    with sg.Graph().as_default(), sg.Session() as session:
        feeds = [sg.placeholder(a.dtype, [None] * a.ndim if open_sizes else a.shape) for a in arrays]
        fetches = list(function(*feeds))
        try:
            for count in counts:
                sg.set_num_threads(count)
                found.append(session.run(fetches, dict(zip(feeds, arrays, strict=True))))
        finally:
            sg.set_num_threads(before)
    assert len({b"".join(result.tobytes() for result in results) for results in found}) == 1
    return found[0]
