"""Files with changed bytes: every question about them is answered or refused, and answers are JSON."""

import json
import random

import numpy as np
import pytest

from staticgraph.applications.dashboard.answers import Answers
from staticgraph.applications.dashboard.runs import Runs
from staticgraph.compiler.graph.errors import OpError
from staticgraph.formats.tf.messages.event import Event
from staticgraph.formats.tf.messages.summary import Summary
from staticgraph.tf1.summary import encode
from tests.watch.event_files import NAME, write


def whole():
    """An event with a value of each kind but a graph, which another process draws."""
    parts = [
        encode.scalar("loss", 1.0),
        encode.histogram("weights", np.arange(20.0)),
        encode.image("image", np.zeros((1, 2, 2, 1), np.uint8), 1),
        encode.audio("sound", np.zeros((1, 8)), 8000, 1),
        encode.text("note", ["some", "lines"]),
        encode.tensor("array", np.zeros(3)),
    ]
    summary = Summary.FromString(encode.merge(parts))
    return Event(wall_time=1.7e9, step=300, summary=summary).SerializeToString()


def ask_everything(answers):
    """Ask what a page could ask. Whatever is refused is refused by these errors."""
    state = answers.state()
    json.dumps([state, answers.versions()], allow_nan=False)
    for run in state["runs"]:
        for kind, tags in run["tags"].items():
            for tag in tags:
                question = {"run": [run["name"]], "tag": [tag], "kind": [kind], "smoothing": ["0.5"]}
                for axis in ("step", "relative", "wall"):
                    json.dumps(answers.curves(question | {"axis": [axis]}), allow_nan=False)
                for each in (answers.places, answers.histograms, answers.texts):
                    json.dumps(each(question), allow_nan=False)
                if kind in ("image", "audio"):
                    try:
                        answers.media(question)
                    except (OpError, OSError, ValueError):
                        continue


@pytest.mark.parametrize("seed", range(4))
def test_changed_bytes_below_right_checksums(tmp_path, seed):
    source = random.Random(seed)
    original, events = whole(), []
    for _ in range(60):
        changed = bytearray(original)
        for _ in range(source.choice([1, 2, 8])):
            changed[source.randrange(len(changed))] = source.choice(
                [0, 0x7F, 0x80, 0xFF, source.randrange(256)]
            )
        if source.random() < 0.3:
            del changed[source.randrange(len(changed)) :]
        events.append(bytes(changed))
    write(tmp_path / "run" / NAME, *events)
    runs = Runs([str(tmp_path)])
    assert runs.follow()
    [run] = runs.runs.values()
    assert not run.notes
    ask_everything(Answers(runs))


def test_a_file_of_noise(tmp_path):
    path = tmp_path / "run" / NAME
    path.parent.mkdir()
    path.write_bytes(random.Random(1).randbytes(100_000))
    runs = Runs([str(tmp_path)])
    assert runs.follow()
    assert "is damaged" in runs.runs["run"].notes[0]
    ask_everything(Answers(runs))


def test_an_unexpected_error_does_not_end_the_others(tmp_path, monkeypatch):
    from staticgraph.applications.dashboard import runs as module

    for name in ("first", "other"):
        write(tmp_path / name / NAME, whole())
    runs = Runs([str(tmp_path)])
    decode = module.decode

    def failing(batch):
        monkeypatch.setattr(module, "decode", decode)
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr(module, "decode", failing)
    runs.follow()
    notes = [run.notes for run in runs.runs.values()]
    assert sorted(map(len, notes)) == [0, 1] and "ZeroDivisionError: of a test" in str(notes)
    assert sorted(run.points for run in runs.runs.values()) == [0, 1]
