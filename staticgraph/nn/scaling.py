"""Scaling of losses that are not their own mean: part of `sg.nn`."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import checked
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.tensor import Tensor


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Tensor:
    """The sum of the losses of all examples, weighted, over `global_batch_size`: their number by default.

    `sample_weight` is a number, or has the shape of the losses, which is [batch, ...].

    >>> import staticgraph as sg
    >>> mean = sg.nn.compute_average_loss([1.0, 2.0, 6.0], sample_weight=[1.0, 1.0, 0.5])
    >>> with sg.Session() as sess:
    ...     print(sess.run(mean))
    2.0
    """
    losses = convert_to_tensor(per_example_loss)
    with checked("compute_average_loss"):
        require(losses.shape.ndims != 0, "per_example_loss has no axis of examples")
    if sample_weight is not None:
        losses = ops.multiply(losses, convert_to_tensor(sample_weight, dtype=losses.dtype))
    size = ops.shape_of(losses)[0] if global_batch_size is None else global_batch_size
    return ops.reduce_sum(losses) / ops.cast(convert_to_tensor(size), dtype=losses.dtype)


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of the regularization losses; with one device there is nothing to share it among."""
    return ops.reduce_sum(convert_to_tensor(regularization_loss))
