"""A checkpoint of another model."""

from pathlib import Path

import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
Key w not found in checkpoint model.ckpt

  test_restore_another_name.py, in <lambda>
    |         told = message(sg.errors.NotFoundError, lambda: sg.train.Saver([w]).restore(sess, "model.ckpt"))
    |                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  w was made here:
  test_restore_another_name.py, in test_message
    |     w = sg.Variable(1.0, name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: it has weight
"""


def test_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    w = sg.Variable(1.0, name="w")
    with sg.Session() as sess:
        sess.run(w.initializer)
        sg.train.Saver({"weight": w}).save(sess, "model.ckpt")
        told = message(sg.errors.NotFoundError, lambda: sg.train.Saver([w]).restore(sess, "model.ckpt"))
    assert told == EXPECTED
