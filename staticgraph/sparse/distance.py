"""Distances between sequences."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import name_scope
from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.sparse.tensor import SparseTensor, as_sparse, inferred_shape


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """The Levenshtein distance of each sequence of one sparse tensor from that of another: float32.

    The last axis of both holds the sequences: int, float or string elements, as many as are stored. The
    result has the other axes. `normalize` divides by the length of the truth: 1 means that all is wrong,
    infinity that there is no truth. TypeError for tensors that are not sparse, or of different types.

    >>> import staticgraph as sg
    >>> guess, truth = sg.sparse.from_dense([[1, 2, 3]]), sg.sparse.from_dense([[1, 3]])
    >>> with sg.Session() as sess:
    ...     print(sess.run(sg.edit_distance(guess, truth)))
    [0.5]
    """
    with name_scope(name):
        guess, right = as_sparse(hypothesis), as_sparse(truth)
        return ops.edit_distance(
            guess.indices,
            guess.values,
            guess.dense_shape,
            right.indices,
            right.values,
            right.dense_shape,
            sizes=_known_sizes(guess, right),
            normalize=bool(normalize),
        )


def _known_sizes(guess: SparseTensor, right: SparseTensor) -> tuple[int, ...] | None:
    """The sizes of all axes but the last; None if one of them is not known."""
    one_shape, other_shape = inferred_shape(guess), inferred_shape(right)
    if not (one_shape.is_fully_defined() and other_shape.is_fully_defined()):
        return None
    pairs = zip(one_shape.as_list()[:-1], other_shape.as_list()[:-1], strict=False)
    return tuple(max(one or 0, other or 0) for one, other in pairs)
