"""Summaries in a graph: operations whose value a `FileWriter` puts into an event file.

The tag of a value is the name of its operation, so that scopes group tags and no tag is used twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from staticgraph.building.framework import GraphKeys, add_to_collection, get_collection, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph import dtypes
from staticgraph.compiler.graph.checks.arguments import list_of, text_of
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.messages.graph import NodeDef
from staticgraph.formats.tf.messages.summary import SummaryDescription, SummaryMetadata
from staticgraph.tf1.summary import ops

_NOT_IN_A_NAME = re.compile(r"[^-/\w.]", re.ASCII)


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of one number.

    `name` is that of the operation, and with the scopes around it the tag; what may not stand in a name is
    replaced by `_`. With `family`, the tag begins with it: TensorBoard shows a tab for each beginning. The
    summary is added to `collections`, by default to that which `merge_all` merges.

    >>> import staticgraph as sg
    >>> with sg.name_scope("train"):
    ...     note = sg.summary.scalar("loss", 0.5)
    >>> with sg.Session() as sess:
    ...     print(sg.summary.Summary.FromString(sess.run(note)), end="")
    value {
      tag: "train/loss"
      simple_value: 0.5
    }
    """
    with _scope(name, family, [tensor]) as (tag, scope):
        return collected(ops.scalar_summary(tag, tensor, name=scope), collections)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of how the elements of a tensor are distributed.

    While running, InvalidArgumentError if an element is not finite.

    >>> import staticgraph as sg
    >>> sg.summary.histogram("weights", [1.0, 2.0]).op.type
    'HistogramSummary'
    """
    with _scope(name, family, [values], "HistogramSummary") as (tag, scope):
        return collected(ops.histogram_summary(tag, values, name=scope), collections)


def image(
    name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None
) -> Tensor:
    """A summary of the first `max_outputs` images of a tensor of shape [batch, height, width, channels].

    There are 1, 3 or 4 channels. Pixels in a uint8 tensor are shown as they are; others are scaled image by
    image, from 0 to the greatest, or, where some are negative, so that 0 is in the middle. The tags are
    `name/image/0` and so on, or `name/image` where `max_outputs` is 1.

    >>> import staticgraph as sg
    >>> sg.summary.image("digits", sg.placeholder(sg.float32, [None, 28, 28, 1])).shape
    TensorShape([])
    """
    with _scope(name, family, [tensor]) as (tag, scope):
        tag_tensor = convert_to_tensor(tag, name="tag")
        images = convert_to_tensor(tensor, name="tensor", preferred_dtype=dtypes.float32)
        made = ops.image_summary(tag_tensor, images, max_images=max_outputs, name=scope)
        return collected(made, collections)


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """A summary of the first `max_outputs` sounds of a float32 tensor of shape [batch, frames, channels].

    The last axis may be missing. Elements are between -1 and 1, and `sample_rate` is in frames per second.

    >>> import staticgraph as sg
    >>> sg.summary.audio("beep", sg.zeros([1, 800]), 8000.0).op.type
    'AudioSummaryV2'
    """
    with _scope(name, family, [tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtypes.float32, name="sample_rate")
        return collected(
            ops.audio_summary(tag, tensor, rate, max_outputs=max_outputs, name=scope), collections
        )


def text(name: str, tensor: Any, collections: Any = None) -> Tensor:
    """A summary of strings: one, or a vector or matrix of them, shown as a table. Markdown is rendered.

    ValueError if the tensor has another type.

    >>> import staticgraph as sg
    >>> sg.summary.text("note", sg.constant("*begins*")).op.type
    'TensorSummaryV2'
    """
    tensor = convert_to_tensor(tensor)
    if tensor.dtype is not string:
        message = f"summary.text: {tensor.name} is {tensor.type}, and a text is a string"
        raise misuse(ValueError, message, "as_string(x) makes strings of numbers")
    metadata = SummaryMetadata(plugin_data={"plugin_name": "text"})
    return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: Any = None,
    summary_metadata: SummaryMetadata | None = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A summary of a whole tensor of any type, for the plugin that `summary_metadata` names.

    `summary_description` and `display_name` are what TensorBoard shows of it.

    >>> import staticgraph as sg
    >>> sg.summary.tensor_summary("table", [[1, 2]]).dtype
    sg.string
    """
    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with _scope(name, family, [tensor]) as (tag, scope):
        made = ops.tensor_summary_v2(tag, tensor, metadata.SerializeToString(), name=scope)
        return collected(made, collections)


def merge(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Tensor:
    """The values of several summaries as one. It is added to no collection but those in `collections`.

    While running, InvalidArgumentError if two values have the same tag.

    >>> import staticgraph as sg
    >>> both = sg.summary.merge([sg.summary.scalar("a", 1.0), sg.summary.scalar("b", 2.0)])
    >>> with sg.Session() as sess:
    ...     [value.tag for value in sg.summary.Summary.FromString(sess.run(both)).value]
    ['a', 'b']
    """
    name = _as_name(name, "name")
    with name_scope(name, "Merge", inputs):
        return collected(ops.merge_summary(list(inputs), name=name), collections, ())


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """All summaries of a collection of the default graph as one; None if there are none.

    With `scope`, only those whose names begin like this regular expression.

    >>> import staticgraph as sg
    >>> with sg.Graph().as_default():
    ...     _ = sg.summary.scalar("loss", 0.5)
    ...     sg.summary.merge_all().name
    'Merge/MergeSummary:0'
    """
    found = get_collection(key, scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def: NodeDef) -> SummaryDescription:
    """Return the description in a `TensorSummary` node, which is the oldest form of tensor summary.

    Raises:
        ValueError: The node is of another op.
    """
    if node_def.op != "TensorSummary":
        raise misuse(ValueError, f"{node_def.name} is a {node_def.op}, not a TensorSummary")
    described = json.loads(node_def.attr["description"].s.decode())
    return SummaryDescription(type_hint=described.get("typeHint", ""))


@contextmanager
def _scope(
    name: str, family: str | None, values: Iterable[Any], default: str | None = None
) -> Iterator[tuple[str, str]]:
    """A new scope for a summary: its tag, and the name that makes its operation be called as the scope."""
    name, family = _as_name(name, "name"), _as_name(family, "family")
    with name_scope(name if family is None else f"{family}/{name}", default, values) as scope:
        tag = scope.rstrip("/")
        yield tag if family is None else f"{family}/{tag}", scope


def _as_name(tag: Any, what: str) -> Any:
    """A tag with only what may stand in the name of an operation."""
    return tag if tag is None else _NOT_IN_A_NAME.sub("_", text_of(tag, what)).lstrip("/")


def collected(summary: Tensor, collections: Any, default: Sequence[str] = (GraphKeys.SUMMARIES,)) -> Tensor:
    """The summary, which is added to these collections."""
    for key in default if collections is None else list_of(collections, "collections"):
        add_to_collection(key, summary)
    return summary
