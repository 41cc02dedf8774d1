"""Events: the records of the files that TensorBoard reads."""

from staticgraph.formats.tf.messages.message import Message
from staticgraph.formats.tf.messages.scalars import Enum

EVENTS = "tfevents"  # in the name of each file of events


class LogMessage(Message):
    """A line of a log."""

    Level = Enum(UNKNOWN=0, DEBUGGING=10, INFO=20, WARN=30, ERROR=40, FATAL=50)
    schema = """
        enum LogMessage.Level level = 1
        string message = 2
    """


class SessionLog(Message):
    """Event of a session: it began, wrote a checkpoint, or ended."""

    SessionStatus = Enum(STATUS_UNSPECIFIED=0, START=1, STOP=2, CHECKPOINT=3)
    schema = """
        enum SessionLog.SessionStatus status = 1
        string checkpoint_path = 2
        string msg = 3
    """


class TaggedRunMetadata(Message):
    """Report of one run about itself, with a tag."""

    schema = """
        string tag = 1
        bytes run_metadata = 2
    """


class Event(Message):
    """One record: when, at which step, and what."""

    schema = """
        double wall_time = 1
        int64 step = 2
        string file_version = 3 in what
        bytes graph_def = 4 in what
        Summary summary = 5 in what
        LogMessage log_message = 6 in what
        SessionLog session_log = 7 in what
        TaggedRunMetadata tagged_run_metadata = 8 in what
        bytes meta_graph_def = 9 in what
    """
