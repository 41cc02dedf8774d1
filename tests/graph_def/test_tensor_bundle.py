"""Checkpoints in TensorFlow's format: read, written as it writes them, and every damage noticed."""

from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError, InvalidFileError, NotFoundError
from staticgraph.formats.tf.tensor_bundle import Bundle, is_bundle, write_bundle
from staticgraph.formats.tf.tensor_bundle.table import read_table, table_bytes

PREFIX = str(Path(__file__).parent / "data" / "tf" / "meta" / "model-7")


def test_what_tensorflow_wrote():
    found = sg.train.NewCheckpointReader(PREFIX)
    assert found.get_variable_to_shape_map()["net/w"] == [3, 2]
    assert found.get_variable_to_dtype_map()["global_step"] is sg.int64
    assert found.get_tensor("global_step") == 1
    assert ("net/b", [2]) in sg.train.list_variables(PREFIX)


def test_it_is_written_back_byte_by_byte(tmp_path):
    write_bundle(str(tmp_path / "model"), Bundle(PREFIX))
    written = (tmp_path / "model.data-00000-of-00001").read_bytes()
    assert written == Path(f"{PREFIX}.data-00000-of-00001").read_bytes()
    assert read_table((tmp_path / "model.index").read_bytes()) == read_table(
        Path(f"{PREFIX}.index").read_bytes()
    )


def test_a_saver_restores_it():
    with sg.Graph().as_default(), sg.Session() as sess:
        w = sg.Variable(sg.zeros([3, 2]), name="mine")
        sg.train.Saver({"net/w": w}).restore(sess, PREFIX)
        np.testing.assert_array_equal(sess.run(w), sg.train.load_variable(PREFIX, "net/w"))


def test_names_and_shapes_that_do_not_fit():
    with sg.Graph().as_default(), sg.Session() as sess:
        with pytest.raises(NotFoundError, match=r"(?s)Key w not found.*it has 'net/w'"):
            sg.train.Saver({"w": sg.Variable(1.0)}).restore(sess, PREFIX)
        with pytest.raises(InvalidArgumentError, match=r"net/w in checkpoint .* is float32\[3, 2\]"):
            sg.train.Saver({"net/w": sg.Variable(1.0)}).restore(sess, PREFIX)


def test_all_dtypes(tmp_path):
    values = {
        dtype.name: (dtype, np.arange(6).reshape(2, 3).astype(dtype.numpy))
        for dtype in (sg.float16, sg.float32, sg.float64, sg.int8, sg.int64, sg.uint16, sg.bool, sg.complex64)
    }
    texts = np.empty((2,), object)
    texts[:] = [b"", b"a\x00b" * 100]
    values["text"] = (sg.string, texts)
    values["empty"] = (sg.float32, np.zeros((0, 3), np.float32))
    prefix = str(tmp_path / "model")
    write_bundle(prefix, values)
    assert is_bundle(prefix)
    found = Bundle(prefix)
    assert sorted(found) == sorted(values)
    for name, (dtype, array) in values.items():
        assert found[name][0] is dtype
        np.testing.assert_array_equal(found[name][1], array)


def test_one_takes_the_place_of_another(tmp_path):
    """By turns the data are in one of two files, so that an index always finds its own."""
    prefix = str(tmp_path / "model")
    for number, data in enumerate(["00000-of-00001", "00001-of-00002", "00000-of-00001"]):
        write_bundle(prefix, {"a": (sg.int32, np.full(3, number, np.int32))})
        assert {path.name for path in tmp_path.iterdir()} == {"model.index", f"model.data-{data}"}
        assert Bundle(prefix)["a"][1].tolist() == [number] * 3


@pytest.mark.parametrize("suffix", ["index", "data-00000-of-00001"])
def test_every_bit_counts(tmp_path, suffix):
    """A changed bit, or an end that is missing, is an error or changes nothing."""
    prefix = str(tmp_path / "model")
    write_bundle(
        prefix, {"a": (sg.float32, np.ones(3, np.float32)), "b": (sg.string, np.array([b"xy"], object))}
    )
    expected = {name: array.tolist() for name, (_, array) in Bundle(prefix).items()}
    path = Path(f"{prefix}.{suffix}")
    data = path.read_bytes()
    changes = [data[:end] for end in range(len(data))]
    for at in range(len(data)):
        changes += [data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :] for bit in range(8)]
    noticed = 0
    for changed in changes:
        path.write_bytes(changed)
        try:
            found = {name: array.tolist() for name, (_, array) in Bundle(prefix).items()}
        except InvalidFileError:
            noticed += 1
        else:
            assert found == expected
    assert noticed > len(changes) / 2


def test_blocks_and_entries_that_lie():
    entries = {f"key{i}".encode(): b"value" for i in range(100)}
    assert read_table(table_bytes(entries)) == entries
    assert read_table(table_bytes({})) == {}
    with pytest.raises(InvalidFileError, match="not a table"):
        read_table(b"short")
    footer = b"\xff" * 9 + b"\x01" + b"\x00" * 30
    with pytest.raises(InvalidFileError):
        read_table(footer + table_bytes({})[-8:])
