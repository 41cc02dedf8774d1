"""Models whose description was changed in one place, in a file whose checksums fit: an error, or a model."""

import copy
import itertools
import json

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidFileError, told
from staticgraph.runtime.files import container
from staticgraph.tf1 import keras
from staticgraph.tf1.keras import layers
from tests.fuzz_readers.readers import _HEAD, _seal

VALUES = (None, True, -1, 2**70, 1.5, "x", [], {}, [1], [[]], {"class_name": "Ones"}, {"config": 1})


def saved(path):
    """The body of a file with a model that was trained, its members, and the description of the model."""
    x = layers.Input([6])
    y = layers.BatchNormalization()(layers.Dense(3, activation="relu", kernel_regularizer="l2")(x))
    model = keras.Model(x, layers.Dense(2)(layers.add([y, y])))
    model.compile("adam", "mse", metrics=["mae"])
    model.save(path)
    parts = {name: bytes(part) for name, part in container.unpack(memoryview(path.read_bytes())).items()}
    body = container.parse(memoryview(parts.pop("manifest.json")), "it")
    return {k: v for k, v in body.items() if k not in _HEAD}, parts, json.loads(parts["model.json"])


def places(value, at=()):
    """Every place in JSON."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*at, key))


def changed(described, at, value):
    out = copy.deepcopy(described)
    owner = out
    for key in at[:-1]:
        owner = owner[key]
    if value is NotImplemented:
        del owner[at[-1]]
    else:
        owner[at[-1]] = value
    return out


@pytest.mark.takes_long
def test_every_place(tmp_path):
    path = tmp_path / "model"
    with sg.Graph().as_default():
        body, parts, described = saved(path)
    turns, refused = itertools.cycle((NotImplemented, *VALUES)), 0
    for at in [place for place in places(described) if place]:
        text = json.dumps(changed(described, at, next(turns))).encode()
        _seal(
            path, "keras model", body, {name: [part] for name, part in (parts | {"model.json": text}).items()}
        )
        with sg.Graph().as_default():
            try:
                keras.models.load_model(path)
            except Exception as error:
                assert told(error), f"{at}: {error!r}"
                refused += isinstance(error, InvalidFileError)
    assert refused > 10


def test_the_file_is_named(tmp_path):
    """Also if an argument of a layer in it is wrong, and a layer says so."""
    path = tmp_path / "model"
    with sg.Graph().as_default():
        body, parts, described = saved(path)
    described["config"]["layers"][1]["config"]["units"] = -1
    members = {n: [p] for n, p in (parts | {"model.json": json.dumps(described).encode()}).items()}
    _seal(path, "keras model", body, members)
    with sg.Graph().as_default(), pytest.raises(ValueError, match="units is -1") as caught:
        keras.models.load_model(path)
    assert str(path) in str(caught.value) and "another copy" in str(caught.value)


def test_an_architecture_that_is_none():
    for text in ('{"class_name": "Dense", "config": 3}', '{"class_name": "Model"}', "[]", "{", "[" * 100_000):
        with pytest.raises((ValueError, TypeError)) as caught:
            keras.models.model_from_json(text)
        assert told(caught.value), text[:40]


def test_errors_of_a_layer_of_the_user_pass(tmp_path):
    class Mine(layers.Dense):
        @classmethod
        def from_config(cls, config):
            raise KeyError("mine")

    with sg.Graph().as_default():
        model = keras.Sequential([Mine(2, input_shape=[3])])
        model.save(tmp_path / "model")
    with sg.Graph().as_default(), pytest.raises(KeyError, match=r"^'mine'$"):
        keras.models.load_model(tmp_path / "model", {"Mine": Mine})
