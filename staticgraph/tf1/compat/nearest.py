"""The supported names nearest to one that is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from difflib import get_close_matches


def nearest(dotted: str, supported: Iterable[str], count: int = 3) -> list[str]:
    """Up to `count` names of `supported`: those whose last part is the same, then those where it is similar.

    >>> from staticgraph.tf1.compat.nearest import nearest
    >>> nearest("contrib.layers.dense", ["layers.dense", "dense_shape", "nn.relu"])
    ['layers.dense', 'dense_shape']
    """
    area, _, name = dotted.rpartition(".")
    by_last_part = defaultdict(set)
    for other in supported:
        by_last_part[other.rpartition(".")[2].lower()].add(other)
    similar = get_close_matches(name.lower(), by_last_part, n=count + 2, cutoff=0.55)

    def distance(other: str) -> tuple[bool, int, bool, str]:
        place, _, last = other.rpartition(".")
        return last != name, similar.index(last.lower()), place != area, other

    return sorted({other for last in similar for other in by_last_part[last]}, key=distance)[:count]
