"""`FileWriter`: summaries, graphs and logs as the events of a file (TF1's `tf.summary`)."""

from __future__ import annotations

import logging
import threading
import time
import warnings
from typing import Any, ClassVar

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.graph import Graph, get_default_graph
from staticgraph.compiler.support.forks import brief
from staticgraph.formats.tf.graph_def import as_graph_def, as_meta_graph_def
from staticgraph.formats.tf.messages.event import Event, SessionLog, TaggedRunMetadata
from staticgraph.formats.tf.messages.graph import GraphDef
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef
from staticgraph.formats.tf.messages.step_stats import RunMetadata
from staticgraph.formats.tf.messages.summary import Summary
from staticgraph.tf1.summary.event_file import EventFileWriter

_log = logging.getLogger("tensorflow")


class FileWriter:
    """Writes an event file in `logdir` for TensorBoard, with `graph` first if it is given. A context manager.

    Events are written every `flush_secs` seconds, with `flush` and `close`, and when the program ends. The
    file's name ends with `filename_suffix`. `max_queue` and `session` change nothing: there is no queue,
    and no resource of the session.

    >>> import tempfile
    >>> import staticgraph as sg
    >>> x = sg.constant(2.0, name="x")
    >>> with sg.summary.FileWriter(tempfile.mkdtemp(), sg.get_default_graph()) as writer:
    ...     writer.add_summary(sg.summary.Summary(value=[{"tag": "x", "simple_value": 2.0}]), global_step=1)
    """

    def __init__(
        self,
        logdir: Any,
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: GraphDef | None = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self.event_writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        self._closed = False
        self._seen_tags: set[str] = set()  # whose metadata the file has
        self._run_tags: set[str] = set()
        given = graph if graph is not None else graph_def
        if given is not None:
            self.add_graph(graph, graph_def=graph_def)
            self.add_meta_graph(as_meta_graph_def(given))

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self.event_writer.get_logdir()

    def add_summary(self, summary: Summary | bytes, global_step: Any = None) -> None:
        """Add a summary: what a summary op gave, or a `Summary`. How a tag is shown is written once only."""
        if isinstance(summary, bytes):
            summary = Summary.FromString(summary)
        if not isinstance(summary, Summary):
            hint = "run the summary op first: add_summary(sess.run(op), step)"
            raise misuse(TypeError, f"a summary is written, and not {shown(summary)}", hint)
        for value in summary.value:
            if value.tag in self._seen_tags:
                value.ClearField("metadata")
            self._seen_tags.add(value.tag)
        self._open().add_event(_event(global_step, summary=summary))

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Add what happened to a session."""
        self._open().add_event(_event(global_step, session_log=session_log))

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: GraphDef | None = None) -> None:
        """Add a graph, which TensorBoard draws. ValueError for two, TypeError for anything else."""
        if graph is not None and graph_def is not None:
            raise misuse(ValueError, "Please pass only graph, or graph_def (deprecated), but not both.")
        given = graph if graph is not None else graph_def
        if isinstance(given, Graph):
            given = as_graph_def(given, add_shapes=True)
        elif isinstance(given, GraphDef):
            _log.warning("Passing a `GraphDef` is deprecated. Pass a `Graph`, such as `sess.graph`.")
        else:
            raise misuse(
                TypeError, f"The passed graph must be a Graph or a GraphDef, and is {type(given).__name__}"
            )
        self._open().add_event(_event(global_step, graph_def=given.SerializeToString()))

    def add_meta_graph(self, meta_graph_def: MetaGraphDef, global_step: Any = None) -> None:
        """Add a graph with what belongs to it. TypeError for anything else."""
        if not isinstance(meta_graph_def, MetaGraphDef):
            raise misuse(
                TypeError, f"meta_graph_def must be a MetaGraphDef, and is {type(meta_graph_def).__name__}"
            )
        self._open().add_event(_event(global_step, meta_graph_def=meta_graph_def.SerializeToString()))

    def add_run_metadata(self, run_metadata: RunMetadata, tag: str, global_step: Any = None) -> None:
        """Add what one run reported of itself. ValueError if the tag was used before."""
        if tag in self._run_tags:
            raise misuse(ValueError, f"The provided tag was already used for this event type: {tag!r}")
        self._run_tags.add(tag)
        tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._open().add_event(_event(global_step, tagged_run_metadata=tagged))

    def add_event(self, event: Event) -> None:
        """Add an event as it is."""
        self._open().add_event(event)

    def flush(self) -> None:
        """Write all events that wait."""
        self._open().flush()

    def close(self) -> None:
        """Write all events that wait, and close the file."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """After `close`, let further events go into another new file."""
        self.event_writer.reopen()
        self._closed = False

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> EventFileWriter:
        """Return the writer of the file. If it is closed, warn at the line that wants to write."""
        if self._closed:
            message = "Attempting to use a closed FileWriter: nothing is written unless it is reopened."
            warnings.warn(message, stacklevel=3)
        return self.event_writer


def _event(step: Any, **what: Any) -> Event:
    """An event of now; without a step it is the first one's, 0."""
    return Event(wall_time=time.time(), step=None if step is None else int(step), **what)


class FileWriterCache:
    """One writer for each folder, whoever asks."""

    _cache: ClassVar[dict[str, FileWriter]] = {}
    _lock = brief(threading.RLock())

    @staticmethod
    def clear() -> None:
        """Close all writers and forget them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()

    @staticmethod
    def get(logdir: str) -> FileWriter:
        """The writer for a folder; a new one begins with the default graph."""
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(logdir, graph=get_default_graph())
            return FileWriterCache._cache[logdir]
