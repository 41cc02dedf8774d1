"""Signatures of TensorFlow 1.15's op types: inputs, outputs and attributes in order, with defaults.

`signatures.txt` has the types that are written and read here, a line each:

    Sum(input:T reduction_indices:Tidx) -> (output:T) {keep_dims:bool=False T:type Tidx:type=int32}

`N*T` is a list of as many tensors as the attribute N says, `T[]` a list with a type for each tensor, and `&T`
a variable. `foreign.txt` has all other types, with no more than their outputs depend on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from staticgraph.compiler.graph.dtypes import DTYPES, DType
from staticgraph.compiler.support.dataclass import dataclass

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()


@dataclass(frozen=True, slots=True)
class Argument:
    """An input or an output. Its dtype is that of the attribute `type_attr`, else `dtype`; it is a list of
    `number_attr` tensors, or with `type_list` one with the dtypes of that attribute.
    """

    name: str
    type_attr: str = ""
    dtype: DType | None = None
    number_attr: str = ""
    type_list: str = ""
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        return bool(self.number_attr or self.type_list)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute: its kind, such as `int` or `list(shape)`, and its default."""

    name: str
    kind: str
    default: Any = REQUIRED


@dataclass(frozen=True, slots=True)
class Signature:
    """An op type of TensorFlow's."""

    type: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attrs: Mapping[str, Attribute]


@cache
def _lines(file: str) -> dict[str, str]:
    text = resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
    return {line.partition("(")[0]: line for line in text.splitlines()}


@cache
def signature(type: str) -> Signature | None:
    """The signature of an op type that is read or written here, or None.

    >>> [argument.name for argument in signature("MatMul").inputs]
    ['a', 'b']
    """
    line = _lines("signatures.txt").get(type)
    return None if line is None else _signature(type, line)


@cache
def foreign_signature(type: str) -> Signature | None:
    """The outputs of an op type that TensorFlow has, and the attributes that they depend on; None for others.

    >>> [argument.type_list for argument in foreign_signature("IteratorGetNext").outputs]
    ['output_types']
    """
    line = _lines("foreign.txt").get(type)
    return signature(type) if line is None else _signature(type, line)


def _signature(type: str, line: str) -> Signature:
    inputs, _, rest = line[len(type) + 1 :].partition(") -> (")
    outputs, _, attrs = rest.partition(") {")
    found = [_attribute(each) for each in attrs[:-1].split()]
    return Signature(
        type,
        tuple(map(_argument, inputs.split())),
        tuple(map(_argument, outputs.split())),
        {attr.name: attr for attr in found},
    )


def _argument(text: str) -> Argument:
    name, _, kind = text.partition(":")
    is_ref, kind = kind.startswith("&"), kind.removeprefix("&")
    if kind.endswith("[]"):
        return Argument(name, type_list=kind[:-2], is_ref=is_ref)
    number, _, element = kind.rpartition("*")
    dtype = DTYPES.get(element)
    return Argument(name, "" if dtype else element, dtype, number, is_ref=is_ref)


def _attribute(text: str) -> Attribute:
    head, equals, default = text.partition("=")
    name, _, kind = head.partition(":")
    return Attribute(name, kind, _value(kind, default) if equals else REQUIRED)


def _value(kind: str, text: str) -> Any:
    """A default value; a list is a tuple."""
    if kind.startswith("list("):
        inner = text[1:-1]
        return tuple(_value(kind[5:-1], each) for each in inner.split(",")) if inner else ()
    match kind:
        case "type":
            return DTYPES.get(text)
        case "shape":
            return None if text == "?" else tuple(int(size) for size in text[1:-1].split(",") if size)
        case "float":
            return float(text)
        case "bool":
            return text == "True"
        case "tensor":
            return None
    return json.loads(text)
