"""Several processes on one machine: each has the threads for which there are processors."""

from __future__ import annotations

import numpy as np
import pytest

from staticgraph.runtime.processes.mpi import share_of
from tests.processes.launching import launched

pytestmark = pytest.mark.takes_long

PROGRAM = """
    from staticgraph.runtime.processes.mpi import processors
    here = os.environ.get("CHOSEN")
    if here:
        sg.set_num_threads(int(here))
    x = sg.placeholder("float32", [1 << 20])
    with sg.Session() as sess:
        sess.run(sg.sqrt(x) + 1.0, {x: np.ones(1 << 20)})  # with a pool of all processors
        sg.distribute.init()
        say("THREADS", sg.get_num_threads(), max(1, len(processors()) // sg.distribute.size()))
        total = sess.run(sg.distribute.all_reduce(sg.sqrt(x) + 1.0), {x: np.ones(1 << 20)})
        assert (total == 2.0 * sg.distribute.size()).all()
"""


def test_threads_are_those_of_a_share():
    said = launched(2, PROGRAM)
    lines = [line.split()[1:] for line in said.splitlines() if line.startswith("THREADS")]
    assert len(lines) == 2, said
    assert all(threads == share for threads, share in lines), said


@pytest.mark.parametrize("how", [{"SG_THREADS": "3"}, {"CHOSEN": "3"}])
def test_a_number_that_is_given_stays(how: dict[str, str]):
    assert launched(2, PROGRAM, **how).count("THREADS 3") == 2


@pytest.mark.parametrize(
    ("mine", "users", "share"),
    [
        (range(16), [4] * 16, 4),
        (range(16), [3] * 16, 5),
        (range(8), [1] * 16, 8),
        (range(2), [4] * 2, 1),
        ([1, 3, 5], [9, 1, 9, 2, 9, 2], 2),
    ],
    ids=["shared", "no divisor", "bound", "more processes", "some"],
)
def test_processes_share_the_processors_that_they_may_use(mine: list[int], users: list[int], share: int):
    assert share_of(mine, np.array(users)) == share
