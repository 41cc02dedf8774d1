"""Measure how the cost of a first run grows with the graph.

    python tools/measure/growth.py                  all graphs, each at a quarter, a half and all of its size
    python tools/measure/growth.py adam conds=2000  some of them; the number is the largest size
    python tools/measure/growth.py --most 1.1       status 1 if an exponent is larger
    python tools/measure/growth.py --profile adam=500  the functions that take the time, at this size alone
    python tools/measure/growth.py --peer PYTHON    the same graphs by a Python that has TensorFlow 2, too

For every size, a fresh process with an empty cache on disk builds the graph, runs it twice, and tells the
CPU seconds of all threads, so that what else the machine does matters little. A tiny graph is run before, and
one that threads share, so that what does not grow, such as imports and the code of the pool, is left out. The
exponent is that of the first run between the last two sizes: 1 where twice the graph costs twice as much.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import math
import os
import pstats
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("build", "first", "second")


def measure(name: str, size: int, profiled: bool = False) -> dict[str, float]:
    """CPU seconds of building a graph, its first run and its second run, in this process."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
    from benchmarks.graphs import GRAPHS, sg

    sys.setrecursionlimit(10_000)  # for nested graphs, which are built by recursion
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder("float32", [2, 3])
        session.run(sg.reduce_sum(sg.cumsum(sg.matmul(x, x, transpose_b=True))), {x: [[1, 2, 3], [4, 5, 6]]})
        session.run(sg.reduce_sum(sg.exp(sg.fill([1 << 20], sg.reduce_sum(x)))), {x: [[1, 2, 3], [4, 5, 6]]})
    times = [_cpu()]
    with sg.Graph().as_default():
        fetches, feeds = GRAPHS[name][0](size)
        times.append(_cpu())
        with sg.Session() as session:
            if variables := sg.global_variables():
                session.run([v.initializer for v in variables])
                times[-1:] = [_cpu()]
            profile = cProfile.Profile()
            if profiled:
                profile.enable()
            session.run(fetches, feeds)
            profile.disable()
            times.append(_cpu())
            session.run(fetches, feeds)
            times.append(_cpu())
    if profiled:
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        pstats.Stats(profile).sort_stats("cumtime").print_stats(60)
    parts = zip(PARTS, times, times[1:], strict=False)
    return {part: after - before for part, before, after in parts}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def in_fresh_process(name: str, size: int, patience: float, peer: str | None = None) -> dict[str, Any]:
    """Return the result of `measure` in a process of its own, or why there is none."""
    with tempfile.TemporaryDirectory(prefix="growth-", ignore_cleanup_errors=True) as folder:
        command = [peer or sys.executable, __file__, "--here", f"{name}={size}"]
        variables = {**os.environ, "SG_CACHE_DIR": folder}
        if peer:
            variables |= {"GROWTH_OF": "tensorflow.compat.v1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        try:
            done = subprocess.run(
                command, env=variables, capture_output=True, text=True, timeout=patience, check=False
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"more than {patience:.0f} s"}
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    last = lines[-1] if lines else f"status {done.returncode}"
    return dict(json.loads(last)) if done.returncode == 0 else {"failed": last}


def row(name: str, most: int, patience: float, peer: str | None = None) -> float:
    """Measure and print one row, and return its exponent; infinity if a size failed."""
    sizes = [most // 4, most // 2, most]
    found = []
    for size in sizes:
        found.append(in_fresh_process(name, size, patience))
        if "failed" in found[-1]:
            print(f"{name:14} {size:7}  {found[-1]['failed']}", flush=True)
            return math.inf
    firsts = [each["first"] for each in found]
    exponent = math.log2(firsts[-1] / firsts[-2])
    last = found[-1]
    print(
        f"{name:14} {most:7} {exponent:6.2f} {' '.join(f'{first:8.3f}' for first in firsts)}"
        f" {1e3 * firsts[-1] / most:9.2f} {last['build']:7.2f} {last['second']:7.3f}"
        + (f" {_beside(last, in_fresh_process(name, most, patience, peer))}" if peer else ""),
        flush=True,
    )
    return exponent


def _beside(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """The build and first run of the peer, and ours over them."""
    if "failed" in theirs:
        return f"peer: {theirs['failed']}"
    mine, its = (found["build"] + found["first"] for found in (ours, theirs))
    return f"{theirs['build']:7.2f} {theirs['first']:7.2f} {mine / its:6.2f}{' slower' if mine > its else ''}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="*", metavar="NAME[=SIZE]", help="default: all")
    parser.add_argument("--most", type=float, default=math.inf, help="the largest exponent that may be")
    parser.add_argument("--patience", type=float, default=300, help="seconds that a process may take")
    parser.add_argument("--profile", action="store_true", help="profile one graph of one size")
    parser.add_argument("--peer", metavar="PYTHON", help="a Python with TensorFlow 2, for the largest size")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    chosen = [each.partition("=")[::2] for each in options.graphs]
    if options.here or options.profile:
        for name, size in chosen:
            print(json.dumps(measure(name, int(size), options.profile)))
        return 0
    sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
    from benchmarks.graphs import GRAPHS

    if unknown := {name for name, _ in chosen} - GRAPHS.keys():
        parser.error(f"no such graph: {', '.join(sorted(unknown))}; there are {', '.join(GRAPHS)}")
    print(
        f"{'graph':14} {'size':>7} {'expon.':>6} {'first run at n/4, n/2, n':>26} {'ms each':>9}"
        f" {'build':>7} {'second':>7}" + (f" {'peer: build, first, ours / peer':>22}" if options.peer else "")
    )
    sizes = {name: int(size or GRAPHS[name][1]) for name, size in chosen or ((n, "") for n in GRAPHS)}
    exponents = [row(name, most, options.patience, options.peer) for name, most in sizes.items()]
    return int(max(exponents) > options.most)


if __name__ == "__main__":
    raise SystemExit(main())
