"""Summaries, event files for TensorBoard, and the messages in them (TF1's `tf.summary`)."""

from staticgraph.formats.tf.messages.event import Event, SessionLog, TaggedRunMetadata
from staticgraph.formats.tf.messages.summary import Summary, SummaryDescription
from staticgraph.tf1.summary import encode
from staticgraph.tf1.summary.event_file import summary_iterator
from staticgraph.tf1.summary.summaries import (
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
from staticgraph.tf1.summary.writer import FileWriter, FileWriterCache

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
