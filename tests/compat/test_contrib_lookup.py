"""Tables of `tf.contrib.lookup` with buckets for other words; the numbers are TensorFlow 1.15.5's."""

import pytest

import staticgraph.compat.tf1 as tf

lookup = tf.contrib.lookup


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def vocabulary(keys, dtype=tf.int64):
    entries = lookup.KeyValueTensorInitializer(keys, list(range(len(keys))), dtype, tf.int64)
    return lookup.HashTable(entries, -1)


def found(*tables_and_keys):
    with tf.Session() as session:
        fetches = [table.lookup(tf.constant(keys)) for table, keys in tables_and_keys]
        session.run(tf.tables_initializer())
        return [each.tolist() for each in session.run(fetches)]


def test_words_outside_of_a_table_have_buckets():
    table = vocabulary(["brain", "salad", "surgery"], tf.string)
    words = ["brain", "salad", "surgery", "UNK"]
    one = lookup.IdTableWithHashBuckets(table, 1)
    none = lookup.IdTableWithHashBuckets(table, 0)
    assert found((one, words), (none, words)) == [[0, 1, 2, 3], [0, 1, 2, -1]]
    assert one.name == table.name


def test_hash_functions():
    words = ["fruit", "brain", "salad", "surgery", "tarkus"]
    fast = lookup.IdTableWithHashBuckets(vocabulary(words[1:4], tf.string), 100)
    strong = lookup.IdTableWithHashBuckets(
        vocabulary(words[1:4], tf.string), 100, hasher_spec=lookup.StrongHashSpec((1, 2))
    )
    assert found((fast, words), (strong, words)) == [[43, 0, 1, 2, 67], [39, 0, 1, 2, 81]]


def test_integers_of_32_bits():
    table = lookup.IdTableWithHashBuckets(vocabulary([42, 1, -1000]), 1, key_dtype=tf.int32)
    assert found((table, [42, 1, -1000, 11])) == [[0, 1, 2, 3]]
    own = lookup.index_table_from_tensor([42, 1, -1000], dtype=tf.int32)
    assert own.key_dtype == tf.int32
    assert found((own, [1, 7])) == [[1, -1]]


def test_words_without_a_table():
    table = lookup.IdTableWithHashBuckets(None, 5)
    assert found((table, ["UNK", "brain", "salad", "surgery"])) == [[3, 3, 1, 4]]
    with tf.Session() as session:
        assert session.run(table.size()) == 5


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (ValueError, lambda: lookup.IdTableWithHashBuckets(None, 0)),
        (TypeError, lambda: lookup.IdTableWithHashBuckets(None, 1, key_dtype=tf.float64)),
        (TypeError, lambda: lookup.IdTableWithHashBuckets(vocabulary([1]), 1, key_dtype=tf.string)),
        (TypeError, lambda: lookup.IdTableWithHashBuckets(None, 1, hasher_spec=1)),
        (ValueError, lambda: lookup.StrongHashSpec([])),
        (TypeError, lambda: lookup.StrongHashSpec([None, 2])),
        (
            ValueError,
            lambda: lookup.IdTableWithHashBuckets(None, 1, lookup.HasherSpec("other", None)).lookup(
                tf.constant(["a"])
            ),
        ),
    ],
)
def test_what_is_refused(error, make):
    with pytest.raises(error):
        make()
