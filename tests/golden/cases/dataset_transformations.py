"""More transformations of `tf.data.experimental`: cardinalities, resampling, sparse batches, reducers."""

import numpy as np

from tests.golden.cases.datasets import ds, elements, first
from tests.golden.runner import answer, error, runs


def unknown(tf, count=5):
    return ds(tf).range(count).filter(lambda _: True)


def endless(tf):
    return ds(tf).range(5).repeat()


def triangle(tf):
    return ds(tf).range(1, 5).map(lambda n: tf.fill([n, 2], n))


COUNTED = {
    "batch": lambda tf: ds(tf).range(5).batch(2),
    "batch without the rest": lambda tf: ds(tf).range(5).batch(2, drop_remainder=True),
    "batch of unknown": lambda tf: unknown(tf).batch(2),
    "batch of endless": lambda tf: endless(tf).batch(2),
    "padded_batch": lambda tf: ds(tf).range(5).padded_batch(2, []),
    "sparse batch": lambda tf: triangle(tf).apply(tf.data.experimental.dense_to_sparse_batch(3, [5, 2])),
    "concatenate": lambda tf: ds(tf).range(5).concatenate(ds(tf).range(4)),
    "concatenate unknown": lambda tf: unknown(tf).concatenate(ds(tf).range(4)),
    "concatenate endless": lambda tf: unknown(tf).concatenate(endless(tf)),
    "generator": lambda tf: ds(tf).from_generator(lambda: range(3), tf.int64),
    "tensors": lambda tf: ds(tf).from_tensors((0, 1)),
    "slices": lambda tf: ds(tf).from_tensor_slices(([0, 1, 2], [1, 2, 3])),
    "flat_map": lambda tf: ds(tf).range(5).flat_map(lambda _: ds(tf).range(2)),
    "map": lambda tf: ds(tf).range(5).map(lambda x: x, num_parallel_calls=2).prefetch(1).cache(),
    "range by": lambda tf: ds(tf).range(10, 5, -2),
    "repeat": lambda tf: ds(tf).range(2).repeat(5),
    "repeat nothing": lambda tf: ds(tf).range(0).repeat(),
    "repeat unknown": lambda tf: unknown(tf).repeat(),
    "repeat unknown never": lambda tf: unknown(tf).repeat(0),
    "shuffle, repeat": lambda tf: ds(tf).range(5).shuffle(3).repeat(2),
    "shard": lambda tf: ds(tf).range(5).shard(2, 0),
    "shard of few": lambda tf: ds(tf).range(5).shard(8, 7),
    "skip": lambda tf: ds(tf).range(5).skip(2),
    "skip more": lambda tf: ds(tf).range(5).skip(8),
    "skip all": lambda tf: ds(tf).range(5).skip(-1),
    "skip of endless": lambda tf: endless(tf).skip(2),
    "take": lambda tf: ds(tf).range(5).take(2),
    "take of endless": lambda tf: endless(tf).take(2),
    "take of unknown": lambda tf: unknown(tf).take(2),
    "window": lambda tf: ds(tf).range(5).window(2, 1),
    "window without the rest": lambda tf: ds(tf).range(5).window(2, 1, 1, True),
    "window with a stride": lambda tf: ds(tf).range(9).window(2, 1, 3, True),
    "zip": lambda tf: ds(tf).zip((ds(tf).range(5), endless(tf))),
    "zip of endless": lambda tf: ds(tf).zip((endless(tf), endless(tf))),
    "zip of unknown": lambda tf: ds(tf).zip((endless(tf), unknown(tf))),
    "unbatch": lambda tf: ds(tf).range(5).batch(2).apply(tf.data.experimental.unbatch()),
    "Counter": lambda tf: tf.data.experimental.Counter(),
}

CARDINALITIES = [
    runs("cardinality: " + name,
         lambda tf, build=build: tf.data.experimental.cardinality(build(tf)), exact=True)
    for name, build in COUNTED.items()
] + [
    answer("names of cardinalities",
           lambda tf: [tf.data.experimental.INFINITE_CARDINALITY, tf.data.experimental.UNKNOWN_CARDINALITY,
                       tf.data.experimental.cardinality(ds(tf).range(3)).dtype.name]),
]


def resampled(tf, target, initial=None):
    return ds(tf).range(200).map(lambda x: (tf.cast(x % 10 < 8, tf.int32), x)).apply(
        tf.data.experimental.rejection_resample(lambda c, x: c, target, initial, seed=7))


RESAMPLED = [
    elements("resample by a known distribution", lambda tf: resampled(tf, [0.5, 0.5], [0.2, 0.8]), 40),
    elements("resample by an estimate", lambda tf: resampled(tf, [0.5, 0.5]), 40),
    elements("resample to the same", lambda tf: resampled(tf, [0.25, 0.75], [0.25, 0.75]), 20),
    elements("resample to one class", lambda tf: resampled(tf, [0.0, 1.0], [0.2, 0.8]), 20),
]


def sparse(tf, *arguments, source=triangle):
    batches = source(tf).apply(tf.data.experimental.dense_to_sparse_batch(*arguments))
    return batches.map(lambda x: (x.indices, x.values, x.dense_shape))


SPARSE = [
    elements("dense_to_sparse_batch", lambda tf: sparse(tf, 3, [4, 2]), 2),
    elements("dense_to_sparse_batch to open sizes", lambda tf: sparse(tf, 3, [None, 3]), 2),
    elements("dense_to_sparse_batch of scalars",
             lambda tf: sparse(tf, 2, [], source=lambda tf: ds(tf).range(3)), 2),
    elements("dense_to_sparse_batch by a tensor", lambda tf: sparse(tf, tf.constant(2, tf.int64), [4, 5]), 2),
    error("dense_to_sparse_batch of pairs", lambda tf: ds(tf).range(3).map(lambda x: (x, x)).apply(
        tf.data.experimental.dense_to_sparse_batch(2, []))),
    error("dense_to_sparse_batch to a negative size", lambda tf: sparse(tf, 3, [-2, 2])),
    error("dense_to_sparse_batch of larger elements", lambda tf: first(tf, sparse(tf, 3, [2, 2]))),
    error("dense_to_sparse_batch of another rank", lambda tf: first(tf, sparse(tf, 3, [2]))),
]


def reducer(tf, first=lambda tf: tf.constant(0, tf.int64), step=lambda state, x: state + x):
    return tf.data.experimental.Reducer(lambda key: first(tf), step, lambda state: state)


def grouped(tf, key, chosen, count=10):
    return ds(tf).range(count).apply(tf.data.experimental.group_by_reducer(key, chosen))


REDUCED = [
    elements("group_by_reducer", lambda tf: grouped(tf, lambda x: x % 2, reducer(tf)), 2),
    elements("group_by_reducer by falling keys", lambda tf: grouped(tf, lambda x: 5 - x % 3, reducer(tf)), 3),
    elements("group_by_reducer with a mean", lambda tf: grouped(
        tf, lambda x: x % 3, tf.data.experimental.Reducer(
        lambda key: (0.0, 0.0), lambda state, x: (state[0] + 1.0, state[1] + tf.cast(x, tf.float32)),
        lambda n, total: {"n": n, "mean": total / n})), 3),
    elements("group_by_reducer with growing states", lambda tf: grouped(
        tf, lambda x: x % 2, reducer(tf, lambda tf: tf.constant([0], tf.int64),
                                     lambda state, x: tf.concat([state, [x]], 0)), 6), 2),
    error("group_by_reducer by floats", lambda tf: grouped(tf, lambda x: 0.5, reducer(tf))),
    error("group_by_reducer with states of two types", lambda tf: grouped(
        tf, lambda x: x, reducer(tf, lambda tf: np.float32(0), lambda state, x: x))),
]

CASES = [CARDINALITIES, RESAMPLED, SPARSE, REDUCED]
