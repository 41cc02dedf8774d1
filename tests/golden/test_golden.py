"""staticgraph gives what TensorFlow 1.15.5 gave, case by case; TensorFlow's answers were recorded once."""

import pytest

import staticgraph as sg
from tests.golden import store
from tests.golden.cases import SUBJECTS
from tests.golden.compare import differences
from tests.golden.differences import DIFFERENCES
from tests.golden.runner import run
from tests.golden.together import Together, function_of, wide_repeats

# They are run with `pytest -m slow`, as all are there.
REPEATS = {(subject, name) for subject in SUBJECTS for name in wide_repeats(subject)}


def full_name(subject, case):
    """As the lists of exceptions have it: one entry stands for all floating types."""
    return "%s: %s" % (subject, case.name.partition(" [")[0] if case.name.endswith("64]") else case.name)


def chosen(wanted, repeats=True):
    """The cases whose full name is as `wanted`; those that repeat others in float64 if `repeats`."""
    return [
        pytest.param(subject, case, id="%s: %s" % (subject, case.name))
        for subject, cases in SUBJECTS.items()
        for case in cases
        if wanted(full_name(subject, case)) and (repeats or (subject, case.name) not in REPEATS)
    ]


@pytest.fixture(scope="module")
def recorded():
    return {subject: store.load(subject) for subject in SUBJECTS}


@pytest.fixture(scope="module")
def together(request):
    """Outcomes of the cases that were selected."""
    params = [getattr(item, "callspec", None) and item.callspec.params for item in request.session.items]
    return Together({(p["subject"], p["case"].name) for p in params if p and p.keys() >= {"subject", "case"}})


def function(params):
    """The subject of a case, by its parameters: each run has cases of all functions."""
    subject, case = params["subject"], params["case"]
    return subject, type(case), function_of(case)


@pytest.mark.takes_long(of=function)
@pytest.mark.parametrize(("subject", "case"), chosen(lambda name: name not in DIFFERENCES, repeats=False))
def test_same_as_tensorflow(subject, case, recorded, together):
    found = differences(case, recorded[subject][case.name], together.outcome(subject, case))
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize(("subject", "case"), chosen(lambda name: name not in DIFFERENCES))
def test_compiled_alone_the_same_as_tensorflow(subject, case, recorded):
    found = differences(case, recorded[subject][case.name], run(case, sg))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("subject", "case"), chosen(DIFFERENCES.__contains__))
def test_differs_on_purpose(subject, case, recorded, together):
    found = differences(case, recorded[subject][case.name], together.outcome(subject, case))
    assert found, "no difference is left: delete it"


def test_exceptions_are_cases():
    names = {full_name(subject, case) for subject, cases in SUBJECTS.items() for case in cases}
    assert set(DIFFERENCES) <= names


@pytest.mark.parametrize("subject", SUBJECTS)
def test_recordings_are_of_these_cases(subject, recorded):
    assert list(recorded[subject]) == [case.name for case in SUBJECTS[subject]]
