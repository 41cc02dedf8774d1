"""Weights and names of classes of known nets, which are downloaded; what else they do is golden."""

import json
import os

import numpy as np
import pytest

from staticgraph import keras

applications = keras.applications


def test_images_from_minus_one_to_one():
    images = np.array([[[[0, 127.5, 255]]]])
    np.testing.assert_array_equal(applications.mobilenet.preprocess_input(images), [[[[-1, 0, 1]]]])


def test_weights_are_those_of_a_file(tmp_path):
    options = {"alpha": 0.25, "input_shape": (32, 32, 3), "classes": 3}
    first = applications.MobileNet(weights=None, **options)
    path = os.path.join(tmp_path, "weights.h5")
    pytest.importorskip("h5py")
    first.save_weights(path)
    second = applications.MobileNet(weights=path, **options)
    for mine, other in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_names_of_the_most_probable_classes(tmp_path, monkeypatch):
    path = os.path.join(tmp_path, "classes.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({str(n): [f"n{n}", f"name {n}"] for n in range(1000)}, file)
    monkeypatch.setattr(applications.imagenet_utils, "get_file", lambda *_, **__: path)
    chances = np.zeros((1, 1000))
    chances[0, [7, 3]] = 0.7, 0.3
    assert applications.vgg16.decode_predictions(chances, top=2) == [
        [("n7", "name 7", 0.7), ("n3", "name 3", 0.3)]
    ]
