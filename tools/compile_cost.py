"""Measure how much longer a first step takes for an operation in it.

    python tools/compile_cost.py                    the works of the benchmark group numerics, and more
    python tools/compile_cost.py qr expm            some of them
    python tools/compile_cost.py --most 0.3         status 1 if one costs more CPU seconds
    python tools/compile_cost.py --write            write the table of docs/compile_cost.md

Every process is fresh and has an empty cache on disk. It builds a step, runs it, and runs it again; the time of
the second run, which compiles nothing, is taken off. The step without the operation adds up its inputs instead.
Told is the least of some processes, in seconds of the clock and of all threads together: what else the machine
does matters little to the second.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "compile_cost.md"
BEGIN, END = "<!-- compile cost: written by tools/compile_cost.py -->\n", "<!-- end of the compile cost -->\n"
CPU, WALL = "cpu", "wall"
NOISE = 0.005  # seconds: less is no difference
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]


def works() -> dict[str, Any]:
    """Works by name: those of the benchmark, and those that no peer is compared at."""
    from benchmarks.numerics.algebra import _positive, _square, _system
    from benchmarks.numerics.group import works as benchmarked
    from benchmarks.numerics.work import Work

    def also(title: str, inputs: Any, function: Callable[..., Any]) -> Work:
        return Work(title, inputs, lambda sg, *x: function(sg, *x))

    def complex_square(rng: Any, small: bool) -> Any:
        (real,), (imaginary,) = _square(64)(rng, small), _square(64)(rng, small)
        return ((real + 1j * imaginary).astype("c8"),)

    return {name: work for name, (_, work) in benchmarked().items()} | {
        "expm": also("exponential of a matrix, 64", _square(64), lambda sg, x: sg.linalg.expm(x)),
        "sqrtm": also("square root of a matrix, 64", _positive(64), lambda sg, x: sg.linalg.sqrtm(x)),
        "logm": also("logarithm of a complex matrix, 64", complex_square, lambda sg, x: sg.linalg.logm(x)),
        "svd_small": also("singular values and vectors, 8", _square(8), lambda sg, x: list(sg.linalg.svd(x))),
        "eigh_small": also("eigenvalues and vectors, 8", _square(8), lambda sg, x: list(sg.linalg.eigh(x))),
        "lstsq": also(
            "least squares, 256", _system(256, 4), lambda sg, x, y: sg.linalg.lstsq(x, y, fast=False)
        ),
        "svd_complex": also(
            "singular values and vectors, complex, 64",
            complex_square,
            lambda sg, x: list(sg.linalg.svd(x)),
        ),
        "solve_complex": also("inverse, complex, 64", complex_square, lambda sg, x: sg.matrix_inverse(x)),
        "svd_gradient": also(
            "singular values and vectors, 64, with the gradient",
            _square(64),
            lambda sg, x: sg.gradients([sg.reduce_sum(part * part * part) for part in sg.linalg.svd(x)], x),
        ),
    }


def measure(name: str, plain: bool) -> dict[str, float]:
    """Seconds of building a step and of its first run in this process, less those of its second run."""
    import numpy as np

    import staticgraph as sg

    work = works()[name]
    arrays = work.arrays()
    clocks = {CPU: _cpu, WALL: time.perf_counter}
    begun = {clock: now() for clock, now in clocks.items()}
    feeds = [sg.placeholder(array.dtype, array.shape) for array in arrays]
    made = [x + x for x in feeds] if plain else work.staticgraph(sg, *feeds)
    fed = dict(zip(feeds, map(np.asarray, arrays), strict=True))
    with sg.Session() as session:
        session.run(made, fed)
        first = {clock: now() for clock, now in clocks.items()}
        session.run(made, fed)
        second = {clock: now() for clock, now in clocks.items()}
    return {clock: 2 * first[clock] - begun[clock] - second[clock] for clock in clocks}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def least(name: str, plain: bool, repeats: int) -> dict[str, float]:
    """The least of each clock over some fresh processes."""
    found = [_in_fresh_process(name, plain) for _ in range(repeats)]
    return {clock: min(each[clock] for each in found) for clock in (CPU, WALL)}


def _in_fresh_process(name: str, plain: bool) -> dict[str, float]:
    command = [sys.executable, __file__, "--here", name, *(["--plain"] if plain else [])]
    with tempfile.TemporaryDirectory(prefix="compile-cost-", ignore_cleanup_errors=True) as folder:
        variables = {**os.environ, "SG_CACHE_DIR": folder}
        variables.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode, too
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("works", nargs="*", help="default: all")
    parser.add_argument("--repeats", type=int, default=3, help="processes of each (default 3)")
    parser.add_argument("--most", type=float, default=math.inf, help="CPU seconds that one may cost")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        print(json.dumps(measure(options.works[0], options.plain)))
        return 0
    known = works()
    if unknown := set(options.works) - known.keys():
        parser.error(f"no work {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    worst = 0.0
    for name in options.works or known:
        plain, full = (least(name, each, options.repeats) for each in (True, False))
        more = {clock: full[clock] - plain[clock] for clock in full}
        worst = max(worst, more[CPU])
        print(f"{name:22} " + "  ".join(f"{c} {plain[c]:.3f} {full[c]:.3f} {more[c]:+.3f}" for c in more), flush=True)
    return int(worst > options.most)


if __name__ == "__main__":
    sys.exit(main())
