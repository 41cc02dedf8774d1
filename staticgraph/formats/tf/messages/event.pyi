"""Events: the records of the files that TensorBoard reads. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

EVENTS: str
class LogMessage(Message):
    """A line of a log."""
    Level: typing.Any
    level: typing.Any
    message: typing.Any
    UNKNOWN: typing.Any
    DEBUGGING: typing.Any
    INFO: typing.Any
    WARN: typing.Any
    ERROR: typing.Any
    FATAL: typing.Any
class SessionLog(Message):
    """Event of a session: it began, wrote a checkpoint, or ended."""
    SessionStatus: typing.Any
    status: typing.Any
    checkpoint_path: typing.Any
    msg: typing.Any
    STATUS_UNSPECIFIED: typing.Any
    START: typing.Any
    STOP: typing.Any
    CHECKPOINT: typing.Any
class TaggedRunMetadata(Message):
    """Report of one run about itself, with a tag."""
    tag: typing.Any
    run_metadata: typing.Any
class Event(Message):
    """One record: when, at which step, and what."""
    wall_time: typing.Any
    step: typing.Any
    file_version: typing.Any
    graph_def: typing.Any
    summary: typing.Any
    log_message: typing.Any
    session_log: typing.Any
    tagged_run_metadata: typing.Any
    meta_graph_def: typing.Any
