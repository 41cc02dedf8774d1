"""A graph as an ONNX model: what other programs run, and what Netron draws."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import SaveError, layout, misuse, shown
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor, needed, with_inner
from staticgraph.formats.onnx.proto import GraphProto, ModelProto, OperatorSetIdProto
from staticgraph.formats.onnx.write import arrays as write_arrays
from staticgraph.formats.onnx.write import linalg as write_linalg
from staticgraph.formats.onnx.write import math as write_math
from staticgraph.formats.onnx.write import nn as write_nn
from staticgraph.formats.onnx.write import random as write_random
from staticgraph.formats.onnx.write import reduce as write_reduce
from staticgraph.formats.onnx.write import regions as write_regions
from staticgraph.formats.onnx.write import shapes as write_shapes
from staticgraph.formats.onnx.write import strings as write_strings
from staticgraph.formats.onnx.write.file import finish
from staticgraph.formats.onnx.write.graph import Writer
from staticgraph.formats.onnx.write.nodes import value_info
from staticgraph.formats.onnx.write.operations import Operations, refusal
from staticgraph.formats.onnx.write.rules import WITHOUT
from staticgraph.formats.onnx.write.value import Held
from staticgraph.runtime.session import default_session

# The tables that these fill are looked up by name.
_FAMILIES = (
    write_arrays,
    write_linalg,
    write_math,
    write_nn,
    write_random,
    write_reduce,
    write_regions,
    write_shapes,
    write_strings,
)
OPSETS = {18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11}  # sets of operators, and the format that has each


def export(
    fetches: Any,
    path: str | os.PathLike[str] | None = None,
    feeds: Any = None,
    opset: int = 21,
    session: Any = None,
    external_data: bool | None = None,
) -> ModelProto:
    """The model that computes `fetches`; with a `path` it is written to a file as well.

    Args:
        fetches: a tensor, a list of tensors, or a dict of names and tensors: the outputs of the model.
            Without a dict they are called after their operations.
        path: where to write the file. It is replaced as a whole, or not at all.
        feeds: the inputs of the model in the same form, placeholders or any other tensors; by default all
            placeholders that the fetches need. A placeholder with a default that is not among them has it.
        opset: the version of ONNX's operators that the model is written in, 18 to 23.
        session: whose values the variables have; by default the default session's.
        external_data: whether the values of constants are written to a file beside the model, called after it
            with a digest and `.data` behind; by default where the model would be too large for one file. The
            model that is returned then has their places in that file.

    Sizes that are not known become parameters of the model, called after the input and its axis. Raises
    UnimplementedError, with the user's line, for an operation that ONNX has no form of, and SaveError if
    the file cannot be written.

    >>> import staticgraph as sg
    >>> from staticgraph.onnx import export
    >>> with sg.Graph().as_default():
    ...     x = sg.placeholder(sg.float32, [None, 3], name="x")
    ...     model = export({"y": sg.nn.relu(x, name="positive")})
    >>> [(node.op_type, list(node.input), list(node.output)) for node in model.graph.node]
    [('Relu', ['x'], ['y'])]
    """
    if opset not in OPSETS:
        raise misuse(SaveError, f"opset={opset} is none of {min(OPSETS)} to {max(OPSETS)}")
    outputs = _named(fetches, "fetch")
    graph = next(iter(outputs.values())).graph
    inputs = _inputs(outputs) if feeds is None else _named(feeds, "feed")
    operations = needed(
        [t.op for t in outputs.values() if t not in set(inputs.values())], set(inputs.values())
    )
    for op in operations:
        if op.definition.effect is Effect.WRITE:
            raise refusal(op, WITHOUT[op.definition.name])
    for tensor in (*inputs.values(), *outputs.values()):
        if tensor.dtype.is_complex:
            raise refusal(tensor.op, "ONNX's operators do not take complex numbers")
    for name in outputs.keys() & inputs.keys():
        text = f"an output and an input of the model are both called {name!r}"
        raise misuse(SaveError, text, "name the outputs: {name: tensor}")
    writer = Writer(opset, [*inputs, *outputs, *(op.name for op in graph.get_operations())])
    for name in inputs:
        writer.nodes.call(name, name)
    work = Operations(writer, _variables(operations, session))
    work.values |= {t: writer.value(name, t.type) for name, t in inputs.items()}
    work.perform(list(outputs.values()))
    made = _model(writer, opset, work, inputs, outputs)
    finish(made, writer.nodes.constants, path, external_data)
    return made


def _named(given: Any, what: str) -> dict[str, Tensor]:
    """Tensors by name."""
    if isinstance(given, Mapping):
        return {str(name): _tensor(tensor, what) for name, tensor in given.items()}
    listed = [_tensor(t, what) for t in (given if isinstance(given, list | tuple) else [given])]
    if not listed and what == "fetch":
        raise misuse(SaveError, f"a model needs a {what}")
    return {t.name if t.value_index else t.op.name: t for t in listed}


def _tensor(value: Any, what: str) -> Tensor:
    value = value.to_tensor() if hasattr(value, "to_tensor") else value
    if not isinstance(value, Tensor):
        cure = "they are tensors by the names that the model gives them: {'x': x}"
        if what == "feed":
            cure += "; an input with a fixed value, such as a training flag, is a constant of the graph"
        raise misuse(SaveError, f"the {what} {shown(value)} is not a tensor", cure)
    if value.op.region is not None:
        text = f"the {what} {value.name} is part of a loop or branch"
        raise misuse(SaveError, text, "take what it gives", made=[(value.op.name, value.op.where)])
    return value


def _inputs(outputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The placeholders that the outputs need."""
    found = with_inner(needed([t.op for t in outputs.values()]))
    return {op.name: op.outputs[0] for op in found if op.definition.name == "placeholder"}


def _variables(operations: Sequence[Operation], session: Any) -> dict[Operation, np.ndarray]:
    """The values of the variables that are read."""
    found = [op for op in with_inner(operations) if op.definition.name == "variable"]
    if not found:
        return {}
    session = session or default_session()
    if session is None:
        raise misuse(
            SaveError,
            f"the variable {found[0].name} has a value only in a session",
            "export(..., session=sess)",
            made=[(found[0].name, found[0].where)],
        )
    return dict(zip(found, session.run([op.outputs[0] for op in found]), strict=True))


def _model(
    writer: Writer, opset: int, work: Operations, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]
) -> ModelProto:
    nodes, given = writer.nodes, set(inputs)
    results = []
    for name, tensor in outputs.items():
        held = writer.plain(work.value(tensor))
        if not held.name or held.name in given:  # a constant, an input, or a result that is given twice
            nodes.scope = ""
            held = writer.node("Identity", [held], [held.type], {})[0]
        given.add(held.name)
        nodes.call(held.name, name, always=True)
        results.append((name, held))
    proto = GraphProto(name="graph")
    proto.node.extend(nodes.finish([held.name for _, held in results]))
    proto.input.extend([value_info(name, t.type, unknown=True) for name, t in inputs.items()])
    proto.output.extend([value_info(name, _ranked(outputs[name], held)) for name, held in results])
    model = ModelProto(ir_version=OPSETS[opset], producer_name="staticgraph", graph=proto)
    model.opset_import.extend([OperatorSetIdProto(version=opset)])
    return model


def _ranked(tensor: Tensor, held: Held) -> TensorType:
    if held.type.shape is None:
        text = f"the number of axes of {tensor.name} is not known, and ONNX wants that of an output"
        raise SaveError(layout(text, tensor.op.where, hint=f"{tensor.op.name}.set_shape([...])"))
    return held.type
