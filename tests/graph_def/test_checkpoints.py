"""Checkpoints in TensorFlow's first format, and variables that were saved in parts."""

import os
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.formats.tf.messages.saved_slices import SavedTensorSlices
from staticgraph.formats.tf.messages.tensor_bundle import TensorSliceProto
from staticgraph.formats.tf.messages.tensors import make_tensor_proto
from staticgraph.formats.tf.tensor_bundle import Bundle, tensors_of, write_bundle
from staticgraph.formats.tf.tensor_bundle.first_format import SliceFiles
from staticgraph.formats.tf.tensor_bundle.slices import box, joined, part_key
from staticgraph.formats.tf.tensor_bundle.table import read_table, table_bytes

FOLDER = Path(__file__).parent / "data" / "tf" / "checkpoints"
V2 = sg.messages.SaverDef.V2


@pytest.mark.parametrize("name", ["v1", "v2", "parts-?????-of-00001"])
def test_what_tensorflow_wrote(name):
    reader = sg.train.NewCheckpointReader(str(FOLDER / name))
    with np.load(FOLDER / "values.npz") as expected:
        assert sorted(reader.get_variable_to_shape_map()) == sorted(expected.files)
        for key in expected.files:
            found = reader.get_tensor(key)
            np.testing.assert_array_equal(found.astype("S") if key == "string" else found, expected[key])
            name = "float32" if key in ("net/w", "number") else key
            assert reader.get_variable_to_dtype_map()[key].name == name


@pytest.mark.parametrize("name", ["v1", "v2", "parts-?????-of-00001"])
def test_a_saver_restores_it(name):
    with sg.Graph().as_default(), sg.Session() as sess:
        w = sg.get_variable("net/w", [7, 2])
        sg.train.Saver().restore(sess, str(FOLDER / name))
        with np.load(FOLDER / "values.npz") as expected:
            np.testing.assert_array_equal(sess.run(w), expected["net/w"])


def test_a_saver_writes_the_second_format_on_request(tmp_path):
    with sg.Graph().as_default(), sg.Session() as sess:
        v = sg.Variable([1.0, 2.0], name="v")
        sess.run(v.initializer)
        saver = sg.train.Saver(write_version=V2)
        prefix = saver.save(sess, str(tmp_path / "model"), 3, write_meta_graph=False)
        assert sorted(os.listdir(tmp_path)) == [
            "checkpoint",
            "model-3.data-00000-of-00001",
            "model-3.index",
        ]
        assert list(Bundle(prefix)) == ["v"]
        sess.run(v.assign([0.0, 0.0]))
        sg.train.Saver().restore(sess, sg.train.latest_checkpoint(str(tmp_path)))
        np.testing.assert_array_equal(sess.run(v), [1.0, 2.0])


def test_old_ones_of_that_format_are_removed_as_a_whole(tmp_path):
    with sg.Graph().as_default(), sg.Session() as sess:
        v = sg.Variable(1.0)
        sess.run(v.initializer)
        saver = sg.train.Saver(write_version=V2, max_to_keep=1)
        for step in range(3):
            saver.save(sess, str(tmp_path / "model"), step)
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint",
        "model-2.data-00000-of-00001",
        "model-2.index",
        "model-2.meta",
    ]


def test_our_own_format_is_no_one_of_theirs(tmp_path):
    with sg.Graph().as_default(), sg.Session() as sess:
        v = sg.Variable(1.0)
        sess.run(v.initializer)
        prefix = sg.train.Saver().save(sess, str(tmp_path / "model"))
    assert tensors_of(prefix) is None
    assert tensors_of(str(tmp_path / "nothing")) is None


def test_every_byte_of_the_first_format_counts(tmp_path):
    """A changed bit, or an end that is missing, is an error or changes nothing."""
    data, path = (FOLDER / "v1").read_bytes(), tmp_path / "v1"
    expected = {name: array.tolist() for name, (_, array) in SliceFiles(str(FOLDER / "v1")).items()}
    changes = [data[:end] for end in range(0, len(data), 7)]
    for at in range(len(data)):
        changes.append(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
    noticed = 0
    for changed in changes:
        path.write_bytes(changed)
        try:
            found = {name: array.tolist() for name, (_, array) in SliceFiles(str(path)).items()}
        except InvalidFileError:
            noticed += 1
        else:
            assert found == expected
    assert noticed > len(changes) / 2


def entry(name="w", shape=(4,), parts=((0, 2), (2, 2)), values=((1.0, 2.0), (3.0, 4.0))):
    """The table of a checkpoint in the first format with one tensor."""
    slices = [TensorSliceProto(extent=[{"start": at, "length": size}]) for at, size in parts]
    told = SavedTensorSlices()
    tensor = told.meta.tensor.add(name=name, type=1)
    tensor.shape.CopyFrom(make_tensor_proto(0.0, shape=shape).tensor_shape)
    tensor.slice.extend(slices)
    table = {b"": told.SerializeToString()}
    for each, numbers in zip(slices, values, strict=True):
        saved = SavedTensorSlices(data={"name": name, "slice": each, "data": {"float_val": numbers}})
        table[part_key(name, each)] = saved.SerializeToString()
    return table_bytes(table)


def test_parts_make_up_a_tensor(tmp_path):
    (tmp_path / "model").write_bytes(entry())
    assert SliceFiles(str(tmp_path / "model"))["w"][1].tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"parts": ((0, 2), (3, 2))}, "a part lies outside of its tensor"),
        ({"parts": ((0, 2), (-1, 2))}, "a part lies outside of its tensor"),
        ({"shape": (5,)}, "its parts do not cover it"),
        ({"shape": (4, 1)}, "a part has 1 axes, its tensor the shape"),
        ({"shape": (1 << 40,), "parts": ((0, 1 << 40),), "values": ((1.0,),)}, "fewer values than"),
    ],
)
def test_parts_that_lie(tmp_path, changes, text):
    (tmp_path / "model").write_bytes(entry(**changes))
    with pytest.raises(InvalidFileError, match=text):
        SliceFiles(str(tmp_path / "model"))["w"]


def test_a_part_that_is_missing(tmp_path):
    write_bundle(str(tmp_path / "v2"), {"a": (sg.float32, np.ones(2, np.float32))})
    table = read_table((FOLDER / "v2.index").read_bytes())
    part = next(key for key in table if key.startswith(b"\0"))
    (tmp_path / "v2.index").write_bytes(table_bytes({k: v for k, v in table.items() if k != part}))
    (tmp_path / "v2.data-00000-of-00001").write_bytes((FOLDER / "v2.data-00000-of-00001").read_bytes())
    with pytest.raises(InvalidFileError, match="a part of it is missing"):
        Bundle(str(tmp_path / "v2"))["net/w"]


def test_keys_of_parts_are_in_the_order_of_parts():
    def key(start):
        return part_key("w", TensorSliceProto(extent=[{"start": start, "length": 1}]))

    starts = [0, 1, 63, 64, 8191, 8192, 1 << 20, 1 << 40]
    assert sorted(map(key, starts)) == list(map(key, starts))
    assert part_key("a\0b", TensorSliceProto())[:6] == b"\0a\0\xffb\0"


def test_boxes():
    whole = box(TensorSliceProto(extent=[{}, {}]), (2, 3))
    assert whole == (slice(0, 2), slice(0, 3))
    assert joined((2, 3), [(whole, np.ones((2, 3)))]).tolist() == np.ones((2, 3)).tolist()
