"""A roofline as SVG: how fast each kernel is, beside what its operations per byte allow.

Both axes are logarithmic. A dot at the roof does all that the machine can; the area of a dot is the share of
the time, and its title tells the kernel.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.profiling.step_times import KernelTime, StepTimes
from staticgraph.runtime.profiling.times import Limits
from staticgraph.runtime.reports.table import counted, duration

_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 48, 50
_LARGEST = 18  # radius of the dot of a kernel that takes all the time
_NAMED = 6  # dots with their names beside them
_NAME_WIDTH, _NAME_HEIGHT = 200, 14

_STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #333 }
.title { font-size: 14px; font-weight: 600 }
.grid { stroke: #ddd }
.roof { fill: none; stroke: #777; stroke-width: 1.5 }
.dot { fill: #2b6cb0; fill-opacity: .65; stroke: #1a4470 }
.name { paint-order: stroke; stroke: #fff; stroke-width: 4; stroke-linejoin: round }
@media (prefers-color-scheme: dark) {
  svg { background: #161b22 } text { fill: #ccd } .grid { stroke: #30363d }
  .roof { stroke: #99a } .dot { fill: #58a6ff; stroke: #9cf } .name { stroke: #161b22 }
}"""


@dataclass(frozen=True, slots=True)
class _LogAxis:
    """Powers of ten from `low` to `high`, on pixels from `start` to `end`."""

    low: int
    high: int
    start: float
    end: float

    @staticmethod
    def over(values: Sequence[float], start: float, end: float) -> _LogAxis:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return _LogAxis(low, max(high, low + 1), start, end)

    def at(self, value: float) -> float:
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + (self.end - self.start) * min(max(part, 0.0), 1.0), 1)

    @property
    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def write_roofline(path: str | os.PathLike[str], steps: Sequence[StepTimes], limits: Limits) -> None:
    """Draw the kernels of all steps that do arithmetic. SaveError if the file cannot be written."""
    write_file(path, [roofline(steps, limits).encode()])


def roofline(steps: Sequence[StepTimes], limits: Limits) -> str:
    """The drawing."""
    times = [(time, step) for step in steps for time in step.kernels if time.flops_per_second > 0]
    times.sort(key=lambda pair: -pair[0].nanoseconds / pair[1].runs)
    intensities = [_intensity(time) for time, _ in times]
    ridge = [limits.flops / rate for rate in limits.bandwidth.values()]
    speeds = [time.flops_per_second for time, _ in times]
    x = _LogAxis.over([*intensities, *ridge, 0.1], _LEFT, _WIDTH - _RIGHT)
    y = _LogAxis.over([*speeds, limits.flops], _HEIGHT - _BOTTOM, _TOP)
    parts = [
        *_grid(x, y, limits.whole),
        f'<text x="{_LEFT}" y="35">{limits}</text>',
        *_roofs(x, y, limits),
        *_dots(x, y, times),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img">'
    )
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>\n"])


def _grid(x: _LogAxis, y: _LogAxis, whole: str) -> Iterator[str]:
    title = f"Floating operations per second and {whole}"
    yield f'<text class="title" x="{_LEFT}" y="18">{title}</text>'
    for tick in x.ticks:
        place = x.at(tick)
        yield f'<line class="grid" x1="{place}" y1="{_TOP}" x2="{place}" y2="{_HEIGHT - _BOTTOM}"/>'
        yield f'<text x="{place}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{tick:g}</text>'
    for tick in y.ticks:
        place = y.at(tick)
        yield f'<line class="grid" x1="{_LEFT}" y1="{place}" x2="{_WIDTH - _RIGHT}" y2="{place}"/>'
        yield f'<text x="{_LEFT - 8}" y="{place + 4}" text-anchor="end">{counted(tick)}</text>'
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle">floating operations per byte</text>'


def _roofs(x: _LogAxis, y: _LogAxis, limits: Limits) -> Iterator[str]:
    """A line for each place that data may be in: it rises to the most arithmetic that there can be."""
    for name, rate in limits.bandwidth.items():
        first = max(10.0**x.low, 10.0**y.low / rate)
        ridge = limits.flops / rate
        points = [(first, first * rate), (ridge, limits.flops), (10.0**x.high, limits.flops)]
        path = " ".join(f"{x.at(a)},{y.at(b)}" for a, b in points)
        title = f"<title>{name}: {counted(rate, 'B/s')}</title>"
        yield f'<polyline class="roof" points="{path}">{title}</polyline>'


def _dots(x: _LogAxis, y: _LogAxis, times: Sequence[tuple[KernelTime, StepTimes]]) -> Iterator[str]:
    named: list[tuple[float, float]] = []
    names = []  # above all dots
    for number, (time, step) in enumerate(times):
        share = time.nanoseconds / max(step.nanoseconds * step.threads, 1e-9)
        across, up = x.at(_intensity(time)), y.at(time.flops_per_second)
        radius = round(max(2.5, _LARGEST * math.sqrt(min(share, 1.0))), 1)
        lines = f", {time.kernel.places}" if time.kernel is not None else ""
        each = duration(time.nanoseconds / step.runs)
        speed = counted(time.flops_per_second, "FLOP/s")
        title = f"{time.name}: {each}, {share:.0%} of {step.what}, {speed}{lines}"
        at = f'cx="{across}" cy="{up}" r="{radius}"'
        yield f'<circle class="dot" {at}><title>{escape(title)}</title></circle>'
        if number < _NAMED:
            flip = across > _WIDTH - 200
            side, anchor = (-radius - 4, "end") if flip else (radius + 4, "start")
            line = _free_line(across, up + 4, named)
            named.append((across, line))
            name = escape(time.name)
            place = f'x="{across + side:.1f}" y="{line:.1f}" text-anchor="{anchor}"'
            names.append(f'<text class="name" {place}>{name}</text>')
    yield from names


def _free_line(across: float, line: float, named: Sequence[tuple[float, float]]) -> float:
    """The first height at or below `line` where a name does not cover another one."""
    near = [y for x, y in named if abs(x - across) < _NAME_WIDTH]
    while any(abs(y - line) < _NAME_HEIGHT for y in near):
        line += 1
    return line


def _intensity(time: KernelTime) -> float:
    assert time.kernel is not None and time.kernel.effort is not None, time
    return max(time.kernel.effort.intensity, 1e-6)
