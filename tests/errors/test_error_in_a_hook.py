"""A hook asks for what the graph has not."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
cannot fetch 'loss:0': the graph has no operation 'loss'

  test_error_in_a_hook.py, in act
    |             sess.run(x)
    |             ^^^^^^^^^^^
  hint: get_operations() lists what there is
"""


def test_message():
    class Watch(sg.train.SessionRunHook):
        def before_run(self, run_context):
            return sg.train.SessionRunArgs("loss:0")

    x = sg.constant(1.0, name="x")

    def act():
        with sg.train.MonitoredSession(hooks=[Watch()]) as sess:
            sess.run(x)

    told = message(TypeError, act)
    assert told == EXPECTED
