"""Descriptions are read and checked; what is wrong is told with its line, and with what was meant."""

import dataclasses
import re

import pytest

from staticgraph.applications.solver.description import SnapshotTable, keys_of
from staticgraph.applications.solver.errors import DescriptionError
from staticgraph.applications.solver.kinds import LAYERS, OPTIMIZERS, SCHEDULES, parameters
from staticgraph.applications.solver.reading import read
from staticgraph.compiler.graph.errors import NotFoundError
from tests.solver.descriptions import SPIRAL, described


def message(folder, text, *changes):
    with pytest.raises(DescriptionError) as caught:
        described(folder, text, *changes)
    return str(caught.value)


def test_what_a_file_says(tmp_path):
    found = described(tmp_path)
    assert [layer.name for layer in found.layers] == ["hidden", "batch_normalization", "dropout", "scores"]
    assert found.layers[0].options == {"units": 16, "activation": "relu"}
    assert found.snapshot == SnapshotTable(every=5, keep=2)
    assert found.output == tmp_path / "net.sg"
    assert found.snapshots == tmp_path / "net.snapshots"
    assert found.data.validation is None


def test_numbers_are_floating_where_the_program_needs_them(tmp_path):
    found = described(tmp_path, SPIRAL.replace("learning_rate = 0.01", "learning_rate = 1"))
    assert type(found.optimizer.options["learning_rate"]) is float


def test_layers_without_names_get_some_of_their_own(tmp_path):
    text = SPIRAL.replace('name = "scores"\n', "").replace('name = "hidden"', 'name = "dense"')
    assert [layer.name for layer in described(tmp_path, text).layers][::3] == ["dense", "dense_2"]


def test_line_ends_and_marks_of_other_systems(tmp_path):
    (tmp_path / "net.toml").write_bytes(b"\xef\xbb\xbf" + SPIRAL.replace("\n", "\r\n").encode())
    assert read(tmp_path / "net.toml").layers[-1].name == "scores"


def test_changes(tmp_path):
    changes = ["train.epochs=5", "layer.hidden.units=4", "data.normalize=range", "log.folder=logs",
               'snapshot.folder="a b"', "layer.hidden.kernel_initializer.type=zeros"]
    found = described(tmp_path, SPIRAL, *changes)
    assert found.train.epochs == 5
    assert found.layers[0].options["units"] == 4
    assert found.layers[0].options["kernel_initializer"] == {"type": "zeros"}
    assert found.data.normalize == "range"
    assert not found.file(found.log.folder).is_relative_to(tmp_path)  # from here, not from the file's folder
    assert found.snapshots.name == "a b"


def test_a_change_takes_the_place_of_its_alternatives(tmp_path):
    found = described(tmp_path, SPIRAL, "train.steps=5", "data.dataset=digits")
    assert found.train.steps == 5 and found.train.epochs is None
    assert found.data.source == "dataset" and found.data.npz is None


WRONG = {
    "key": (("units = 16", "unit = 16"), """\
net.toml:9: layer hidden of type dense has no key 'unit'
    9 | unit = 16
        ^^^^
  hint: did you mean 'units'?"""),
    "key of a table": (("epochs = 3", "epoch = 3"), """\
net.toml:32: [train] has no key 'epoch'
    32 | epoch = 3
         ^^^^^
  hint: did you mean 'epochs'?"""),
    "table": (("[train]", "[trian]"), """\
net.toml:31: unknown table 'trian'
    31 | [trian]
         ^^^^^^^
  hint: did you mean 'train'?"""),
    "type of a layer": (('type = "dropout"', 'type = "drop"'), """\
net.toml:16: there is no layer of type 'drop'
    16 | type = "drop"
                ^^^^^^
  hint: did you mean 'dropout'?"""),
    "type of a value": (("units = 16", 'units = "16"'), """\
net.toml:9: units must be a whole number above 0; it is '16'
    9 | units = "16"
                ^^^^"""),
    "true is no number": (("units = 16", "units = true"), """\
net.toml:9: units must be a whole number above 0; it is true
    9 | units = true
                ^^^^"""),
    "name of a value": (('activation = "relu"', 'activation = "rellu"'), """\
net.toml:10: activation must be one of 'elu', 'exponential', 'hard_sigmoid', 'linear', 'relu', 'selu', 'sigmoid', 'softmax', 'softplus', 'softsign', 'tanh', 'relu6', 'swish'; it is 'rellu'
    10 | activation = "rellu"
                      ^^^^^^^
  hint: did you mean 'relu'?"""),
    "missing value": (("rate = 0.2\n", ""), """\
net.toml:16: layer dropout of type dropout needs rate: a number from 0 to below 1
    16 | type = "dropout"
                ^^^^^^^^^"""),
    "missing type": (('type = "batch_normalization"\n', ""), """\
net.toml:12: a layer needs a type
    12 | [[layer]]
         ^^^^^^^^^
  hint: one of"""),
    "key of an initializer": (("units = 3", 'units = 3\nkernel_initializer = {type = "uniform", minva = 1}'), """\
net.toml:23: kernel_initializer of type uniform has no key 'minva'
    23 | kernel_initializer = {type = "uniform", minva = 1}
                                                 ^^^^^
  hint: did you mean 'minval'?"""),
    "type of an initializer": (("units = 3", 'units = 3\nbias_initializer = {type = "one"}'), """\
net.toml:23: bias_initializer must be an initializer: one of 'constant', 'glorot_normal', 'glorot_uniform', 'he_normal', 'he_uniform', 'identity', 'lecun_normal', 'lecun_uniform', 'normal', 'ones', 'orthogonal', 'random_normal', 'random_uniform', 'truncated_normal', 'uniform', 'zeros'; or a table with that as its type; it is {'type': 'one'}
    23 | bias_initializer = {type = "one"}
                            ^^^^^^^^^^^^^^"""),
    "two of a name": (('name = "scores"', 'name = "hidden"'), """\
net.toml:21: there are two layers 'hidden'
    21 | name = "hidden"
                ^^^^^^^^
  hint: give one another name"""),
    "inputs": (("units = 3", 'units = 3\ninputs = "hiden"'), """\
net.toml:23: layer scores: there is no layer 'hiden' before it
    23 | inputs = "hiden"
                  ^^^^^^^
  hint: did you mean 'hidden'?"""),
    "too few inputs": (("units = 3", 'units = 3\n[[layer]]\ntype = "add"'), """\
net.toml:23: layer add of type add takes several inputs
    23 | [[layer]]
         ^^^^^^^^^
  hint: such as inputs = ["conv1", "conv2"]"""),
    "no data": (('npz = "spiral.npz"\n', ""), """\
net.toml:1: [data] names no data
    1 | [data]
        ^^^^^^
  hint: it takes one of npz, csv, images, dataset"""),
    "data twice": (("batch_size", 'csv = "a.csv"\nbatch_size'), """\
net.toml:3: [data] names both npz and csv
    3 | csv = "a.csv"
        ^^^
  hint: it takes one of npz, csv, images, dataset"""),
    "key of other data": (("batch_size", "size = [8, 8]\nbatch_size"), """\
net.toml:3: size belongs to images, and the data are npz
    3 | size = [8, 8]
        ^^^^"""),
    "epochs and steps": (("epochs = 3", "epochs = 3\nsteps = 4"), """\
net.toml:33: [train] says both epochs and steps
    33 | steps = 4
         ^^^^^
  hint: keep one"""),
    "metric": (("epochs = 3", 'epochs = 3\nmetrics = ["accuracy", "mse"]'), """\
net.toml:33: there is no metric 'mse' for the loss softmax_cross_entropy
    33 | metrics = ["accuracy", "mse"]
                                ^^^^^
  hint: there are accuracy, top_5_accuracy"""),
    "rates": (("[train]", '[schedule]\ntype = "piecewise_constant"\nboundaries = [5]\nvalues = [0.1, 0.2]\n[train]'), """\
net.toml:29: the values of the schedule are the learning rates
    29 | learning_rate = 0.01
         ^^^^^^^^^^^^^
  hint: leave it out"""),
    "not a table": (("[[layer]]", "[layer]"), "net.toml:12: this is not TOML: cannot declare ('layer',) twice"),
    "not TOML": (("units = 16", "units = = 16"), """\
net.toml:9: this is not TOML: invalid value
    9 | units = = 16
                ^"""),
}


@pytest.mark.parametrize(("change", "expected"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_line(tmp_path, change, expected):
    assert change[0] in SPIRAL
    found = message(
        tmp_path, SPIRAL.replace(*change, 1) if change[0] != "[[layer]]" else SPIRAL.replace(*change)
    )
    assert found.startswith(expected)
    if not expected.endswith(("one of", "twice")):
        assert found == expected


CHANGES = {
    "unit=3": "--set unit=3: a change is TABLE.KEY=VALUE\n  hint: such as train.epochs=5",
    "train.epochs": "--set train.epochs: a change is TABLE.KEY=VALUE\n  hint: such as train.epochs=5",
    "train.epochs=-1": "--set train.epochs=-1: epochs must be a whole number above 0; it is -1",
    "layer.hiden.units=3": "--set layer.hiden.units=3: there is no layer 'hiden'\n  hint: did you mean 'hidden'?",
    "layer.hidden.unit=3": "--set layer.hidden.unit=3: layer hidden of type dense has no key 'unit'\n"
    "  hint: did you mean 'units'?",
    "train.metrics.x=3": "--set train.metrics.x=3: metrics is a value, and has no keys",
    "layer.hidden=3": "--set layer.hidden=3: layer hidden of type dense has no key 'hidden'",
    "data.npz.x=3": "--set data.npz.x=3: npz is a value, and has no keys",
    "solver.type=x": "--set solver.type=x: unknown table 'solver'",
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.items(), ids=CHANGES)
def test_what_is_wrong_with_a_change_is_told(tmp_path, change, expected):
    assert message(tmp_path, SPIRAL.replace("epochs = 3", "epochs = 3\nmetrics = []"), change).startswith(
        expected
    )


def test_files_that_are_none(tmp_path):
    with pytest.raises(NotFoundError, match="no such file"):
        read(tmp_path / "net.toml")
    with pytest.raises(DescriptionError, match="cannot be read"):
        read(tmp_path)
    (tmp_path / "net.toml").write_bytes(b"[data]\n\xff")
    with pytest.raises(DescriptionError, match="not text in UTF-8: byte 7"):
        read(tmp_path / "net.toml")
    assert "nested too deeply" in message(tmp_path, f"x = {'[' * 5000}{']' * 5000}")
    assert "[data] names no data" in message(tmp_path, "")
    assert "there is no table [loss]" in message(tmp_path, SPIRAL[: SPIRAL.index("[loss]")])
    assert "there is no layer" in message(
        tmp_path, SPIRAL[: SPIRAL.index("[[layer]]")] + SPIRAL[SPIRAL.index("[loss]") :]
    )


@pytest.mark.parametrize("text", ["layer = 3", "layer = [1]", "data = 3", "loss = []", "optimizer = 1.5"])
def test_tables_that_are_none(tmp_path, text):
    name = text.split()[0]
    others = re.sub(rf"(?ms)^\[+{name}\]+\n.*?(?=^\[|\Z)", "", SPIRAL)
    assert message(tmp_path, f"{text}\n{others}").startswith("net.toml:1: ")


def test_every_key_has_a_kind_and_a_meaning():
    for made in (*LAYERS.values(), *OPTIMIZERS.values(), *SCHEDULES.values()):
        for name, parameter in parameters(made).items():
            assert parameter.kind.words, name
    for kind, about in keys_of(SnapshotTable).values():
        assert kind.words and about
    assert [f.name for f in dataclasses.fields(SnapshotTable)] == list(keys_of(SnapshotTable))
