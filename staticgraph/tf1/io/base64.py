"""Bytes as letters that a URL may have."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Strings in base64, with `-` and `_` for `+` and `/`; with `pad`, filled up with `=`.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.io.encode_base64("hello?>"))
    b'aGVsbG8_Pg'
    """
    return ops.encode_base64(input, pad=pad, name=name)


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """The strings that `encode_base64` was given, padded or not.

    While running, InvalidArgumentError for what is no base64.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.io.decode_base64("aGVsbG8_Pg"))
    b'hello?>'
    """
    return ops.decode_base64(input, name=name)
