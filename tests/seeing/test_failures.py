"""Files of runs that failed, and what a replay of them shows."""

import errno
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.applications.cli.outcome import DONE
from staticgraph.compiler.graph.errors import InvalidArgumentError, InvalidFileError, NotFoundError, OpError
from staticgraph.runtime.debug.replay import Replay, numbers, replay
from staticgraph.runtime.debug.replay_text import as_dict, ending, rows_text
from staticgraph.runtime.disk import atomic
from staticgraph.runtime.failures import crash_dump as failing
from staticgraph.runtime.files import container
from staticgraph.saved.saving import load_failure

HERE = os.path.basename(__file__)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "failed"


def fails(folder: Path, fetches, feeds=None, prepare=None, **switches) -> tuple[Exception, Replay]:
    """The error of a run, and the replay of its file."""
    with sg.Session(failures=str(folder), **switches) as sess:
        sess.run(sg.global_variables_initializer())
        if prepare is not None:
            prepare(sess)
        with pytest.raises(Exception) as caught:
            sess.run(fetches, feeds)
    return caught.value, replay(load_failure(folder / "failure.sg"))


def named(found: Replay, name: str):
    [row] = [row for row in found.rows if row.name == name]
    return row


# What is in a file


def test_an_assertion(folder):
    x = sg.placeholder(sg.float32, [None], name="x")
    small = sg.less(x, 5.0, name="small")
    with sg.control_dependencies([sg.Assert(sg.reduce_all(small), [x], name="check")]):
        y = sg.multiply(x, 2.0, name="y")
    error, found = fails(folder, y, {x: [1, 9]})
    assert isinstance(error, InvalidArgumentError)
    *before, last = str(error).splitlines()
    assert last == f"  look at this run: python -m staticgraph replay {folder / 'failure.sg'}"
    assert found.reproduced and found.failure.message == "\n".join(before)
    assert (found.failed.op, found.failed.name) == ("assert_true", "check/Assert")
    given = dict(zip(found.failed.input_names, found.failed.inputs, strict=True))
    assert given["feed x"].tolist() == [1, 9]
    assert named(found, "small").outputs[0].tolist() == [True, False]


def test_variables_and_random_states_are_those_before_the_run(folder):
    w = sg.Variable([1.0, 2.0], name="w")
    noise = sg.random_normal([2], name="noise")
    with sg.control_dependencies([sg.assign(w, w * 3.0 + noise)]):
        bad = sg.check_numerics(sg.log(-w), "no logarithm", name="bad")

    kept = {}

    def prepare(sess):
        sess.run(noise)
        w.load([3.0, 4.0], sess)
        drawn = noise.op.inputs[0].op.inputs[0].op
        kept["state"] = sess.variables.random_state(drawn).tolist()
        kept["drawn"] = drawn.name

    _, found = fails(folder, bad, prepare=prepare)
    session = found.failure.session
    again = load_failure(folder / "failure.sg").session
    with again.held() as store:
        assert store.read(again.graph.get_operation_by_name("w")).tolist() == [3, 4]
        drawn = again.graph.get_operation_by_name(kept["drawn"])
        assert store.random_state(drawn).tolist() == kept["state"]
    assert found.reproduced
    with session.held() as store:  # the replay failed too, and changed nothing
        assert store.read(session.graph.get_operation_by_name("w")).tolist() == [3, 4]


def test_an_op_of_numpy_that_fails(folder):
    a = sg.placeholder(sg.float32, [2, 2], name="a")
    error, found = fails(folder, sg.matrix_inverse(a, name="inverse"), {a: [[1, 2], [2, 4]]})
    assert isinstance(error, InvalidArgumentError) and "replay" in str(error)
    assert found.reproduced and found.failed.name == "inverse"
    assert found.failed.inputs[0].tolist() == [[1, 2], [2, 4]]


def test_a_loop_tells_its_round(folder):
    def body(i, total):
        checked = sg.check_numerics(sg.log(3.0 - total, name="inner"), "too far", name="guard")
        return i + 1, total + 1.0 + 0.0 * checked

    _, found = fails(folder, sg.while_loop(lambda i, total: i < 9, body, [0, 0.0])[1])
    assert found.reproduced
    assert (found.failed.op, found.failed.round) == ("check_numerics", (4,))
    assert (found.source.op, found.source.round) == ("log", (4,))
    assert found.source.times == 4
    assert "round 4 of a loop" in ending(found, "failure.sg")


def test_the_guard_against_nan(folder):
    x = sg.placeholder(sg.float32, [3], name="x")
    y = sg.reduce_sum(sg.log(x, name="root"))
    error, found = fails(folder, y, {x: [1, -1, 2]}, check_nan=True)
    assert "log" in str(error) and found.failure.switches["check_nan"] == "True"
    assert found.reproduced and found.source.name == "root"
    told = ending(found, "failure.sg")
    assert told.count("begins") == 1 and "NaN or Inf begins, and the run fails, in log (root)" in told
    assert [row.op for row in found.rows] == ["given", "log", "reduce_sum"]  # and not what the guard does


def test_nan_that_was_fed(folder):
    x = sg.placeholder(sg.float32, [2], name="x")
    _, found = fails(folder, sg.check_numerics(x * 2.0, "bad"), {x: [1, np.nan]})
    assert found.reproduced and (found.source.op, found.source.name) == ("given", "feed x")
    assert "NaN or Inf begins in given (feed x)" in ending(found, "failure.sg")


def test_strings_are_fed_and_held(folder):
    texts = sg.placeholder(sg.string, [None], name="texts")
    word = sg.Variable(["hallo"], name="word")
    found_numbers = sg.strings.to_number(sg.concat([texts, word], 0), name="parsed")
    _, found = fails(folder, found_numbers, {texts: ["1.5", "2"]})
    assert found.reproduced and found.failed.name == "parsed"
    [fed] = found.failure.run.feeds.values()
    assert fed.tolist() == [b"1.5", b"2"]


def test_what_a_dataset_gave_is_fed(folder):
    made = sg.data.Dataset.from_tensor_slices(np.float32([[2, 1], [4, -1]])).make_one_shot_iterator()
    row = made.get_next()
    bad = sg.check_numerics(sg.log(row), "bad", name="bad")
    with sg.Session(failures=str(folder)) as sess:
        assert sess.run(bad).shape == (2,)
        with pytest.raises(InvalidArgumentError):
            sess.run(bad)
    found = replay(load_failure(folder / "failure.sg"))
    assert found.reproduced
    assert [a.tolist() for a in found.failure.run.feeds.values()] == [[4, -1]]


def test_a_function_of_pythons_that_fails(folder):
    x = sg.placeholder(sg.float32, [2], name="x")

    def raises(values):
        raise RuntimeError("not today")

    error, found = fails(folder, sg.py_func(raises, [x * 2.0], sg.float32, name="mine") + 1.0, {x: [1, 2]})
    assert "not today" in str(error) and "replay" in str(error)
    assert not found.reproduced and found.error is None
    assert found.failure.run.left_out == ("mine",)
    assert found.rows[-1].outputs[0].tolist() == [2, 4]
    assert "no file can hold it: mine" in ending(found, "failure.sg")


def test_what_is_fed_in_place_of_an_operation(folder):
    x = sg.placeholder(sg.float32, [2], name="x")
    y = sg.multiply(x, 2.0, name="y")
    _, found = fails(folder, sg.check_numerics(sg.log(y), "bad"), {y: [1, -1]})
    assert found.reproduced
    assert {t.name: a.tolist() for t, a in found.failure.run.feeds.items()} == {"y:0": [1, -1]}


def test_a_training_step(folder):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    w = sg.Variable(np.ones((3, 2), np.float32), name="w")
    loss = sg.reduce_mean(sg.check_numerics(sg.sqrt(sg.matmul(x, w)), "no root", name="root"))
    step = sg.train.AdamOptimizer(0.1).minimize(loss)
    _, found = fails(folder, [loss, step], {x: -np.ones((4, 3))})
    assert found.reproduced and (found.failed.name, found.source.op) == ("root", "sqrt")
    assert [t.name for t in found.failure.run.fetches] == [loss.name]
    assert [op.name for op in found.failure.run.targets] == [step.name]


def test_a_loop_of_python_that_has_changed_variables(folder):
    """Its rounds are runs of their own, whose changes stay; the file has what was before them."""
    total = sg.Variable(0.0, name="total")

    def body(i, text):
        with sg.control_dependencies([sg.assign_add(total, 1.0)]):
            longer = sg.strings.join([text, "1"])
        ending = sg.where(i < 2, sg.constant(""), sg.constant("x"))
        value = sg.strings.to_number(sg.strings.join([longer, ending]))
        with sg.control_dependencies([value]):
            return i + 1, sg.identity(longer)

    with sg.Session(failures=str(folder)) as sess:
        sess.run(total.initializer)
        with pytest.raises(OpError):
            sess.run(sg.while_loop(lambda i, text: i < 5, body, [0, "0"])[1])
        assert sess.run(total) > 0
    failure = load_failure(folder / "failure.sg")
    with failure.session.held() as store:
        assert store.read(failure.session.graph.get_operation_by_name("total")) == 0
    found = replay(failure)
    assert found.reproduced and found.failed.op == "string_to_number"
    assert found.failed.inputs[0].tolist() == b"0111x"


def test_an_error_of_shapes_at_run_time(folder):
    x = sg.placeholder(sg.float32, [None, None], name="x")
    error, found = fails(folder, sg.matmul(x, sg.ones([3, 2])), {x: np.ones((4, 5))})
    assert "replay" in "\n".join([str(error), *getattr(error, "__notes__", ())])
    assert found.reproduced and not found.rows


# When there is one


def test_nothing_is_kept_without_the_switch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with sg.Session() as sess, pytest.raises(InvalidArgumentError) as caught:
        sess.run(sg.check_numerics(sg.log(sg.constant(-1.0)), "bad"))
    assert "replay" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


ORDINARY = {
    "the end of a dataset": lambda: sg.data.Dataset.range(0).make_one_shot_iterator().get_next(),
    "a variable without a value": lambda: sg.Variable(1.0) + 1.0,
    "a placeholder that was not fed": lambda: sg.placeholder(sg.float32, []) + 1.0,
}


@pytest.mark.parametrize("make", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_errors_are_not_kept(make, folder):
    with sg.Session(failures=str(folder)) as sess, pytest.raises(OpError) as caught:
        sess.run(make())
    assert "replay" not in str(caught.value) and not folder.exists()


def test_files_are_numbered_and_not_without_end(folder, monkeypatch):
    monkeypatch.setattr(failing, "MOST", 3)
    bad = sg.check_numerics(sg.log(sg.placeholder(sg.float32, [], name="x")), "bad")
    told = []
    with sg.Session(failures=str(folder)) as sess:
        for _ in range(4):
            with pytest.raises(InvalidArgumentError) as caught:
                sess.run(bad, {"x:0": -1.0})
            told.append(str(caught.value).splitlines()[-1])
    assert sorted(p.name for p in folder.iterdir()) == ["failure-2.sg", "failure-3.sg", "failure.sg"]
    assert [line.rpartition("/")[2] for line in told[:3]] == ["failure.sg", "failure-2.sg", "failure-3.sg"]
    assert told[3] == f"  the run was not kept: {folder} has 3 failed runs already; remove some"


def test_the_environment_and_contexts_choose_the_folder(folder, monkeypatch):
    monkeypatch.setenv("SG_FAILURES", str(folder))
    assert sg.Session().settings.failures == str(folder)
    with sg.options(failures="elsewhere"):
        assert sg.Session().settings.failures == "elsewhere"


def test_a_callable_keeps_them_too(folder):
    x = sg.placeholder(sg.float32, [], name="x")
    with sg.Session(failures=str(folder)) as sess:
        call = sess.make_callable(sg.check_numerics(sg.log(x), "bad"), [x])
        assert call(1.0) == 0
        with pytest.raises(InvalidArgumentError, match="replay"):
            call(-1.0)
    assert replay(load_failure(folder / "failure.sg")).reproduced


def impossible(folder: Path) -> Exception:
    """The error of a run that fails, where no file can be written."""
    bad = sg.check_numerics(sg.log(sg.placeholder(sg.float32, [], "x")), "bad one")
    with sg.Session(failures=str(folder)) as sess, pytest.raises(InvalidArgumentError, match="bad") as caught:
        sess.run(bad, {"x:0": -1.0})
    return caught.value


def test_a_full_disk_does_not_hide_the_error(folder, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic, "write_all", full)
    error = impossible(folder)
    last = str(error).splitlines()[-1]
    assert last.startswith("  the run was not kept: ") and "cannot save" in last
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    error = impossible(tmp_path / "file" / "in")
    assert "the run was not kept: " in str(error)


# Files are not trusted


@pytest.fixture(scope="module")
def intact(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("intact")
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [2], name="x")
        w = sg.Variable(2.0, name="w")
        with sg.Session(failures=str(folder)) as sess:
            sess.run(w.initializer)
            with pytest.raises(InvalidArgumentError):
                sess.run(sg.check_numerics(sg.log(w * x), "bad"), {x: [1, -1]})
    return (folder / "failure.sg").read_bytes()


def test_a_file_that_is_cut_short(intact, tmp_path):
    path = tmp_path / "cut.sg"
    for size in range(0, len(intact), 97):
        path.write_bytes(intact[:size])
        with pytest.raises(InvalidFileError, match=r"cut\.sg is not a usable failure file"):
            load_failure(path)


def test_a_byte_that_is_changed(intact, tmp_path):
    path = tmp_path / "changed.sg"
    for at in range(0, len(intact), 53):
        path.write_bytes(intact[:at] + bytes([intact[at] ^ 1]) + intact[at + 1 :])
        with pytest.raises(InvalidFileError):
            load_failure(path)


def forged(intact: bytes, path: Path, change) -> Path:
    """The file with another manifest, and checksums that fit."""
    members = container.unpack(memoryview(intact))
    manifest = json.loads(bytes(members.pop("manifest.json")))
    body = {key: manifest[key] for key in ("run", "error", "counters", "switches", "versions")}
    change(body)
    container.write(path, "failure", body, {name: [bytes(data)] for name, data in members.items()})
    return path


FORGED = {
    "a fetch that is not there": (lambda b: b["run"]["fetches"].append("none:0"), "no operation 'none'"),
    "a target that is not there": (lambda b: b["run"]["targets"].append("none"), "no operation 'none'"),
    "a number for a fetch": (lambda b: b["run"]["fetches"].append(3), "must be str, not int"),
    "text for a tensor of numbers": (
        lambda b: b["run"]["texts"].update({"w:0": {"array": ["string", [0], ""]}}),
        "and fed string",
    ),
    "text of another kind": (lambda b: b["run"]["texts"].update({"x:0": 5}), "of no known form"),
    "a field too many": (lambda b: b["error"].update(more=1), "does not know"),
    "no message": (lambda b: b["error"].pop("message"), "has no 'message'"),
    "a counter of no random op": (lambda b: b["counters"].update(w=1), "cannot have the counter"),
    "a switch that is no text": (lambda b: b["switches"].update(math=1), "must be str, not int"),
}


@pytest.mark.parametrize("change, told", FORGED.values(), ids=FORGED)
def test_a_forged_file(intact, tmp_path, change, told):
    with pytest.raises(InvalidFileError) as caught:
        load_failure(forged(intact, tmp_path / "forged.sg", change))
    assert told in " ".join(str(caught.value).split())


def test_nothing_of_a_file_steers_a_terminal(intact, tmp_path, capsys):
    path = forged(intact, tmp_path / "forged.sg", lambda b: b["error"].update(message="\x1b[2Jgone"))
    assert main(["replay", str(path)]) == DONE
    told = capsys.readouterr().out
    assert "gone" in told and "\x1b" not in told


def test_files_of_other_kinds(tmp_path):
    with pytest.raises(NotFoundError):
        load_failure(tmp_path / "none.sg")
    sg.save(tmp_path / "net.sg", sg.constant(1.0) + sg.placeholder(sg.float32, []))
    with pytest.raises(InvalidFileError, match=r"it is\sof kind .graph."):
        load_failure(tmp_path / "net.sg")


def test_a_failed_run_is_no_saved_graph(intact, tmp_path):
    (tmp_path / "failure.sg").write_bytes(intact)
    with pytest.raises(InvalidFileError, match=r"it is\sof kind .failure."):
        sg.load(tmp_path / "failure.sg")


# What is shown


def test_the_table(folder):
    x = sg.placeholder(sg.float32, [3], name="x")
    y = sg.log(x, name="root")
    _, found = fails(folder, sg.check_numerics(y, "bad", name="check"), {x: [1, 0, -1]})
    lines = rows_text(found, found.rows).splitlines()
    [root] = [line for line in lines if " root " in line]
    assert re.fullmatch(rf"!  log +root +{HERE}:\d+ +float32\[3\] +0 +0 +0 +1 +1", root)
    assert lines[-1].startswith(">  check_numerics") and lines[-1].endswith("fails")
    told = as_dict(found, found.rows)
    assert told["reproduced"] and told["failed"]["name"] == "check" and told["source"]["name"] == "root"
    assert told["source"]["outputs"] == [
        {"dtype": "float32", "shape": [3], "min": 0, "mean": 0, "max": 0, "nan": 1, "inf": 1}
    ]


def test_numbers_of_all_kinds():
    assert numbers(np.array([], np.float32)) is None and numbers(np.array([b"a"], object)) is None
    found = numbers(np.array([np.nan, -np.inf, 2, 4]))
    assert (found.least, found.mean, found.greatest, found.nans, found.infinities) == (2, 3, 4, 1, 1)
    assert numbers(np.array([True, False])).mean == 0.5
    assert numbers(np.float16([60000, 60000])).mean == 60000
    assert numbers(np.array([np.nan])).least is None


def test_a_replay_stops_where_it_is_told_to(folder):
    x = sg.placeholder(sg.float32, [3], name="x")
    y = sg.check_numerics(sg.log(sg.multiply(x, 2.0, name="twice")), "bad")
    fails(folder, y, {x: [1, 0, -1]})
    found = replay(load_failure(folder / "failure.sg"), to="twice")
    assert found.stopped and found.error is None and found.rows[-1].name == "twice"
