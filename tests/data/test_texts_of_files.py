"""Numbers, names and compressed parts in files of text are what TensorFlow 1.15 takes them for, or errors."""

import gzip
import os
import sys

import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from tests.data.test_datasets import values

NO_NUMBERS = {
    "1_000": tf.int32,
    "2_5.5": tf.float32,
    "\u0661": tf.int64,
    "+5": tf.int32,
    "3000000000": tf.int32,
}


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_only_python_takes_for_a_number_is_refused(text, tmp_path):
    (tmp_path / "rows.csv").write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(sg.errors.InvalidArgumentError, match="is not"):
        values(tf.data.experimental.CsvDataset(str(tmp_path / "rows.csv"), [NO_NUMBERS[text]]))


def test_numbers_of_a_vocabulary(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\t 7 \nb\t-1\n")
    table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(str(path), tf.string, 0, tf.int64, 1), -9)
    found = table.lookup(tf.constant(["a", "b", "c"]))
    with sg.Session() as session:
        session.run(tf.tables_initializer())
        assert session.run(found).tolist() == [7, -1, -9]
        path.write_text("a\t1_000\n")
        with pytest.raises(sg.errors.InvalidArgumentError, match="not a number of type int64"):
            session.run(tf.tables_initializer())


@pytest.mark.parametrize("size", [0, -1, -3])
def test_a_vocabulary_of_no_words_is_refused(size):
    with pytest.raises(ValueError, match="must be greater than 0"):
        tf.lookup.TextFileInitializer("words.txt", tf.string, -2, tf.int64, -1, vocab_size=size)


def test_types_of_columns_are_those_that_rows_are_read_as(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c,d,e\n1_0,1,+2,1e39,3000000000\n")
    [row] = values(tf.data.experimental.make_csv_dataset(str(path), 1, num_epochs=1, shuffle=False))
    assert {name: column.dtype.name for name, column in row.items()} == {
        "a": "object", "b": "int32", "c": "float32", "d": "float64", "e": "int64"
    }  # fmt: skip
    assert [column[0] for column in row.values()] == [b"1_0", 1, 2.0, 1e39, 3000000000]


@pytest.mark.parametrize("content", [b'a\n"b', b"a\n" + b"9" * 200_000])
def test_rows_that_are_damaged(content, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    with pytest.raises(sg.errors.InvalidArgumentError, match=r"rows\.csv, line "):
        values(tf.data.experimental.CsvDataset(str(path), [tf.string]))


@pytest.mark.parametrize("content", [b"\xff\n1\n", b"a\n" + b"9" * 200_000])
def test_tables_that_are_damaged(content, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="no table of text in UTF-8"):
        tf.data.experimental.make_csv_dataset(str(path), 1)


def test_compressed_files_that_were_joined(tmp_path):
    """As `cat` joins files of gzip: TFRecords were read to their end, lines and rows to the first one's."""
    path = tmp_path / "joined"
    path.write_bytes(gzip.compress(b"1\n2\n") + gzip.compress(b"") + gzip.compress(b"3\n"))
    assert values(sg.data.TextLineDataset(str(path), "GZIP")) == [b"1", b"2", b"3"]
    assert values(tf.data.experimental.CsvDataset(str(path), [tf.int32], "GZIP")) == [(1,), (2,), (3,)]
    path.write_bytes(gzip.compress(b"1\n2\n") + b"else")
    with pytest.raises(sg.errors.DataLossError, match="cannot be decompressed"):
        values(sg.data.TextLineDataset(str(path), "GZIP"))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
def test_names_that_are_no_utf_8(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"\xff")
    with open(path, "wb") as file:
        file.write(b"one\n")
    names = sg.constant([path])
    assert values(sg.data.TextLineDataset(names)) == [b"one"]
    assert values(sg.data.Dataset.list_files(sg.constant(os.fsencode(tmp_path) + b"/*"))) == [path]
    assert values(sg.data.Dataset.range(2).cache(sg.constant(path + b"c"))) == [0, 1]
