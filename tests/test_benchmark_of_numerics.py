"""The benchmark of numerical functions measures the same function in every row."""

import numpy as np
import pytest

import staticgraph as sg
from benchmarks.compare import difference, summary
from benchmarks.numerics import group, rows
from tools.measure import compile_cost

WORK = {name: work for name, (_, work) in group.works().items()}


@pytest.mark.takes_long
@pytest.mark.parametrize("name", WORK)
def test_a_row_of_ours_computes_what_numpy_does(name):
    work = WORK[name]
    arrays = work.arrays(small=True)
    with sg.Graph().as_default():
        made = rows.staticgraph(work, arrays, 2)[0]()
    assert all(np.isfinite(part).all() for part in (made if isinstance(made, (list, tuple)) else [made]))
    if work.scipy is not None:
        mine, theirs = (
            summary(tuple(each) if isinstance(each, (list, tuple)) else each)
            for each in (made, rows.scipy(work, arrays, 2)[0]())
        )
        assert difference([mine], [theirs]) < work.tolerance


@pytest.mark.takes_long
@pytest.mark.parametrize("name", WORK)
def test_a_step_has_no_host_call(name):
    work = WORK[name]
    with sg.Graph().as_default(), sg.Session() as session:
        feeds = [sg.placeholder(array.dtype, array.shape) for array in work.arrays(small=True)]
        made = work.staticgraph(sg, *feeds)
        plan = session.plan(made, dict(zip(feeds, work.arrays(small=True), strict=True)))
    hosted = [kernel.name for kernel in plan.kernels if kernel.effort is None]
    assert not hosted


def test_the_table_tells_what_misses_the_goal():
    results = {
        "work": {
            "cholesky": {
                "staticgraph": {"median": 2e-3, "agrees": True},
                "NumPy": {"median": 1e-3, "agrees": False},
                "JAX": {"failure": "no"},
            }
        }
    }
    row = group.markdown(results).splitlines()[-1]
    assert row == "| Cholesky factor, 1000 | 2 ms | 1 ms (differs) |  | failed | **2** | 0.8 |"


@pytest.mark.takes_long
def test_compile_costs_are_those_of_a_step_with_the_operation():
    """A step that inverts compiles for longer than one that doubles, in a process that compiled before."""
    plain, full = (compile_cost.least("inverse_small", plain, 1)[compile_cost.CPU] for plain in (True, False))
    assert full > plain


def test_the_table_of_compile_costs_begins_with_the_largest():
    rows = [("small", {"cpu": 0.01, "wall": 9.0}), ("large", {"cpu": 0.2, "wall": 1.0})]
    assert compile_cost.table(rows).splitlines()[2:] == ["| large | 200 ms |", "| small | 10 ms |"]
