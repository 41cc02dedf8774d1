"""Decoders of connectionist temporal classification, which find label sequences in Python: how many labels
there are depends on data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import float32, float64, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType, merge, shape_text
from staticgraph.compiler.ops.kinds import host

_NEVER = -math.inf
_FLOATS: dict[str, Any] = {
    "vars": {"sequence_length": "int32"},
    "dtypes": {"T": frozenset({float32, float64})},
}


def _decoded_type(inputs: TensorType, steps: TensorType, paths: int) -> tuple[TensorType, ...]:
    known = inputs.shape is not None
    require(not known or len(inputs.shape or ()) == 3, f"{inputs} is not [time, batch, classes]")
    require(steps.rank in (None, 1), f"sequence_length has shape {shape_text(steps.shape)}, not [batch]")
    batch = None if inputs.shape is None else inputs.shape[1]
    if known and steps.shape is not None:
        lengths = merge((batch,), steps.shape, "there must be a sequence length for each of the batch:")
        batch = None if lengths is None else lengths[0]
    one = (TensorType(int64, (None, 2)), TensorType(int64, (None,)), TensorType(int64, (2,)))
    return (*one * paths, TensorType(inputs.dtype, (batch, paths)))


def _used(inputs: np.ndarray, sequence_length: np.ndarray) -> list[np.ndarray]:
    """The steps of each of the batch that count, [time, classes]. A negative length is none at all."""
    time, batch, _ = inputs.shape
    require(len(sequence_length) == batch, f"there are {len(sequence_length)} sequence lengths for {batch}")
    most = max(sequence_length.tolist(), default=0)
    require(most <= time, f"sequence_length has {most}, and there are {time} time steps")
    return [inputs[: max(steps, 0), row] for row, steps in enumerate(sequence_length.tolist())]


def _sparse(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices, values and shape of rows of labels."""
    indices = [(row, place) for row, labels in enumerate(rows) for place in range(len(labels))]
    values = [label for labels in rows for label in labels]
    shape = (len(rows), max(map(len, rows), default=0))
    return (
        np.array(indices, np.int64).reshape(-1, 2), np.array(values, np.int64), np.array(shape, np.int64),
    )


@host(
    tf="CTCGreedyDecoder", **_FLOATS,
    type=lambda inputs, sequence_length, merge_repeated: _decoded_type(inputs, sequence_length, 1),
)
def ctc_greedy_decoder(inputs: Any, sequence_length: Any, *, merge_repeated: bool) -> Any:
    """The most likely class of each step, without blanks, as indices, values and shape; and minus the sum of
    their logits. With `merge_repeated`, a class that follows itself counts once.
    """
    blank = inputs.shape[2] - 1
    rows, scores = [], []
    for used in _used(inputs, sequence_length):
        best = used.argmax(1).tolist()
        scores.append(-used.max(1).sum() if len(used) else 0.0)
        if merge_repeated:
            best = [label for label, _ in groupby(best)]
        rows.append([label for label in best if label != blank])
    return (*_sparse(rows), np.array(scores, inputs.dtype).reshape(-1, 1))


def _beam_type(inputs: TensorType, sequence_length: TensorType, top_paths: int, **_: Any) -> Any:
    return _decoded_type(inputs, sequence_length, top_paths)


@host(tf="CTCBeamSearchDecoder", type=_beam_type, **_FLOATS)
def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, *, beam_width: int, top_paths: int, merge_repeated: bool
) -> Any:
    """The `top_paths` most likely label sequences that a search of `beam_width` finds, and their log
    probabilities. With `merge_repeated`, a label that follows itself counts once.
    """
    logits = inputs.astype(np.float64)
    found = [_search(used, beam_width) for used in _used(logits, sequence_length)]
    least = min(map(len, found), default=top_paths)
    if least < top_paths:
        raise ValueError(f"there are only {least} label sequences for one of the inputs, not {top_paths}")
    scores = np.array([[leaf.total for leaf in leaves[:top_paths]] for leaves in found])
    paths = []
    for rank in range(top_paths):
        rows = [leaves[rank].labels() for leaves in found]
        paths.append(_sparse([[k for k, _ in groupby(row)] for row in rows] if merge_repeated else rows))
    return (*(part for path in paths for part in path), scores.reshape(-1, top_paths).astype(inputs.dtype))


class _Leaf:
    """A label sequence: the log probabilities, so far, that it ends in a blank, in its label, in either."""

    __slots__ = ("blank", "children", "label", "old", "own", "parent", "total")

    def __init__(self, parent: _Leaf | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, _Leaf] = {}
        self.old = (_NEVER, _NEVER)  # blank and total before this step
        self.forget()

    def labels(self) -> list[int]:
        """The labels from the first on."""
        found, leaf = [], self
        while leaf.parent is not None:
            found.append(leaf.label)
            leaf = leaf.parent
        return found[::-1]

    def before(self, label: int) -> float:
        """Return the log probability that `label` extends. Equal labels need a blank between them."""
        return self.old[0] if label == self.label else self.old[1]

    def forget(self) -> None:
        """Become impossible."""
        self.blank = self.own = self.total = _NEVER


def _search(logits: np.ndarray, width: int) -> list[_Leaf]:
    """The leaves at the end, best first."""
    root = _Leaf(None, -1)
    root.blank = root.total = 0.0
    leaves = [root]
    for row in logits - np.logaddexp.reduce(logits, axis=1, keepdims=True):
        leaves = _step(sorted(leaves, key=lambda leaf: -leaf.total), row, width)
    return sorted(leaves, key=lambda leaf: -leaf.total)


def _step(leaves: list[_Leaf], row: np.ndarray, width: int) -> list[_Leaf]:
    """The best leaves after one more step, whose log probabilities are `row`."""
    for leaf in leaves:
        leaf.old = (leaf.blank, leaf.total)
    active = set(map(id, leaves))
    for leaf in leaves:
        if leaf.parent is not None:
            grown = leaf.parent.before(leaf.label) if id(leaf.parent) in active else _NEVER
            leaf.own = float(np.logaddexp(leaf.own, grown) + row[leaf.label])
        leaf.blank = leaf.old[1] + float(row[-1])
        leaf.total = float(np.logaddexp(leaf.blank, leaf.own))
    kept = _Best(leaves, width)
    for leaf in leaves:
        if leaf.old[1] > kept.least:
            _grow(leaf, row[:-1], kept)
    return kept.leaves


def _grow(leaf: _Leaf, row: np.ndarray, kept: _Best) -> None:
    """Keep the sequences with one label more that are good enough."""
    totals = row + leaf.old[1]
    if leaf.parent is not None:
        totals[leaf.label] = row[leaf.label] + leaf.old[0]
    for label in sorted({*np.flatnonzero(totals > kept.least).tolist(), *leaf.children}):
        child = leaf.children.get(label)
        if child is not None and child.total > _NEVER:
            continue
        if totals[label] > kept.least:
            child = child or leaf.children.setdefault(label, _Leaf(leaf, label))
            child.own = child.total = float(totals[label])
            child.blank, child.old = _NEVER, (_NEVER, _NEVER)
            kept.add(child)
        elif child is not None:
            child.old = (_NEVER, _NEVER)  # what was displaced in this step does not grow in it any more


class _Best:
    """At most `width` leaves; a better one takes the place of the worst, which forgets what it was."""

    def __init__(self, leaves: Sequence[_Leaf], width: int) -> None:
        self.leaves, self._width = list(leaves), width
        self._update()

    def _update(self) -> None:
        self.least = _NEVER
        if len(self.leaves) >= self._width:
            self.least = min(leaf.total for leaf in self.leaves)

    def add(self, leaf: _Leaf) -> None:
        """Keep a leaf that is better than the worst."""
        if len(self.leaves) >= self._width:
            worst = min(self.leaves, key=lambda each: each.total)
            worst.forget()
            self.leaves.remove(worst)
        self.leaves.append(leaf)
        self._update()
