"""One string, or one number, for each string: case, length, parts; and numbers as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.building.signatures import needed, renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float32
from staticgraph.compiler.graph.tensor import Tensor


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers as text, as C's `printf` writes them.

    `precision`: digits behind the point of floating numbers, 6 by default. `scientific` writes them with an
    exponent, `shortest` in the shorter of both forms. `width`: the least number of characters, filled up on
    the left; `fill` is then "0", " ", "+", "-" (fill up on the right) or "#". ValueError for other options.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.as_string([3.14159, -1.0], precision=2)).tolist()
    [b'3.14', b'-1.00']
    """
    return ops.as_string(
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )


def to_number(
    string_tensor: Any = None, out_type: Any = float32, name: str | None = None, input: Any = None
) -> Tensor:
    """The numbers that strings tell, as float32, float64, int32 or int64.

    White space around a number does not matter. While running, InvalidArgumentError for what is no number, or
    an integer that is out of range.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.to_number(["1.5", " -2e3 "])).tolist()
    [1.5, -2000.0]
    """
    string_tensor = renamed("string_tensor", string_tensor, "input", input)
    needed("to_number", string_tensor=string_tensor)
    return ops.string_to_number(string_tensor, out_type=as_dtype(out_type), name=name)


def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """The corresponding strings of a list of tensors of one shape, one after the other.

    Scalars are taken for every element. ValueError if other shapes differ.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.join([["a", "b"], "txt"], separator=".")).tolist()
    [b'a.txt', b'b.txt']
    """
    return ops.string_join(list(inputs), separator=separator, name=name)


def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Return the number of bytes or characters of each string.

    Args:
        input: A tensor of strings.
        name: The name of the operation.
        unit: "BYTE", or "UTF8_CHAR" for characters of UTF-8.

    Returns:
        An int32 tensor of the shape of `input`.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.length(["pie", "π"])).tolist()
    [3, 2]
    """
    return ops.string_length(input, unit=unit, name=name)


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """At most `len` bytes of strings, or characters with `unit="UTF8_CHAR"`, from position `pos` on.

    A negative `pos` counts from the end. `pos` and `len` have one shape, and it broadcasts with that of the
    strings. While running, InvalidArgumentError for a position that a string has not.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.substr(["north", "south"], 1, 3)).tolist()
    [b'ort', b'out']
    """
    return ops.substr(input, pos, len, unit=unit, name=name)


def strip(input: Any, name: str | None = None) -> Tensor:
    """Strings without the white space at both ends.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.strip([" a b "])).tolist()
    [b'a b']
    """
    return ops.string_strip(input, name=name)


def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings in lower case: the letters of ASCII, or with `encoding="utf-8"` all letters.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.lower("ABC"))
    b'abc'
    """
    return ops.string_lower(input, encoding=encoding, name=name)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings in upper case: the letters of ASCII, or with `encoding="utf-8"` all letters.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.upper("abc"))
    b'ABC'
    """
    return ops.string_upper(input, encoding=encoding, name=name)
