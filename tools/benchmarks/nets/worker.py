"""One net of one row in a process of its own, in the environment of that peer.

    python -m benchmarks.nets.worker ROW NET SIZE THREADS

SIZE is "cpu", "gpu" or "small". Talks as `benchmarks.worker` does; the results are those of three steps.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from typing import Any

from benchmarks.nets.net import BATCHES, CPU, GPU
from benchmarks.worker import WARM_UP, begin, end, peak, serve, tell, warm

# JAX would take most of the memory at once, and round operands of float32 products, as no other row does.
ON_GPU = {
    "JAX_PLATFORMS": "cuda",
    "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}
SIDES = {"staticgraph": "graph_side", "JAX": "jax_side"}  # all others are PyTorch


def stepping(row: str, name: str, size: str, threads: int) -> tuple[Any, str]:
    """Return a step of a net, which takes the batches in turns and gives its results, and the version."""
    import importlib

    from benchmarks.nets.table import NETS

    device = GPU if size == GPU else CPU
    if device == GPU:
        os.environ.update(ON_GPU)
    side = importlib.import_module("benchmarks.sizes." + SIDES.get(row, "torch_side"))
    version = side.setup(row, threads, device)
    net = NETS[name].net(size)
    batches = itertools.cycle(NETS[name].batches(net, size))
    run = side.step_of(net)
    return lambda: run(*next(batches)), version


def main() -> None:
    """Serve one parent, who closes our input when there is nothing more to do."""
    row, name, size, threads = *sys.argv[1:4], int(sys.argv[4])
    channel = begin(threads)
    from benchmarks.compare import summary

    step, version = stepping(row, name, size, threads)
    start = time.perf_counter()
    results = [step()]
    first = time.perf_counter() - start
    results += [step() for _ in range(BATCHES - 1)]
    told = [summary(tuple(each) if isinstance(each, (list, tuple)) else each) for each in results]
    tell(channel, version=version, first=first, results=told)
    tell(channel, estimate=warm(step, WARM_UP), peak=peak())
    serve(channel, step)
    end()


if __name__ == "__main__":
    main()
