"""Text in pictures: what of it XML can hold, and how wide it is.

Widths are those of Helvetica, Arial and Liberation Sans, whatever fonts this machine has. So the same graph
is laid out alike everywhere.
"""

from __future__ import annotations

import unicodedata

# Thousandths of the font's size, from the blank to the tilde: Adobe's metrics of Helvetica.
_WIDTHS = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
_OTHERS = {"·": 278, "×": 584, "…": 1000, "→": 1000, "–": 556, "—": 1000, "²": 333, "µ": 556}
_BOLD = 1.07  # times as wide


def printable(text: str) -> str:
    """`text` with a replacement mark for each character that XML cannot hold."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return how wide `text` is, in the unit of `size`, the size of the font.

    >>> text_width("relu", 10)
    16.67
    >>> text_width("relu", 10) < text_width("RELU", 10) < text_width("MatMul", 10)
    True
    """
    return size * sum(map(_width, text)) * (_BOLD if bold else 1) / 1000


def _width(char: str) -> int:
    if " " <= char <= "~":
        return _WIDTHS[ord(char) - 32]
    if unicodedata.combining(char):
        return 0
    return _OTHERS.get(char, 1000 if unicodedata.east_asian_width(char) in "WF" else 650)
