"""The products with variables that the cells of `tf.contrib.rnn` are made of, under their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.nn.normalization import standardized
from staticgraph.tf1.compat.contrib.layer_utils import variance_epsilon


def linear(
    args: Sequence[Any], size: Any, bias: bool = True, initializer: Any = None, bias_initializer: Any = None
) -> sg.Tensor:
    """`concat(args, 1) @ kernel + bias`, `kernel` and `bias` being variables of the open scope.

    ValueError for arguments that are no matrices of a known number of columns.
    """
    made = product(args, kernel_of(args, size, initializer))
    return sg.nn.bias_add(made, bias_of(args, size, bias_initializer)) if bias else made


def product(args: Sequence[Any], kernel: Any) -> sg.Tensor:
    """`concat(args, 1) @ kernel`."""
    return sg.matmul(args[0] if len(args) == 1 else sg.concat(list(args), 1), kernel)


def kernel_of(args: Sequence[Any], size: Any, initializer: Any = None) -> Any:
    """The variable `kernel` with a row for each column of the matrices `args`, and `size` columns."""
    widths = [each.shape[1].value if each.shape.ndims == 2 else None for each in args]
    if None in widths:
        shapes = ", ".join(str(each.shape) for each in args)
        text = f"matrices with a known number of columns are needed, not tensors of shape {shapes}"
        raise misuse(ValueError, text)
    return sg.get_variable("kernel", [sum(widths), int(size)], args[0].dtype, initializer)


def bias_of(args: Sequence[Any], size: Any, initializer: Any = None) -> Any:
    """The variable `bias` of `size` elements, which begins with zeros if no initializer is given."""
    dtype = args[0].dtype
    start = sg.constant_initializer(0.0, dtype=dtype) if initializer is None else initializer
    return sg.get_variable("bias", [int(size)], dtype, start)


def normalized(x: sg.Tensor, gain: float, shift: float, scope: str) -> sg.Tensor:
    """Rows with mean 0 and variance 1, then scaled by `gamma` and shifted by `beta` of `scope`, which begin
    as `gain` and `shift`.
    """
    with sg.variable_scope(scope):
        gamma = sg.get_variable("gamma", x.shape[-1:], x.dtype, sg.constant_initializer(gain))
        beta = sg.get_variable("beta", x.shape[-1:], x.dtype, sg.constant_initializer(shift))
        return standardized(x, [1], beta, gamma, variance_epsilon(x.dtype))
