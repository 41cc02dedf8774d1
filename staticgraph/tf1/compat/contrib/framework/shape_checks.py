"""`tf.contrib.framework`: tensors whose shapes are checked or made alike, and what a graph is fed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """Check the shape of a tensor, at once if it is known, else in each run.

    Args:
        expected_shape: Integers, or a tensor of int32 with them. [] also takes a tensor of one element.
        tensor: A tensor or a variable.

    Returns:
        The tensor, with the shape if that is known now.

    Raises:
        ValueError: The shape is another, or the expected one is no vector of int32.
    """
    if isinstance(tensor, sg.SparseTensor):
        raise misuse(ValueError, "with_shape: SparseTensor is not supported")
    if isinstance(expected_shape, sg.Tensor | sg.Variable):
        if expected_shape.dtype != sg.int32:
            raise misuse(
                ValueError, f"with_shape: the expected shape has type {expected_shape.dtype}, not int32"
            )
        return _checked(expected_shape, tensor)
    expected = np.asarray(expected_shape)
    if expected.ndim > 1 or (expected.size and expected.dtype.kind not in "iu"):
        raise misuse(ValueError, f"with_shape: a shape is a list of integers, not {expected_shape!r}")
    sizes = [int(n) for n in expected]
    if not tensor.shape.is_fully_defined():
        if not sizes:
            return sg.reshape(tensor, [])
        checked = _checked(sg.constant(sizes, sg.int32), tensor)
        checked.set_shape(sizes)
        return checked
    if tensor.shape.as_list() == sizes:
        return tensor
    if not sizes and tensor.shape.as_list() == [1]:
        return sg.reshape(tensor, [])
    raise misuse(ValueError, f"with_shape: {tensor.name} has shape {tensor.shape}, expected {sizes}")


def with_same_shape(expected_tensor: Any, tensor: Any) -> Any:
    """`with_shape` of the shape of another tensor."""
    known = expected_tensor.shape
    return with_shape(known.as_list() if known.is_fully_defined() else sg.shape(expected_tensor), tensor)


def _checked(expected: Any, tensor: Any) -> Any:
    actual = sg.shape(tensor)
    same_rank = sg.equal(sg.size(expected), sg.size(actual))
    text = f"Wrong shape for {tensor.name} [expected] [actual]."
    with sg.control_dependencies([sg.Assert(same_rank, [text, expected, actual])]):
        check = sg.assert_equal(expected, actual, [text, expected, actual])
    with sg.control_dependencies([check]):
        return sg.identity(tensor)


def assert_scalar_int(tensor: Any, name: str | None = None) -> Any:
    """Return `tensor` as a tensor.

    Raises:
        ValueError: It is no integer, or no scalar.
    """
    with sg.name_scope(name, "assert_scalar_int", [tensor]) as scope:
        tensor = sg.convert_to_tensor(tensor)
        if not tensor.dtype.is_integer:
            text = f"assert_scalar_int: {tensor.name} has type {tensor.dtype}, which is no integer"
            raise misuse(ValueError, text)
        return sg.assert_scalar(tensor, name=scope)


def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> sg.Tensor:
    """The sum of all elements of several tensors, a scalar.

    Raises:
        ValueError: There are no tensors.
    """
    if not tensors:
        raise misuse(ValueError, "reduce_sum_n: there are no tensors")
    with sg.name_scope(name, "reduce_sum_n", tensors) as scope:
        sums = [sg.reduce_sum(tensor) for tensor in tensors]
        return sums[0] if len(sums) == 1 else sg.add_n(sums, name=scope)


def remove_squeezable_dimensions(
    predictions: Any, labels: Any, name: str | None = None
) -> tuple[sg.Tensor, sg.Tensor]:
    """Drop the last axis of the one that has one axis more than the other.

    Args:
        predictions, labels: Tensors of known rank.
        name: The name of the scope.

    Returns:
        Both, of the same rank if the ranks differed by one.

    Raises:
        ValueError: A rank is not known.
    """
    with sg.name_scope(name, "remove_squeezable_dimensions", [predictions, labels]):
        predictions, labels = sg.convert_to_tensor(predictions), sg.convert_to_tensor(labels)
        ranks = predictions.shape.ndims, labels.shape.ndims
        if None in ranks:
            text = f"remove_squeezable_dimensions: ranks must be known, {predictions.shape}, {labels.shape}"
            raise misuse(ValueError, text, "use set_shape")
        more = ranks[0] - ranks[1]
        if more == 1:
            predictions = sg.squeeze(predictions, [-1])
        elif more == -1:
            labels = sg.squeeze(labels, [-1])
        return predictions, labels


def get_placeholders(graph: Any) -> list[sg.Tensor]:
    """The placeholders of a graph. TypeError if it is none."""
    if not isinstance(graph, sg.Graph):
        raise misuse(TypeError, f"get_placeholders: {graph!r} is no Graph")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


def get_graph_from_inputs(op_input_list: Sequence[Any], graph: Any = None) -> Any:
    """The graph of tensors and operations, or the default graph.

    Raises:
        ValueError: They are of several graphs.
    """
    for item in op_input_list:
        found = getattr(item, "graph", None)
        if found is not None and graph is not None and found is not graph:
            raise misuse(ValueError, f"get_graph_from_inputs: {item.name} is of another graph")
        graph = graph or found
    return graph or sg.get_default_graph()


def get_name_scope() -> str:
    """The name scope in which an operation would be made now."""
    return str(sg.get_default_graph().get_name_scope())
