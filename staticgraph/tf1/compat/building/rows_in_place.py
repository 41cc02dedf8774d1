"""`tensorflow.python.ops.inplace_ops`: tensors with other rows. Here the operand keeps its own.

In TensorFlow, those that begin with `alias_` write into their operand, whose later use is an error of the
program; the compiler finds out by itself if the memory may be used again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


def inplace_update(x: Any, i: Any, v: Any) -> sg.Tensor:
    """Return `x` with `x[i] = v`.

    Args:
        x: A tensor of shape [n, ...].
        i: The numbers of rows: a scalar, a vector, or None for all.
        v: The rows, of shape [...] for a scalar `i`, else with an axis before.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        ValueError: `x` is a scalar, or `i` has more than one axis.

    >>> import staticgraph.compat.tf1 as tf
    >>> with tf.Session() as sess:
    ...     sess.run(inplace_update(tf.zeros([3]), 1, 5.0)).tolist()
    [0.0, 5.0, 0.0]
    """
    return _changed(x, i, v, sg.tensor_scatter_update, lambda x, v: v)


def inplace_add(x: Any, i: Any, v: Any) -> sg.Tensor:
    """Return `x` with `x[i] += v`; arguments are those of `inplace_update`."""
    return _changed(x, i, v, sg.tensor_scatter_add, sg.add)


def inplace_sub(x: Any, i: Any, v: Any) -> sg.Tensor:
    """Return `x` with `x[i] -= v`; arguments are those of `inplace_update`."""
    return _changed(x, i, v, sg.tensor_scatter_sub, sg.subtract)


alias_inplace_update, alias_inplace_add, alias_inplace_sub = inplace_update, inplace_add, inplace_sub


def empty_like(x: Any, init: Any = None) -> sg.Tensor:
    """Return a tensor of the shape and type of `x`: zeros, whatever `init` says."""
    return sg.zeros_like(x)


def empty(shape: Any, dtype: Any, init: bool = False, name: str | None = None) -> sg.Tensor:
    """Return a tensor of a shape and type: zeros, whatever `init` says."""
    return sg.zeros(shape, dtype, name=name)


def _changed(x: Any, i: Any, v: Any, scatter: Callable[..., Any], whole: Callable[..., Any]) -> Any:
    x = sg.convert_to_tensor(x)
    v = sg.convert_to_tensor(v, x.dtype)
    if x.shape.ndims == 0:
        raise misuse(ValueError, "an update in place needs a tensor with rows, and x is a scalar")
    if i is None:
        return whole(x, v)
    i = sg.cast(sg.convert_to_tensor(i), sg.int32)
    if i.shape.ndims == 0:
        i, v = sg.expand_dims(i, 0), sg.expand_dims(v, 0)
    if i.shape.ndims != 1:
        raise misuse(ValueError, f"i is {i.type}, and must be a scalar or a vector of numbers of rows")
    return scatter(x, sg.expand_dims(i, 1), v)
