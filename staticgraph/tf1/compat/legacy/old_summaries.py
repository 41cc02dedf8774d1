"""Summaries as they were before TensorFlow 1.0: the tag is told apart from the name of the operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.building.framework import GraphKeys, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.tf1.summary import merge, merge_all, ops
from staticgraph.tf1.summary.summaries import collected


def scalar_summary(tags: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary of one number under a tag, a string or a scalar tensor of one.

    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.legacy.old_summaries import scalar_summary
    >>> with sg.Session() as sess:
    ...     sg.summary.Summary.FromString(sess.run(scalar_summary("my loss", 0.5))).value[0].tag
    'my loss'
    """
    with name_scope(name, "ScalarSummary", [tags, values]) as scope:
        return collected(ops.scalar_summary(tags, values, name=scope), collections)


def histogram_summary(tag: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary of how the elements of a tensor are distributed."""
    with name_scope(name, "HistogramSummary", [tag, values]) as scope:
        return collected(ops.histogram_summary(tag, values, name=scope), collections)


def image_summary(
    tag: Any, tensor: Any, max_images: int = 3, collections: Any = None, name: str | None = None
) -> Tensor:
    """A summary of the first images of a batch."""
    with name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        made = ops.image_summary(
            tag, convert_to_tensor(tensor, name="tensor"), max_images=max_images, name=scope
        )
        return collected(made, collections)


def audio_summary(
    tag: Any,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """A summary of the first sounds of a batch."""
    with name_scope(name, "AudioSummary", [tag, tensor]) as scope:
        made = ops.audio_summary(tag, tensor, sample_rate, max_outputs=max_outputs, name=scope)
        return collected(made, collections)


def merge_summary(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Tensor:
    """The values of several summaries as one."""
    return merge(inputs, collections, name)


def merge_all_summaries(key: str = GraphKeys.SUMMARIES) -> Tensor | None:
    """All summaries of a collection as one; None if there are none."""
    return merge_all(key)
