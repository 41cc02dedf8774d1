"""`EventsWriter` of `tensorflow.python.pywrap_tensorflow`, by which loggers write event files themselves."""

from __future__ import annotations

import os
from typing import Any

from staticgraph.formats.tf.messages.event import Event
from staticgraph.tf1.summary.event_file import EventFile


class EventsWriter:
    """Appends events to a file whose name begins as given.

    Args:
        file_prefix: The path of the file, to which `.out.tfevents`, the time and the host are added. Text or
            bytes.

    >>> import staticgraph.compat.tf1 as tf, tempfile
    >>> writer = tf.pywrap_tensorflow.EventsWriter(f"{tempfile.mkdtemp()}/train")
    >>> writer.WriteEvent(tf.Event(step=1))
    >>> _ = writer.Close()
    """

    def __init__(self, file_prefix: Any) -> None:
        folder, prefix = os.path.split(os.fsdecode(file_prefix))
        self._file = EventFile(folder, "", prefix)

    def InitWithSuffix(self, suffix: Any) -> bool:
        """Have the name of the file end in `suffix`."""
        self._file.suffix = os.fsdecode(suffix)
        return True

    def WriteEvent(self, event: Any) -> None:
        """Add an event."""
        self._file.add(event.SerializeToString() if isinstance(event, Event) else bytes(event))

    def Flush(self) -> bool:
        """Write all events that wait."""
        self._file.flush()
        return True

    def Close(self) -> bool:
        """Write all events that wait, and close the file."""
        self._file.close()
        return True

    def FileName(self) -> bytes:
        """Return the path of the file."""
        return os.fsencode(self._file.path)
