"""HDF5 can place the contents of one file in another, and compress any size into few bytes.

Reading a model must read that model's file alone, and take memory for what that file holds.
"""

import zlib
from pathlib import Path

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf
from staticgraph.compiler.graph.errors import InvalidFileError
from tests.fuzz_readers.watch import watched

h5py = pytest.importorskip("h5py")


def elsewhere(path: Path) -> str:
    """Another file, with an array of the shape of the model's weights."""
    other = path.parent / "other.h5"
    with h5py.File(other, "w") as file:
        file["x"] = np.ones((2, 3), np.float32)
    return str(other)


def external_bytes(group, name, path):
    group.create_dataset(name, (2, 3), "f4", external=[(elsewhere(path), 0, 24)])


def external_link(group, name, path):
    group[name] = h5py.ExternalLink(elsewhere(path), "x")


def external_folder(group, name, path):
    folder, _, last = name.rpartition("/")
    del group[folder]
    with h5py.File(elsewhere(path), "a") as other:
        other.create_group("group")[last] = np.ones((2, 3), np.float32)
    group[folder] = h5py.ExternalLink(elsewhere(path), "group")


def virtual(group, name, path):
    layout = h5py.VirtualLayout((2, 3), "f4")
    layout[:] = h5py.VirtualSource(elsewhere(path), "x", (2, 3))
    group.create_virtual_dataset(name, layout)


def soft_link_to_one(group, name, path):
    group.file["away"] = h5py.ExternalLink(elsewhere(path), "x")
    group[name] = h5py.SoftLink("/away")


CHANGES = (external_bytes, external_link, external_folder, virtual, soft_link_to_one)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_weights_in_another_file(change, tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(2,), name="dense")])
    path = tmp_path / "net.h5"
    model.save(path)
    with h5py.File(path, "r+") as file:
        group = file["model_weights/dense"]
        name = text(group.attrs["weight_names"][0])
        del group[name]
        change(group, name, path)
    for read in (model.load_weights, tf.keras.models.load_model):
        with pytest.raises(InvalidFileError, match="lies in another file"):
            read(path)


@pytest.mark.parametrize("part", ["model_weights", "model_weights/dense"])
def test_groups_in_another_file(part, tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(2,), name="dense")])
    path, other = tmp_path / "net.h5", tmp_path / "other.h5"
    for each in (path, other):
        model.save(each)
    with h5py.File(path, "r+") as file:
        del file[part]
        file[part] = h5py.ExternalLink(str(other), part)
    with pytest.raises(InvalidFileError, match="lies in another file"):
        model.load_weights(path)


def saved(path):
    """A model in a file, and the place of its matrix of weights there."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(2,))])
    model.save(path)
    with h5py.File(path) as file:
        [group] = file["model_weights"].values()
        return model, f"{group.name[1:]}/{text(group.attrs['weight_names'][0])}"


def text(name):
    """A name, which h5py reads as bytes or as text."""
    return name.decode() if isinstance(name, bytes) else name


def test_chunks_that_are_larger_than_their_array(tmp_path):
    """HDF5 decompresses a chunk as a whole, however little of it lies within the array."""
    model, name = saved(tmp_path / "net.h5")
    with h5py.File(tmp_path / "net.h5", "r+") as file:
        del file[name]
        shape, most, chunk = (2, 3), (None, None), (1 << 12, 1 << 12)
        made = file.create_dataset(name, shape, "f4", maxshape=most, chunks=chunk, compression="gzip")
        made.id.write_direct_chunk((0, 0), zlib.compress(bytes(1 << 26)))
    with watched(0), pytest.raises(InvalidFileError, match="chunks of 67108864 bytes"):
        model.load_weights(tmp_path / "net.h5")


def test_an_array_that_many_names_have(tmp_path):
    """Each name alone claims what such a file may hold."""
    model, name = saved(tmp_path / "net.h5")
    with h5py.File(tmp_path / "net.h5", "r+") as file:
        del file[name]
        file.create_dataset(name, (1 << 19,), "f4", compression="gzip", data=np.zeros(1 << 19))
        layer = file["/".join(name.split("/")[:2])]
        for number in range(80):
            layer[f"{number}"] = file[name]
        layer.attrs["weight_names"] = [f"{number}".encode() for number in range(80)]
    with pytest.raises(InvalidFileError, match="more than such a file holds"):
        model.load_weights(tmp_path / "net.h5")


def test_what_is_no_hdf5_file(tmp_path):
    path = tmp_path / "net.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(InvalidFileError, match="Unable to synchronously open file"):
        tf.keras.models.load_model(path)


@pytest.mark.takes_long
def test_a_length_with_which_the_library_goes_on_forever(tmp_path):
    """Such a loop of HDF5's library hears no signal: no exception, and no Ctrl-C, ends it."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(2,), name="layer_a")])
    path = tmp_path / "net.h5"
    model.save(path)
    seven, long = (size.to_bytes(8, "little") + b"layer_a" for size in (7, 0x407))
    data = path.read_bytes()
    assert seven in data
    path.write_bytes(data.replace(seven, long))
    with pytest.raises(InvalidFileError, match="does not come to an end"):
        tf.keras.models.load_model(path)
