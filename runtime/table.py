"""Tables as text: what is shown of plans, compiles and profiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[int] = ()) -> str:
    """Columns under their names, flush right but for those in `left`, by number.

    >>> print(table(("name", "ns"), [("relu", "12"), ("matmul", "9")], left=[0]))
    name    ns
    relu    12
    matmul   9
    """
    flush_left, lines = set(left), [tuple(head), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if n in flush_left else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def counted(number: float, unit: str = "") -> str:
    """A large number to read.

    >>> counted(950), counted(12_500), counted(3.2e9, "FLOP")
    ('950', '12.5 k', '3.2 GFLOP')
    """
    amount, prefix = float(number), ""
    for prefix in ("", "k", "M", "G", "T", "P"):
        if abs(amount) < 1000 or prefix == "P":
            break
        amount /= 1000
    shown = f"{amount:.0f}" if not prefix or abs(amount) >= 100 else f"{amount:.1f}"
    return f"{shown} {prefix}{unit}".rstrip()


def duration(nanoseconds: float) -> str:
    """A time to read.

    >>> duration(85), duration(12_300), duration(4.56e6), duration(2e9)
    ('85 ns', '12.3 us', '4.56 ms', '2 s')
    """
    for limit, size, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "us"), (1e9, 1e6, "ms")):
        if nanoseconds < limit:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"
