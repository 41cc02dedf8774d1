"""Output of Python for an error that a program does not catch."""

import os
import subprocess
import sys

import pytest

import staticgraph as sg
from staticgraph.building.tracebacks import shorten
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.linear_algebra import linalg

WRONG_SHAPE = """\
import numpy as np
import staticgraph as sg

def predict(session, x):
    return session.run(x * 2, {x: np.zeros([2, 2])})

x = sg.placeholder(sg.float32, [3, 4])
predict(sg.Session(), x)
"""


def run(text, folder, **environment):
    script = folder / "script.py"
    script.write_text(text)
    return subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_only_frames_of_the_program_are_shown(tmp_path):
    found = run(WRONG_SHAPE, tmp_path)
    assert found.returncode == 1
    assert found.stderr.count("  File ") == found.stderr.count('script.py"') == 2
    assert "line 8, in <module>" in found.stderr and "line 5, in predict" in found.stderr
    assert "FeedError: the value fed to" in found.stderr and "hint: " in found.stderr


def test_all_frames_are_shown_on_request(tmp_path):
    found = run(WRONG_SHAPE, tmp_path, SG_ALL_FRAMES="1")
    assert found.stderr.count("  File ") > 2 and "session.py" in found.stderr


def test_the_errors_of_the_program_are_shown_as_ever(tmp_path):
    text = "import staticgraph as sg\nwith sg.Graph().as_default():\n    [].pop()\n"
    found, plain = run(text, tmp_path), run(text, tmp_path, SG_ALL_FRAMES="1")
    assert found.stderr == plain.stderr
    assert "IndexError" in found.stderr


def test_what_showed_errors_before_still_does(tmp_path):
    hook = "import sys\nsys.excepthook = lambda kind, error, frames: print('told', kind.__name__)\n"
    found = run(hook + WRONG_SHAPE, tmp_path)
    assert found.stdout == "told FeedError\n" and not found.stderr


def test_errors_that_it_came_from_are_shortened_as_well():
    with pytest.raises(RuntimeError) as caught:
        try:
            sg.matmul(sg.zeros([2, 3]), sg.zeros([2, 3]))
        except sg.errors.ShapeError as error:
            raise RuntimeError("no model") from error
    shorten(caught.value)
    (frame,) = frames(caught.value.__cause__)
    assert frame.tb_frame.f_code.co_filename == __file__


def test_an_error_that_is_not_meant_for_users_keeps_where_it_arose(monkeypatch):
    monkeypatch.setattr(linalg.ops, "matmul", lambda *operands, **options: OPS["no such op"])
    with pytest.raises(KeyError) as caught:
        sg.matmul(sg.zeros([2, 3]), sg.zeros([3, 2]))
    names = [frame.tb_frame.f_code.co_name for frame in frames(caught.value)]
    assert names[1:5] == ["call", "matmul", "<lambda>", "__missing__"]  # `call` asks linear operators first
    shorten(caught.value)
    assert [frame.tb_frame.f_code.co_name for frame in frames(caught.value)] == [names[0], *names[3:]]


def frames(error):
    found, frame = [], error.__traceback__
    while frame is not None:
        found.append(frame)
        frame = frame.tb_next
    return found
