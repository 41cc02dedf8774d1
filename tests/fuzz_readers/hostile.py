"""Well-formed files that lie: a graph around one op in each format of graphs, its message changed in places.

Numbers, names, lists and tensors inside the message are changed, and it is sealed again, so that the reader,
the type rules and the compiler get to see what the change says. `draw` gives the same file for the same
number; over numbers, ops and readers come evenly.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from staticgraph.compiler.graph.errors import GraphError, OpError
from staticgraph.formats.onnx.errors import UnknownValueError
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from tests.fuzz_readers import graphs
from tests.fuzz_readers.changes import change
from tests.fuzz_readers.good_files import Run, Seed, seed

FORMATS = ("sg", "graph_def", "meta_graph", "saved_model", "onnx", "checkpoint")
# What a reader, and a run, may answer. RuntimeError: a SavedModel has no graph with the tags asked for.
REFUSED = (GraphError, OpError, GraphDefError, UnknownValueError, RuntimeError)
FAULTS = (RecursionError, NotImplementedError, MemoryError, AssertionError)  # whatever else they are
_PLACES = (1, 1, 1, 2, 2, 3)  # changes of one file


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file: of which op and format, its changed message."""

    op: str
    format: str
    message: Any
    seed: Seed

    def load(self, folder: Path) -> Run:
        """Load it. What runs the graph comes back. One of `REFUSED` if it is not taken."""
        return self.seed.load(self.message, folder)


@lru_cache(1)
def kinds() -> list[tuple[str, str]]:
    """Every op with every format."""
    return [(name, format) for format in FORMATS for name in graphs.subjects()]


def draw(number: int) -> Hostile | None:
    """The hostile file of this number; None if the op has no form in the format."""
    name, format = kinds()[number % len(kinds())]
    chance = Random(number)
    good = seed(name, format, chance.randrange(3), chance.random() < 0.3)
    if good is None:
        return None
    message = (
        copy.deepcopy(good.message)
        if isinstance(good.message, dict)
        else type(good.message).FromString(good.message.SerializeToString())
    )
    for _ in range(chance.choice(_PLACES)):
        change(message, chance)
    return Hostile(name, format, message, good)
