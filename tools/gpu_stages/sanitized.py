"""A few training steps at the sizes for tests, and a sample of ops, for a sanitizer to watch.

python -m gpu_stages.sanitized DEVICE
"""

from __future__ import annotations

import sys

from gpu_stages.kernels import Pair, choices, differing, named
from gpu_stages.sizes import STEPS
from gpu_stages.training import ours
from staticgraph.compiler.graph.opdef import Effect
from tests.ops.harness import TESTED

RUNS = 3  # kernel by kernel, captured, and replayed
SAMPLE, TOGETHER = 200, 10  # pairs of op and dtypes, and how many of them share a step


def sample() -> list[Pair]:
    """As many pairs of op and dtypes from all parts of the registry, the same ones each time."""
    pairs = list(choices([op for op in TESTED if op.effect is Effect.PURE]))
    return [pairs[number * len(pairs) // SAMPLE] for number in range(SAMPLE)]


def main() -> None:
    """The command line: prints which steps are done."""
    for name, step in STEPS.items():
        run = ours(step, step.data(small=True), sys.argv[1])
        for _ in range(RUNS):
            run()
        print(f"{name} done", flush=True)
    pairs = sample()
    for at in range(0, len(pairs), TOGETHER):
        group = pairs[at : at + TOGETHER]
        names = ", ".join(map(named, group))
        try:
            wrong = differing(sys.argv[1], group)
        except Exception as error:  # the stage `kernels` tells it; a sanitizer looks at the others
            print(f"{names}: {error!r}", flush=True)
            continue
        for name, text in wrong.items():
            print(f"{name}: {text}", flush=True)
        print(f"{names} done", flush=True)


if __name__ == "__main__":
    main()
