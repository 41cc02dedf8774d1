"""Input that operations cannot compute with: compiled and interpreted alike, and an error changes nothing.

What TensorFlow 1.15 makes of the same cases stands beside it in `tests/golden`.
"""

import numpy as np
import pytest

import staticgraph as sg
from tests.everywhere import interpreting
from tests.golden.cases import bad_input
from tests.golden.runner import as_list

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


def outcomes(function, inputs, dtype, session):
    """For each input the error of a run; or the results' shapes, and if all elements are finite."""
    found, built = {}, {}
    with sg.Graph().as_default():
        counter = sg.Variable(7)
        for what, value in inputs.items():
            try:
                results = as_list(function(sg, bad_input.fed(sg, value, dtype, closed=True)))
            except Exception as error:
                found[what] = type(error).__name__
            else:
                built[what] = [*results, sg.assign_add(counter, 1)]
        start = sg.global_variables_initializer()
        with session() as opened:
            opened.run(start)
            for what, fetches in built.items():
                found[what] = outcome(opened, fetches, counter)
    return found


def outcome(session, fetches, counter):
    before = session.run(counter)
    try:
        results = session.run(fetches)[:-1]
    except sg.errors.OpError as error:
        assert session.run(counter) == before, "the run failed, and changed the state"
        return type(error).__name__
    assert session.run(counter) == before + 1
    return [(each.shape, bool(np.isfinite(each).all())) for each in map(np.asarray, results)]


def interpreted():
    with interpreting():
        return sg.Session()


@pytest.mark.takes_long
@pytest.mark.parametrize(("function", "inputs", "dtype"), OPERATIONS)
def test_compiled_as_interpreted_and_no_change_after_an_error(function, inputs, dtype):
    compiled = outcomes(function, inputs, dtype, sg.Session)
    for what, wanted in outcomes(function, inputs, dtype, interpreted).items():
        assert compiled.pop(what) == wanted, what
    assert not compiled
