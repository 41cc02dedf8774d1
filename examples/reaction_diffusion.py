"""Spots that grow and divide: two substances react and diffuse (Gray and Scott 1983), 8,000 steps in one run.

    python examples/reaction_diffusion.py [--steps 8000] [--size 256] [--picture reaction_diffusion.png]

The loop is a `while_loop`, so all steps are one call of machine code. The picture shows the second substance.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import staticgraph as sg

FEED, KILL = 0.0367, 0.0649  # of Pearson 1993: spots that divide
DIFFUSION_U, DIFFUSION_V = 0.16, 0.08


def laplacian(x: sg.Tensor) -> sg.Tensor:
    """Sum of the four neighbours less four times the middle, on a torus."""
    return sg.add_n([sg.roll(x, shift, axis) for shift in (1, -1) for axis in (0, 1)]) - 4.0 * x


def step(i: sg.Tensor, u: sg.Tensor, v: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor, sg.Tensor]:
    """One step of time 1."""
    reaction = u * v * v
    u += DIFFUSION_U * laplacian(u) - reaction + FEED * (1.0 - u)
    v += DIFFUSION_V * laplacian(v) + reaction - (FEED + KILL) * v
    return i + 1, u, v


def main() -> None:
    parser = argparse.ArgumentParser(description="Let two substances react and diffuse.")
    parser.add_argument("--steps", type=int, default=8000, help="steps of time 1 (default 8000)")
    parser.add_argument("--size", type=int, default=256, help="cells along each side (default 256)")
    parser.add_argument("--picture", default="reaction_diffusion.png", help="file for the picture")
    args = parser.parse_args()

    rng = np.random.default_rng(0)
    second = np.zeros((args.size, args.size), np.float32)
    for row, column in rng.integers(0, args.size - 8, (24, 2)):
        second[row : row + 8, column : column + 8] = 0.5
    first = 1.0 - second + rng.uniform(0, 0.02, second.shape).astype(np.float32)

    u = sg.placeholder(sg.float32, [None, None], name="u")
    v = sg.placeholder(sg.float32, [None, None], name="v")
    _, _, end = sg.while_loop(lambda i, u, v: i < args.steps, step, [sg.constant(0), u, v])
    start = time.perf_counter()
    with sg.Session() as sess:
        grown = sess.run(end, feed_dict={u: first, v: second})
    seconds = time.perf_counter() - start
    print(f"{args.steps} steps of {args.size} by {args.size} cells in {seconds:.1f} s, compiled within")
    print(f"the second substance covers {np.mean(grown > 0.15):.0%}")

    import matplotlib.image

    matplotlib.image.imsave(args.picture, grown, cmap="magma")
    print(f"drawn in {args.picture}")


if __name__ == "__main__":
    main()
