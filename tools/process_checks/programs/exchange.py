"""All-reduces inside of a step against those of MPI alone, in turns. Usage: exchange.py ROUNDS BYTES...

Before both, each process computes what it sends: so it is in the caches, and processes come as they do from
computing.
"""

import json
import os
import statistics
import sys
import time

import numpy as np
from mpi4py import MPI

import staticgraph as sg

EACH = 12  # runs of a round, by each way


def main(rounds: int, sizes: list[int]) -> None:
    """Write a line for each size: nanoseconds of both, and the median of their quotients by rounds."""
    dist, comm = sg.distribute, MPI.COMM_WORLD
    with sg.Session() as sess:
        for size in sizes:
            w = sg.Variable(np.ones(size // 4, np.float32))
            ones, here, total = (np.ones(size // 4, np.float32) for _ in range(3))
            sess.run(w.initializer)
            run = sess.make_callable(dist.all_reduce(w + 1.0))
            for _ in range(4):
                run()
            inside, bare = [], []
            for _ in range(rounds):
                with sess.profile() as profile:
                    for _ in range(EACH):
                        comm.Barrier()
                        run()
                [found] = [k for k in profile.longest.kernels if k.is_exchange]
                inside.append(found.nanoseconds / EACH)
                spent = 0
                for _ in range(EACH):
                    comm.Barrier()
                    np.add(ones, 1.0, out=here)
                    start = time.perf_counter_ns()
                    comm.Allreduce(here, total)
                    spent += time.perf_counter_ns() - start
                bare.append(spent / EACH)
            ratio = statistics.median(a / b for a, b in zip(inside, bare, strict=True))
            told = {"bytes": size, "inside": min(inside), "bare": min(bare), "ratio": ratio}
            if dist.rank() == 0:
                os.write(1, f"FOUND {json.dumps(told)}\n".encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(word) for word in sys.argv[2:]])
