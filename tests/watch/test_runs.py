"""Runs as folders: found, followed, begun again, and within bounds."""

import os
import time

import numpy as np
import pytest

from staticgraph.applications.dashboard import records
from staticgraph.applications.dashboard import runs as module
from staticgraph.applications.dashboard.runs import Runs
from staticgraph.formats.tf.messages.event import Event, SessionLog
from staticgraph.tf1.io.tf_record import framed
from staticgraph.tf1.summary import FileWriter, encode
from tests.watch.event_files import NAME, scalar_event, write


@pytest.fixture(autouse=True)
def looks_at_once(monkeypatch):
    monkeypatch.setattr(module, "_LOOK_FOR_FILES", 0.0)


def steps(runs, run, tag="loss"):
    return runs.runs[run].series[tag].steps.tolist()


def test_runs_are_named_by_their_folders_and_found_when_they_begin(tmp_path):
    write(tmp_path / "first" / NAME, scalar_event("loss", 1, 0.5))
    runs = Runs([str(tmp_path)])
    assert runs.follow() and list(runs.runs) == ["first"]
    write(tmp_path / "later" / "eval" / NAME, scalar_event("loss", 2, 0.5))
    runs.follow()
    assert sorted(runs.runs) == ["first", "later/eval"]
    before = runs.versions()
    write(tmp_path / "first" / NAME, scalar_event("loss", 3, 0.5), mode="ab")
    runs.follow()
    assert steps(runs, "first") == [1, 3] and steps(runs, "later/eval") == [2]
    assert [name for name, version in runs.versions().items() if before[name] != version] == ["first"]


def test_a_new_file_is_found_in_time_for_its_first_point_to_be_seen(tmp_path, monkeypatch):
    """A point is seen within 0.5 s: half of that is for finding its file, if the folders are not many."""
    monkeypatch.undo()
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    write(tmp_path / "run" / NAME, scalar_event("loss", 1, 0.5))
    runs = Runs([str(tmp_path)])
    runs.follow()
    write(tmp_path / "run" / (NAME + ".again"), scalar_event("loss", 2, 0.5))
    write(tmp_path / "other" / NAME, scalar_event("loss", 3, 0.5))
    now[0] += 0.25
    runs.follow()
    assert steps(runs, "run") == [1, 2] and steps(runs, "other") == [3]


def test_several_folders_of_one_name_are_told_apart(tmp_path):
    for place in ("a/run", "b/run"):
        write(tmp_path / place / NAME, scalar_event("loss", 1, 0.5))
    runs = Runs([str(tmp_path / "a/run"), str(tmp_path / "b/run")])
    runs.follow()
    assert list(runs.runs) == ["run", "run (2)"]


def test_one_file_is_a_run(tmp_path):
    write(tmp_path / "run" / NAME, scalar_event("loss", 1, 0.5))
    write(tmp_path / "run" / (NAME + ".other"), scalar_event("loss", 2, 0.5))
    runs = Runs([str(tmp_path / "run" / NAME)])
    runs.follow()
    assert [run.points for run in runs.runs.values()] == [1]


def test_a_training_that_begins_again_replaces_what_comes_after(tmp_path):
    start = Event(wall_time=50.0, step=3, session_log=SessionLog(status=SessionLog.START))
    first = [scalar_event("loss", step, 1.0, wall=step) for step in range(6)]
    again = [scalar_event("loss", step, 2.0, wall=60 + step) for step in range(3, 5)]
    write(tmp_path / NAME, *first)
    write(tmp_path / (NAME + ".v2"), start.SerializeToString(), *again)
    runs = Runs([str(tmp_path)])
    runs.follow()
    [run] = runs.runs.values()
    assert run.series["loss"].steps.tolist() == [0, 1, 2, 3, 4] and run.points == 5
    assert run.series["loss"].numbers.tolist() == [1, 1, 1, 2, 2]


def test_a_file_that_is_written_anew_is_read_anew(tmp_path):
    path = tmp_path / NAME
    write(path, *(scalar_event("loss", step, 1.0) for step in range(9)))
    runs = Runs([str(tmp_path)])
    runs.follow()
    write(path, scalar_event("loss", 7, 1.0))
    while not runs.follow():
        pass
    assert steps(runs, tmp_path.name) == [7]
    os.unlink(path)
    write(tmp_path / "new", *(scalar_event("loss", step, 1.0) for step in range(20)))
    os.rename(tmp_path / "new", path)
    while not runs.follow():
        pass
    assert steps(runs, tmp_path.name) == list(range(20))


def test_a_run_that_is_deleted_is_gone(tmp_path):
    for name in ("first", "other"):
        write(tmp_path / name / NAME, scalar_event("loss", 1, 0.5))
    write(tmp_path / "other" / (NAME + ".v2"), scalar_event("loss", 2, 0.5))
    runs = Runs([str(tmp_path)])
    runs.follow()
    before = runs.structure
    os.unlink(tmp_path / "first" / NAME)
    os.unlink(tmp_path / "other" / NAME)
    while not runs.follow():
        pass
    assert list(runs.runs) == ["other"] and steps(runs, "other") == [2]
    assert runs.structure > before


def test_a_half_written_record_is_waited_for_and_damage_is_told(tmp_path):
    path, event = tmp_path / NAME, framed(scalar_event("loss", 2, 0.5))
    write(path, scalar_event("loss", 1, 0.5))
    with path.open("ab") as file:
        file.write(event[:20])
    runs = Runs([str(tmp_path)])
    runs.follow()
    assert steps(runs, tmp_path.name) == [1]
    with path.open("ab") as file:
        file.write(event[20:] + b"\xff" * 100)
    runs.follow()
    [run] = runs.runs.values()
    assert steps(runs, tmp_path.name) == [1, 2]
    assert len(run.notes) == 1 and NAME in run.notes[0] and "is damaged" in run.notes[0]


def test_links_that_leave_the_folder_are_not_followed(tmp_path):
    write(tmp_path / "secret" / NAME, scalar_event("secret", 1, 0.5))
    inside = tmp_path / "watched"
    write(inside / "run" / NAME, scalar_event("loss", 1, 0.5))
    (inside / "folder").symlink_to(tmp_path / "secret")
    (inside / "run" / (NAME + ".link")).symlink_to(tmp_path / "secret" / NAME)
    (inside / "run" / (NAME + ".loop")).symlink_to(inside / "run" / (NAME + ".loop"))
    runs = Runs([str(inside)])
    runs.follow()
    assert list(runs.runs) == ["run"] and list(runs.runs["run"].series) == ["loss"]


def test_tags_points_and_places_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MOST_TAGS", 10)
    monkeypatch.setattr(module, "_MOST_PLACES", 20)
    with FileWriter(str(tmp_path)) as writer:
        for step in range(100):
            writer.add_summary(encode.text("note", f"{step}"), step)
        for tag in range(50):
            writer.add_summary(encode.scalar(f"tag{tag}", 1.0), tag)
    runs = Runs([str(tmp_path)])
    runs.follow()
    [run] = runs.runs.values()
    assert len(run.series) == 9 and any("first 10 tags" in note for note in run.notes)
    kept = [place.step for place in run.places["text", "note"]]
    assert kept[0] == 0 and kept[-1] == 99 and len(kept) <= 20 and kept == sorted(kept)

    monkeypatch.setattr(module, "_MOST_POINTS", 50)
    monkeypatch.setattr(records, "CHUNK", 500)
    write(tmp_path / "many" / NAME, *(scalar_event("loss", step, 1.0) for step in range(9)))
    write(tmp_path / "more" / NAME, *(scalar_event("loss", step, 1.0) for step in range(99)))
    runs = Runs([str(tmp_path)])
    for _ in range(3):
        runs.follow()
    assert any("no room" in note for run in runs.runs.values() for note in run.notes)


def test_reading_pauses_after_some_time(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "CHUNK", 500)
    write(tmp_path / NAME, *(scalar_event("loss", step, 1.0) for step in range(500)))
    runs = Runs([str(tmp_path)])
    begun = time.monotonic()
    assert not runs.follow(0.0) and 0 < len(steps(runs, tmp_path.name)) < 500
    while not runs.follow(0.0):
        assert time.monotonic() < begun + 60
    assert steps(runs, tmp_path.name) == list(range(500))


def test_a_steps_order_and_times_that_are_none(tmp_path):
    events = [scalar_event("loss", step, step, wall=np.nan) for step in (5, 1, 9, 3)]
    write(tmp_path / NAME, *events)
    runs = Runs([str(tmp_path)])
    runs.follow()
    assert steps(runs, tmp_path.name) == [1, 3, 5, 9]
