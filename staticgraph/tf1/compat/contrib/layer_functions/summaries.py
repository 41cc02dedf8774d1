"""`tf.contrib.layers`: summaries of tensors by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import staticgraph as sg

__all__ = [
    "summarize_activation",
    "summarize_activations",
    "summarize_biases",
    "summarize_collection",
    "summarize_tensor",
    "summarize_tensors",
    "summarize_variables",
    "summarize_weights",
]

_HALF_LINES = ("Relu", "Softplus", "Relu6")


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A summary of a number, or a histogram of a tensor; None for strings and conditions.

    Args:
        tensor: A tensor or a variable.
        tag: The name of the summary, by default that of the operation and `_summary`.
    """
    if tensor.dtype in (sg.string, sg.bool):
        return None
    kind = sg.summary.scalar if tensor.shape.ndims == 0 else sg.summary.histogram
    return kind(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Any) -> Any:
    """A histogram of an activation; of a ReLU, too, which part of its inputs is below 0, and above 6.

    Args:
        op: The output of the activation.

    Returns:
        The summary with the histogram.
    """

    def summarize_part(is_there: Any, name: str) -> None:
        sg.summary.scalar(f"{op.op.name}/{name}", sg.reduce_mean(sg.cast(is_there, sg.float32)))

    kind, given = op.op.type, op.op.tensors
    if kind in _HALF_LINES:
        summarize_part(sg.less(given[0], sg.cast(0.0, given[0].dtype)), "zeros")
    if kind == "Relu6":
        summarize_part(sg.greater(given[0], sg.cast(6.0, given[0].dtype)), "sixes")
    return sg.summary.histogram(f"{op.op.name}/activation", op)


def summarize_tensors(
    tensors: Sequence[Any], summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """The summaries of several tensors."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """The summaries of the tensors of a collection.

    Args:
        collection: The name of the collection.
        name_filter: A regular expression that the beginning of the operation's name must match; None for all.
        summarizer: The function that makes a summary.
    """
    found = sg.get_collection(collection)
    kept = [each for each in found if name_filter is None or re.match(name_filter, each.op.name)]
    return summarize_tensors(kept, summarizer)


summarize_variables = partial(summarize_collection, sg.GraphKeys.GLOBAL_VARIABLES)
summarize_weights = partial(summarize_collection, sg.GraphKeys.WEIGHTS)
summarize_biases = partial(summarize_collection, sg.GraphKeys.BIASES)


def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """The summaries of the collection ACTIVATIONS: see `summarize_collection`."""
    return summarize_collection(sg.GraphKeys.ACTIVATIONS, name_filter, summarizer)
