"""A curve through few noisy points, and how sure it is: a Gaussian process whose scales are learned.

    python examples/gaussian_process.py [--steps 300] [--picture gaussian_process.svg]

The loss is the negative logarithm of the marginal likelihood (Rasmussen and Williams 2006, equation 2.30).
Its Cholesky factor and the derivative through it are generated code.
"""

from __future__ import annotations

import argparse

import numpy as np

import staticgraph as sg


def kernel(a: sg.Tensor, b: sg.Tensor, height: sg.Tensor, width: sg.Tensor) -> sg.Tensor:
    """Covariances of a smooth function at the points `a` and `b`: squared exponential."""
    return sg.square(height) * sg.exp(-0.5 * sg.square((a[:, None] - b[None, :]) / width))


def positive(name: str, start: float) -> sg.Tensor:
    """A number above 0 that is learned as its logarithm."""
    return sg.exp(sg.get_variable(name, initializer=np.log(start)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit a Gaussian process to noisy points.")
    parser.add_argument("--steps", type=int, default=300, help="steps of Adam (default 300)")
    parser.add_argument("--picture", default="gaussian_process.svg", help="file for the picture")
    args = parser.parse_args()

    rng = np.random.default_rng(3)
    points = np.sort(np.concatenate([rng.uniform(-4, -0.5, 14), rng.uniform(1.5, 4, 10)]))
    values = np.sin(2 * points) + 0.4 * points + rng.normal(0, 0.15, points.shape)
    grid = np.linspace(-5.5, 5.5, 400)

    x, y = sg.constant(points), sg.constant(values)
    height, width, noise = positive("height", 1.0), positive("width", 2.0), positive("noise", 0.5)
    factor = sg.cholesky(
        kernel(x, x, height, width) + sg.square(noise) * sg.eye(len(points), dtype=sg.float64)
    )
    weights = sg.cholesky_solve(factor, y[:, None])
    halves = sg.reduce_sum(y[:, None] * weights) / 2 + sg.reduce_sum(sg.log(sg.diag_part(factor)))
    loss = halves + len(points) / 2 * np.log(2 * np.pi)
    train = sg.train.AdamOptimizer(0.05).minimize(loss)

    at = sg.placeholder(sg.float64, [None], name="at")
    across = kernel(at, x, height, width)
    mean = sg.squeeze(sg.matmul(across, weights), 1)
    solved = sg.matrix_triangular_solve(factor, sg.transpose(across))
    deviation = sg.sqrt(sg.square(height) - sg.reduce_sum(sg.square(solved), axis=0))

    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        before = sess.run(loss)
        for _ in range(args.steps):
            sess.run(train)
        after, learned = sess.run([loss, [height, width, noise]])
        middle, spread = sess.run([mean, deviation], feed_dict={at: grid})
    print(f"negative log likelihood {before:.2f} -> {after:.2f}")
    print("height {:.2f}, width {:.2f}, noise {:.2f} (it was 0.15)".format(*learned))

    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4))
    for times, shade in ((2, 0.15), (1, 0.2)):
        axes.fill_between(
            grid, middle - times * spread, middle + times * spread, alpha=shade, color="C0", lw=0
        )
    axes.plot(grid, middle, color="C0", label="mean, with one and two standard deviations")
    axes.plot(grid, np.sin(2 * grid) + 0.4 * grid, "--", color="0.45", label="the function behind the points")
    axes.plot(points, values, "o", color="black", ms=4, label="24 points, noise 0.15")
    axes.legend(frameon=False, loc="upper left")
    axes.set(xlim=(grid[0], grid[-1]), xlabel="x", ylabel="y")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(args.picture, bbox_inches="tight")
    print(f"drawn in {args.picture}")


if __name__ == "__main__":
    main()
