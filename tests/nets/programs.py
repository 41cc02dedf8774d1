"""The benchmark's nets at small sizes as programs: fetches by name, and the feeds of runs by name."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import staticgraph as sg
from benchmarks.nets.table import NETS
from benchmarks.peers import OURS
from benchmarks.sizes import graph_side

NAMES = sorted(NETS, key=lambda name: len(NETS[name].net("small").weights))  # the smallest are the fast tier


def built(name: str) -> dict[str, Any]:
    """Build a net in the default graph: its results, and the operation that changes its variables."""
    graph_side.setup(OURS, sg.get_num_threads())
    net = NETS[name].net("small")
    feeds = [sg.placeholder(dtype, shape, f"feed{n}") for n, (dtype, shape) in enumerate(net.feeds)]
    results, changes = graph_side.parts(net, graph_side.variables(net), feeds)
    fetches = {f"result{n}": result for n, result in enumerate(results)}
    return fetches | ({"step": sg.group(*changes)} if changes else {})


def feeds(name: str, *counts: int) -> Iterator[dict[str, np.ndarray]]:
    """Batches of so many, by the names of feeds."""
    net, rng = NETS[name].net("small"), np.random.default_rng(3)
    for count in counts:
        yield {f"feed{n}": array for n, array in enumerate(net.batch(rng, count))}
