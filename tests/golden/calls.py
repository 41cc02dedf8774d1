"""Scripts that note who is called when: for golden cases of sessions with hooks, and of threads."""

import logging
import shutil
import tempfile

import numpy as np


def model(tf):
    """A value that can be fed, a variable, the global step, and what increments it."""
    x = tf.placeholder_with_default(tf.constant(1.0), [], name="x")
    w = tf.Variable(2.0, name="w")
    step = tf.train.get_or_create_global_step()
    return x, w, step, tf.assign_add(step, 1)


def raised(cls, text):
    """An error of the class; TensorFlow's take an operation's description first."""
    try:
        return cls(None, None, text)
    except TypeError:
        return cls(text)


def plain(value):
    """Values of a run as JSON has them."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


class Log(logging.Handler):
    """Messages that are logged within `with`, if they begin like one of these."""

    def __init__(self, calls, *beginnings):
        logging.Handler.__init__(self)
        self.calls = calls
        self.beginnings = beginnings

    def emit(self, record):
        if record.getMessage().startswith(self.beginnings):
            self.calls.append(record.levelname + " " + record.getMessage())

    def __enter__(self):
        logger = logging.getLogger("tensorflow")
        self.before = logger.level, logger.propagate, logger.handlers
        logger.setLevel(logging.INFO)
        logger.propagate, logger.handlers = False, [self]

    def __exit__(self, *_):
        logger = logging.getLogger("tensorflow")
        level, logger.propagate, logger.handlers = self.before
        logger.setLevel(level)


def recorder(tf, calls):
    """A hook class whose instances note their calls."""

    class Recorder(tf.train.SessionRunHook):
        def __init__(self, name, fetches=None, feeds=None):
            self.name, self.fetches, self.feeds = name, fetches, feeds

        def begin(self):
            calls.append([self.name, "begin", tf.get_default_graph().finalized])

        def after_create_session(self, session, coord):
            made = isinstance(session, tf.Session) and isinstance(coord, tf.train.Coordinator)
            calls.append([self.name, "after_create_session", made, tf.get_default_graph().finalized])

        def before_run(self, run_context):
            calls.append([self.name, "before_run", run_context.stop_requested])
            if self.fetches is not None or self.feeds:
                return tf.train.SessionRunArgs(self.fetches, self.feeds)
            return None

        def after_run(self, run_context, run_values):
            given = run_context.original_args
            calls.append([self.name, "after_run", plain(run_values.results), given.feed_dict is None])

        def end(self, session):
            calls.append([self.name, "end", isinstance(session, tf.Session)])

    return Recorder


def told(script):
    """The calls that `script(tf, calls, folder)` notes, and the error that ends it."""

    def build(tf):
        calls = []
        folder = tempfile.mkdtemp()
        try:
            script(tf, calls, folder)
        except BaseException as error:
            kind = RuntimeError if isinstance(error, RuntimeError) else type(error)
            calls.append(["raised", kind.__name__])
        finally:
            shutil.rmtree(folder)
        return calls

    return build
