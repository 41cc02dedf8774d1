"""Records what TensorFlow 1.15.5 answers to the golden cases, in `tests/golden/tf1/<subject>.npz`.

    tf115/bin/python -m tools.record.tf1                # records every subject
    tf115/bin/python -m tools.record.tf1 math nn        # only these
    tf115/bin/python -m tools.record.tf1 --check        # writes nothing, says which cases are not as recorded

A case that TensorFlow itself does not manage is an error: it is reported, and its subject is not written.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import tensorflow as tf

from tests.golden import store
from tests.golden.cases import SUBJECTS
from tests.golden.compare import identical
from tests.golden.runner import run


def session() -> Any:
    """One thread, and TensorFlow's graph rewriting off: it changes some answers (`x // 1` on floats)."""
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return tf.compat.v1.Session(config=config)


def outcomes(subject: str) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The outcome of every case of a subject, and a line for each that failed."""
    cases = SUBJECTS[subject]
    recorded, failed = {}, []
    for done, case in enumerate(cases, 1):
        progress(subject, done, len(cases))
        try:
            recorded[case.name] = run(case, tf, session)
        except Exception as error:
            failed.append("%s: %s: %s" % (case.name, type(error).__name__, str(error).splitlines()[0]))
    return recorded, failed


def progress(subject: str, done: int, total: int) -> None:
    """A bar on stderr, drawn over itself on a terminal; elsewhere only its last state."""
    if not sys.stderr.isatty() and done < total:
        return
    bar = "#" * (30 * done // total)
    print("\r%-14s [%-30s] %d/%d" % (subject, bar, done, total), end="", file=sys.stderr, flush=True)
    if done == total:
        print(file=sys.stderr)


def changed(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> list[str]:
    """The cases that came, went, or answer anything else than before."""
    lines = ["- %s" % name for name in before if name not in after]
    for name, outcome in after.items():
        if name not in before:
            lines.append("+ %s" % name)
        elif not same(before[name], outcome):
            lines.append("~ %s" % name)
    return lines


def same(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Return True if two outcomes are equal to the bit."""
    return list(before) == list(after) and all(_same_item(before[key], after[key]) for key in before)


def _same_item(before: Any, after: Any) -> bool:
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        return (
            before.dtype == after.dtype
            and before.shape == after.shape
            and bool(np.all(identical(before, after)))
        )
    return bool(type(before) is type(after) and before == after)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("subjects", nargs="*", metavar="subject", help="of %s" % ", ".join(SUBJECTS))
    parser.add_argument("--check", action="store_true", help="write nothing, say what has changed")
    arguments = parser.parse_args()
    unknown = set(arguments.subjects) - set(SUBJECTS)
    if unknown:
        parser.error("no such subject: %s" % ", ".join(sorted(unknown)))
    tf.compat.v1.logging.set_verbosity("ERROR")

    trouble = 0
    for subject in arguments.subjects or SUBJECTS:
        after, failed = outcomes(subject)
        for line in failed:
            print("%s ! %s" % (subject, line))
        before = store.load(subject) if (store.FOLDER / (subject + ".npz")).exists() else {}
        lines = changed(before, after)
        for line in lines:
            print("%s %s" % (subject, line))
        trouble += len(failed) + (len(lines) if arguments.check else 0)
        if not failed and not arguments.check:
            store.save(subject, after)
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
