"""The collector of garbage goes on after a pause as before, and does not look at what was made meanwhile."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from staticgraph.compiler.support import gc_pause
from staticgraph.compiler.support.gc_pause import collector_paused

pytestmark = pytest.mark.takes_long


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is frozen during a test, as in most programs; afterwards it is as tests/conftest.py left it."""
    was = gc.isenabled()
    monkeypatch.setattr(gc_pause, "_frozen", False)
    gc.unfreeze()
    yield
    gc.freeze()
    (gc.enable if was else gc.disable)()


@pytest.mark.parametrize("collecting", [True, False])
def test_it_goes_on_as_before(collecting: bool):
    (gc.enable if collecting else gc.disable)()
    with pytest.raises(KeyError), collector_paused():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled() == collecting


def test_what_was_made_in_the_pause_is_old_and_still_garbage_one_day():
    class Circle:
        alive = 0

        def __init__(self) -> None:
            Circle.alive += 1
            self.me = self

        def __del__(self) -> None:
            Circle.alive -= 1

    gc.enable()
    with collector_paused():
        made = [Circle() for _ in range(10)]
    assert not any(each is made[0] for each in gc.get_objects(generation=0))
    del made
    gc.collect(0)
    assert Circle.alive == 10
    gc.collect()
    assert Circle.alive == 0


def test_what_others_have_frozen_stays_frozen():
    code = """
import gc
gc.collect(); gc.freeze()
import staticgraph
assert gc.get_freeze_count() > 0
assert gc.isenabled()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
