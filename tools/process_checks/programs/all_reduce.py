"""Times of all-reduces of several sizes, in buckets that travel together. Usage: all_reduce.py BYTES..."""

import json
import os
import statistics
import sys
import time

import numpy as np

import staticgraph as sg
from staticgraph.distribute.buckets import BUCKET

RUNS, WARM = 30, 5


def parts(size: int) -> list[int]:
    """The bytes of each bucket."""
    return [min(BUCKET, size - start) for start in range(0, size, BUCKET)]


def main(sizes: list[int]) -> None:
    """Write the seconds of an all-reduce, the median of many that follow each other."""
    dist = sg.distribute
    with sg.Session() as sess:
        for size in sizes:
            buckets = [sg.Variable(np.ones(n // 4, np.float32)) for n in parts(size)]
            sess.run([w.initializer for w in buckets])
            run = sess.make_callable([dist.all_reduce(w) for w in buckets])
            times = []
            for _ in range(RUNS + WARM):
                start = time.perf_counter()
                run()
                times.append(time.perf_counter() - start)
            if dist.rank() == 0:
                told = {"bytes": size, "seconds": statistics.median(times[WARM:])}
                os.write(1, f"FOUND {json.dumps(told)}\n".encode())


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
