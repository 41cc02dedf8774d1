"""Random graphs as ONNX models: what one op leaves to the next, such as an order of axes, is right too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given

import staticgraph as sg
from staticgraph.compiler.graph.errors import UnimplementedError
from staticgraph.compiler.graph.function import Function, Value, as_outputs
from staticgraph.compiler.graph.opdef import Role
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.proto import ModelProto
from tests.fuzz.test_random_graphs import Case, assert_close, functions, fuzz, meaning
from tests.onnx.exporting import checked, export, onnxruntime, run
from tests.ops.harness import tensor_params


def recorded(function: Function) -> dict[Value, Tensor]:
    """The values of a Function as tensors of a user's graph."""
    table = {p: sg.placeholder(p.dtype, p.shape, name=f"p{i}") for i, p in enumerate(function.params)}
    for node in function.nodes:
        if node.outputs[0] in table:
            continue
        rest, named = [table[v] for v in node.inputs], {}
        for param, count in tensor_params(node.op, len(rest)):
            taken, rest = rest[:count], rest[count:]
            named[param.name] = taken if param.role is Role.TENSORS else taken[0]
        made = as_outputs(node.op(**named, **node.attrs))
        table.update(zip(node.outputs, made, strict=True))
    return table


def model_of(function: Function) -> tuple[ModelProto, dict[str, Value]]:
    """The model of a Function, and its inputs. What ONNX has no form of is fed, and what complex
    numbers become.
    """
    with sg.Graph().as_default():
        table = recorded(function)
    values = {tensor: value for value, tensor in table.items()}
    feeds = [table[p] for p in function.params if not p.dtype.is_complex]
    while True:
        try:
            model = export({f"r{i}": table[r] for i, r in enumerate(function.results)}, feeds=feeds)
        except UnimplementedError as error:
            waiting = list(error.op.outputs)
            while waiting:
                tensor = waiting.pop()
                if tensor.dtype.is_complex:
                    waiting += [t for user in tensor.consumers() for t in user.outputs]
                elif tensor not in feeds:
                    feeds.append(tensor)
        else:
            return model, {t.name if t.value_index else t.op.name: values[t] for t in feeds}


def check(function: Function, arrays: list[np.ndarray]) -> None:
    function = function.with_results(
        r for r in function.results if r.dtype.is_numpy_compatible and not r.dtype.is_complex
    )
    assume(function.results)
    model, inputs = model_of(function)
    assume(all(value.dtype.is_numpy_compatible for value in inputs.values()))
    checked(model)
    known = meaning(function.with_results(inputs.values()), arrays)
    try:
        found = run(model, dict(zip(inputs, known, strict=True)))
    except (
        onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented,
        onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument,
    ) as error:  # float64 of some operators, indices that are outside
        assume("NOT_IMPLEMENTED" not in str(error) and "ind" not in str(error))
        raise
    assert_close(function, arrays, found)


@pytest.mark.takes_long
@given(functions(12))
@fuzz(25)
def test_random_graphs(case: Case):
    check(*case)


@pytest.mark.slow
@given(functions())
@fuzz(1000)
def test_random_graphs_at_length(case: Case):
    check(*case)
