"""Runs of 64 threads in one session: every result is right, and no update is lost."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

import staticgraph as sg

THREADS = 64
LONGEST = 600.0  # seconds


def run(count: int, seed: int, folder: Path) -> str:
    """Run so many steps, in all."""
    x = sg.placeholder(sg.float32, [None], name="x")
    total = sg.Variable(np.zeros(4, np.int64))
    update = total.assign_add(np.ones(4, np.int64))
    y = sg.reduce_sum(x * 2.0)
    errors: list[BaseException] = []
    share = -(-count // THREADS)
    with sg.Session() as sess:
        sess.run(total.initializer)
        call = sess.make_callable(y, [x])

        def work(number: int) -> None:
            try:
                mine = np.full(number % 5 + 1, float(number), np.float32)
                expected = 2.0 * mine.sum()
                for turn in range(share):
                    if turn % 3 == 0:
                        sess.run(update)
                    elif turn % 3 == 1:
                        assert call(mine) == expected
                    else:
                        assert sess.run(y, {x: mine}) == expected
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONGEST)
        assert not errors, errors[0]
        assert not any(thread.is_alive() for thread in threads), "a thread hangs"
        updates = len(range(0, share, 3)) * THREADS
        assert sess.run(total).tolist() == [updates] * 4, (sess.run(total), updates)
    return f"{share * THREADS} runs of {THREADS} threads, {updates} of them updates: all exact"
