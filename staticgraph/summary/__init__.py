"""Summaries, event files for TensorBoard, and the messages in them (TF1's `tf.summary`)."""

from staticgraph.messages.event import Event, SessionLog, TaggedRunMetadata
from staticgraph.messages.summary import Summary, SummaryDescription
from staticgraph.summary import encode
from staticgraph.summary.event_file import summary_iterator
from staticgraph.summary.summaries import (
    audio,
    get_summary_description,
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)
from staticgraph.summary.writer import FileWriter, FileWriterCache

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "SummaryDescription",
    "TaggedRunMetadata",
    "audio",
    "encode",
    "get_summary_description",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "summary_iterator",
    "tensor_summary",
    "text",
]
