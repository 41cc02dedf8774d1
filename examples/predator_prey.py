"""Four rates of a differential equation, learned from noisy counts through the solver that integrates it.

    python examples/predator_prey.py [--steps 400] [--picture predator_prey.svg]

The equation is that of Lotka and Volterra (1925): hares are born and eaten, lynxes eat and die. `scan`
integrates it by the classic Runge-Kutta rule, and `gradients` goes back through all 300 steps of it, in one
native call.
"""

from __future__ import annotations

import argparse

import numpy as np

import staticgraph as sg

RATES = np.array([1.1, 0.4, 0.1, 0.4])  # births, being eaten, growth by eating, deaths
START, STEP, STEPS, SEEN_EVERY = np.array([10.0, 5.0]), 0.05, 300, 6


def change(state: sg.Tensor, rates: sg.Tensor) -> sg.Tensor:
    """Derivatives of the numbers of hares and lynxes."""
    hares, lynxes = state[0], state[1]
    born, eaten, grown, died = sg.unstack(rates)
    return sg.stack([born * hares - eaten * hares * lynxes, grown * hares * lynxes - died * lynxes])


def integrate(rates: sg.Tensor) -> sg.Tensor:
    """Numbers at every step, [STEPS, 2], by the Runge-Kutta rule of fourth order."""

    def step(state: sg.Tensor, _: sg.Tensor) -> sg.Tensor:
        k1 = change(state, rates)
        k2 = change(state + STEP / 2 * k1, rates)
        k3 = change(state + STEP / 2 * k2, rates)
        k4 = change(state + STEP * k3, rates)
        return state + STEP / 6 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

    return sg.scan(step, sg.range(STEPS), initializer=sg.constant(START))


def main() -> None:
    parser = argparse.ArgumentParser(description="Learn the rates of a differential equation.")
    parser.add_argument("--steps", type=int, default=400, help="steps of Adam (default 400)")
    parser.add_argument("--picture", default="predator_prey.svg", help="file for the picture")
    args = parser.parse_args()

    logarithms = sg.get_variable("logarithms", initializer=np.log([0.8, 0.3, 0.15, 0.6]))
    rates = sg.exp(logarithms)
    numbers = integrate(rates)
    seen = sg.placeholder(sg.float64, [STEPS // SEEN_EVERY, 2], name="seen")
    misfit = sg.log(numbers[::SEEN_EVERY]) - sg.log(seen)
    loss = sg.reduce_mean(sg.square(misfit))
    train = sg.train.AdamOptimizer(0.02).minimize(loss)

    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        true = sess.run(numbers, feed_dict={rates: RATES})
        rng = np.random.default_rng(0)
        counted = true[::SEEN_EVERY] * np.exp(rng.normal(0, 0.1, (STEPS // SEEN_EVERY, 2)))
        feeds = {seen: counted}
        before, first = sess.run([numbers, loss], feed_dict=feeds)
        for _ in range(args.steps):
            sess.run(train, feed_dict=feeds)
        after, last, learned = sess.run([numbers, loss, rates], feed_dict=feeds)
    print(f"loss {first:.4f} -> {last:.4f}; noise alone is 0.01")
    print("learned", *(f"{rate:.3f}" for rate in learned), " true", *RATES)

    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    time = STEP * np.arange(1, STEPS + 1)
    figure, axes = plt.subplots(figsize=(8, 4))
    for kind, name, color in ((0, "hares", "C0"), (1, "lynxes", "C3")):
        axes.plot(time[::SEEN_EVERY], counted[:, kind], ".", color=color)
        axes.plot(time, before[:, kind], ":", color=color, lw=1, alpha=0.7)
        axes.plot(time, after[:, kind], color=color, label=name)
    axes.plot([], [], ".", color="0.4", label="counted, 10 % noise")
    axes.plot([], [], ":", color="0.4", lw=1, label="before learning")
    axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    axes.set(xlim=(0, time[-1]), ylim=(0, None), xlabel="time", ylabel="number")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(args.picture, bbox_inches="tight")
    print(f"drawn in {args.picture}")


if __name__ == "__main__":
    main()
