"""Records what TensorFlow 1.15.5 on a processor does with numbers that are out of range.

    tf115/bin/python -m tools.record.ranges        writes tests/ranges/recorded.json

Each case runs in a process of its
own, since some kill it.
"""

from __future__ import annotations

import json
import multiprocessing
from typing import Any

import tensorflow as tf

from tests.ranges import cases
from tools.record import TESTS


def outcome(name: str) -> dict[str, Any]:
    """Return what becomes of a case: a value, or the class and the first line of an error."""
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    build, values = cases.CASES[name]
    with tf.compat.v1.Session(graph=tf.Graph()) as session, session.graph.as_default():
        fed = [tf.compat.v1.placeholder(value.dtype, value.shape) for value in values]
        try:
            made = session.run(build(tf.compat.v1, *fed), {t: v for t, v in zip(fed, values)})  # noqa: B905, C416 (Python 3.7)
        except tf.errors.OpError as error:
            return {"error": type(error).__name__, "message": error.message.partition("\n")[0]}
    if made.dtype == object:
        return {"value": [text.decode() for text in made]}
    if made.dtype.kind == "c":
        return {"value": [[each.real, each.imag] for each in made.tolist()]}
    return {"value": made.tolist()}


def main() -> None:
    """Run all cases."""
    found = {}
    for name in cases.CASES:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            waiting = pool.apply_async(outcome, (name,))
            try:
                found[name] = waiting.get(120)
            except multiprocessing.TimeoutError:  # the process is gone
                found[name] = {"error": "crash", "message": ""}
    lines = ["  %s: %s" % (json.dumps(name), json.dumps(each)) for name, each in found.items()]
    (TESTS / "ranges" / "recorded.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
