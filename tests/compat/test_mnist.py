"""The digits, read from the files of a folder."""

import gzip
import struct

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf

read_data_sets = tf.examples.tutorials.mnist.input_data.read_data_sets
RANDOM = np.random.RandomState(0)
IMAGES, LABELS = RANDOM.randint(0, 256, (30, 28, 28)).astype(np.uint8), np.arange(30, dtype=np.uint8) % 10


def write(folder, compressed=True):
    for part, count in {"train": 30, "t10k": 8}.items():
        images = struct.pack(">4I", 2051, count, 28, 28) + IMAGES[:count].tobytes()
        labels = struct.pack(">2I", 2049, count) + LABELS[:count].tobytes()
        for name, data in {"images-idx3": images, "labels-idx1": labels}.items():
            path = folder / f"{part}-{name}-ubyte{'.gz' if compressed else ''}"
            path.write_bytes(gzip.compress(data) if compressed else data)


@pytest.mark.parametrize("compressed", [True, False])
def test_the_files_of_the_collection(tmp_path, compressed):
    write(tmp_path, compressed)
    digits = read_data_sets(str(tmp_path), one_hot=True, validation_size=10)
    assert [part.num_examples for part in digits] == [20, 10, 8]
    np.testing.assert_allclose(digits.validation.images, IMAGES[:10].reshape(10, 784) / 255, rtol=1e-6)
    np.testing.assert_array_equal(digits.test.labels, np.eye(10)[LABELS[:8]])


def test_one_file_of_arrays(tmp_path):
    np.savez(tmp_path / "mnist.npz", x_train=IMAGES, y_train=LABELS, x_test=IMAGES[:8], y_test=LABELS[:8])
    digits = read_data_sets(tmp_path, dtype=tf.uint8, reshape=False, validation_size=0)
    np.testing.assert_array_equal(digits.train.images, IMAGES[..., np.newaxis])
    np.testing.assert_array_equal(digits.test.labels, LABELS[:8])


def test_every_epoch_holds_each_image_once(tmp_path):
    write(tmp_path)
    train = read_data_sets(tmp_path, validation_size=0, seed=1).train
    batches = [train.next_batch(7) for _ in range(30)]
    assert train.epochs_completed == 6
    seen = np.concatenate([labels for _, labels in batches])
    for epoch in np.split(seen, 7):
        assert (np.bincount(epoch) == 3).all()
    assert (seen[:30] != seen[30:60]).any()


def test_a_missing_folder_says_what_is_needed(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match=r"(?s)nothing is downloaded.*t10k-labels"):
        read_data_sets(tmp_path / "none")


def test_a_damaged_file_is_refused(tmp_path):
    write(tmp_path, compressed=False)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(tf.errors.DataLossError, match="as many bytes"):
        read_data_sets(tmp_path)
