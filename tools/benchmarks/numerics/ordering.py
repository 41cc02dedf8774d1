"""Order and sums at places that are data: sorting, selection, counting, segments, and a step of PageRank."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.numerics.work import Arrays, Work

BEST = 100  # of a row, by top_k
GROUPS = 1000


def _numbers(*shape: int) -> Any:
    def inputs(rng: np.random.Generator, small: bool) -> Arrays:
        wanted = tuple(min(n, 120) for n in shape) if small else shape
        return (rng.standard_normal(wanted).astype("f4"),)

    return inputs


def _ids(below: int, data: bool, ordered: bool = False) -> Any:
    """Numbers of groups, and what is in them if there are `data`."""

    def inputs(rng: np.random.Generator, small: bool) -> Arrays:
        count = 5000 if small else 1_000_000
        ids = rng.integers(0, below, count).astype("i4")
        if ordered:
            ids.sort()
        return (rng.standard_normal(count).astype("f4"), ids) if data else (ids,)

    return inputs


def _links(rng: np.random.Generator, small: bool) -> Arrays:
    """The ranks of pages, one by the number of links of each, and links from pages to pages in order."""
    pages, links = (100, 2000) if small else (100_000, 1_000_000)
    source, target = rng.integers(0, pages, links), np.sort(rng.integers(0, pages, links))
    share = 1.0 / np.maximum(np.bincount(source, minlength=pages), 1)
    return rng.random(pages).astype("f4"), share.astype("f4"), source.astype("i4"), target.astype("i4")


def _pagerank_staticgraph(sg: Any, rank: Any, share: Any, source: Any, target: Any) -> Any:
    sums = sg.unsorted_segment_sum(sg.gather(rank * share, source), target, rank.shape[0])
    return 0.15 / int(rank.shape[0]) + 0.85 * sums


def _pagerank_scipy(scipy: Any, rank: Any, share: Any, source: Any, target: Any) -> Any:
    return 0.15 / len(rank) + 0.85 * np.bincount(target, (rank * share)[source], len(rank))


def _pagerank_torch(torch: Any, rank: Any, share: Any, source: Any, target: Any) -> Any:
    sums = torch.zeros_like(rank).index_add_(0, target, (rank * share)[source])
    return 0.15 / len(rank) + 0.85 * sums


def _pagerank_jax(jax: Any, rank: Any, share: Any, source: Any, target: Any) -> Any:
    moved = (rank * share)[source]
    sums = jax.ops.segment_sum(moved, target, rank.shape[0], indices_are_sorted=True)
    return 0.15 / rank.shape[0] + 0.85 * sums


def _greatest_scipy(scipy: Any, data: Any, ids: Any) -> Any:
    made = np.full(GROUPS, np.finfo("f4").min, np.float32)
    np.maximum.at(made, ids, data)
    return made


def _greatest_torch(torch: Any, data: Any, ids: Any) -> Any:
    made = torch.full((GROUPS,), float(np.finfo("f4").min))
    return made.scatter_reduce_(0, ids.long(), data, "amax")


WORK = {
    "sort": Work(
        "sort, 1,000,000", _numbers(1_000_000), goal=0.8,
        staticgraph=lambda sg, x: sg.sort(x),
        scipy=lambda scipy, x: np.sort(x),
        torch=lambda torch, x: torch.sort(x)[0],
        jax=lambda jax, x: jax.numpy.sort(x),
    ),
    "sort_rows": Work(
        "sort, 2000 rows of 3000", _numbers(2000, 3000), goal=0.8,
        staticgraph=lambda sg, x: sg.sort(x),
        scipy=lambda scipy, x: np.sort(x),
        torch=lambda torch, x: torch.sort(x)[0],
        jax=lambda jax, x: jax.numpy.sort(x),
    ),
    "argsort_rows": Work(
        "argsort, 2000 rows of 3000", _numbers(2000, 3000),
        staticgraph=lambda sg, x: sg.argsort(x),
        scipy=lambda scipy, x: np.argsort(x, kind="stable"),
        torch=lambda torch, x: torch.argsort(x, stable=True),
        jax=lambda jax, x: jax.numpy.argsort(x),
    ),
    "top_k_rows": Work(
        "top 100, 2000 rows of 3000", _numbers(2000, 3000),
        staticgraph=lambda sg, x: sg.nn.top_k(x, BEST)[0],
        scipy=lambda scipy, x: np.sort(np.partition(x, x.shape[1] - BEST)[:, -BEST:])[:, ::-1],
        torch=lambda torch, x: torch.topk(x, BEST)[0],
        jax=lambda jax, x: jax.lax.top_k(x, BEST)[0],
    ),
    "sort_short_rows": Work(
        "sort, 50000 rows of 32", _numbers(50_000, 32), goal=0.8,
        staticgraph=lambda sg, x: sg.sort(x),
        scipy=lambda scipy, x: np.sort(x),
        torch=lambda torch, x: torch.sort(x)[0],
        jax=lambda jax, x: jax.numpy.sort(x),
    ),
    "unique": Work(
        "unique, 1,000,000 of 1000", _ids(GROUPS, data=False),
        staticgraph=lambda sg, x: sg.sort(sg.unique(x)[0]),
        scipy=lambda scipy, x: np.unique(x, return_inverse=True)[0],
        torch=lambda torch, x: torch.unique(x, return_inverse=True)[0],
        jax=lambda jax, x: jax.numpy.unique(x, return_inverse=True, size=GROUPS)[0],
    ),
    "bincount": Work(
        "bincount, 1,000,000 of 1000", _ids(GROUPS, data=False),
        staticgraph=lambda sg, x: sg.bincount(x, minlength=GROUPS, maxlength=GROUPS),
        scipy=lambda scipy, x: np.bincount(x, minlength=GROUPS),
        torch=lambda torch, x: torch.bincount(x, minlength=GROUPS),
        jax=lambda jax, x: jax.numpy.bincount(x, length=GROUPS),
    ),
    "segment_max": Work(
        "greatest of 1000 segments of 1,000,000 in order", _ids(GROUPS, data=True, ordered=True),
        staticgraph=lambda sg, data, ids: sg.unsorted_segment_max(data, ids, GROUPS),
        scipy=_greatest_scipy, torch=_greatest_torch,
        jax=lambda jax, data, ids: jax.ops.segment_max(data, ids, GROUPS, indices_are_sorted=True),
    ),
    "pagerank": Work(
        "step of PageRank, 100,000 pages, 1,000,000 links", _links,
        staticgraph=_pagerank_staticgraph, scipy=_pagerank_scipy, torch=_pagerank_torch, jax=_pagerank_jax,
    ),
}  # fmt: skip
