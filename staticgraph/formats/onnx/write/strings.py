"""Ops of strings in ONNX, which has few of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, string
from staticgraph.compiler.graph.opdef import ops
from staticgraph.formats.onnx.write.rules import Use, writes
from staticgraph.formats.onnx.write.value import Held, NoForm


def _needs_opset_20(use: Use) -> None:
    if use.writer.opset < 20:
        raise NoForm(f"it needs opset=20, and the model is to be of {use.writer.opset}")


@writes("string_join")
def _join(use: Use, *inputs: Held, separator: str) -> Any:
    _needs_opset_20(use)
    made = inputs[0]
    for each in inputs[1:]:
        if separator:
            made = use("StringConcat", made, use.constant(np.array(separator.encode(), object), string))
        made = use("StringConcat", made, each)
    return made


@writes("string_lower", "string_upper")
def _case(use: Use, input: Held, encoding: str) -> Any:
    """ONNX's operator takes a vector."""
    if encoding != "utf-8":
        raise NoForm('ONNX changes the case of all letters, as with encoding="utf-8"')
    flat = ops.reshape(input, shape=(-1,))
    action = "LOWER" if use.op.name == "string_lower" else "UPPER"
    made = use("StringNormalizer", flat, type=flat.type, case_change_action=action)
    return ops.reshape(made, shape=input.shape)


@writes("static_regex_full_match")
def _match(use: Use, input: Held, pattern: str) -> Any:
    _needs_opset_20(use)
    return use("RegexFullMatch", input, pattern=pattern)


@writes("regex_full_match")
def _known_match(use: Use, input: Held, pattern: Held) -> Any:
    if pattern.constant is None:
        raise NoForm("its pattern must be known")
    return _match(use, input, bytes(pattern.constant.item()).decode())


@writes("string_to_number")
def _number(use: Use, string_tensor: Held, out_type: DType) -> Any:
    return use("Cast", string_tensor, to=out_type)


@writes("as_string")
def _text(use: Use, input: Held, **form: Any) -> Any:
    plain = {"precision": -1, "scientific": False, "shortest": False, "width": -1, "fill": ""}
    if form != plain or not input.dtype.is_integer:
        raise NoForm("ONNX has no formats of numbers: only whole numbers become the same text")
    return use("Cast", input, to=string)
