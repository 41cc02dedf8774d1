"""Input that operations cannot compute with: compiled and interpreted alike, and an error changes nothing.

What TensorFlow 1.15 makes of the same cases stands beside it in `tests/golden`.
"""

import numpy as np
import pytest

import staticgraph as sg
from tests.golden.cases import bad_input
from tests.golden.runner import as_list
from tests.golden.together import interpreted

GROUPS = (
    (bad_input.OF_MATRICES, bad_input.MATRICES, "float32"),
    (bad_input.OF_ROWS, bad_input.ROWS, "float32"),
    (bad_input.OF_INDICES, bad_input.INDICES, "int32"),
)
OPERATIONS = [
    pytest.param(function, inputs, dtype, id=f"{name} of {dtype}")
    for functions, inputs, dtype in GROUPS
    for name, function in functions.items()
]


def outcome(function, value, dtype, session):
    """The error of a run; or the shapes of its results, and if all of their elements are finite."""
    with sg.Graph().as_default():
        counter = sg.Variable(7)
        try:
            known = bad_input.fed(sg, value, dtype, closed=True)
            results = as_list(function(sg, known))
        except Exception as error:
            return type(error).__name__
        counted, start = sg.assign_add(counter, 1), sg.global_variables_initializer()
        with session() as opened:
            opened.run(start)
            try:
                found = opened.run([*results, counted])[:-1]
            except sg.errors.OpError as error:
                assert opened.run(counter) == 7, "the run failed, and changed the state"
                return type(error).__name__
            assert opened.run(counter) == 8
            return [(each.shape, bool(np.isfinite(each).all())) for each in map(np.asarray, found)]


@pytest.mark.parametrize(("function", "inputs", "dtype"), OPERATIONS)
def test_compiled_as_interpreted_and_no_change_after_an_error(function, inputs, dtype):
    for what, value in inputs.items():
        compiled = outcome(function, value, dtype, sg.Session)
        assert compiled == outcome(function, value, dtype, interpreted), what
