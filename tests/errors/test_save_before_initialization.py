"""There is no value yet to save."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
cannot save variable w: it has no value yet

  test_save_before_initialization.py, in <lambda>
    |         told = message(sg.errors.FailedPreconditionError, lambda: saver.save(sess, "model.ckpt"))
    |                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  w was made here:
  test_save_before_initialization.py, in test_message
    |     sg.Variable(1.0, name="w")
    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: run global_variables_initializer() in this session first, or restore a checkpoint
"""


def test_message():
    sg.Variable(1.0, name="w")
    saver = sg.train.Saver()
    with sg.Session() as sess:
        told = message(sg.errors.FailedPreconditionError, lambda: saver.save(sess, "model.ckpt"))
    assert told == EXPECTED
