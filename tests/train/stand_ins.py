"""Stand-ins of tests of training for clocks, queues and event files."""

import staticgraph as sg
from staticgraph.tf1.summary import summary_iterator


class Clock:
    """A module `time` whose clock stands still until someone sleeps."""

    def __init__(self):
        self.now = 100.0
        self.on_sleep = lambda: None

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.on_sleep()


class Writer:
    """Keeps what is written, as (method, argument, step)."""

    def __init__(self):
        self.written = []

    def add_summary(self, summary, global_step=None):
        self.written.append(("summary", summary, global_step))

    def add_session_log(self, log, global_step=None):
        self.written.append(("log", log.status, global_step))

    def flush(self):
        self.written.append(("flush", None, None))


class Named:
    """An operation, as far as a queue runner looks at it."""

    def __init__(self, name, function=lambda: None):
        self.name = name
        self.function = function

    def close(self, cancel_pending_enqueues=False):
        return Named("cancel" if cancel_pending_enqueues else "close")


class CallingSession(sg.Session):
    """A session whose operations are Python functions; it notes the names of those that `run` was given."""

    def __init__(self):
        super().__init__()
        self.ran = []

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        return fetches.function

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        self.ran.append(fetches.name)
        fetches.function()


def events(folder, kind):
    """The events of one kind in the event files of a folder: steps and contents."""
    every = [e for path in sorted(folder.glob("events.out.tfevents.*")) for e in summary_iterator(path)]
    return [(e.step, getattr(e, kind)) for e in every if e.WhichOneof("what") == kind]
