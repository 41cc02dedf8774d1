"""The host ops that make summaries: each gives a `Summary` message, as a string, of its tag and its value.

A run that fetches them beside a training step makes one compiled step, and then encodes what that gave.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph import dtypes
from staticgraph.compiler.graph.dtypes import REAL, as_dtype, string
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host
from staticgraph.formats.tf.messages.tensors import content_proto
from staticgraph.tf1.summary import encode

_MESSAGE = TensorType(string, ())
_PIXELS = frozenset({dtypes.uint8, dtypes.float16, dtypes.float32, dtypes.float64})


def _scalar_type(tags: TensorType, values: TensorType) -> TensorType:
    require(
        values.rank in (None, 0),
        f"the value of a scalar summary is {values}, it must be one number",
        hint="reduce_mean(x) is one number; summary.histogram takes any",
    )
    return _MESSAGE


def _image_type(tag: TensorType, tensor: TensorType, **_: Any) -> TensorType:
    _require_rank("images", tensor, (4,), "[batch, height, width, channels]")
    return _MESSAGE


def _audio_type(tag: TensorType, tensor: TensorType, *_: TensorType, **__: Any) -> TensorType:
    _require_rank("sounds", tensor, (2, 3), "[batch, frames, channels]")
    return _MESSAGE


def _require_rank(what: str, type: TensorType, ranks: tuple[int, ...], wanted: str) -> None:
    require(type.rank in (None, *ranks), f"the {what} of a summary are {type}, they must be {wanted}")


@host(tf="ScalarSummary", type=_scalar_type, dtypes=REAL, vars={"tags": "string"})
def scalar_summary(tags: Any, values: Any) -> Any:
    """One number as a message."""
    return encode.scalar(_text(tags), values)


@host(tf="HistogramSummary", type=lambda *_: _MESSAGE, dtypes=REAL, vars={"tag": "string"})
def histogram_summary(tag: Any, values: Any) -> Any:
    """The distribution of the elements as a message."""
    return encode.histogram(_text(tag), values)


@host(tf="ImageSummary", type=_image_type, dtypes=_PIXELS, vars={"tag": "string"})
def image_summary(tag: Any, tensor: Any, *, max_images: int = 3) -> Any:
    """The first `max_images` images of a batch as a message."""
    return encode.image(_text(tag), tensor, max_images)


@host(
    tf="AudioSummaryV2",
    type=_audio_type,
    vars={"tag": "string", "tensor": "float32", "sample_rate": "float32"},
)
def audio_summary(tag: Any, tensor: Any, sample_rate: Any, *, max_outputs: int = 3) -> Any:
    """The first `max_outputs` sounds of a batch as a message."""
    return encode.audio(_text(tag), tensor, float(sample_rate), max_outputs)


@host(
    tf="TensorSummaryV2",
    type=lambda *_: _MESSAGE,
    vars={"tag": "string", "serialized_summary_metadata": "string"},
)
def tensor_summary_v2(tag: Any, tensor: Any, serialized_summary_metadata: Any) -> Any:
    """A whole tensor as a message, and how it is shown."""
    message = content_proto(tensor, as_dtype(tensor.dtype))
    return encode.tensor(_text(tag), message, serialized_summary_metadata[()])


def _merge_type(*inputs: TensorType) -> TensorType:
    require(inputs, "there are no summaries to merge")
    return _MESSAGE


@host(tf="MergeSummary", type=_merge_type, dtypes=frozenset({string}))
def merge_summary(*inputs: Any) -> Any:
    """The values of several messages in one."""
    return encode.merge(part for array in inputs for part in array.flat)


def _text(tag: Any) -> str:
    found: bytes = tag[()]
    return found.decode()
