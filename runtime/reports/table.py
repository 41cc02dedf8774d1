"""Tables as text: what is shown of plans, compiles and profiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title. Printed, it is text; a notebook shows it as HTML.

    Attributes:
        title: What the rows are, in one line.
        head: The names of the columns.
        rows: The cells of each row.
        left: The columns, by number, whose cells begin at their left end; numbers end at the right one.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[int, ...] = (0,)

    def __str__(self) -> str:
        return f"{self.title}\n{table(self.head, self.rows, self.left)}"


_LEAST = 8  # signs of a text that is cut short


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: Iterable[int],
    width: int | None = None,
    spare: Iterable[int] = (),
) -> str:
    """Columns under their names, flush right but for those in `left`, by number.

    Where lines are longer than `width`, the columns `spare` are left out, one after the other, and then the
    longest texts flush left are cut short.

    >>> print(table(("name", "ns"), [("relu", "12"), ("matmul", "9")], left=[0]))
    name    ns
    relu    12
    matmul   9
    >>> print(table(("name", "ns", "%"), [("softmax_cross_entropy", "9", "1")], [0], width=18, spare=[2]))
    name            ns
    softma..ntropy   9
    """
    flush_left, shown, lines = set(left), [*range(len(head))], [tuple(head), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if width is not None:
        for column in spare:
            if sum(widths[n] + 2 for n in shown) - 2 > width:
                shown.remove(column)
        widths = _narrowed(widths, shown, flush_left, width)
    return "\n".join(
        "  ".join(
            shortened(line[n], widths[n]).ljust(widths[n]) if n in flush_left else line[n].rjust(widths[n])
            for n in shown
        ).rstrip()
        for line in lines
    )


def _narrowed(widths: Sequence[int], shown: Sequence[int], flush_left: set[int], width: int) -> list[int]:
    """Widths with which a line fits, as far as texts may be cut."""
    narrow = list(widths)
    while sum(narrow[n] + 2 for n in shown) - 2 > width:
        widest = max((n for n in shown if n in flush_left), key=lambda n: narrow[n], default=None)
        if widest is None or narrow[widest] <= _LEAST:
            break
        narrow[widest] -= 1
    return narrow


def wrapped(line: str, width: int | None, indent: str = "") -> list[str]:
    """A line as several of at most `width` signs, where that is given; words stay whole.

    >>> wrapped("12 operations: add 9, exp 3", 20, "  ")
    ['12 operations: add', '  9, exp 3']
    """
    if width is None:
        return [line]
    return wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def printable(line: str) -> str:
    r"""A line in which nothing of a file can steer a terminal.

    >>> printable("relu"), printable("\x1b[2J")
    ('relu', '\\x1b[2J')
    """
    return line if line.isprintable() else ascii(line)[1:-1]


def shortened(text: str, length: int) -> str:
    """A text of at most so many signs, of which the middle is left out.

    >>> shortened("block1/unit_3/conv2/kernel", 16)
    'block1/../kernel'
    """
    if len(text) <= length:
        return text
    end = (length - 2) // 2
    return f"{text[: length - 2 - end]}..{text[len(text) - end :]}"


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
