"""`tf.contrib.nccl`: reductions over GPUs. A graph has one device, so that they are sums of tensors here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


def all_sum(tensors: Sequence[Any]) -> list[sg.Tensor]:
    """Return the sum of tensors of one shape, once for each of them. ValueError if there are none.

    >>> import staticgraph.compat.tf1 as tf
    >>> with tf.Session() as sess:
    ...     [float(total) for total in sess.run(tf.contrib.nccl.all_sum([1.0, 2.0]))]
    [3.0, 3.0]
    """
    return _for_all(tensors, sg.add)


def all_prod(tensors: Sequence[Any]) -> list[sg.Tensor]:
    """Return the product of tensors of one shape, once for each of them."""
    return _for_all(tensors, sg.multiply)


def all_min(tensors: Sequence[Any]) -> list[sg.Tensor]:
    """Return the least elements of tensors of one shape, once for each of them."""
    return _for_all(tensors, sg.minimum)


def all_max(tensors: Sequence[Any]) -> list[sg.Tensor]:
    """Return the greatest elements of tensors of one shape, once for each of them."""
    return _for_all(tensors, sg.maximum)


def reduce_sum(tensors: Sequence[Any]) -> sg.Tensor:
    """Return the sum of tensors of one shape."""
    return all_sum(tensors)[0]


def broadcast(tensor: Any) -> sg.Tensor:
    """Return a tensor, which all devices have."""
    return sg.identity(tensor)


def _for_all(tensors: Sequence[Any], combined: Callable[[Any, Any], sg.Tensor]) -> list[sg.Tensor]:
    if not tensors:
        raise misuse(ValueError, "there are no tensors to reduce")
    total = sg.convert_to_tensor(tensors[0])
    for tensor in tensors[1:]:
        total = combined(total, tensor)
    return [sg.identity(total) for _ in tensors]
