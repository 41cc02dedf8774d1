"""Text in a drawing: of types, values and source lines, short and the same everywhere, and how wide it is.

Widths are those of Helvetica, Arial and Liberation Sans, whatever fonts this machine has. So the same graph
is laid out alike everywhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.opdef import REQUIRED, OpDef
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.shapes import TensorShape, TensorType
from staticgraph.draw.model import Box

SMALL = 6  # elements: larger constants have a box of their own
WIDTH = 30  # characters per line of a box
_WEIGHTS = 4  # lines of a box
# fmt: off
_UNTOLD = {
    "dtype", "shape", "name", "value", "key", "seed", "seed2", "ys", "seeds", "xs", "out_type",
    "cond", "body", "branches", "carried", "family", "bound", "exact", "brief", "operation", "number",
    "shown",
}
# fmt: on
_UNITS = (("G", 10**9), ("M", 10**6), ("k", 10**3))
_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


def type_text(type: TensorType) -> str:
    """`32×10 f32`; `f32` for a scalar; `?×10 f32` where a size is unknown, `… f32` where the rank is."""
    if type.shape is None:
        return f"… {dtype_text(type.dtype)}"
    sizes = "×".join("?" if n is None else str(n) for n in type.shape)
    return f"{sizes} {dtype_text(type.dtype)}".strip()


def dtype_text(dtype: DType) -> str:
    """`f32` for float32, and so on."""
    found = re.fullmatch(r"([a-z]+?)(\d+)", dtype.name)
    return f"{_SHORT[found[1]]}{found[2]}" if found and found[1] in _SHORT else dtype.name


def is_short(array: np.ndarray) -> bool:
    """Return True if a constant fits into the label of its user: it has few elements, or all are equal."""
    return array.size <= SMALL or bool((array == array.flat[0]).all())


def value_text(array: np.ndarray) -> str:
    """A short array in one line: `2`, `[1, 0]`, `all 0.5`."""
    if array.size > SMALL:
        return f"all {_number(array.flat[0].item())}"
    flat = [_number(v) for v in array.ravel().tolist()]
    return flat[0] if array.ndim == 0 else f"[{', '.join(flat)}]"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def attribute_lines(op: OpDef, attrs: Mapping[str, Any]) -> list[str]:
    """The attributes that say something about this use of an op: those that are not left at their default."""
    lines = []
    for param in op.params:
        if param.name not in attrs or param.name in _UNTOLD:
            continue
        value = attrs[param.name]
        if value is None or (param.default is not REQUIRED and value == param.default):
            continue
        text = _attribute(value)
        if text:
            lines.append(param.name if text == "True" else f"{param.name} = {text}")
    return lines


def _attribute(value: Any) -> str:
    match value:
        case DType():
            return dtype_text(value)
        case Literal():
            return value_text(value.array) if value.array.size <= SMALL else ""
        case TensorShape() | TensorType():
            return ""
        case tuple() | list():
            text = f"[{', '.join(map(_attribute, value))}]"
            return text if len(text) <= WIDTH else ""
        case float():
            return _number(value)
    text = str(value)
    return text if len(text) <= WIDTH else ""


def lines_of(parts: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Short parts joined into at most `most` lines."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 2 <= WIDTH - 6:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    return tuple(shorten(line) for line in lines[:most])


def chosen(words: Sequence[str], joint: str = ", ", width: int = WIDTH) -> str:
    """Join words in a line; if that is too long, the first ones and the last.

    >>> chosen(["sum", "subtract", "multiply", "relu"], " + ", 24)
    'sum + … + relu'
    """
    whole = joint.join(words)
    for count in range(len(words) - 2, 0, -1):
        if len(whole) <= width:
            break
        whole = joint.join([*words[:count], "…", words[-1]])
    return whole


def shorten(text: str, width: int = WIDTH) -> str:
    """`text` with its middle left out where it is longer than `width`; names differ most at their ends."""
    if len(text) <= width:
        return text
    front = (width - 1) // 2
    return f"{text[:front]}…{text[len(text) - (width - 1 - front) :]}"


def stem(name: str) -> str:
    """A name without its numbers, by which members of a series are recognised."""
    return re.sub(r"_?\d+", "", name)


def place_of(where: Provenance | None) -> tuple[str, str]:
    """The user's line as `file.py:12`, and its text."""
    return (where.short, where.text) if where is not None else ("", "")


def place_lines(where: Provenance | None) -> list[str]:
    """The user's line for a tooltip: the place, and the text where the file is at hand."""
    if where is None:
        return []
    head = f"{where.short}, in {where.function}"
    return [head, f"    {where.text}"] if where.text else [head]


def counted(number: int, what: str) -> str:
    """`1 op`, `12 ops`."""
    return f"{number} {what}" if number == 1 else f"{number:,} {what}s"


def amount(number: int) -> str:
    """Return a number in few digits: `950`, `25.6 M`."""
    for unit, size in _UNITS:
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return str(number)


def box_lines(box: Box) -> tuple[str, ...]:
    """The lines of a box below its title: of its weights the number, if they are many."""
    weights = box.weights
    if len(weights) > _WEIGHTS:
        weights = (f"{len(weights)} variables, {amount(box.parameters)} parameters",)
    return (*box.lines, *weights)


def refused(what: str, hint: str) -> ValueError:
    """Return the error of a drawing that cannot be made as asked."""
    return misuse(ValueError, f"visualize: {what}", hint)


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
