"""The operation in place of what it gives."""

from pathlib import Path

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
a summary is written, and not <sg.Tensor 'loss:0' shape=() dtype=string>

  test_summary_that_was_not_run.py, in <lambda>
    |     told = message(TypeError, lambda: writer.add_summary(loss))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^
  hint: run the summary op first: add_summary(sess.run(op), step)
"""


def test_message(tmp_path: Path):
    writer = sg.summary.FileWriter(str(tmp_path))
    loss = sg.summary.scalar("loss", 1.0)
    told = message(TypeError, lambda: writer.add_summary(loss))
    assert told == EXPECTED
