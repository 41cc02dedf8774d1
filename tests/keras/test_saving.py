"""Models and weights in files, as JSON, and as copies."""

import json
import os
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.tf1.keras.saving import hdf5_reader

keras = sg.keras
layers = keras.layers
K = keras.backend

X = np.random.RandomState(1).randn(30, 6, 6, 2).astype("float32")
Y = np.random.RandomState(2).randn(30, 3).astype("float32")


@pytest.fixture(autouse=True)
def empty():
    K.clear_session()
    yield
    K.clear_session()


def branched():
    x = keras.Input([6, 6, 2], name="image")
    left = layers.Conv2D(3, 3, padding="same", activation="relu", kernel_regularizer="l2")(x)
    right = layers.SeparableConv2D(3, 3, padding="same")(layers.BatchNormalization()(x))
    inner = keras.Sequential([layers.Flatten(input_shape=(6, 6, 3)), layers.Dense(4)], name="inner")
    joined = layers.concatenate([inner(left), inner(right)])
    model = keras.Model(
        x, layers.Dense(3, kernel_constraint=keras.constraints.MaxNorm(3.0))(joined), name="net"
    )
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae", keras.metrics.RootMeanSquaredError()])
    return model


def test_a_saved_model_goes_on_where_it_was(tmp_path):
    model = branched()
    model.fit(X, Y, epochs=2, verbose=0)
    path = tmp_path / "net.keras.sg"
    model.save(path)
    wanted = [model.train_on_batch(X, Y), model.train_on_batch(X, Y)]
    K.clear_session()
    loaded = keras.models.load_model(path)
    assert loaded.metrics_names == ["loss", "mean_absolute_error", "root_mean_squared_error"]
    found = [loaded.train_on_batch(X, Y), loaded.train_on_batch(X, Y)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_json_and_configs_make_equal_models():
    model = branched()
    for copy in (
        keras.models.model_from_json(model.to_json()),
        keras.Model.from_config(model.get_config()),
        keras.models.clone_model(model),
    ):
        assert [w.shape for w in copy.weights] == [w.shape for w in model.weights]
        copy.set_weights(model.get_weights())
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_json_as_keras_writes_it():
    config = {
        "class_name": "Sequential",
        "keras_version": "2.2.4-tf",
        "backend": "tensorflow",
        "config": {
            "name": "sequential",
            "layers": [
                {
                    "class_name": "Dense",
                    "config": {
                        "name": "dense",
                        "trainable": True,
                        "batch_input_shape": [None, 4],
                        "units": 3,
                        "dtype": "float32",
                        "activation": "relu",
                        "use_bias": True,
                        "kernel_initializer": {
                            "class_name": "GlorotUniform",
                            "config": {"seed": None, "dtype": "float32"},
                        },
                        "bias_initializer": {"class_name": "Zeros", "config": {"dtype": "float32"}},
                        "kernel_regularizer": None,
                        "bias_regularizer": None,
                        "activity_regularizer": None,
                        "kernel_constraint": None,
                        "bias_constraint": None,
                    },
                }
            ],
        },
    }
    assert keras.models.model_from_json(json.dumps(config)).output_shape == (None, 3)


def test_weights_alone(tmp_path):
    model, path = branched(), str(tmp_path / "deep" / "weights")
    model.save_weights(path)
    assert sg.train.latest_checkpoint(os.path.dirname(path)) == path
    wanted = model.predict(X)
    model.set_weights([w + 1 for w in model.get_weights()])
    model.load_weights(path)
    np.testing.assert_array_equal(model.predict(X), wanted)


def test_weights_by_name(tmp_path):
    first = keras.Sequential([layers.Dense(3, name="same", input_shape=[4]), layers.Dense(2, name="one")])
    second = keras.Sequential([layers.Dense(3, name="same", input_shape=[4]), layers.Dense(5, name="two")])
    first.save_weights(tmp_path / "w")
    second.load_weights(tmp_path / "w", by_name=True)
    np.testing.assert_array_equal(first.get_weights()[0], second.get_weights()[0])
    with pytest.raises(ValueError, match="has shape"):
        second.load_weights(tmp_path / "w")


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "net"
    branched().save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(InvalidFileError):
        keras.models.load_model(path)


def double(x):
    return x * 2.0


class Twice(layers.Layer):
    """A layer of the program."""

    def call(self, inputs):
        return inputs * 2.0


def test_what_belongs_to_the_program_must_be_given(tmp_path):
    model = keras.Sequential([layers.Lambda(double, input_shape=[3]), Twice()])
    model.save(tmp_path / "net")
    with pytest.raises(ValueError, match="unknown function of a Lambda: 'double'"):
        keras.models.load_model(tmp_path / "net")
    loaded = keras.models.load_model(tmp_path / "net", {"double": double, "Twice": Twice})
    np.testing.assert_array_equal(loaded.predict(np.ones([2, 3])), np.full([2, 3], 4.0))


def test_code_is_neither_written_nor_read():
    model = keras.Sequential([layers.Lambda(lambda x: x, input_shape=[3])])
    with pytest.raises(NotImplementedError, match="code is never written"):
        model.to_json()
    with pytest.raises(ValueError, match="never run from a file"):
        layers.Lambda.from_config({"function": ["4wEAAAA=", None, None], "function_type": "lambda"})


def test_hdf5_needs_its_package(tmp_path):
    try:
        import h5py  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="h5py"):
            branched().save(tmp_path / "net.h5")


class TestDamagedHdf5:
    """Files in which h5py finds nothing, or something else, told by a module that answers as h5py does."""

    @pytest.fixture
    def reads(self, monkeypatch, tmp_path):
        path = tmp_path / "m.h5"
        path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))

        class Link:
            pass

        class Group(dict):
            attrs = MappingProxyType({})

            def get(self, name, default=None, getlink=False):
                return Link() if name != "model_weights" else default

        class File(Group):
            def __init__(self, *_):
                pass

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

        monkeypatch.setattr(
            "staticgraph.tf1.keras.saving.hdf5_reader._h5py",
            lambda: SimpleNamespace(File=File, HardLink=Link),
        )
        return File, str(path)

    def test_a_missing_part(self, reads):
        file, path = reads
        file.attrs = {"layer_names": [b"dense"]}
        with pytest.raises(hdf5_reader.UNREADABLE):
            hdf5_reader.content(path, "weights")

    def test_an_array_that_claims_more_than_the_file_holds(self, reads):
        file, path = reads
        group = type("Group", file.__mro__[1:2], {"attrs": {"weight_names": [b"w"]}})()
        group["w"] = SimpleNamespace(
            name="/w", size=2**50, dtype=np.dtype("float32"), external=None, is_virtual=False
        )
        file.attrs = {"layer_names": [b"dense"]}
        file.__getitem__ = lambda self, name: group
        with pytest.raises(ValueError, match="more than such a file holds"):
            hdf5_reader.content(path, "weights")
