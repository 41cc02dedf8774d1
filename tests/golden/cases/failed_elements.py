"""`tf.data`: elements that cannot be computed, and those behind them."""

import numpy as np

from tests.golden.runner import answer

VALUES = np.array([1, np.nan, 2, 3, np.nan, 4, 5, 6, 7], "float32")


def ds(tf):
    return tf.data.Dataset


def more(tf):
    return tf.data.experimental


def checked(tf):
    """Numbers two of which cannot be computed."""
    return ds(tf).from_tensor_slices(VALUES).map(lambda x: tf.check_numerics(x, "NaN"))


def twice(tf):
    return lambda x: ds(tf).from_tensors(x).repeat(2)


def rows(tf):
    return checked(tf).map(lambda x: tf.fill([2], x))


def outcomes(build):
    """Case of what each request for an element gives, up to the end."""

    def run(tf):
        element = build(tf).make_one_shot_iterator().get_next()
        found = []
        with tf.Session() as sess:
            while len(found) < 40:
                try:
                    found.append(np.asarray(sess.run(element)).tolist())
                except tf.errors.OutOfRangeError:
                    return found
                except tf.errors.InvalidArgumentError:
                    found.append("failed")
        return found

    return run


PIPELINES = {
    "map": lambda tf: checked(tf).map(lambda x: x * 2),
    "parallel map": lambda tf: checked(tf).map(lambda x: x * 2, num_parallel_calls=2),
    "batch of a map": lambda tf: checked(tf).batch(3),
    "batch": lambda tf: checked(tf).take(9).batch(3),
    "batch without a remainder": lambda tf: checked(tf).batch(2, drop_remainder=True),
    "padded_batch": lambda tf: rows(tf).padded_batch(3, [None]),
    "map_and_batch": lambda tf: ds(tf).from_tensor_slices(VALUES).apply(
        more(tf).map_and_batch(lambda x: tf.check_numerics(x, "NaN"), 3)),
    "batch of unlike shapes": lambda tf: ds(tf).range(6).map(lambda i: tf.range(i // 3)).take(6).batch(2),
    "shuffle": lambda tf: checked(tf).shuffle(3, seed=1),
    "shuffle_and_repeat": lambda tf: checked(tf).apply(more(tf).shuffle_and_repeat(3, 2, seed=1)),
    "repeat": lambda tf: checked(tf).repeat(2),
    "prefetch": lambda tf: checked(tf).prefetch(2),
    "take": lambda tf: checked(tf).take(5),
    "skip 1": lambda tf: checked(tf).skip(1),
    "skip 3": lambda tf: checked(tf).skip(3),
    "shard": lambda tf: checked(tf).shard(2, 0),
    "filter": lambda tf: checked(tf).filter(lambda x: x > 1.5),
    "a filter that fails": lambda tf: ds(tf).from_tensor_slices(VALUES).filter(
        lambda x: tf.check_numerics(x, "NaN") > 1.5),
    "take_while": lambda tf: checked(tf).apply(more(tf).take_while(lambda x: x < 6)),
    "flat_map": lambda tf: checked(tf).flat_map(twice(tf)),
    "flat_map to such": lambda tf: ds(tf).range(2).flat_map(lambda i: checked(tf)),
    "interleave": lambda tf: checked(tf).interleave(twice(tf), 2, 1),
    "interleave such": lambda tf: ds(tf).range(2).interleave(lambda i: checked(tf), 2, 1),
    "zip": lambda tf: ds(tf).zip((checked(tf), checked(tf).skip(1))).map(lambda x, y: x + y),
    "zip behind": lambda tf: ds(tf).zip((ds(tf).range(9), checked(tf))).map(lambda i, x: tf.to_float(i) + x),
    "concatenate": lambda tf: checked(tf).concatenate(checked(tf)),
    "cache": lambda tf: checked(tf).cache().repeat(2),
    "window": lambda tf: checked(tf).window(2).flat_map(lambda w: w.batch(2)),
    "windows that overlap": lambda tf: checked(tf).window(2, 1, 2).flat_map(lambda w: w.batch(2)),
    "scan": lambda tf: checked(tf).apply(more(tf).scan(0.0, lambda s, x: (s + x, s + x))),
    "group_by_window": lambda tf: checked(tf).apply(more(tf).group_by_window(
        lambda x: tf.cast(x, tf.int64) % 2, lambda key, window: window.batch(2), 2)),
    "unbatch": lambda tf: rows(tf).apply(more(tf).unbatch()),
    "unique": lambda tf: checked(tf).map(lambda x: tf.cast(x, tf.int32) // 2).apply(more(tf).unique()),
    "ignore_errors": lambda tf: checked(tf).apply(more(tf).ignore_errors()).batch(3),
}

CASES = [[answer(name, outcomes(build)) for name, build in PIPELINES.items()]]
