"""Pictures in folders are what Keras's own code makes of them, recorded by `tools/record/pictures.py`."""

import json
from pathlib import Path

import numpy as np
import pytest

from staticgraph import keras
from tests.keras import picture_cases

pytest.importorskip("PIL")
image = keras.preprocessing.image
RECORDED = json.loads(Path(__file__).with_name("pictures.json").read_text(encoding="utf-8"))


def close(found, wanted):
    """Return True for equal descriptions, whose numbers may differ by roundings."""
    if isinstance(wanted, float):
        return abs(found - wanted) <= 0.02 + 1e-5 * abs(wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    return found == wanted


@pytest.mark.parametrize("subject", sorted(RECORDED))
def test_same_as_keras(subject, tmp_path):
    found = getattr(picture_cases, subject)(image, picture_cases.folder(str(tmp_path)))
    assert len(found) == len(RECORDED[subject])
    for mine, wanted in zip(found, RECORDED[subject], strict=True):
        assert close(json.loads(json.dumps(mine)), wanted), (mine, wanted)


def test_a_model_is_trained_from_a_folder(tmp_path):
    flow = image.ImageDataGenerator(rescale=1 / 255, horizontal_flip=True).flow_from_directory(
        picture_cases.folder(str(tmp_path)), target_size=(4, 4), batch_size=5, seed=1
    )
    model = keras.Sequential([keras.layers.Flatten(input_shape=(4, 4, 3)), keras.layers.Dense(4, "softmax")])
    model.compile("sgd", "categorical_crossentropy")
    history = model.fit_generator(flow, steps_per_epoch=3, epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    assert model.predict_generator(flow, steps=3).shape == (12, 4)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda path, flow: flow(path, class_mode="no"), "class_mode is 'no'"),
        (lambda path, flow: flow(path, color_mode="no"), "color_mode is 'no'"),
        (lambda path, flow: flow(path, subset="no"), "subset='no'"),
        (lambda path, flow: image.array_to_img(np.ones((2, 2))), "three axes"),
        (lambda path, flow: image.array_to_img(np.ones((2, 2, 2))), "1, 3 or 4 channels"),
        (lambda path, flow: image.load_img(f"{path}/cats/im0.png", False, "no"), "color_mode"),
        (
            lambda path, flow: image.load_img(f"{path}/cats/im0.png", False, "rgb", (2, 2), "no"),
            "interpolation is 'no'",
        ),
        (lambda path, flow: image.random_zoom(np.ones((2, 2, 1)), [1]), "pair"),
    ],
)
def test_senseless_arguments(call, text, tmp_path):
    flow = image.ImageDataGenerator().flow_from_directory
    with pytest.raises(ValueError, match=text):
        call(picture_cases.folder(str(tmp_path)), flow)
