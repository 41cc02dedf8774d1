"""`Saver` as TensorFlow 1.15 has it: names, the state file, what is kept, what restoring refuses."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import (
    InvalidArgumentError,
    InvalidFileError,
    NotFoundError,
    SaveError,
    UninitializedError,
)
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.formats.tf.checkpoints import saver as saver_module
from staticgraph.formats.tf.checkpoints.checkpoint_state import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    update_checkpoint_state,
)
from staticgraph.formats.tf.checkpoints.saver import Saver
from staticgraph.runtime.files.loaded import load
from staticgraph.runtime.session import Session
from tests.saving.nets import line

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def session():
    """Variables v = [1, 2] and n = 7, in a session in which they have their values."""
    sg.Variable(np.array([1, 2], np.float32), name="v")
    sg.Variable(7, name="n", trainable=False)
    with Session() as made:
        made.run([v.initializer for v in get_default_graph().variables.values()])
        yield made


def variable(name="v"):
    return get_default_graph().variables[name]


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def kept(*steps: object) -> set[str]:
    """The files of a folder with the checkpoints of these steps."""
    return {"checkpoint", *(f"model-{n}.{end}" for n in steps for end in ("index", "meta"))}


def test_values_come_back(session, tmp_path):
    before = get_default_graph().version
    path = Saver().save(session, str(tmp_path / "model"))
    assert path == str(tmp_path / "model")
    variable().load([5, 6])
    variable("n").load(8)
    Saver().restore(session, path)
    np.testing.assert_array_equal(session.run(variable()), [1, 2])
    assert session.run(variable("n")) == 7
    assert get_default_graph().version == before
    with Session() as fresh:
        Saver().restore(fresh, tmp_path / "model")  # without initialising
        np.testing.assert_array_equal(fresh.run(variable()), [1, 2])


def test_the_step_is_part_of_the_name(session, tmp_path):
    prefix = str(tmp_path / "model")
    step = variable("n")
    assert Saver().save(session, prefix, global_step=100) == f"{prefix}-100"
    assert Saver().save(session, prefix, step) == f"{prefix}-7"
    assert Saver().save(session, prefix, np.int64(3)) == f"{prefix}-3"
    assert Saver(pad_step_number=True).save(session, prefix, "n:0") == f"{prefix}-00000007"
    assert names(tmp_path) == kept("100", "7", "3", "00000007")


def test_the_last_few_are_kept(session, tmp_path):
    saver = Saver(max_to_keep=2)
    for step in (1, 2, 3, 4):
        saver.save(session, str(tmp_path / "model"), step)
    assert saver.last_checkpoints == [str(tmp_path / f"model-{n}") for n in (3, 4)]
    assert names(tmp_path) == kept(3, 4)
    saver.save(session, str(tmp_path / "model"), 3)  # the same name again counts as the newest
    assert saver.last_checkpoints == [str(tmp_path / f"model-{n}") for n in (4, 3)]
    assert latest_checkpoint(str(tmp_path)) == str(tmp_path / "model-3")


@pytest.mark.parametrize("most", [None, 0])
def test_all_are_kept_where_no_number_is_given(session, tmp_path, most):
    saver = Saver(max_to_keep=most)
    for step in range(7):
        saver.save(session, str(tmp_path / "model"), step)
    assert names(tmp_path) == kept(*range(7))
    assert saver.last_checkpoints == []
    assert get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths == [str(tmp_path / "model-6")]


def test_one_per_so_many_hours_is_kept_besides(session, tmp_path, monkeypatch):
    clock = 0.0
    monkeypatch.setattr(saver_module.time, "time", lambda: clock)
    saver = Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1)
    for step in range(8):
        clock = step * 1800 + 1.0
        saver.save(session, str(tmp_path / "model"), step)
    assert names(tmp_path) == kept(2, 4, 6, 7)


def test_the_state_file_is_tensorflows(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    saver = Saver()
    saver.save(session, "runs/model", 1)
    saver.save(session, "runs/model", 2)
    assert (tmp_path / "runs" / "checkpoint").read_text() == (
        'model_checkpoint_path: "model-2"\n'
        'all_model_checkpoint_paths: "model-1"\n'
        'all_model_checkpoint_paths: "model-2"\n'
    )
    assert latest_checkpoint("runs") == "runs/model-2"
    saver.save(session, "here")
    assert latest_checkpoint(".") == "./here"
    Saver().save(session, str(tmp_path / "runs" / "model"), 3)
    assert (
        f'model_checkpoint_path: "{tmp_path}/runs/model-3"' in (tmp_path / "runs" / "checkpoint").read_text()
    )
    Saver(save_relative_paths=True).save(session, str(tmp_path / "runs" / "model"), 4)
    assert get_checkpoint_state("runs").model_checkpoint_path == "runs/model-4"
    Saver().save(session, "runs/model", 5, latest_filename="other", write_state=True)
    assert latest_checkpoint("runs") == "runs/model-4"
    assert latest_checkpoint("runs", "other") == "runs/model-5"
    Saver().save(session, "runs/model", 6, write_state=False)
    assert latest_checkpoint("runs", "other") == "runs/model-5"


def test_a_saver_goes_on_after_a_restart(session, tmp_path):
    first = Saver(max_to_keep=2)
    for step in (1, 2):
        first.save(session, str(tmp_path / "model"), step)
    second = Saver(max_to_keep=2)
    state = get_checkpoint_state(str(tmp_path))
    second.recover_last_checkpoints([*state.all_model_checkpoint_paths, str(tmp_path / "gone")])
    second.save(session, str(tmp_path / "model"), 3)
    assert names(tmp_path) == kept(2, 3)
    third = Saver(max_to_keep=1)
    third.set_last_checkpoints(second.last_checkpoints)
    third.save(session, str(tmp_path / "model"), 4)
    assert third.last_checkpoints == [str(tmp_path / "model-4")]
    assert names(tmp_path) >= {"model-4.index", "model-3.index"}  # those that were set are never removed
    assert len(get_checkpoint_mtimes([str(tmp_path / "model-4"), str(tmp_path / "gone")])) == 1


def test_variables_can_be_chosen_and_renamed(session, tmp_path):
    path = Saver({"old/v": variable()}).save(session, str(tmp_path / "model"))
    variable().load([0, 0])
    Saver({"old/v": variable()}).restore(session, path)
    np.testing.assert_array_equal(session.run(variable()), [1, 2])
    with pytest.raises(NotFoundError, match=r"Key v not found in checkpoint .*/model") as caught:
        Saver([variable()]).restore(session, path)
    assert "it has 'old/v'" in str(caught.value)
    assert "test_saver.py" in str(caught.value)


def test_all_that_is_missing_or_does_not_fit_is_told_at_once(session, tmp_path):
    path = Saver({"a": variable()}).save(session, str(tmp_path / "model"))
    with sg.Graph().as_default(), Session() as fresh:
        many = {f"k{n}": sg.Variable(float(n)) for n in range(7)}
        with pytest.raises(NotFoundError, match=r"^Keys k0, k1, k2, k3, k4, \.\.\. not found in checkpoint"):
            Saver(many).restore(fresh, path)
        with pytest.raises(NotFoundError, match=r"^Keys k0, k1 not found in checkpoint"):
            Saver({key: many[key] for key in ("k0", "k1")}).restore(fresh, path)
    with sg.Graph().as_default(), Session() as fresh:
        both = {"a": sg.Variable([1]), "b": sg.Variable(1.0)}
        with Session() as other:
            other.run(sg.global_variables_initializer())
            Saver(both).save(other, path)
    with sg.Graph().as_default(), Session() as fresh:
        unlike = {"a": sg.Variable([1, 2], name="x"), "b": sg.Variable([1.0], name="y")}
        with pytest.raises(InvalidArgumentError) as caught:
            Saver(unlike).restore(fresh, path)
        first, second = str(caught.value).splitlines()[:2]
        assert first.startswith("variable x is int32[2], and a in checkpoint")
        assert second.startswith("variable y is float32[1], and b in checkpoint")


def test_a_variable_has_one_name_in_a_checkpoint(session):
    with pytest.raises(ValueError, match="v would be saved under two names"):
        Saver({"a": variable(), "b": variable()})


def test_values_that_do_not_fit_are_refused_and_nothing_changes(session, tmp_path):
    path = Saver().save(session, str(tmp_path / "model"))
    with sg.Graph().as_default() as other:
        n = sg.Variable(1, name="n")
        sg.Variable(np.zeros((2, 1), np.float32), name="v")
        with Session() as fresh:
            fresh.run(n.initializer)
            with pytest.raises(
                InvalidArgumentError, match=r"variable v is float32\[2, 1\], and v in .* is float32\[2\]"
            ):
                Saver().restore(fresh, path)
            assert fresh.run(n) == 1
            Saver(reshape=True).restore(fresh, path)
            np.testing.assert_array_equal(fresh.run(other.variables["v"]), [[1], [2]])
    with sg.Graph().as_default(), Session() as fresh:
        sg.Variable(np.zeros(2, np.int32), name="v")
        with pytest.raises(InvalidArgumentError, match=r"variable v is int32\[2\]"):
            Saver().restore(fresh, path)


def test_what_is_no_checkpoint_is_refused(session, tmp_path):
    saver = Saver()
    with pytest.raises(ValueError, match=r"The passed save_path is not a valid checkpoint: .*none"):
        saver.restore(session, str(tmp_path / "none"))
    with pytest.raises(ValueError, match="Can't load save_path when it is None"):
        saver.restore(session, None)
    path = saver.save(session, str(tmp_path / "model"))
    with pytest.raises(ValueError, match=r"not a valid checkpoint[^$]*has model"):
        saver.restore(session, str(tmp_path / "modle"))
    file = Path(f"{path}.index")
    data = file.read_bytes()
    for length in (0, 1, len(data) // 2, len(data) - 1):
        file.write_bytes(data[:length])
        with pytest.raises(InvalidFileError, match=r"model.index is not a usable checkpoint file"):
            saver.restore(session, path)
    file.write_bytes(line(tmp_path / "net.sg").read_bytes())
    with pytest.raises(InvalidFileError, match="it is of kind 'graph'"):
        saver.restore(session, path)
    file.write_bytes(data)
    with pytest.raises(InvalidFileError, match="it is of kind 'checkpoint'"):
        load(file)


def test_arguments_are_checked_as_in_tensorflow(session, tmp_path):
    path = str(tmp_path / "model")
    with pytest.raises(TypeError, match="'sess' must be a Session"):
        Saver().save(None, path)
    with pytest.raises(ValueError, match="must not contain path components"):
        Saver().save(session, path, latest_filename="a/b")
    with pytest.raises(ValueError, match="'latest_filename' collides with 'save_path'"):
        Saver().save(session, str(tmp_path / "checkpoint"))
    with pytest.raises(ValueError, match="cannot be deferred"):
        Saver([variable()], defer_build=True)
    with pytest.raises(RuntimeError, match="`build\\(\\)` should be called"):
        Saver(defer_build=True).save(session, path)
    with pytest.raises(TypeError, match="a Saver saves variables, not 3"):
        Saver([3])
    with pytest.raises(TypeError, match="a Saver saves variables"):
        Saver([variable() + 1.0])
    with pytest.raises(TypeError, match="names in a checkpoint are strings"):
        Saver({1: variable()})
    with pytest.raises(ValueError, match="At least two variables have the same name: v"):
        Saver([variable(), variable()])
    with sg.Graph().as_default():
        with pytest.raises(ValueError, match="No variables to save"):
            Saver()
        assert Saver(allow_empty=True).save(session, path) is None
    assert names(tmp_path) == set()


def test_variables_made_later_count_where_building_is_deferred(session, tmp_path):
    saver = Saver(defer_build=True)
    late = sg.Variable(1.0, name="late")
    saver.build()
    with pytest.raises(UninitializedError, match="cannot save variable late: it has no value"):
        saver.save(session, str(tmp_path / "model"))
    session.run(late.initializer)
    assert checkpoint_exists(saver.save(session, str(tmp_path / "model")))


def test_an_unwritable_path_changes_nothing(session, tmp_path):
    saver = Saver()
    saver.save(session, str(tmp_path / "model"), 1)
    (tmp_path / "file").write_text("no folder")
    for error in (SaveError, ValueError):
        with pytest.raises(error, match=r"cannot save to .*file/model-2"):
            saver.save(session, str(tmp_path / "file" / "model"), 2)
    assert saver.last_checkpoints == [str(tmp_path / "model-1")]


def test_the_folder_is_made(session, tmp_path):
    path = Saver().save(session, str(tmp_path / "new" / "folder" / "model"), 3)
    assert latest_checkpoint(str(tmp_path / "new" / "folder")) == path


def test_variables_of_a_loaded_graph_have_checkpoints_too(tmp_path):
    net = load(line(tmp_path / "net.sg"))
    variables = net.graph.get_collection("variables")
    path = Saver(variables).save(net.session, str(tmp_path / "model"))
    net.variables["w"] = [0, 0]
    Saver(variables).restore(net.session, path)
    np.testing.assert_array_equal(net.variables["w"], [1, 2])


@pytest.mark.takes_long
@pytest.mark.parametrize("step", range(1, 13))
def test_a_killed_process_leaves_a_latest_checkpoint(tmp_path, step):
    """Killed before each call that changes the disk, while it saves for the third time and keeps one."""
    program = f"""
import os, pathlib, signal
import staticgraph as sg
from staticgraph.runtime.session import Session
from staticgraph.formats.tf.checkpoints.saver import Saver
v = sg.Variable(0.0, name="v")
saver = Saver([v], max_to_keep=1)
calls = 0
def counted(real):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == {step}:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    return call
with Session() as session:
    for n in (1, 2, 3):
        session.variables.write(v.op, n)
        if n == 3:
            for name in ("fsync", "replace", "unlink"):
                setattr(os, name, counted(getattr(os, name)))
        saver.save(session, "model", n)
raise SystemExit(calls)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment)
    assert run.returncode == (-signal.SIGKILL if step < 12 else 11)  # so there are eleven such calls
    v = sg.Variable(0.0, name="v")
    with Session() as session:
        latest = latest_checkpoint(str(tmp_path))
        Saver().restore(session, latest)
        assert session.run(v) == int(latest.rpartition("-")[2]) >= 2


# The state file alone


def test_what_the_state_file_may_look_like(tmp_path, caplog):
    folder = str(tmp_path)
    file = tmp_path / "checkpoint"
    assert get_checkpoint_state(folder) is None
    assert latest_checkpoint(folder) is None
    file.write_text(
        "# by hand\n\n  model_checkpoint_path : 'a\\303\\274\\x41\\n'  # latest\n"
        "last_preserved_timestamp: 1.5e9\n"
    )
    state = get_checkpoint_state(folder)
    assert state.model_checkpoint_path == os.path.join(folder, "aüA\n")
    assert state.last_preserved_timestamp == 1.5e9
    for text in (
        "model_checkpoint_path: 3\n",
        "nonsense",
        'unknown: "x"',
        'model_checkpoint_path: "\\377"',
        "\udcff",
    ):
        file.write_bytes(text.encode(errors="surrogateescape"))
        caplog.clear()
        assert get_checkpoint_state(folder) is None
        assert "is ignored" in caplog.text
    file.write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state"):
        get_checkpoint_state(folder)
    file.write_text('model_checkpoint_path: "gone"\n')
    assert latest_checkpoint(folder) is None
    assert "there is no checkpoint" in caplog.text


def test_the_state_file_is_read_as_it_was_written(tmp_path):
    folder = str(tmp_path)
    paths = [str(tmp_path / name) for name in ('quo"te', "back\\slash", "line\nbreak", "ü")]
    update_checkpoint_state(folder, paths[-1], paths, None, [1.0, 2.5, 3.0, 4e9], 0.1)
    state = get_checkpoint_state(folder)
    assert state.all_model_checkpoint_paths == paths
    assert state.model_checkpoint_path == paths[-1]
    assert state.all_model_checkpoint_timestamps == [1.0, 2.5, 3.0, 4e9]
    assert (tmp_path / "checkpoint").read_bytes().isascii()
    with pytest.raises(ValueError, match="2 timestamps"):
        update_checkpoint_state(folder, "a", ["a"], None, [1.0, 2.0])
    with pytest.raises(RuntimeError, match="conflicts"):
        update_checkpoint_state(folder, os.path.join(folder, "checkpoint"))
