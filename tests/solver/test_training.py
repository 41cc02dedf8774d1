"""Trainings: they learn, stop cleanly, leave snapshots and logs, and go on bit for bit."""

import json
import os
import signal

import numpy as np
import pytest
from PIL import Image

import staticgraph as sg
from staticgraph.applications.solver import loop
from tests.solver.descriptions import SPIRAL, described, train, with_spiral

pytestmark = pytest.mark.takes_long


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))


@pytest.fixture
def folder(tmp_path):
    with_spiral(tmp_path)
    return tmp_path


def at_step(monkeypatch, step, do):
    """Have something done after a step of the training."""
    one = loop._Training.one

    def stepped(self, batch):
        one(self, batch)
        if self.step == step:
            do()

    monkeypatch.setattr(loop._Training, "one", stepped)


def snapshots(folder):
    return sorted(path.name for path in (folder / "net.snapshots").glob("*"))


def test_a_training_learns_and_saves_what_it_has_learned(folder, capsys):
    assert train(folder, "--set", "train.epochs=40", "--set", "snapshot.every=1000") == 0
    text = capsys.readouterr().out
    assert "hidden" in text and "epoch 40/40" in text and "480 steps in" in text
    with np.load(folder / "spiral.npz") as file:
        inputs, labels = file["inputs"], file["labels"]
    found = sg.load(folder / "net.sg")(inputs=inputs)
    assert (found["class"] == labels).mean() > 0.9
    np.testing.assert_allclose(found["probabilities"].sum(1), 1, rtol=1e-5)
    assert snapshots(folder) == []


def test_the_result_as_json(folder, capsys):
    assert train(folder, "--json", "--set", "train.steps=7", "--set", "train.output=other.sg") == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert found["step"] == found["steps"] == 7 and found["stopped"] is None
    assert found["training"].keys() == found["validation"].keys() == {"loss", "accuracy"}
    assert os.path.realpath(found["file"]) == os.path.realpath("other.sg")
    assert "epoch 1/1" in shown.err


def test_check_only_builds(folder, capsys):
    assert train(folder, "--check") == 0
    assert (
        capsys.readouterr().out
        == """\
layer                type                 output  weights  line
inputs                                         2
hidden               dense                    16       48     7
batch_normalization  batch_normalization      16       64    13
dropout              dropout                  16        0    16
scores               dense                     3       51    20
163 weights, 32 of which are not trained
96 examples to train on, 24 to validate; 36 steps of 8, 3 epochs
"""
    )
    assert train(folder, "--check", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["weights"] == 163 and [row["line"] for row in found["layers"]] == [7, 13, 16, 20]
    assert not (folder / "net.sg").exists()


def test_snapshots_are_written_and_old_ones_removed(folder):
    assert train(folder) == 0
    assert snapshots(folder) == ["net-30.sg", "net-35.sg"]
    assert sg.load(folder / "net.snapshots" / "net-30.sg").variables["global_step"] == 30


@pytest.mark.parametrize("begin", ["net-30.sg", "net-35.sg"])
def test_a_training_goes_on_bit_for_bit(folder, begin):
    assert train(folder) == 0
    whole = (folder / "net.sg").read_bytes()
    (folder / "net.sg").unlink()
    assert train(folder, "--resume", str(folder / "net.snapshots" / begin)) == 0
    assert (folder / "net.sg").read_bytes() == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_training_after_a_snapshot(folder, number, monkeypatch, capsys):
    assert train(folder, "--set", "snapshot.every=1000") == 0
    whole = (folder / "net.sg").read_bytes()
    with monkeypatch.context() as patched:
        at_step(patched, 17, lambda: os.kill(os.getpid(), number))
        assert train(folder, "--set", "snapshot.every=1000") == 128 + number
    assert snapshots(folder) == ["net-17.sg"]
    assert f"stopped by {number.name} after 17 of 36 steps; --resume goes on from" in capsys.readouterr().out
    assert train(folder, "--resume") == 0
    assert (folder / "net.sg").read_bytes() == whole
    assert signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


def test_a_signal_while_the_net_is_measured(folder, monkeypatch, capsys):
    assert train(folder, "--set", "snapshot.every=1000") == 0
    whole = (folder / "net.sg").read_bytes()
    measured, calls = loop._Training.measured, []

    def interrupted(self, examples):
        calls.append(self.step)
        if len(calls) == 4:  # after three epochs, of all that was trained on
            os.kill(os.getpid(), signal.SIGINT)
        return measured(self, examples)

    with monkeypatch.context() as patched:
        patched.setattr(loop._Training, "measured", interrupted)
        assert train(folder) == 130
    assert "stopped by SIGINT after 36 of 36 steps" in capsys.readouterr().out
    assert train(folder, "--resume") == 0
    assert (folder / "net.sg").read_bytes() == whole


def test_snapshots_of_an_earlier_training_are_not_mixed_with_new_ones(folder, capsys):
    assert train(folder) == 0
    assert train(folder) == 2
    assert (
        "net-35.sg is a snapshot of an earlier training\n  hint: --resume goes on" in capsys.readouterr().err
    )
    assert train(folder, "--restart", "--set", "train.steps=6") == 0
    assert snapshots(folder) == ["net-5.sg"]


def test_resuming_without_a_snapshot_begins(folder, capsys):
    assert train(folder, "--resume") == 0
    assert "there is no snapshot in" in capsys.readouterr().out
    assert train(folder, "--resume", "no.sg") == 2
    assert capsys.readouterr().err == "no.sg: there is no such snapshot\n"


def test_a_snapshot_of_another_network_is_refused(folder, capsys):
    assert train(folder) == 0
    assert train(folder, "--resume", "--set", "layer.hidden.units=8") == 1
    assert (
        "is of another network: hidden/kernel is float32[2, 16] in it, and float32[2, 8] in"
        in capsys.readouterr().err
    )


def test_a_damaged_snapshot_is_refused(folder, capsys):
    assert train(folder) == 0
    newest = folder / "net.snapshots" / "net-35.sg"
    newest.write_bytes(newest.read_bytes()[:-100])
    assert train(folder, "--resume") == 1
    assert "net-35.sg" in capsys.readouterr().err


def test_a_longer_training_goes_on_from_a_finished_one(folder):
    assert train(folder) == 0
    assert train(folder, "--resume", str(folder / "net.sg"), "--set", "train.epochs=4") == 0
    assert sg.load(folder / "net.sg").variables["global_step"] == 48


def test_a_loss_that_is_no_number_stops_the_training(folder, capsys):
    text = SPIRAL.replace('type = "adam"', 'type = "gradient_descent"').replace("0.01", "1e38")
    text = text.replace('[[layer]]\ntype = "batch_normalization"\n', "")
    with_spiral(folder, text, "train.epochs=2")
    assert train(folder) == 1
    assert "net.toml:26: the loss is" in (message := capsys.readouterr().err)
    assert message.endswith(
        "hint: lower optimizer.learning_rate, or set train.clip_norm; SG_CHECK_NAN=1 names the operation\n"
    )
    assert not (folder / "net.sg").exists()


def test_weights_that_are_no_numbers_are_not_saved(folder, monkeypatch, capsys):
    measured = loop._Training.train

    def spoiled(self):
        measured(self)
        variable = self.network.graph.variables["hidden/kernel"].op
        with self.session.held() as store:
            store.write(variable, np.full((2, 16), np.nan))

    monkeypatch.setattr(loop._Training, "train", spoiled)
    assert train(folder) == 1
    assert (
        "hidden/kernel has a NaN or an infinite number after step 36; the newest" in capsys.readouterr().err
    )
    assert not (folder / "net.sg").exists()


def curves(folder):
    """The points of all curves by tag."""
    found = {}
    for path in sorted(folder.glob("*")):
        for event in sg.summary.summary_iterator(str(path)):
            for value in event.summary.value:
                found.setdefault(value.tag, {})[event.step] = value.simple_value
    return found


def test_curves_for_tensorboard(folder):
    assert train(folder, "--set", f"log.folder={folder}/log", "--set", "log.every=6") == 0
    training, validation = curves(folder / "log" / "train"), curves(folder / "log" / "validation")
    assert training.keys() == {"loss", "accuracy", "learning_rate"} and validation.keys() == {
        "loss",
        "accuracy",
    }
    assert list(training["loss"]) == [6, 12, 18, 24, 30, 36] and list(validation["loss"]) == [12, 24, 36]
    assert training["learning_rate"][6] == pytest.approx(0.01)


def test_a_log_folder_that_cannot_be_written(folder, capsys):
    assert train(folder, "--set", f"log.folder={folder}/net.toml/log") == 1
    assert "net.toml/log cannot be written: " in (message := capsys.readouterr().err)
    assert message.endswith("hint: choose another: --set log.folder=PATH\n")


def test_a_graph_that_could_not_be_saved_is_not_trained(folder, capsys):
    assert train(folder, "--set", f"train.output={folder}/no/net.sg") == 1
    shown = capsys.readouterr()
    assert f"the trained graph would go to {folder}/no/net.sg, and {folder}/no is no folder" in shown.err
    assert "epoch" not in shown.out.split("epochs\n")[1]
    assert train(folder, "--set", f"train.output={folder}") == 1
    assert f"{folder} is a folder" in capsys.readouterr().err
    assert train(folder, "--set", f"snapshot.folder={folder}/net.toml/x") == 1
    assert f"cannot make the folder of snapshots {folder}/net.toml/x: Not a dir" in capsys.readouterr().err


def test_pictures_are_trained_on(tmp_path):
    for name, level in (("dark", 40), ("light", 200)):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for n in range(10):
            pixels = np.full((8, 8, 3), level + n, np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pictures" / name / f"{n}.png")
    text = SPIRAL.replace('npz = "spiral.npz"', 'images = "pictures"').replace("units = 3", "units = 2")
    text = text.replace("[[layer]]", '[[layer]]\ntype = "flatten"\n[[layer]]', 1)
    described(tmp_path, text)
    assert train(tmp_path, "--set", "train.epochs=10") == 0
    net = sg.load(tmp_path / "net.sg")
    assert net(inputs=np.full((1, 8, 8, 3), 45))["class"] == 0
    assert net(inputs=np.full((1, 8, 8, 3), 205))["class"] == 1


def test_sequences_of_words_are_trained_on(tmp_path):
    words = np.random.default_rng(0).integers(1, 20, (80, 5))
    np.savez(tmp_path / "words.npz", inputs=words, labels=(words[:, 0] > 9).astype(int))
    layers = """
[[layer]]
type = "embedding"
input_dim = 20
output_dim = 4
[[layer]]
type = "lstm"
units = 6
[[layer]]
type = "dense"
units = 1
"""
    text = SPIRAL[: SPIRAL.index("[[layer]]")] + layers + SPIRAL[SPIRAL.index("[loss]") :]
    for before, after in (
        ("spiral", "words"),
        ('normalize = "standard"', ""),
        ("softmax_c", "sigmoid_c"),
        ("0.01", "0.05"),
    ):
        text = text.replace(before, after)
    described(tmp_path, text)
    assert train(tmp_path, "--set", "train.epochs=20") == 0
    found = sg.load(tmp_path / "net.sg")(inputs=words)
    assert ((found["probability"][:, 0] > 0.5) == found["yes"][:, 0]).all()
    assert (found["yes"][:, 0] == (words[:, 0] > 9)).mean() > 0.9
