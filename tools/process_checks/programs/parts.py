"""Times of what a step of several processes consists of. Usage: parts.py ROUNDS STEPS BYTES...

Each round times so many steps without exchange, all-reduces of each size, and steps with exchange, one after
the other: whatever slows the machine down for a while slows down all of them. Processes meet before each.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import net
import numpy as np
import ours

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.world import MEMBERSHIP
from staticgraph.distribute.buckets import BUCKET, in_buckets

WARM = 3


def packed(loss: Any, inner: Any) -> Any:
    """Return a step with all that an exchange needs in each process by itself: buckets that nobody sends."""
    if sg.distribute.size() == 1:  # which exchanges nothing
        return inner.minimize(loss)
    gradients, variables = zip(*inner.compute_gradients(loss), strict=True)
    own = in_buckets(gradients, BUCKET, lambda bucket: ops.barrier(bucket) * (1.0 / sg.distribute.size()))
    return inner.apply_gradients(zip(own, variables, strict=True))


def all_reduce(sess: Any, size: int) -> Callable[[], Any]:
    """Return a function that computes buckets of so many bytes together, and has them travel."""
    buckets = [
        sg.Variable(np.ones(min(BUCKET, size - start) // 4, np.float32)) for start in range(0, size, BUCKET)
    ]
    sess.run([w.initializer for w in buckets])
    means = [w.assign(sg.distribute.all_reduce(w + 1.0, "mean")) for w in buckets]
    return sess.make_callable(sg.group(*means))


def timed(step: Callable[[], Any], steps: int) -> list[tuple[float, float]]:
    """The seconds that each step takes, and those in which it has a processor."""
    times = []
    for _ in range(steps):
        start, used = time.perf_counter(), time.process_time()
        step()
        times.append((time.perf_counter() - start, time.process_time() - used))
    return times


def meet() -> None:
    """Wait for all processes."""
    MEMBERSHIP.world.exchange("all_reduce", np.zeros(1, np.int32), "sum", 0)


def exchanged(sess: Any, step: Callable[[], Any], steps: int) -> list[float]:
    """The seconds of each step in which it begins exchanges and waits for them. Processes begin together."""
    times = []
    for _ in range(steps):
        with sess.profile() as profile:
            meet()
            step()
        kernels = profile.longest.kernels if profile.longest else ()
        times.append(1e-9 * sum(kernel.nanoseconds for kernel in kernels if kernel.is_exchange))
    return times


def main(rounds: int, steps: int, sizes: Sequence[int]) -> None:
    """Write what a process has found, as one line."""
    loss, feed = ours.loss()
    inner = sg.train.AdamOptimizer(net.RATE)
    alone, together = packed(loss, inner), sg.distribute.Optimizer(inner).minimize(loss)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        reduces = {str(size): all_reduce(sess, size) for size in sizes}
        calls = {
            "alone": lambda: sess.run([loss, alone], feed),
            "together": lambda: sess.run([loss, together], feed),
        }
        found: dict[str, list[Any]] = {name: [] for name in (*calls, *reduces, "exchange")}
        for call in (*calls.values(), *reduces.values()):
            for _ in range(WARM):
                call()
        for _ in range(rounds):
            for name, call in calls.items():
                meet()
                found[name] += timed(call, steps)
            found["exchange"] += exchanged(sess, calls["together"], steps)
            for name, call in reduces.items():
                found[name] += exchanged(sess, call, steps)
        os.write(1, f"FOUND {json.dumps(found)}\n".encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), [int(word) for word in sys.argv[3:]])
