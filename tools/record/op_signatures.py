"""Records what TensorFlow 1.15.5 says of its op types, in `staticgraph/formats/tf/graph_def`.

`signatures.txt` has a line per op type that is read or written here: inputs, outputs and attributes with
their defaults. To have another type in it, add its name as a line, and run

    tf115/bin/python -m tools.record.op_signatures

`foreign.txt` has all other types, with their outputs and the attributes that these depend on.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.contrib.seq2seq import gather_tree  # registers the op
from tensorflow.core.framework import op_def_pb2
from tensorflow.python import pywrap_tensorflow

from tools.record import ROOT

FOLDER = ROOT / "staticgraph" / "formats" / "tf" / "graph_def"
FILE = FOLDER / "signatures.txt"


def registered() -> dict[str, Any]:
    """TensorFlow's ops by type, and the one of the package that `gather_tree` is from."""
    assert gather_tree
    listed = op_def_pb2.OpList()
    listed.ParseFromString(pywrap_tensorflow.TF_GetBuffer(pywrap_tensorflow.TF_GetAllOpList()))
    return {op.name: op for op in listed.op}


def line(op: Any) -> str:
    """`Sum(input:T reduction_indices:Tidx) -> (output:T) {keep_dims:bool=False T:type Tidx:type=int32}`."""
    inputs, outputs = (" ".join(map(argument, args)) for args in (op.input_arg, op.output_arg))
    attrs = " ".join(map(attribute, op.attr))
    return "%s(%s) -> (%s) {%s}" % (op.name, inputs, outputs, attrs)


def foreign_line(op: Any) -> str:
    """`TensorArrayV2() -> (handle:string) {}`."""
    used = {name for arg in op.output_arg for name in (arg.type_attr, arg.type_list_attr, arg.number_attr)}
    outputs = " ".join(map(argument, op.output_arg))
    attrs = " ".join(attribute(attr) for attr in op.attr if attr.name in used)
    return "%s() -> (%s) {%s}" % (op.name, outputs, attrs)


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
    others = sorted(each for each in ops if each not in types and hasattr(tf.raw_ops, each))
    (FOLDER / "foreign.txt").write_text("".join("%s\n" % foreign_line(ops[each]) for each in others))
