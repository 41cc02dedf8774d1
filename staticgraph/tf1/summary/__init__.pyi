"""Summaries, event files for TensorBoard, and the messages in them (TF1's `tf.summary`). Made by tools/type_stubs.py."""

from staticgraph.formats.tf.messages.event import (
    Event as Event,
    SessionLog as SessionLog,
    TaggedRunMetadata as TaggedRunMetadata,
)
from staticgraph.formats.tf.messages.summary import (
    Summary as Summary,
    SummaryDescription as SummaryDescription,
)
from staticgraph.tf1.summary import (
    encode as encode,
)
from staticgraph.tf1.summary.event_file import (
    summary_iterator as summary_iterator,
)
from staticgraph.tf1.summary.summaries import (
    audio as audio,
    get_summary_description as get_summary_description,
    histogram as histogram,
    image as image,
    merge as merge,
    merge_all as merge_all,
    scalar as scalar,
    tensor_summary as tensor_summary,
    text as text,
)
from staticgraph.tf1.summary.writer import (
    FileWriter as FileWriter,
    FileWriterCache as FileWriterCache,
)
