"""Signatures that differ from TensorFlow's on purpose, each with its reason."""

from __future__ import annotations

from fnmatch import fnmatchcase

EXPLAINED = {  # by name, or by a pattern of names
    "DType": "element types are those of the package; a program has no use for one that it makes by a number",
    "Operation": "operations are made by functions, never by their class",
    "Tensor": "tensors are made by functions, never by their class",
    "VariableScope.get_variable": "the store of variables, TensorFlow's first parameter, is the graph's own",
    "errors.*Error": "the message comes first, as in Python; there is no protocol buffer of the operation",
    "layers.Conv[23]D": "one number is for each axis: the default means the same",
}


def reason(name: str) -> str | None:
    """Why a signature differs; None where there is no reason.

    >>> reason("layers.Conv2D")
    'one number is for each axis: the default means the same'
    >>> reason("layers.Dense")
    """
    return next((text for pattern, text in EXPLAINED.items() if fnmatchcase(name, pattern)), None)
