"""The table of TF1's modules, and the names that programs look for in it."""

import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.tf1.compat.areas import TREE
from staticgraph.tf1.compat.namespace import MISSING, Namespace, UnsupportedNameError


def test_the_public_names_are_there_and_the_same_objects():
    assert tf.placeholder is sg.placeholder
    assert tf.nn.relu is sg.nn.relu
    assert tf.train.AdamOptimizer is sg.train.AdamOptimizer
    assert tf.float32 is sg.float32
    assert tf.bool is sg.bool


@pytest.mark.parametrize(
    "old, new",
    [
        ("mul", "multiply"),
        ("neg", "negative"),
        ("pack", "stack"),
        ("concat_v2", "concat"),
        ("nn.deconv2d", "nn.conv2d_transpose"),
        ("random.normal", "random_normal"),
        ("app.flags.FLAGS", "flags.FLAGS"),
        ("contrib.slim.conv2d", "contrib.layers.conv2d"),
        ("python.framework.ops.reset_default_graph", "reset_default_graph"),
        ("python.ops.math_ops.less", "less"),
        ("compat.v1.nn.relu", "nn.relu"),
        ("python.platform.gfile.FastGFile", "gfile.GFile"),
        ("dtypes.float32", "float32"),
    ],
)
def test_one_thing_under_two_names(old: str, new: str):
    assert TREE.lookup(old) is TREE.lookup(new) is not MISSING


def test_the_version_is_that_of_the_last_release():
    assert tf.__version__ == tf.VERSION == tf.version.VERSION == "1.15.5"


def test_a_missing_name_tells_the_line_and_the_nearest_names():
    with pytest.raises(UnsupportedNameError) as caught:
        tf.nn.reluu(1)
    text = str(caught.value)
    assert text.startswith("tf.nn.reluu is not supported yet")
    assert "test_names.py" in text and "tf.nn.reluu(1)" in text
    assert "nearest: tf.nn.relu" in text


def test_a_missing_name_is_an_attribute_error():
    assert not hasattr(tf, "never_a_name")
    assert getattr(tf.nn, "never_a_name", 7) == 7


def test_what_a_module_of_ours_imports_is_not_its_public_name():
    for path in ("", "nn", "losses", "linalg", "train", "initializers", "errors", "contrib.rnn", "gfile"):
        imported = {"Any", "np", "annotations", "os", "Sequence", "islice", "user_frame"}
        assert not imported & TREE.names(path)


def test_every_name_that_is_listed_can_be_had():
    for dotted in TREE.supported():
        assert TREE.lookup(dotted) is not MISSING, dotted


def test_every_area_that_another_shows_exists():
    for path, area in TREE.areas.items():
        assert set(area.areas) <= TREE.areas.keys(), path


def test_no_name_stands_for_itself():
    for path, area in TREE.areas.items():
        for name, target in area.names.items():
            assert target != f"{path}.{name}".lstrip("."), target


def test_a_namespace_lists_its_names():
    assert {"relu", "softmax"} <= set(dir(tf.nn))
    assert {"nn", "train", "placeholder", "contrib"} <= set(dir(tf))
    assert isinstance(tf.contrib, Namespace)


@pytest.mark.parametrize(
    "dotted, told",
    [
        ("nn.reluu", "tf.nn.relu"),
        ("contrib.optt", "tf.contrib.opt"),
        ("contrib.layer", "tf.contrib.layers"),
        ("kerass", "tf.keras"),
        ("contrib.nn.dense", "tf.layers.dense"),
        ("keras.layers.Dens", "tf.keras.layers.Dense"),
        ("train.adamoptimizer", "tf.train.AdamOptimizer"),
    ],
)
def test_the_nearest_names_of_the_same_area_come_first_and_far_ones_are_not_told(dotted: str, told: str):
    found = [f"tf.{name}" for name in TREE.nearest(dotted)]
    assert told in found and not any("_pb2" in name for name in found)
    same_area = told.rpartition(".")[0] == f"tf.{dotted}".rpartition(".")[0]
    assert not same_area or found[0] == told


def test_a_name_like_no_other_has_no_nearest():
    assert TREE.nearest("qqqq") == TREE.nearest("contrib.qqqq") == []
