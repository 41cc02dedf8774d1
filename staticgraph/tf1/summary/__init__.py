"""Summaries, event files for TensorBoard, and the messages in them (TF1's `tf.summary`)."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.formats.tf.messages.event import Event as Event
from staticgraph.formats.tf.messages.event import SessionLog as SessionLog
from staticgraph.formats.tf.messages.event import TaggedRunMetadata as TaggedRunMetadata
from staticgraph.formats.tf.messages.summary import Summary as Summary
from staticgraph.formats.tf.messages.summary import SummaryDescription as SummaryDescription
from staticgraph.tf1.summary import encode
from staticgraph.tf1.summary.event_file import summary_iterator as summary_iterator
from staticgraph.tf1.summary.summaries import *
from staticgraph.tf1.summary.writer import *

export_names(__name__, "Event SessionLog Summary SummaryDescription TaggedRunMetadata encode")
