"""A few training steps at the sizes for tests, for a sanitizer to watch.

python -m gpu_stages.sanitized DEVICE
"""

from __future__ import annotations

import sys

from gpu_stages.sizes import STEPS
from gpu_stages.training import ours

RUNS = 3  # kernel by kernel, captured, and replayed


def main() -> None:
    """The command line: prints which steps are done."""
    for name, step in STEPS.items():
        run = ours(step, step.data(small=True), sys.argv[1])
        for _ in range(RUNS):
            run()
        print(f"{name} done", flush=True)


if __name__ == "__main__":
    main()
