"""Functions of `tensorflow.python` that libraries call although no documentation names them."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.nn.rnn_cell.base import zero_state_tensors
from staticgraph.state.template import PureVariableScope

__all__ = [
    "_assert_float_dtype",
    "_pure_variable_scope",
    "_tensor_shape_tensor_conversion_function",
    "_zero_state_tensors",
    "in_eager_mode",
    "initialize_resources",
    "remove_undocumented",
    "resource_scatter_add",
    "shape_internal",
    "shared_resources",
    "variable",
]


def assert_float_dtype(dtype: Any) -> sg.DType:
    """Return a dtype. ValueError if it is not that of real floating-point numbers."""
    found = sg.as_dtype(dtype)
    if not found.is_floating:
        raise misuse(ValueError, f"Expected floating point type, got {found}")
    return found


def tensor_of_shape(s: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> sg.Tensor:
    """Return a shape as a tensor of integers. ValueError if it is not fully known."""
    return sg.convert_to_tensor(s, dtype, name)


def shape_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = sg.int32
) -> Any:
    """Return the shape of a tensor as a tensor; `optimize` changes nothing."""
    return sg.shape(input, name, out_type)


def in_eager_mode() -> bool:
    """Return False: there is no eager execution."""
    return False


def remove_undocumented(
    module_name: str, allowed_exception_list: Any = None, doc_string_modules: Any = None
) -> None:
    """Leave a module as it is."""


def shared_resources() -> list[Any]:
    """Return the resources that sessions share, which are none: tables are initialized by themselves."""
    return []


def initialize_resources(resource_list: Any, name: str = "init") -> sg.Operation:
    """Return an operation that initializes resources."""
    return sg.group(*(each.create for each in resource_list), name=name)


def resource_scatter_add(resource: Any, indices: Any, updates: Any, name: str | None = None) -> sg.Operation:
    """Return an operation that adds rows to those of a variable, which is given by its `handle`."""
    return ops.scatter_add(resource, indices, updates, name=name).op


variable = sg.Variable
_zero_state_tensors = zero_state_tensors
_assert_float_dtype = assert_float_dtype
_pure_variable_scope = PureVariableScope
_tensor_shape_tensor_conversion_function = tensor_of_shape
