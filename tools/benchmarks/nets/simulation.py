"""Numbers that no gradient moves: clusters of points (k-means), and bodies that attract each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.nets.net import CPU, GPU, SMALL, Entry, in_three_forms
from benchmarks.sizes.nets import Arrays, Net, Weights

STEP, SOFT = 1e-3, 1e-2  # of time, and what keeps forces finite


def k_means(dimensions: int, clusters: int) -> Net:
    """A round of Lloyd's algorithm: each centre moves to the mean of the points that are nearest to it."""
    w = Weights()
    w["centres"] = w.rng.normal(size=(clusters, dimensions)).astype(np.float32)

    def staticgraph(sg: Any, w: Any, x: Any) -> Any:
        centres = sg.identity(w["centres"])
        squares = sg.reduce_sum(centres * centres, 1) - 2.0 * sg.matmul(x, centres, transpose_b=True)
        nearest = sg.argmin(squares, 1, output_type=sg.int32)
        sums = sg.unsorted_segment_sum(x, nearest, clusters)
        counts = sg.unsorted_segment_sum(sg.ones_like(x[:, 0]), nearest, clusters)[:, None]
        means = sg.where(sg.broadcast_to(counts > 0.0, sums.shape), sums / sg.maximum(counts, 1.0), centres)
        apart = sg.reduce_mean(sg.reduce_min(squares, 1) + sg.reduce_sum(x * x, 1))
        return apart, {"centres": means}

    def torch(torch: Any, w: Any, x: Any) -> Any:
        centres = w["centres"]
        squares = (centres * centres).sum(1) - 2.0 * x @ centres.T
        least, nearest = squares.min(1)
        sums = torch.zeros_like(centres).index_add(0, nearest, x)
        counts = torch.bincount(nearest, minlength=clusters)[:, None]
        means = torch.where(counts > 0, sums / counts.clamp(min=1), centres)
        return (least + (x * x).sum(1)).mean(), {"centres": means}

    def jax(jax: Any, w: Any, x: Any) -> Any:
        jnp, centres = jax.numpy, w["centres"]
        squares = (centres * centres).sum(1) - 2.0 * x @ centres.T
        nearest = squares.argmin(1)
        sums = jax.ops.segment_sum(x, nearest, clusters)
        counts = jax.ops.segment_sum(jnp.ones(len(x)), nearest, clusters)[:, None]
        means = jnp.where(counts > 0, sums / jnp.maximum(counts, 1.0), centres)
        return (squares.min(1) + (x * x).sum(1)).mean(), {"centres": means}

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        return (rng.normal(size=(count, dimensions)).astype(np.float32),)

    feeds = [("float32", (None, dimensions))]
    return Net(w, feeds, in_three_forms(staticgraph, torch, jax), batch, 0, moves=True)


def _leap(pull: Any, x: Any, v: Any, pulled: Any) -> tuple[Any, Any, Any]:
    """A step of the leapfrog method."""
    v = v + 0.5 * STEP * pulled
    x = x + STEP * v
    pulled = pull(x)
    return x, v + 0.5 * STEP * pulled, pulled


def bodies(steps: int) -> Net:
    """Places and speeds of bodies after some steps of time, by the forces of all pairs."""

    def staticgraph(sg: Any, w: Any, x: Any, v: Any, mass: Any) -> Any:
        def pull(x: Any) -> Any:
            apart = x[None, :, :] - x[:, None, :]
            force = mass / (sg.reduce_sum(apart * apart, 2) + SOFT) ** 1.5
            return sg.reduce_sum(force[:, :, None] * apart, 1)

        def body(i: Any, x: Any, v: Any, pulled: Any) -> Any:
            return (i + 1, *_leap(pull, x, v, pulled))

        return list(sg.while_loop(lambda i, *_: i < steps, body, [sg.constant(0), x, v, pull(x)])[1:3])

    def torch(torch: Any, w: Any, x: Any, v: Any, mass: Any) -> Any:
        def pull(x: Any) -> Any:
            apart = x[None, :, :] - x[:, None, :]
            force = mass / ((apart * apart).sum(2) + SOFT) ** 1.5
            return (force[:, :, None] * apart).sum(1)

        pulled = pull(x)
        for _ in range(steps):
            x, v, pulled = _leap(pull, x, v, pulled)
        return [x, v]

    def jax(jax: Any, w: Any, x: Any, v: Any, mass: Any) -> Any:
        def pull(x: Any) -> Any:
            apart = x[None, :, :] - x[:, None, :]
            force = mass / ((apart * apart).sum(2) + SOFT) ** 1.5
            return (force[:, :, None] * apart).sum(1)

        return list(jax.lax.fori_loop(0, steps, lambda i, now: _leap(pull, *now), (x, v, pull(x)))[:2])

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        places, speeds = (rng.normal(size=(count, 3)).astype(np.float32) for _ in range(2))
        return places, speeds, (rng.uniform(0.5, 1.5, count) / count).astype(np.float32)

    feeds = [("float32", (None, 3)), ("float32", (None, 3)), ("float32", (None,))]
    return Net(Weights(), feeds, in_three_forms(staticgraph, torch, jax), batch, 0)


NETS = {
    "k_means": Entry(
        "k-means, a round", k_means,
        {SMALL: ((3, 2), 9), CPU: ((16, 64), 20_000), GPU: ((64, 1024), 500_000)},
    ),
    "bodies": Entry(
        "N bodies, 20 steps of time", bodies,
        {SMALL: ((3,), 5), CPU: ((20,), 400), GPU: ((20,), 4096)},
    ),
}  # fmt: skip
