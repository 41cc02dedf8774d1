"""HDF5 can place the contents of one file in another: reading a model must read that model's file alone."""

from pathlib import Path

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf
from staticgraph.compiler.graph.errors import InvalidFileError

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
        name = group.attrs["weight_names"][0]
        name = name.decode() if isinstance(name, bytes) else name
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
