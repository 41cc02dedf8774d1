"""Records what TensorFlow 1.15.5 answers to random programs, in `tests/witness/tf1.npz`.

    tf115/bin/python -m tools.record.random_programs                            # those that tests replay
    tf115/bin/python -m tools.record.random_programs --programs 3000 --to DIR   # more of them, elsewhere

TensorFlow leaves the order of reads and assignments open. Here control dependencies make it the order of
construction. What it cannot do, such as second derivatives of loops, is left out and counted.
"""

from __future__ import annotations

import argparse
import collections
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf

from tests.golden import store
from tests.witness import recorded
from tests.witness.generator import Generator

FUNCTIONS = SimpleNamespace(doubled_tanh=lambda x: 2.0 * np.tanh(x), shifted=lambda x: x + 0.25)


def answers(seed: int, size: int) -> dict[str, Any]:
    """The results of the runs of one program, by run and name."""
    program = Generator(seed, size).program()
    made: dict[str, Any] = {"script": recorded.fingerprint(program)}
    with tf.Graph().as_default():
        env = program.build(tf, ordered=True, functions=FUNCTIONS)
        fetches = {name: env[name] for name in [*program.fetches, *program.writes]}
        with tf.compat.v1.Session() as sess:
            sess.run(tf.compat.v1.global_variables_initializer())
            for number, feeds in enumerate(program.runs):
                given = {env[name]: value for name, value in feeds.items()}
                found = sess.run(fetches, given)
                found.update(sess.run({name: env[name] for name in program.variables}))
                made.update(("%d/%s" % (number, name), np.asarray(value)) for name, value in found.items())
    return made


def main() -> int:
    """Record the answers to all programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=recorded.PROGRAMS)
    parser.add_argument("--size", type=int, default=recorded.SIZE)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--to", type=Path, default=recorded.FOLDER)
    asked = parser.parse_args()
    logging.getLogger("tensorflow").setLevel(logging.FATAL)
    outcomes: dict[str, Any] = {}
    refused: collections.Counter[str] = collections.Counter()
    for seed in range(asked.first, asked.first + asked.programs):
        try:
            outcomes[str(seed)] = answers(seed, asked.size)
        except Exception as error:
            line = str(error).splitlines()[0][:100] if str(error) else ""
            refused["%s: %s" % (type(error).__name__, line)] += 1
            print("%d: %s: %s" % (seed, type(error).__name__, line), file=sys.stderr)
    store.save(recorded.NAME, outcomes, asked.to)
    print("%d of %d programs recorded" % (len(outcomes), asked.programs))
    for text, count in refused.most_common():
        print("  %4d %s" % (count, text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
