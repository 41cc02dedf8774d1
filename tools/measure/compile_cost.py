"""Measure how much longer a cold first step takes for an operation in it.

    python tools/measure/compile_cost.py            the works of the benchmark group numerics, and more
    python tools/measure/compile_cost.py qr expm    some of them
    python tools/measure/compile_cost.py --most 0.3  status 1 if one costs more CPU seconds
    python tools/measure/compile_cost.py --write    write the table of docs/cpu.md, too
    python tools/measure/compile_cost.py open_fft   a work whose sizes are known when it runs

Every process is fresh and has an empty cache on disk. It compiles a small net first, so that what every step
needs is there. Then it builds a step, and runs it a few times; the time of its last run, which compiles
nothing, is taken off each. The step without the operation doubles inputs instead; that of the Gaussian
process leaves the linear algebra out. Sizes of works whose names begin with `open_` are left open. Told is
the least of some processes, in CPU seconds of all threads and in seconds of the clock: what else the machine
does matters less to the first.
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "cpu.md"
BEGIN = "<!-- compile cost: written by tools/measure/compile_cost.py -->\n"
END = "<!-- end of the compile cost -->\n"
CPU, WALL = "cpu", "wall"
PLAIN = "triangular_solve"  # the work whose inputs the step without the operation doubles
OPEN = "open_"  # works with open sizes begin with it
OPEN_PLAIN = "open_rfft"  # the same for works with open sizes
RUNS = 3  # small steps are interpreted in their first run, and compiled in the second
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]


def works() -> dict[str, Any]:
    """Works by name: those of the benchmark, and those that no peer is compared at."""
    from benchmarks.numerics import algebra
    from benchmarks.numerics.group import works as benchmarked
    from benchmarks.numerics.work import Arrays, Work

    def complex_square(rng: np.random.Generator, small: bool) -> Arrays:
        (real,), (imaginary,) = (algebra.square(64)(rng, small) for _ in range(2))
        return ((real + 1j * imaginary).astype("c8"),)

    def cubes(sg: Any, values: Sequence[Any]) -> Any:
        return sg.add_n([sg.reduce_sum(value * value * value) for value in values])

    square, system = algebra.square, algebra.system
    more = (
        ("expm", "exponential of a matrix, 64", square(64), lambda sg, x: sg.linalg.expm(x)),
        ("sqrtm", "square root of a matrix, 64", algebra.positive(64), lambda sg, x: sg.linalg.sqrtm(x)),
        ("svd_small", "singular values and vectors, 8", square(8), lambda sg, x: sg.linalg.svd(x)),
        ("eigh_small", "eigenvalues and vectors, 8", square(8), lambda sg, x: sg.linalg.eigh(x)),
        ("svd_complex", "singular values, complex, 64", complex_square, lambda sg, x: sg.linalg.svd(x)),
        ("qr_complex", "QR, complex, 64", complex_square, lambda sg, x: sg.linalg.qr(x)),
        ("inverse_complex", "inverse, complex, 64", complex_square, lambda sg, x: sg.matrix_inverse(x)),
        (
            "lstsq",
            "least squares by QR, 256",
            system(256, 4),
            lambda sg, x, y: sg.linalg.lstsq(x, y, fast=False),
        ),
        (
            "eigh_gradient",
            "eigenvalues and vectors, 64, and a gradient",
            algebra.positive(64),
            lambda sg, x: sg.gradients(cubes(sg, sg.linalg.eigh(x)), x),
        ),
    )
    return {name: work for name, (_, work) in benchmarked().items()} | {
        name: Work(title, inputs, function) for name, title, inputs, function in (*more, *_open_works())
    }


def _open_works() -> Iterator[tuple[str, str, Any, Any]]:
    """Works whose sizes are open: their names, titles, inputs and functions."""

    def drawn(kind: str, *shape: int) -> Any:
        def inputs(rng: np.random.Generator, small: bool) -> tuple[np.ndarray, ...]:
            values = rng.normal(size=shape)
            if kind == "positive":
                values = values @ values.T + len(values) * np.eye(len(values))
            return ((values + 1j * values[::-1]).astype("c8") if kind == "complex" else values.astype("f4"),)

        return inputs

    real, spectra, square = drawn("real", 64, 1000), drawn("complex", 64, 501), drawn("real", 64, 64)
    yield "open_fft", "FFT, open", drawn("complex", 64, 1000), lambda sg, x: sg.signal.fft(x)
    yield "open_rfft", "FFT of real numbers, open", real, lambda sg, x: sg.signal.rfft(x)
    yield "open_irfft", "FFT back to real numbers, open", spectra, lambda sg, x: sg.signal.irfft(x)
    yield from _open_planes(drawn)
    yield "open_dct", "cosine transform, open", real, lambda sg, x: sg.signal.dct(x)
    yield "open_stft", "spectra in time, open", real, lambda sg, x: sg.signal.stft(x, 256, 64)
    frames = drawn("complex", 4, 20, 129)
    yield (
        "open_istft", "signals of spectra in time, open", frames,
        lambda sg, x: sg.signal.inverse_stft(x, 256, 64),
    )  # fmt: skip
    yield "open_svd", "singular values and vectors, open", square, lambda sg, x: sg.linalg.svd(x)
    yield "open_eigh", "eigenvalues and vectors, open", square, lambda sg, x: sg.linalg.eigh(x)
    yield "open_qr", "QR, open", square, lambda sg, x: sg.linalg.qr(x)
    positive = drawn("positive", 64, 64)
    yield "open_cholesky", "Cholesky factor, open", positive, lambda sg, x: sg.linalg.cholesky(x)
    yield "open_inverse", "inverse, open", square, lambda sg, x: sg.linalg.inv(x)
    yield "open_solve", "system, open", square, lambda sg, x: sg.linalg.solve(x, x)
    yield "open_sort", "sort, open", real, lambda sg, x: sg.sort(x)
    yield "open_top_k", "top 10, open", real, lambda sg, x: sg.nn.top_k(x, 10)
    yield "open_unique", "unique, open", drawn("real", 1000), lambda sg, x: sg.unique(x)


def _open_planes(drawn: Any) -> Iterator[tuple[str, str, Any, Any]]:
    """Transforms over several axes, all of which are open."""
    for rank, title in (2, "a plane"), (3, "a box"):
        points = drawn("complex", *(64, 64) if rank == 2 else (8, 16, 16))
        real = drawn("real", *(64, 64) if rank == 2 else (8, 16, 16))
        for name, inputs, what in (
            ("fft", points, f"FFT of {title}"),
            ("ifft", points, f"inverse FFT of {title}"),
            ("rfft", real, f"FFT of {title} of real numbers"),
            ("irfft", points, f"FFT back to {title} of real numbers"),
        ):
            transform = f"{name}{rank}d"
            yield (
                f"open_{transform}", f"{what}, open", inputs,
                lambda sg, x, transform=transform: getattr(sg.signal, transform)(x),
            )  # fmt: skip


def _gp_without_algebra(sg: Any, x: Any, y: Any, p: Any) -> Any:
    """The products, the exponential and the sums of the Gaussian process, and their gradient."""
    squares = sg.reduce_sum(x * x, 1, keepdims=True)
    apart = squares - 2.0 * sg.matmul(x, x, transpose_b=True) + sg.transpose(squares)
    kernel = sg.exp(-apart / (2.0 * p[0] * p[0])) + p[1] * sg.eye(x.shape[0])
    loss = 0.5 * sg.reduce_sum(y * y) + sg.reduce_sum(sg.log(kernel))
    return [loss, sg.gradients(loss, [p])[0]]


WITHOUT = {"gp": _gp_without_algebra}  # steps without the operation that have more to do than double inputs


def measure(name: str, plain: bool) -> dict[str, float]:
    """Seconds of building and compiling a step in this process."""
    import staticgraph as sg

    work = works()[name]
    arrays = work.arrays()
    with sg.Graph().as_default(), sg.Session() as session:
        x, long = sg.placeholder("float32", [64, 64]), sg.placeholder("float32", [1 << 20])
        net = [sg.cumsum(sg.matmul(x, x)), sg.reduce_sum(sg.exp(long))]
        for _ in range(RUNS):
            session.run(net, {x: np.ones((64, 64)), long: np.ones(1 << 20)})
    clocks = {CPU: _cpu, WALL: time.perf_counter}
    begun = {clock: now() for clock, now in clocks.items()}
    is_open = name.startswith(OPEN)
    feeds = [sg.placeholder(a.dtype, [None] * a.ndim if is_open else a.shape) for a in arrays]
    if plain:
        made = WITHOUT[name](sg, *feeds) if name in WITHOUT else [x + x for x in feeds]
    else:
        made = work.staticgraph(sg, *feeds)
    fetches = list(made) if isinstance(made, tuple) else made
    fed = dict(zip(feeds, arrays, strict=True))
    with sg.Session() as session:
        for _ in range(RUNS):
            session.run(fetches, fed)
        compiled = {clock: now() for clock, now in clocks.items()}
        session.run(fetches, fed)
        last = {clock: now() for clock, now in clocks.items()}
    return {c: compiled[c] - begun[c] - RUNS * (last[c] - compiled[c]) for c in clocks}


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


def table(rows: Sequence[tuple[str, dict[str, float]]]) -> str:
    """The rows in Markdown, the most expensive first."""
    lines = ["| step | CPU time |", "|---|---:|"]
    for title, more in sorted(rows, key=lambda row: -row[1][CPU]):
        lines.append(f"| {title} | {1e3 * more[CPU]:.0f} ms |")
    return "\n".join(lines) + "\n"


def write(rows: Sequence[tuple[str, dict[str, float]]]) -> None:
    """Put the rows into the table of the page, where those of other works stay."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    old, _, after = rest.partition(END)
    lines = [line[2:-2].rsplit(" | ", 1) for line in old.split("\n") if line.endswith(" ms |")]
    kept = [(title, {CPU: 1e-3 * int(time.split()[0])}) for title, time in lines]
    told = dict((*kept, *rows))
    PAGE.write_text(f"{before}{BEGIN}\n{table([*told.items()])}\n{END}{after}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("works", nargs="*", help="default: all")
    parser.add_argument("--repeats", type=int, default=3, help="processes of each step (default 3)")
    parser.add_argument("--most", type=float, default=math.inf, help="CPU seconds that one may cost")
    parser.add_argument(
        "--write", action="store_true", help=f"write the table of {PAGE.relative_to(ROOT)}, too"
    )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        print(json.dumps(measure(options.works[0], options.plain)))
        return 0
    known = works()
    if unknown := set(options.works) - known.keys():
        parser.error(f"no work {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    plain = {
        is_open: least(f"{OPEN}rfft" if is_open else PLAIN, True, options.repeats)
        for is_open in (False, True)
    }
    rows = []
    for name in options.works or known:
        found = least(name, False, options.repeats)
        base = least(name, True, options.repeats) if name in WITHOUT else plain[name.startswith(OPEN)]
        more = {clock: found[clock] - base[clock] for clock in found}
        rows.append((known[name].title, more))
        print(f"{name:24} {more[CPU]:7.3f} s of CPU {more[WALL]:7.3f} s", flush=True)
    if options.write:
        write(rows)
    return int(max(more[CPU] for _, more in rows) > options.most)


if __name__ == "__main__":
    sys.exit(main())
