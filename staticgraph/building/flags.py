"""Flags such as `training`, which are values of Python or tensors."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor


def decided(flag: Any) -> Any:
    """Return a flag as a bool if it is known while the graph is built, else the tensor that it is.

    A constant tensor chooses a branch here and now, as in TensorFlow.

    >>> import staticgraph as sg
    >>> from staticgraph.building.flags import decided
    >>> decided(sg.constant(True)), decided(1)
    (True, True)
    """
    if not isinstance(flag, Tensor):
        return bool(flag)
    known = static_value(flag)
    return flag if known is None else bool(known)
