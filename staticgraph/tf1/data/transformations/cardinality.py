"""The number of elements of a dataset, as far as its description tells it."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host
from staticgraph.runtime.state.resources import resources
from staticgraph.tf1.data import batching, caching, files, mapping, selecting, sources, threads
from staticgraph.tf1.data.dataset import Dataset
from staticgraph.tf1.data.pipeline import Node, Run, given_datasets, tensors_of
from staticgraph.tf1.data.transformations.sparse_batches import SparseBatched

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def cardinality(dataset: Dataset) -> Any:
    """Return the number of elements of a dataset, an int64 scalar.

    The number is computed without reading the dataset. `INFINITE_CARDINALITY` stands for a dataset that never
    ends, and `UNKNOWN_CARDINALITY` for one whose number depends on its elements, such as behind `filter`.

    Args:
        dataset: The dataset.

    >>> import staticgraph as sg
    >>> numbers = sg.data.Dataset.range(7)
    >>> with sg.Session() as sess:
    ...     int(sess.run(sg.data.experimental.cardinality(numbers.batch(2))))
    ...     int(sess.run(sg.data.experimental.cardinality(numbers.filter(lambda x: x > 3))))
    4
    -2
    """
    return dataset_cardinality(tensors_of(dataset.node), node=dataset.node)


@host(
    tf="ExperimentalDatasetCardinality",
    type=lambda *inputs, node: TensorType(int64, ()),
    stateful=True,
    vars={"tensors": "*"},
)
def dataset_cardinality(*tensors: Any, node: Node) -> Any:
    """The number of elements of the dataset whose last step is `node`, see `cardinality`."""
    values = dict(zip(tensors_of(node), tensors, strict=True))
    return np.int64(count(node, Run(values, resources(), given_datasets())))


_SAME = (
    caching.Cached,
    caching.CachedInFile,
    mapping.Mapped,
    mapping.Scanned,
    threads.ParallelMapped,
    threads.Prefetched,
)
_ENDLESS = (sources.Counter, sources.Numbers)
_OF_ONE = (sources.Tensors, mapping.Reduced)
_BATCHES = (batching.Batched, batching.PaddedBatched, SparseBatched)


def count(node: Node, run: Run) -> int:
    """Return the number of elements of a step, `INFINITE_CARDINALITY` or `UNKNOWN_CARDINALITY`."""
    if isinstance(node, _OF_ONE):
        return 1
    if isinstance(node, _ENDLESS):
        return INFINITE_CARDINALITY
    if isinstance(node, _SAME):
        return count(node.source, run)
    match node:
        case sources.Slices():
            return node.count(run)
        case sources.Range():
            return len(range(*(run.number(n) for n in (node.start, node.stop, node.step))))
        case files.Matching():
            return sum(1 for _ in node.iterate(run))
        case selecting.Zipped():
            return _shortest([count(source, run) for source in node.sources])
        case selecting.Concatenated():
            return _sum([count(source, run) for source in node.sources])
        case selecting.Selection():
            return _selected(node, count(node.source, run), run)
        case batching.Windowed():
            return _windows(node, count(node.source, run), run)
    if isinstance(node, _BATCHES):
        drops = bool(run.value(getattr(node, "drop_remainder", False)))
        return _batches(count(node.source, run), run.number(node.size), drops)
    return UNKNOWN_CARDINALITY


def _shortest(counts: list[int]) -> int:
    """Return the number of rows of columns that end with the shortest."""
    if UNKNOWN_CARDINALITY in counts:
        return UNKNOWN_CARDINALITY
    return min((n for n in counts if n >= 0), default=INFINITE_CARDINALITY)


def _sum(counts: list[int]) -> int:
    if INFINITE_CARDINALITY in counts:
        return INFINITE_CARDINALITY
    return UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in counts else sum(counts)


def _selected(node: selecting.Selection, every: int, run: Run) -> int:
    """Return the number that a selection leaves of `every` element."""
    match node:
        case selecting.Take(count=wanted):
            size = run.number(wanted)
            if size < 0 or every == UNKNOWN_CARDINALITY:
                return every
            return size if every == INFINITE_CARDINALITY else min(every, size)
        case selecting.Skip(count=left_out):
            size = run.number(left_out)
            return 0 if size < 0 <= every + 1 else every if every < 0 else max(0, every - size)
        case selecting.Repeat(count=times) | selecting.Shuffled(count=times):
            return _repeated(every, run.number(times))
        case selecting.Shard(count=shards, index=index):
            return every if every < 0 else len(range(run.number(index), every, run.number(shards)))
    return UNKNOWN_CARDINALITY


def _repeated(every: int, times: int) -> int:
    if 0 in (times, every):
        return 0
    if times < 0 or every == INFINITE_CARDINALITY:
        return INFINITE_CARDINALITY
    return every if every < 0 else every * times


def _batches(every: int, size: int, drops: bool) -> int:
    if every < 0 or size <= 0:
        return every if every < 0 else UNKNOWN_CARDINALITY
    return every // size if drops else -(-every // size)


def _windows(node: batching.Windowed, every: int, run: Run) -> int:
    """Return the number of windows: one for each place where one begins, if it is long enough."""
    size, shift, stride = (run.number(n) for n in (node.size, node.shift, node.stride))
    if every < 0 or min(size, shift, stride) <= 0:
        return every if every < 0 else UNKNOWN_CARDINALITY
    span = (size - 1) * stride + 1 if bool(run.value(node.drop_remainder)) else 1
    return len(range(0, every - span + 1, shift))
