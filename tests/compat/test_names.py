"""The table of TF1's modules, and the names that programs look for in it."""

import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.tf1.compat.areas import TREE
from staticgraph.tf1.compat.namespace import MISSING, Namespace, UnsupportedNameError
from staticgraph.tf1.compat.nearest import nearest


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


def test_nearest_prefers_the_same_word_and_the_same_place():
    names = ["layers.dense", "nn.dense", "nn.dens", "matmul"]
    assert nearest("nn.denses", names)[0] == "nn.dense"
    assert nearest("contrib.layers.dense", names)[:2] == ["layers.dense", "nn.dense"]
    assert nearest("qqqq", names) == []
