"""staticgraph gives what TensorFlow 1.15.5 gave, case by case; TensorFlow's answers were recorded once."""

import pytest

import staticgraph as sg
from tests.golden import store
from tests.golden.cases import SUBJECTS
from tests.golden.compare import differences
from tests.golden.runner import run

ALL_CASES = [
    pytest.param(subject, case, id="%s: %s" % (subject, case.name))
    for subject, cases in SUBJECTS.items()
    for case in cases
]


@pytest.fixture(scope="module")
def recorded():
    return {subject: store.load(subject) for subject in SUBJECTS}


@pytest.mark.parametrize(("subject", "case"), ALL_CASES)
def test_same_as_tensorflow(subject, case, recorded):
    found = differences(case, recorded[subject][case.name], run(case, sg))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_recordings_are_of_these_cases(subject, recorded):
    assert list(recorded[subject]) == [case.name for case in SUBJECTS[subject]]
