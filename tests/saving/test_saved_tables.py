"""Mutable lookup tables in checkpoints: TensorFlow's are read, and ours have its arrays, bit by bit.

`tools/record/saved_tables.py` wrote the one of TensorFlow 1.15.5.
"""

from pathlib import Path

import numpy as np
import pytest

from staticgraph.compat import tf1 as tf
from staticgraph.compiler.graph.errors import InvalidArgumentError, NotFoundError
from tests.saving.table_programs import filled, found, tables

THEIRS = str(Path(__file__).parent / "tables" / "all")


def lists(values):
    return {name: np.asarray(value).tolist() for name, value in values.items()}


@pytest.fixture
def made():
    return tables(tf)


def wanted(made):
    texts = {"texts": [b"three"]}
    return {name: texts.get(name, values) for name, (_, _, values) in made.items()}


def test_of_tensorflow(made):
    saver, asked = tf.train.Saver(), found(tf, made)
    with tf.Session() as session:
        session.run(made["words"][0].insert(tf.constant(["other"]), tf.constant([1], tf.int64)))
        saver.restore(session, THEIRS)
        assert lists(session.run(asked)) == wanted(made)
        sizes = session.run({name: table.size() for name, (table, _, _) in made.items()})
        assert sizes == {"words": 2, "rows": 2, "texts": 1, "dense": 4, "dense_words": 3}


def test_of_ours_has_the_arrays_of_tensorflow(made, tmp_path):
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(filled(tf, made))
        path = saver.save(session, str(tmp_path / "all"))
    ours, theirs = tf.train.load_checkpoint(path), tf.train.load_checkpoint(THEIRS)
    assert ours.get_variable_to_shape_map() == theirs.get_variable_to_shape_map()
    for name in theirs.get_variable_to_shape_map():
        array, other = ours.get_tensor(name), theirs.get_tensor(name)
        assert array.dtype == other.dtype
        if name.partition("-")[0] in ("words", "rows"):  # in no order
            array, other = np.sort(array, axis=0), np.sort(other, axis=0)
        assert array.tolist() == other.tolist(), name


@pytest.mark.parametrize("write_version", [None, tf.train.SaverDef.V2])
def test_numbers_beside_variables(write_version, tmp_path):
    """In our own format, too, which has no strings."""
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, 0.5, name="table")
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    saver = tf.train.Saver(**({} if write_version is None else {"write_version": write_version}))
    asked = table.lookup(tf.constant([7, 8], tf.int64))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(table.insert(tf.constant([7], tf.int64), [1.5]))
        path = saver.save(session, str(tmp_path / "model"))
    with tf.Session() as session:
        saver.restore(session, path)
        assert session.run(asked).tolist() == [1.5, 0.5]
        assert session.run(v).tolist() == [1.0, 2.0]


def test_all_or_nothing(tmp_path):
    """A table that the checkpoint lacks, or whose dtype differs, is an error before a variable is set."""
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, 0.5, name="table")
    with tf.Session() as session:
        session.run(v.assign(5.0))
        with pytest.raises(NotFoundError, match="Key table-keys not found"):
            tf.train.Saver().restore(session, path)
        assert session.run(v) == 5.0


def test_another_dtype():
    tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1, name="words")
    with tf.Session() as session, pytest.raises(InvalidArgumentError, match=r"words-keys .* is string"):
        tf.train.Saver().restore(session, THEIRS)


def test_a_table_that_no_checkpoint_takes(tmp_path):
    tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1, name="left", checkpoint=False)
    tf.get_variable("v", initializer=1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    assert set(tf.train.load_checkpoint(path).get_variable_to_shape_map()) == {"v"}


@pytest.mark.parametrize("count", [-2, 0, 2, 3, 6])
def test_buckets_are_a_power_of_two(count):
    """As TensorFlow demands: hashes find a place in no other number of them."""
    with pytest.raises(InvalidArgumentError, match=f"initial_num_buckets is {count}, and must be at least 4"):
        tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, -7, -8, initial_num_buckets=count)


def test_nothing_is_said_of_the_graph_that_is_written_beside(made, tmp_path, caplog):
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(filled(tf, made))
        saver.save(session, str(tmp_path / "all"))
    assert not caplog.records
