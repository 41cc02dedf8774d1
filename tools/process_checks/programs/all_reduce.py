"""Times of all-reduces of several sizes, as they are in a step. Usage: all_reduce.py BYTES...

Buckets are computed, travel together, and are read. Before each run, processes wait for each other.
"""

import json
import os
import sys

import numpy as np
from mpi4py import MPI

import staticgraph as sg
from staticgraph.distribute.buckets import BUCKET

RUNS, WARM = 30, 5


def parts(size: int) -> list[int]:
    """The bytes of each bucket."""
    return [min(BUCKET, size - start) for start in range(0, size, BUCKET)]


def main(sizes: list[int]) -> None:
    """Write the seconds in which a process begins exchanges and waits for them, for each size."""
    dist, comm = sg.distribute, MPI.COMM_WORLD
    with sg.Session() as sess:
        for size in sizes:
            buckets = [sg.Variable(np.ones(n // 4, np.float32)) for n in parts(size)]
            sess.run([w.initializer for w in buckets])
            run = sess.make_callable(sg.group(*[w.assign(dist.all_reduce(w + 1.0, "mean")) for w in buckets]))
            for _ in range(WARM):
                run()
            with sess.profile() as profile:
                for _ in range(RUNS):
                    comm.Barrier()
                    run()
            spent = [k.nanoseconds for k in profile.longest.kernels if k.is_exchange]
            told = {"bytes": size, "seconds": 1e-9 * sum(spent) / RUNS}
            os.write(1, f"FOUND {json.dumps(told)}\n".encode())


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
