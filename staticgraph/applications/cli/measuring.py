"""Measurements of a function for `bench`: the times of its steps, and how they divide among its kernels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.applications.cli.terminal import Progress
from staticgraph.compiler.lower.buffer_assignment import size_text
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.functions import Opened
from staticgraph.runtime.cpu.jit import host
from staticgraph.runtime.cpu.threads import get_num_threads
from staticgraph.runtime.profiling.profile import Profile
from staticgraph.runtime.profiling.step_times import KernelTime, StepTimes
from staticgraph.runtime.reports.table import counted, duration, table, wrapped

if TYPE_CHECKING:
    from staticgraph.runtime.gpu.device import Device

_FOR = 1.0  # seconds that the timed steps take together, where nobody says how many there are to be
_FEWEST, _MOST = 5, 1000
_WARM = 0.2  # seconds of runs before that, in which caches fill and clocks rise
_PROFILED = 200  # steps at most
_QUANTILES = {"shortest": 0.0, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "longest": 1.0}


@dataclass(frozen=True, slots=True)
class Measured:
    """Times in seconds. `compiled`: functions that were compiled, in memory, and on disk. `peak`: bytes.
    `gpu`: the name of the GPU that the steps run on.
    """

    file: str
    function: str
    feeds: Mapping[str, str]
    rows: int | None
    threads: int
    compile_seconds: float
    compiled: tuple[int, int, int]
    peak: int | None
    times: np.ndarray
    profile: Profile
    gpu: str | None = None

    @property
    def median(self) -> float:
        return float(np.median(self.times))

    @property
    def flops(self) -> float:
        """Floating operations of a step, as far as they are known."""
        return sum(k.flops_per_second * k.nanoseconds * 1e-9 / s.runs for s, k in self._kernels())

    def _kernels(self) -> Iterator[tuple[StepTimes, KernelTime]]:
        return ((step, kernel) for step in self.profile.steps for kernel in step.kernels)

    def as_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, texts and numbers, as for JSON."""
        at = {"min": 0.0, "quarter": 0.25, "median": 0.5, "three_quarters": 0.75, "max": 1.0}
        return {
            "file": self.file,
            "signature": self.function,
            "feeds": dict(self.feeds),
            "threads": self.threads,
            "cpu": host().cpu,
            "gpu": self.gpu,
            "compile": dict(zip(("compiled", "from_memory", "from_disk"), self.compiled, strict=True))
            | {"seconds": self.compile_seconds},
            "peak_bytes": self.peak,
            "runs": len(self.times),
            "seconds": {name: float(np.quantile(self.times, q)) for name, q in at.items()}
            | {"mean": float(self.times.mean()), "deviation": float(self.times.std())},
            "flops": self.flops,
            "limits": {
                "flops_per_second": self.profile.limits.flops,
                "bytes_per_second": dict(self.profile.limits.bandwidth),
            },
            "kernels": [self._as_dict(step, kernel) for step, kernel in self._kernels()],
        }

    def _as_dict(self, step: StepTimes, kernel: KernelTime) -> dict[str, Any]:
        told: dict[str, Any] = {
            "name": kernel.name,
            "seconds": 1e-9 * kernel.nanoseconds / step.runs,
            "share": step.share(kernel),
            "launches": kernel.launches / step.runs,
        }
        if kernel.kernel is not None and kernel.kernel.effort is not None:
            reached, limit = step.reached(kernel, self.profile.limits)
            told |= {
                "flops": kernel.kernel.effort.flops,
                "bytes": kernel.kernel.effort.bytes,
                "flops_per_second": kernel.flops_per_second,
                "bytes_per_second": kernel.bytes_per_second,
                "limit": limit,
                "of_limit": reached,
                "lines": kernel.kernel.places,
            }
        return told

    def text(self, width: int | None = None) -> str:
        """The printed form."""
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        head = [f"{self.file}, {self.function}: {self.gpu or f'{threads}, {host().cpu}'}"]
        told = {
            "feeds": ", ".join(f"{name}: {type}" for name, type in self.feeds.items()) or "none",
            "compile": "{} ({} compiled, {} from memory, {} from disk)".format(
                duration(1e9 * self.compile_seconds), *self.compiled
            ),
            "memory": "not known" if self.peak is None else f"{size_text(self.peak)} at most",
            "speed": ", ".join(self._speed()),
        }
        for name, value in told.items():
            head += wrapped(f"  {name:<7}  {value}", width, " " * 11)
        times = tuple(duration(1e9 * float(np.quantile(self.times, q))) for q in _QUANTILES.values())
        steps = table(("step", *_QUANTILES), [(f"{len(self.times)} runs", *times)], (0,), width, (2, 4))
        parts = ["\n".join(head), steps]
        limits = self.profile.limits
        longest_first = sorted(self.profile.steps, key=lambda step: -step.nanoseconds)
        parts += [step.table(limits, width) for step in longest_first]
        end = str(limits) if longest_first else "no kernels: NumPy and Python do all of it"
        return "\n\n".join([*parts, "\n".join(wrapped(end, width))])

    def _speed(self) -> Iterator[str]:
        yield f"{_rate(1 / self.median)} steps/s"
        if self.rows is not None and self.rows > 1:
            yield f"{_rate(self.rows / self.median)} rows/s"
        if self.flops:
            yield counted(self.flops / self.median, "FLOP/s")


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def measure(
    file: str, function: Opened, values: Mapping[str, np.ndarray], runs: int | None, tell: Progress
) -> Measured:
    """Compile a function for these values, run it often, and profile it."""
    session = function.session
    feeds = {function.inputs[name]: value for name, value in values.items()}
    call = session.make_callable(function.fetches, list(feeds))
    if session.device is not None:
        call = _waited_for(call, session.device)
    given = tuple(feeds.values())
    tell("compiling", at_once=True)
    call(*given)
    made = session.compiles
    compiled = tuple(sum(getattr(c, part) for c in made) for part in ("compiled", "from_memory", "from_disk"))
    seconds = made.seconds
    each = _warmed(call, given, runs or _MOST, tell)
    count = runs or min(max(int(_FOR / each), _FEWEST), _MOST)
    times = _times(call, given, count, tell)
    tell("profiling", at_once=True)
    with session.profile() as profile:
        for _ in range(min(count, _PROFILED)):
            call(*given)
    memory = session.plan(function.fetches, feeds).memory if profile.steps else None
    types = {name: f"{function.inputs[name].dtype.name}{list(np.shape(v))}" for name, v in values.items()}
    first = [np.shape(value)[0] for value in values.values() if np.ndim(value)]
    return Measured(
        file,
        function.name,
        types,
        first[0] if len({*first}) == 1 else None,
        get_num_threads(),
        seconds,
        (compiled[0], compiled[1], compiled[2]),
        None if memory is None else memory.peak,
        times,
        profile,
        None if session.device is None else session.device.driver.card.name,
    )


def _waited_for(call: Callable[..., Any], device: Device) -> Callable[..., None]:
    """Runs that return when the GPU is done: those that fetch nothing would return before."""

    def waited(*given: Any) -> None:
        call(*given)
        device.driver.synchronize()

    return waited


def _warmed(call: Callable[..., Any], given: tuple[Any, ...], most: int, tell: Progress) -> float:
    """The seconds of a run, the shortest of some that warm the machine up."""
    start, done, shortest = time.perf_counter(), 0, float("inf")
    while time.perf_counter() - start < _WARM and done < most:
        before = time.perf_counter()
        call(*given)
        shortest, done = min(shortest, time.perf_counter() - before), done + 1
        tell(f"warming up, run {done}")
    return shortest


def _times(call: Callable[..., Any], given: tuple[Any, ...], count: int, tell: Progress) -> np.ndarray:
    times = np.empty(count)
    for number in range(count):
        start = time.perf_counter()
        call(*given)
        times[number] = time.perf_counter() - start
        tell(f"run {number + 1:,} of {count:,}")
    return times
