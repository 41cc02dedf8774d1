"""Candidate samplers: a few classes of very many, drawn so that a loss need not look at all of them.

A sampler gives `(sampled_candidates, true_expected_count, sampled_expected_count)`: int64 classes of shape
[num_sampled], and float32 numbers of how often each true class, in the shape of `true_classes`, and each
sampled one is expected among the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from staticgraph.arrays.indexing import where
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, int32, int64
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.random_numbers.integers import seeds_of


class Candidates(NamedTuple):
    """Result of a sampler, with TensorFlow's field names.

    Attributes:
        sampled_candidates: The sampled classes, int64 of shape [num_sampled].
        true_expected_count: How often each true class is expected in the sample, [batch, num_true].
        sampled_expected_count: How often each sampled class is expected in the sample, [num_sampled].
    """

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class AccidentalHits(NamedTuple):
    """Sampled candidates that are true classes, an entry for each pair of an example and a candidate.

    Attributes:
        indices: The examples.
        ids: The positions among the candidates.
        weights: The numbers to add to logits, which take the candidates out.
    """

    indices: Tensor
    ids: Tensor
    weights: Tensor


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes c below `range_max` with probability log((c + 2) / (c + 1)) / log(range_max + 1).

    This suits classes that are sorted by falling frequency, as the words of a vocabulary often are.
    `true_classes` is int64 of shape [batch, num_true]. With `unique`, no class is drawn twice.

    >>> import staticgraph as sg
    >>> true = sg.placeholder(sg.int64, [None, 1])
    >>> drawn = sg.nn.log_uniform_candidate_sampler(true, 1, num_sampled=5, unique=True, range_max=100)
    >>> drawn.sampled_candidates.shape.as_list(), drawn.true_expected_count.shape.as_list()
    ([5], [None, 1])
    """
    draw = partial(ops.log_uniform_candidate_sampler, range_max=range_max)
    return _sampled(draw, true_classes, num_true, num_sampled, unique, seed, name)


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes below `range_max`, all with the same probability: see `log_uniform_candidate_sampler`."""
    draw = partial(ops.uniform_candidate_sampler, range_max=range_max)
    return _sampled(draw, true_classes, num_true, num_sampled, unique, seed, name)


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes with probabilities in proportion to `weight ** distortion`.

    The weights of the classes from `num_reserved_ids` on are `unigrams`, or the last column of the lines of
    `vocab_file`, whose columns are separated by commas; reserved classes are never drawn. Of several shards
    number `shard` has the classes whose remainder by `num_shards` it is, counted anew. ValueError unless one
    of the two is given and the number of classes is `range_max`. See `log_uniform_candidate_sampler`.
    """
    if bool(vocab_file) == bool(len(unigrams)):
        raise misuse(ValueError, "fixed_unigram_candidate_sampler: give either vocab_file or unigrams")
    given = _weights_of(vocab_file) if vocab_file else map(float, unigrams)
    draw = partial(
        ops.fixed_unigram_candidate_sampler,
        unigrams=tuple(given),
        range_max=range_max,
        distortion=float(distortion),
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
    )
    return _sampled(draw, true_classes, num_true, num_sampled, unique, seed, name)


def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Every class below `num_sampled`, each expected once: for trying a sampled loss without sampling."""
    with name_scope(name, "AllCandidateSampler", [true_classes]):
        true = _true_classes(true_classes, num_true)
        every = convert_to_tensor(np.arange(num_sampled, dtype=np.int64))
        once = ops.cast(ops.ones_like(true), dtype=float32)
        return Candidates(every, once, convert_to_tensor(np.ones(num_sampled, np.float32)))


def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> AccidentalHits:
    """Candidates that are a true class of an example: `(indices, ids, weights)`, an entry per pair.

    `indices` (int32) are the examples, `ids` (int64) the places in `sampled_candidates`, and `weights` the
    lowest finite float32 numbers: what to add to a logit to take the candidate out of a softmax.
    """
    with name_scope(name, "ComputeAccidentalHits", [true_classes, sampled_candidates]):
        true = _true_classes(true_classes, num_true)
        candidates = convert_to_tensor(sampled_candidates)
        pairs = ops.equal(ops.expand_dims(true, axis=-1), ops.reshape(candidates, shape=(1, 1, -1)))
        found = where(pairs)
        weights = ops.cast(ops.zeros_like(found[:, 0]), dtype=float32) + float(np.finfo(np.float32).min)
        return AccidentalHits(ops.cast(found[:, 0], dtype=int32), found[:, 2], weights)


def _weights_of(vocab_file: str) -> list[float]:
    with open(vocab_file, encoding="utf-8") as lines:
        return [float(line.rsplit(",", 1)[-1]) for line in lines if line.strip()]


def _true_classes(true_classes: Any, num_true: int) -> Tensor:
    true = convert_to_tensor(true_classes)
    true = true if true.dtype is int64 else ops.cast(true, dtype=int64)
    with checked("candidate sampler"):
        require(true.shape.ndims in (2, None), f"true_classes must be a matrix, and has shape {true.shape}")
        columns = true.type.shape[1] if true.type.shape else None
        require(columns in (num_true, None), f"true_classes has {columns} columns, num_true is {num_true}")
    return true


def _sampled(
    draw: Callable[..., Any],
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None,
    name: str | None,
) -> Candidates:
    first, second = seeds_of(seed)
    true = _true_classes(true_classes, num_true)
    return Candidates(
        *draw(
            true,
            num_true=num_true,
            num_sampled=num_sampled,
            unique=unique,
            seed=first,
            seed2=second,
            name=name,
        )
    )
