"""Records what TensorFlow 1.15.5 says of the op types that `staticgraph/graph_def/signatures.txt` names.

The file has a line per op type: inputs, outputs and attributes with their defaults. To have another type in
it, add its name as a line, and run this with TensorFlow's Python (`tools/record_tf1.py` says how to get one):

    tf115/bin/python tools/record_op_signatures.py
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python import pywrap_tensorflow

FILE = Path(__file__).resolve().parents[1] / "staticgraph" / "graph_def" / "signatures.txt"


def registered() -> dict[str, Any]:
    """TensorFlow's ops by type."""
    listed = op_def_pb2.OpList()
    listed.ParseFromString(pywrap_tensorflow.TF_GetBuffer(pywrap_tensorflow.TF_GetAllOpList()))
    return {op.name: op for op in listed.op}


def line(op: Any) -> str:
    """`Sum(input:T reduction_indices:Tidx) -> (output:T) {keep_dims:bool=False T:type Tidx:type=int32}`."""
    inputs, outputs = (" ".join(map(argument, args)) for args in (op.input_arg, op.output_arg))
    attrs = " ".join(map(attribute, op.attr))
    return "%s(%s) -> (%s) {%s}" % (op.name, inputs, outputs, attrs)


def argument(arg: Any) -> str:
    """`values:N*T`."""
    kind = arg.type_attr or "%s[]" % arg.type_list_attr
    if not (arg.type_attr or arg.type_list_attr):
        kind = tf.as_dtype(arg.type).name
    count = "%s*" % arg.number_attr if arg.number_attr else ""
    return "%s:%s%s%s" % (arg.name, "&" if arg.is_ref else "", count, kind)


def attribute(attr: Any) -> str:
    """`axis:int=0`."""
    default = "=%s" % shown(attr.default_value) if attr.HasField("default_value") else ""
    return "%s:%s%s" % (attr.name, attr.type, default)


def shown(value: Any) -> str:
    """A default value as text without spaces."""
    kind = value.WhichOneof("value")
    if kind == "list":
        parts = [shown_one(field.name, each) for field, values in value.list.ListFields() for each in values]
        return "[%s]" % ",".join(parts)
    return shown_one(kind, getattr(value, kind))


def shown_one(kind: str, value: Any) -> str:
    """One value of a kind."""
    if kind == "s":
        return json.dumps(value.decode()).replace(" ", "\\u0020")
    if kind == "tensor":
        return "?"
    if kind == "f":
        return repr(np.float32(value))
    if kind == "type":
        return tf.as_dtype(value).name
    if kind == "shape":
        return "?" if value.unknown_rank else "[%s]" % ",".join(str(dim.size) for dim in value.dim)
    return str(value)


if __name__ == "__main__":
    ops = registered()
    types = sorted({re.match(r"\w+", text).group() for text in FILE.read_text().split("\n") if text})
    FILE.write_text("".join("%s\n" % line(ops[each]) for each in types))
