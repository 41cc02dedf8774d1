"""Private names of TensorFlow's files of cells that programs with cells of their own import nevertheless."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import as_shape
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.nn.rnn_cell.base import LayerRNNCell, zero_state_tensors
from staticgraph.tf1.compat.rnn.recurrent_linear import bias_of, kernel_of, linear, product

__all__ = [
    "LayerRNNCell", "_BIAS_VARIABLE_NAME", "_Linear", "_WEIGHTS_VARIABLE_NAME", "_concat", "_linear",
    "_zero_state_tensors", "assert_like_rnncell",
]  # fmt: skip

_WEIGHTS_VARIABLE_NAME, _BIAS_VARIABLE_NAME = "kernel", "bias"
_zero_state_tensors = zero_state_tensors


def _linear(
    args: Any, output_size: Any, bias: bool, bias_initializer: Any = None, kernel_initializer: Any = None
) -> sg.Tensor:
    """`concat(args, 1) @ kernel + bias`, for a matrix or a list of some; `kernel` and `bias` are variables of
    the open scope. ValueError for other arguments.
    """
    return linear(_listed(args), output_size, bias, kernel_initializer, bias_initializer)


class _Linear:
    """The map of `_linear`, whose variables are made at once and which is called with such arguments."""

    def __init__(
        self,
        args: Any,
        output_size: Any,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        listed = _listed(args)
        self._kernel = kernel_of(listed, output_size, kernel_initializer)
        self._bias = bias_of(listed, output_size, bias_initializer) if build_bias else None

    def __call__(self, args: Any) -> sg.Tensor:
        """The product with a bias added, if there is one."""
        made = product(_listed(args), self._kernel)
        return made if self._bias is None else sg.nn.bias_add(made, self._bias)


def _listed(args: Any) -> list[Any]:
    listed = list(args) if nest.is_nested(args) else [args]
    if args is None or not listed:
        raise misuse(ValueError, "`args` must be specified: a matrix, or a list of matrices")
    return listed


def _concat(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """The sizes of `prefix` and then those of `suffix`, each a number, a shape, or a tensor: a vector.

    With `static`, a list with None for sizes that are not known, or None if even their count may change.
    """
    parts = [_sizes(prefix), _sizes(suffix)]
    if static:
        return None if any(isinstance(part, sg.Tensor) for part in parts) else [*parts[0], *parts[1]]
    return sg.concat([sg.convert_to_tensor(part, sg.int32) for part in parts], 0)


def _sizes(value: Any) -> Any:
    if isinstance(value, sg.Tensor):
        known = static_value(value)
        if known is None:
            return sg.expand_dims(value, 0) if value.shape.ndims == 0 else value
        value = known
    shape = as_shape(value)
    if shape is None:
        raise misuse(ValueError, "the number of axes of a prefix or suffix must be known")
    return list(shape)


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """TypeError unless `cell` has what a cell has: sizes, a state of zeros, and a call."""
    needed = ("output_size", "state_size")
    missing = [name for name in needed if not hasattr(cell, name)]
    if not (hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")):
        missing.append("zero_state or get_initial_state")
    if not callable(cell):
        missing.append("__call__")
    if missing:
        raise misuse(TypeError, f"{cell_name} is not an RNNCell: it has no {', '.join(missing)}")
