"""With a graph seed alone, weights are those of TensorFlow 1.15, whose seeds are numbers of operations.

`recorded.json` is from TensorFlow 1.15.5, by `tools/record/operation_counts.py`.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compat import tf1
from tests.compat.operation_counts import prelude

FOLDER = Path(__file__).parent / "operation_counts"
CALLS, SCRIPTS = prelude.read(str(FOLDER))
RECORDED = json.loads((FOLDER / "recorded.json").read_text())
GROUPS = [CALLS[at : at + 20] for at in range(0, len(CALLS), 20)]


@pytest.mark.takes_long
@pytest.mark.parametrize("calls", GROUPS, ids=range(len(GROUPS)))
def test_calls_count_as_many_operations_as_tensorflow_makes(calls):
    made = {call: prelude.counted(tf1, np, call) for call in calls}
    assert made == {call: RECORDED["calls"][call] for call in calls}


@pytest.mark.takes_long
@pytest.mark.parametrize("title", SCRIPTS)
def test_weights_are_those_of_tensorflow(title):
    made, wanted = prelude.weights(tf1, np, SCRIPTS[title]), RECORDED["scripts"][title]
    assert list(made) == list(wanted) or sorted(made) == sorted(wanted)
    for name, values in wanted.items():
        np.testing.assert_allclose(made[name], values, rtol=2e-5, atol=2e-6, err_msg=name)


def test_operations_that_are_taken_back_do_not_count():
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, [None, 4])
        before = graph._last_id
        with graph.attempt() as forget:
            sg.cond(sg.placeholder(sg.bool, []), lambda: x, lambda: x * 2.0)
            assert graph._last_id > before
            forget()
        assert graph._last_id == before


def test_a_value_that_a_loop_uses_twice_is_captured_once():
    def made(body):
        with sg.Graph().as_default() as graph:
            x, y = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
            before = graph._last_id
            sg.while_loop(lambda a: a < y, lambda a: body(a, x, y), [x])
            return graph._last_id - before

    # An addition of y needs no more than itself: the condition captured y, and x is captured once.
    assert made(lambda a, x, y: a + y) == made(lambda a, x, y: a + a)
    assert made(lambda a, x, y: a + x) == made(lambda a, x, y: a + a) + 1
    assert made(lambda a, x, y: a + x + x) == made(lambda a, x, y: a + x) + 1
