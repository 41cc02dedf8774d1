"""Times and ratios as people read them."""

from __future__ import annotations

from typing import Any

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def duration(seconds: float) -> str:
    """Three digits at most, with a unit.

    >>> duration(0.0123), duration(4.2e-7), duration(1278e-3), duration(1e-6)
    ('12.3 ms', '420 ns', '1.28 s', '1 µs')
    """
    size, unit = next((u for u in UNITS if seconds >= u[0] * 0.9995), UNITS[-1])
    return f"{float(f'{seconds / size:.3g}'):g} {unit}"


def ratio(value: float) -> str:
    """Two or three digits.

    >>> ratio(0.0712), ratio(1.5), ratio(143.2)
    ('0.071', '1.5', '143')
    """
    return f"{float(f'{value:.2g}'):g}" if value < 100 else f"{value:.0f}"


def cell(facts: dict[str, Any] | None) -> str:
    """A cell of a table: the median time of a work, empty if it was not done.

    >>> cell({"median": 0.0123, "agrees": False}), cell({"failed": "no memory"}), cell(None)
    ('12.3 ms (differs)', 'failed', '')
    """
    if facts is None:
        return ""
    if "median" not in facts:
        return "failed"
    return duration(facts["median"]) + ("" if facts.get("agrees", True) else " (differs)")
