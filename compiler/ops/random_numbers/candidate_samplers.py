"""TensorFlow's candidate samplers: classes, and how often each is expected among those that are drawn.

The classes are drawn by `drawn_classes.py`. If it took `tries` draws, a class of probability p is expected
1 - (1 - p) ** tries times, and p * tries times if none was left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import float32, float64, int64
from staticgraph.compiler.graph.errors import SizeError, require
from staticgraph.compiler.graph.opdef import Kind, OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType, shape_text
from staticgraph.compiler.ops.random_numbers.drawn_classes import (
    alias_table,
    check_number,
    classes_by_table,
    log_uniform_classes,
    uniform_classes,
)
from staticgraph.compiler.ops.random_numbers.philox import RESERVED
from staticgraph.compiler.ops.random_numbers.random import STATE, drawn
from staticgraph.compiler.ops.samples import Sample, indices

_MOST_RESERVED = 1 << 20
_UNIGRAMS = (3.0, 1.0, 2.0, 5.0, 0.5)


def _type(
    *types: TensorType, num_true: int, num_sampled: int, unique: bool, range_max: int, **_: Any
) -> Any:  # fmt: skip
    true = types[-1]
    require(true.rank in (2, None), f"true_classes must be a matrix, and has shape {shape_text(true.shape)}")
    rows, columns = true.shape or (None, None)
    require(columns in (num_true, None), f"true_classes has {columns} columns, num_true is {num_true}")
    check_number(num_sampled, unique, range_max)
    counts = TensorType(float32, (rows, num_true)), TensorType(float32, (num_sampled,))
    return TensorType(int64, (num_sampled,)), *counts


def _advance(types: Sequence[TensorType], shape: Sequence[int], **_: Any) -> int:
    return 2 * math.prod(shape) * RESERVED


def _candidates(
    op: OpDef, state: Any, inputs: tuple[Any, ...], true: Any, probability: Callable[[Any], Any], **attrs: Any
) -> tuple[Any, ...]:
    """Return the classes that `op` draws, and how often the true ones and they are expected among them."""
    drawn_ones, tries = state.recorder.apply(op, (state, *inputs), attrs | {"seed": 0, "seed2": 0})
    number = attrs["num_sampled"]
    times, all_new = ops.cast(tries, dtype=float32), ops.equal(tries, number)

    def expected(classes: Any) -> Any:
        p = probability(classes)
        return ops.select(all_new, p * float(number), -ops.expm1(times * ops.log1p(-p)))

    return drawn_ones, expected(true), expected(drawn_ones)


def _numpy(
    op: OpDef, state: np.ndarray, inputs: tuple[Any, ...], true: np.ndarray, probability: Any, **attrs: Any
) -> tuple[np.ndarray, ...]:
    """The meaning of `_candidates`."""
    assert op.reference is not None
    drawn_ones, (tries,) = op.reference(state, *inputs, **attrs)
    number = attrs["num_sampled"]

    def expected(classes: np.ndarray) -> np.ndarray:
        p = probability(classes).astype(np.float32)
        with np.errstate(divide="ignore"):
            once = -np.expm1(np.float32(tries) * np.log1p(-p))
        return np.asarray(p * np.float32(number) if tries == number else once, np.float32)

    return drawn_ones, expected(true), expected(drawn_ones)


def _samples(*cases: dict[str, Any], **attrs: Any) -> list[Sample]:
    below = cases[0]["range_max"]
    return [
        Sample(STATE, indices(3, 2, below=below, dtype="int64"), num_true=2, seed=1, seed2=n, **case, **attrs)
        for n, case in enumerate(cases)
    ]


_CASES = (
    {"num_sampled": 4, "unique": True, "range_max": 9},
    {"num_sampled": 7, "unique": False, "range_max": 30},
    {"num_sampled": 20, "unique": True, "range_max": 50},
)


def _log_uniform(x: Any, range_max: int) -> Any:
    wide = ops.cast(x, dtype=float64)
    return ops.cast(ops.log((wide + 2.0) / (wide + 1.0)) / math.log1p(range_max), dtype=float32)


def _numpy_log_uniform(state: np.ndarray, true: np.ndarray, range_max: int, **attrs: Any) -> Any:
    def probability(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.log((x + 2.0) / (x + 1.0)) / math.log1p(range_max))

    return _numpy(log_uniform_classes, state, (), true, probability, range_max=range_max, **attrs)


@drawn(
    Kind.COMPOSITE, tf="LogUniformCandidateSampler", type=_type, numpy=_numpy_log_uniform,
    dtypes=frozenset({int64}), samples=_samples(*_CASES), advance=_advance,
)  # fmt: skip
def log_uniform_candidate_sampler(
    state: Any, true_classes: Any, *, num_true: int, num_sampled: int, unique: bool, range_max: int,
    seed: int = 0, seed2: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    """Draw classes c of probability log((c + 2) / (c + 1)) / log(range_max + 1).

    The results are `num_sampled` classes below `range_max`, all different if `unique`, and how often each of
    the true classes, `num_true` in a row, and of the drawn ones is expected among them.
    """
    return _candidates(
        log_uniform_classes, state, (), true_classes, lambda x: _log_uniform(x, range_max),
        num_sampled=num_sampled, unique=unique, range_max=range_max,
    )  # fmt: skip


def _numpy_uniform(state: np.ndarray, true: np.ndarray, range_max: int, **attrs: Any) -> Any:
    def probability(x: np.ndarray) -> np.ndarray:
        return np.full(x.shape, 1.0 / range_max)

    return _numpy(uniform_classes, state, (), true, probability, range_max=range_max, **attrs)


@drawn(
    Kind.COMPOSITE, tf="UniformCandidateSampler", type=_type, numpy=_numpy_uniform,
    dtypes=frozenset({int64}), samples=_samples(*_CASES), advance=_advance,
)  # fmt: skip
def uniform_candidate_sampler(
    state: Any, true_classes: Any, *, num_true: int, num_sampled: int, unique: bool, range_max: int,
    seed: int = 0, seed2: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    """Draw classes of equal probability.

    The results are `num_sampled` classes below `range_max`, all different if `unique`, and how often each of
    the true classes, `num_true` in a row, and of the drawn ones is expected among them.
    """

    def probability(x: Any) -> Any:
        return ops.cast(ops.zeros_like(x), dtype=float32) + 1.0 / range_max

    return _candidates(
        uniform_classes, state, (), true_classes, probability, num_sampled=num_sampled, unique=unique,
        range_max=range_max,
    )  # fmt: skip


def _weights(
    unigrams: Any, distortion: float, num_reserved_ids: int, num_shards: int, shard: int
) -> np.ndarray:
    """Return the weights of the classes of one shard.

    As in TensorFlow, the classes behind the reserved ones are counted from the number of those in the shard.
    """
    with np.errstate(all="ignore"):  # what is not finite is refused
        given = np.asarray(unigrams).astype(np.float32) ** np.float32(distortion)
    reserved = len(range(shard, num_reserved_ids, num_shards))
    own = given[(shard - reserved) % num_shards :: num_shards]
    return np.concatenate([np.zeros(reserved, np.float32), own])


def _unigram_type(
    *types: TensorType, num_sampled: int, unique: bool, range_max: int, unigrams: Any, distortion: float,
    num_reserved_ids: int, num_shards: int, shard: int, **attrs: Any,
) -> Any:  # fmt: skip
    require(0 <= shard < num_shards, f"shard {shard} is not one of {num_shards}")
    text = f"{num_reserved_ids} ids are reserved, and there may be {_MOST_RESERVED:,}"
    require(num_reserved_ids <= _MOST_RESERVED, text, kind=SizeError)  # each has a weight, though of 0
    weights = _weights(unigrams, distortion, num_reserved_ids, num_shards, shard)
    text = f"there are {len(weights)} classes, reserved ones included, and range_max is {range_max}"
    require(len(weights) == range_max, text)
    require(bool(np.isfinite(weights).all() and (weights >= 0).all()), "a weight is negative or not finite")
    check_number(num_sampled, unique, int(np.count_nonzero(weights)))
    return _type(*types, num_sampled=num_sampled, unique=unique, range_max=range_max, **attrs)


def _numpy_unigram(
    state: np.ndarray, true: np.ndarray, unigrams: Any, distortion: float, num_reserved_ids: int,
    num_shards: int, shard: int, vocab_file: str, range_max: int, **attrs: Any,
) -> Any:  # fmt: skip
    weights = _weights(unigrams, distortion, num_reserved_ids, num_shards, shard)
    total = weights.sum(dtype=np.float64)
    return _numpy(classes_by_table, state, alias_table(weights), true, lambda x: weights[x] / total, **attrs)


@drawn(
    Kind.COMPOSITE, tf="FixedUnigramCandidateSampler", type=_unigram_type, numpy=_numpy_unigram,
    dtypes=frozenset({int64}), advance=_advance,
    samples=_samples(
        {"range_max": 5, "num_sampled": 3, "unique": True},
        {"range_max": 5, "num_sampled": 6, "unique": False},
        {"range_max": 5, "num_sampled": 5, "unique": True}, unigrams=_UNIGRAMS, distortion=0.75,
    ),
)  # fmt: skip
def fixed_unigram_candidate_sampler(
    state: Any, true_classes: Any, *, num_true: int, num_sampled: int, unique: bool, range_max: int,
    vocab_file: str = "", distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1,
    shard: int = 0, unigrams: Any = (), seed: int = 0, seed2: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    """Draw classes of probability in proportion to `unigrams ** distortion`.

    The first `num_reserved_ids` classes are never drawn. Of `num_shards` parts only the classes of `shard`
    are drawn, counted anew. The weights are never read from `vocab_file`.

    The results are `num_sampled` classes below `range_max`, all different if `unique`, and how often each of
    the true classes, `num_true` in a row, and of the drawn ones is expected among them.
    """
    weights = _weights(unigrams, distortion, num_reserved_ids, num_shards, shard)
    table = tuple(state.recorder.constant(part, None) for part in alias_table(weights))
    shares = state.recorder.constant(weights / np.cumsum(weights)[-1], float32)
    return _candidates(
        classes_by_table, state, table, true_classes, lambda x: ops.gather(shares, x, axis=0),
        num_sampled=num_sampled, unique=unique,
    )  # fmt: skip
