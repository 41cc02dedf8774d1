"""Times two checkouts of this project against each other, at the workloads of the benchmark.

    python tools/measure/compare_versions.py OLD               this checkout against the one in the folder OLD
    python tools/measure/compare_versions.py OLD --work embedding,mlp --pairs 30
    python tools/measure/compare_versions.py . --set NAME=VALUE  the old one has a setting in its environment

Each workload runs in one process per checkout. The two are visited in turns, so that a disturbance of the
machine meets both, and the ratio of each pair of visits (new over old) is one sample. The interval holds the
median of the ratios in 95 % of such runs, by the order statistics of the binomial distribution. The exit
status is 1 if the lower end of an interval is above the bound: that workload has become slower beyond doubt.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.contest import Failed, Worker, prepared
from benchmarks.peers import OURS, Row
from benchmarks.progress import Progress
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parents[2]


def interval(samples: Sequence[float], sure: float = 0.95) -> tuple[float, float]:
    """Return the two samples between which the median lies with a probability of at least `sure`.

    Source: the number of samples below the median has a binomial distribution with p = 1/2.
    """
    ordered, n = sorted(samples), len(samples)
    below, rank = 0.0, 0
    while rank < n // 2:
        below += math.comb(n, rank) / 2**n
        if 2 * below > 1 - sure:
            break
        rank += 1
    rank = max(rank - 1, 0)
    return ordered[rank], ordered[n - 1 - rank]


def ratios(old: Worker, new: Worker, pairs: int, seconds: float) -> list[float]:
    """Return the time of a step of `new` over that of `old`, once per pair of visits."""
    found = []
    for turn in range(pairs):
        first, second = (old, new) if turn % 2 else (new, old)
        ratio = statistics.median(first.visit(seconds)) / statistics.median(second.visit(seconds))
        found.append(1 / ratio if turn % 2 else ratio)
    return found


def main() -> int:
    """Print a line per workload."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, help="the folder of the other checkout")
    parser.add_argument("--work", default=",".join(WORKLOADS), help="names of workloads, with commas between")
    parser.add_argument("--pairs", type=int, default=30, help="pairs of visits per workload (default 30)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a visit (default 0.5)")
    parser.add_argument("--threads", type=int, default=2, help="threads that work on a step (default 2)")
    parser.add_argument("--bound", type=float, default=1.01, help="greatest ratio accepted (default 1.01)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="for the old one")
    options = parser.parse_args()
    unknown = sorted(set(names := options.work.split(",")) - set(WORKLOADS))
    if unknown or not (options.old / "staticgraph").is_dir():
        wrong = f"no such workload: {', '.join(unknown)}" if unknown else f"no checkout in {options.old}"
        parser.error(wrong)
    row, slower = Row(OURS, sys.executable), False
    settings = dict(each.split("=", 1) for each in options.set)
    bar = Progress(len(names))
    print(f"{'workload':<18}{'new/old':>9}  {'95 % interval':^17}")
    for name in names:
        bar.show(name)
        workers = [
            prepared(row, name, options.threads, 600.0, tree.resolve(), more)
            for tree, more in ((options.old, settings), (ROOT, {}))
        ]
        try:
            failures = [w.facts["failure"] for w in workers if "failure" in w.facts]
            if failures:
                raise Failed(failures[0])
            found = ratios(workers[0], workers[1], options.pairs, options.seconds)
        except Failed as failure:
            print(f"{name:<18} {failure}", flush=True)
            slower = True
            continue
        finally:
            for worker in workers:
                if "failure" not in worker.facts:
                    worker.end()
            bar.advance()
        low, high = interval(found)
        mark = "  slower" if low > options.bound else ""
        print(f"{name:<18}{statistics.median(found):9.3f}  {low:7.3f} to {high:.3f}{mark}", flush=True)
        slower |= bool(mark)
    bar.end()
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
