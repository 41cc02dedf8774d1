"""`convert_to_tensor` as users call it: what it returns has one value in a run, for a variable too."""

from __future__ import annotations

from typing import Any

from staticgraph.building import inputs
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.tensor import Tensor


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """Return `value` as a tensor.

    Args:
        value: a tensor, which is returned itself; a variable, which is read here; a number, an array or a
            list, of which a constant is made; or a list that holds tensors, which are stacked.
        dtype: the dtype that the tensor must have; by default any.
        name: the name of the operation that is made, if one is made.
        preferred_dtype: the dtype of a constant, if the value allows it.
        dtype_hint: the same as `preferred_dtype`.

    Returns:
        The tensor.

    Raises:
        TypeError: the value has another dtype than `dtype`.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [], name="x")
    >>> sg.convert_to_tensor([x, 1.0]).shape
    TensorShape([Dimension(2)])
    """
    return snapshot(inputs.convert_to_tensor(value, dtype, name, preferred_dtype, dtype_hint))
