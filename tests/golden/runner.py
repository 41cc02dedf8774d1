"""The kinds of golden case and how each is run against a module `tf`: TensorFlow 1.15 or staticgraph.

A case names a small function of `tf`. Running it gives an outcome: a dict of arrays, of JSON, and of None for
gradients that do not exist. TensorFlow's outcomes are recorded once by `tools/record/tf1.py`.

    value("square", lambda tf, x: tf.square(x), real(3))            results, gradients of each floating input
    runs("uniform", lambda tf: tf.random_uniform([2], seed=1))      one fetch several times in one session
    trains("sgd", lambda tf: (step, [variable]))                    what is watched, after every step
    streams("mean", lambda tf, x: tf.metrics.mean(x), real(3))      (value, update_op) over several steps
    answer("names", lambda tf: [tf.zeros([2]).op.name])             a fact known when the graph is built
    shape("static", lambda tf: tf.placeholder(tf.float32, [None]))  static shapes
    error("bad", lambda tf: tf.matmul([1.0], [2.0]))                the class of what is raised
    settles("singular", lambda tf: tf.matrix_inverse([[0.0]]))      that, or which elements are finite

The cases run on Python 3.7, which is the last that TensorFlow 1.15 knows.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.golden.draws import generator, real

FLOAT32 = ("float32",)
FLOATING = ("float32", "float64")


@dataclass(frozen=True)
class Case:
    """A named function of `tf`. `exact` asks for equal bits, `tolerance` multiplies the usual one."""

    name: str
    build: Callable
    exact: bool = False
    tolerance: float = 1.0


@dataclass(frozen=True)
class Value(Case):
    draws: tuple = ()
    dtype: str = "float32"
    seed: str = ""
    differentiate: bool = True

    def feeds(self):
        """The inputs; the same numbers whatever the floating type."""
        return [draw.array(generator(self.seed, i), self.dtype) for i, draw in enumerate(self.draws)]

    def outcome(self, tf, session):
        """Results and gradients, in a run each; for the second floating type in one run if all shapes are
        known, since a program of results alone was compiled for the first.
        """
        feeds = self.feeds()
        inputs = [tf.placeholder(getattr(tf, feed.dtype.name), feed.shape) for feed in feeds]
        results = as_list(self.build(tf, *inputs))
        feed_dict = dict(zip(inputs, feeds))
        floating = {"grad %d" % i: x for i, x in enumerate(inputs) if is_floating(feeds[i])}
        wanted = floating if self.differentiate else {}
        with session() as sess:
            if wanted and self.dtype == "float64" and all(is_known(tf, result) for result in results):
                alike = [np.empty(r.shape.as_list(), r.dtype.as_numpy_dtype) for r in results]
                values, grads = sess.run([results, self.gradients(tf, results, alike, wanted)], feed_dict)
            else:
                values = [np.asarray(value) for value in sess.run(results, feed_dict)]
                known = self.gradients(tf, results, values, wanted)
                grads = sess.run(known, feed_dict) if known else {}
        outcome = {"value %d" % i: np.asarray(value) for i, value in enumerate(values)}
        if wanted and any(is_floating(np.asarray(value)) for value in values):
            outcome.update(dict.fromkeys(wanted))
        outcome.update((name, np.asarray(grad)) for name, grad in grads.items())
        return outcome

    def gradients(self, tf, results, values, wanted):
        """Gradients of the results by the inputs, those that exist. Results are weighted by fixed numbers, so
        that no two elements can be confused. `values` are alike the results in shape and type.
        """
        floating = [result for result, value in zip(results, values) if is_floating(value)]
        if not floating or not wanted:
            return {}
        weights = [
            tf.constant(real(*value.shape, low=0.5).array(generator(self.seed, 1000 + i), value.dtype))
            for i, value in enumerate(values)
            if is_floating(value)
        ]
        grads = tf.gradients(floating, list(wanted.values()), grad_ys=weights)
        return {name: dense(tf, grad) for name, grad in zip(wanted, grads) if grad is not None}


@dataclass(frozen=True)
class Runs(Case):
    times: int = 2

    def outcome(self, tf, session):
        fetches = as_list(self.build(tf))
        initialize = tf.global_variables_initializer()
        with session() as sess:
            sess.run(initialize)
            return {
                "run %d value %d" % (run, i): np.asarray(value)
                for run in range(self.times)
                for i, value in enumerate(sess.run(fetches))
            }


@dataclass(frozen=True)
class Trains(Case):
    steps: int = 10

    def outcome(self, tf, session):
        step, watched = self.build(tf)
        initialize = tf.global_variables_initializer()
        histories: list = [[] for _ in watched]
        with session() as sess:
            sess.run(initialize)
            for _ in range(self.steps):
                sess.run(step)
                for history, value in zip(histories, sess.run(watched)):
                    history.append(value)
        return {"watched %d" % i: np.array(history) for i, history in enumerate(histories)}


@dataclass(frozen=True)
class Streams(Case):
    """A metric: what the update gives and what the value is after it, and the names of its parts."""

    draws: tuple = ()
    steps: int = 3

    def outcome(self, tf, session):
        batches = [
            [draw.array(generator(self.name, 100 * step + i), "float32") for i, draw in enumerate(self.draws)]
            for step in range(self.steps)
        ]
        inputs = [tf.placeholder(getattr(tf, feed.dtype.name), feed.shape) for feed in batches[0]]
        value, update = self.build(tf, *inputs)
        outcome = {"names": [part.name for part in (value, update, *tf.local_variables())]}
        initialize = tf.local_variables_initializer()
        with session() as sess:
            sess.run(initialize)
            for step, feeds in enumerate(batches):
                outcome["update %d" % step] = np.asarray(sess.run(update, dict(zip(inputs, feeds))))
                outcome["value %d" % step] = np.asarray(sess.run(value))
        return outcome


@dataclass(frozen=True)
class Answer(Case):
    def outcome(self, tf, session):
        return {"answer": self.build(tf)}


@dataclass(frozen=True)
class Shape(Case):
    def outcome(self, tf, session):
        shapes = [result.shape for result in as_list(self.build(tf))]
        return {"shape": [None if shape.ndims is None else shape.as_list() for shape in shapes]}


@dataclass(frozen=True)
class Error(Case):
    def outcome(self, tf, session):
        """The public classes of what is raised, most derived first: an `except` clause may name any."""
        try:
            fetch = self.build(tf)
            if fetch is not None:
                with session() as sess:
                    sess.run(fetch)
        except Exception as raised:
            names = [cls.__name__ for cls in type(raised).__mro__]
            return {"error": [name for name in names if hasattr(builtins, name) or hasattr(tf.errors, name)]}
        return {"error": []}


@dataclass(frozen=True)
class Settles(Error):
    def outcome(self, tf, session):
        """The classes of what is raised; or for each result its shape, and which elements are finite."""
        values = []

        def evaluated():
            results = as_list(self.build(tf))
            with session() as sess:
                values.extend(sess.run(results))

        raised = Error(self.name, lambda tf: evaluated()).outcome(tf, session)
        if raised["error"]:
            return raised
        return {"value %d" % i: np.asarray(np.isfinite(value)) for i, value in enumerate(values)}


def value(name, build, *draws, grad=True, dtypes=None, exact=False, tolerance=1.0):
    """One case for each floating type; just one where nothing drawn is floating."""
    if dtypes is None:
        dtypes = FLOATING if any(draw.floating for draw in draws) else FLOAT32
    return [
        Value(
            name if dtype == "float32" else "%s [%s]" % (name, dtype),
            build,
            exact,
            tolerance,
            draws=draws,
            dtype=dtype,
            seed=name,
            differentiate=grad,
        )
        for dtype in dtypes
    ]


def runs(name, build, times=2, exact=False, tolerance=1.0):
    return [Runs(name, build, exact, tolerance, times=times)]


def trains(name, build, steps=10, tolerance=1.0):
    return [Trains(name, build, tolerance=tolerance, steps=steps)]


def streams(name, build, *draws, tolerance=1.0):
    return [Streams(name, build, tolerance=tolerance, draws=draws)]


def answer(name, build):
    return [Answer(name, build)]


def shape(name, build):
    return [Shape(name, build)]


def error(name, build):
    return [Error(name, build)]


def settles(name, build):
    return [Settles(name, build)]


def run(case: Case, tf: Any, session: Callable[[], Any] | None = None) -> dict[str, Any]:
    """The outcome of a case on `tf`, in a graph of its own. `session` makes the Session."""
    with tf.Graph().as_default():
        return case.outcome(tf, session or tf.Session)


def flatten(table):
    """The cases of a table whose entries are cases or lists of entries."""
    for entry in table:
        if isinstance(entry, Case):
            yield entry
        else:
            yield from flatten(entry)


def as_list(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


def is_floating(array):
    return array.dtype.kind == "f"


def is_known(tf, result):
    """True if a result is a tensor of a known shape and of a type that NumPy has."""
    return isinstance(result, tf.Tensor) and result.shape.is_fully_defined() and result.dtype != tf.string


def dense(tf, gradient):
    """A sparse gradient (IndexedSlices) as the tensor it stands for."""
    return tf.convert_to_tensor(gradient)
