"""Texts as code points, and in other encodings."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.tensor import Tensor


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    r"""Texts in another encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".

    `errors`: "replace" puts `replacement_char` where bytes are no text, "ignore" leaves them out, "strict"
    raises InvalidArgumentError while running. `replace_control_characters` replaces those below 32 too.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.unicode_transcode("hé", "UTF-8", "UTF-16-BE"))
    b'\x00h\x00\xe9'
    """
    return ops.unicode_transcode(
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The code points of one text, int32, and the byte where each begins, int64.

    The options are those of `unicode_transcode`. ValueError for more than one text: there are no ragged
    tensors.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     [part.tolist() for part in sess.run(sg.strings.unicode_decode_with_offsets("πr", "UTF-8"))]
    [[960, 114], [0, 2]]
    """
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        input = convert_to_tensor(input, dtype=string, name="input")
        with checked("unicode_decode"):
            require(input.type.rank == 0, f"input has shape {input.shape}, it must be one string")
        _, codes, offsets = ops.unicode_decode_with_offsets(
            input,
            input_encoding=input_encoding,
            errors=errors,
            replacement_char=replacement_char,
            replace_control_characters=replace_control_characters,
        )
        return codes, offsets


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """The code points of one text: int32. The options are those of `unicode_transcode`.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.unicode_decode("hé", "UTF-8")).tolist()
    [104, 233]
    """
    return unicode_decode_with_offsets(
        input, input_encoding, errors, replacement_char, replace_control_characters, name
    )[0]


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Tensor:
    r"""The texts of the code points along the last axis. The options are those of `unicode_transcode`.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.unicode_encode([104, 233], "UTF-8"))
    b'h\xc3\xa9'
    """
    with name_scope(name, "UnicodeEncode", [input]):
        return ops.unicode_encode(
            input, output_encoding=output_encoding, errors=errors, replacement_char=replacement_char
        )


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    r"""The characters of one text, each as a string, and the byte where each begins, int64.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     [part.tolist() for part in sess.run(sg.strings.unicode_split_with_offsets("πr", "UTF-8"))]
    [[b'\xcf\x80', b'r'], [0, 2]]
    """
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        codes, offsets = unicode_decode_with_offsets(input, input_encoding, errors, replacement_char)
        return unicode_encode(
            ops.expand_dims(codes, axis=-1), input_encoding, errors, replacement_char
        ), offsets


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Tensor:
    r"""The characters of one text, each as a string.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.unicode_split("hé", "UTF-8")).tolist()
    [b'h', b'\xc3\xa9']
    """
    with name_scope(name, "UnicodeSplit", [input]):
        return unicode_split_with_offsets(input, input_encoding, errors, replacement_char)[0]
