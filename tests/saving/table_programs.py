"""Lookup tables of each kind, for checkpoints that TensorFlow writes and we read, and the other way."""

from __future__ import annotations

NEAR = [3, 11, 19, -1000003]  # three of one bucket among eight


def tables(tf):
    """Mutable tables by name, the entries that are put into each, and the keys that are looked up."""
    lookup = tf.contrib.lookup
    return {
        "words": (lookup.MutableHashTable(tf.string, tf.int64, -1, name="words"), ["a", "b"], [10, 20]),
        "rows": (
            lookup.MutableHashTable(tf.int64, tf.float32, tf.constant([0.0, 0.5]), name="rows"),
            [1, 2],
            [[1.0, 2.0], [3.0, 4.0]],
        ),
        "texts": (lookup.MutableHashTable(tf.int64, tf.string, "none", name="texts"), [3], ["three"]),
        "dense": (
            lookup.MutableDenseHashTable(
                tf.int64, tf.int64, -7, empty_key=-1, deleted_key=-2, initial_num_buckets=8, name="dense"
            ),
            NEAR,
            [1, 2, 3, 4],
        ),
        "dense_words": (
            lookup.MutableDenseHashTable(
                tf.string, tf.float32, tf.constant([0.0, 0.0]), empty_key="", deleted_key="-",
                initial_num_buckets=4, name="dense_words",
            ),
            ["x", "y", "longer than eight bytes"],
            [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        ),
    }  # fmt: skip


def filled(tf, made):
    """The operations that insert all entries."""
    return [
        table.insert(tf.constant(keys, table.key_dtype), tf.constant(values, table.value_dtype))
        for table, keys, values in made.values()
    ]


def found(tf, made):
    """Return what all tables say of their keys."""
    return {name: table.lookup(tf.constant(keys, table.key_dtype)) for name, (table, keys, _) in made.items()}
