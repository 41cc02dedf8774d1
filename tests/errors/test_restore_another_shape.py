"""A checkpoint of a smaller model."""

from pathlib import Path

import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
variable large is float32[2], and w in checkpoint model.ckpt is float32[1]

  test_restore_another_shape.py, in <lambda>
    |             sg.errors.InvalidArgumentError, lambda: sg.train.Saver({"w": large}).restore(sess, "model.ckpt")
    |                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  large was made here:
  test_restore_another_shape.py, in test_message
    |     small, large = sg.Variable([1.0], name="small"), sg.Variable([1.0, 2.0], name="large")
    |                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: the checkpoint is of another model; restore the rest with Saver(var_list)
"""


def test_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    small, large = sg.Variable([1.0], name="small"), sg.Variable([1.0, 2.0], name="large")
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sg.train.Saver({"w": small}).save(sess, "model.ckpt")
        told = message(
            sg.errors.InvalidArgumentError, lambda: sg.train.Saver({"w": large}).restore(sess, "model.ckpt")
        )
    assert told == EXPECTED
