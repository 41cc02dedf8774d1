"""After a failed run, processes take part in what others have begun, and communicators serve again."""

from __future__ import annotations

import json

import pytest

from staticgraph.runtime.processes.channels import Collective, in_common
from tests.processes.launching import launched

pytestmark = pytest.mark.takes_long

SUM, ROWS, VALUE = (
    Collective("all_reduce", 4, 1),
    Collective("all_gather", 8),
    Collective("broadcast", 8, 0, 1),
)
EACH = {1: SUM, 2: ROWS, 3: VALUE}


def told(begun: int, known: dict[int, Collective]) -> list:
    """The words of a process."""
    return json.loads(json.dumps([begun, [*known.items()]]))


@pytest.mark.parametrize(
    ("states", "wanted"),
    [
        ([told(3, EACH), told(0, {})], EACH),
        ([told(3, {3: VALUE}), told(2, {1: SUM, 2: ROWS})], EACH),
        ([told(3, {2: ROWS, 3: VALUE}), told(0, {})], None),  # nobody knows the first one
        ([told(1, {1: SUM}), told(1, {1: ROWS})], None),
        ([told(2, {2: ROWS})], None),  # another process has no such communicator
        ([told(1, {1: ROWS})], {1: ROWS}),
        ([told(7, {}), told(7, {})], {}),
    ],
)
def test_what_processes_have_begun(states: list, wanted: dict[int, Collective] | None):
    assert in_common(states, 2) == wanted


def test_communicators_serve_again():
    """Each kind of collective is left incomplete, in loops too, by a process that fails before or within the
    step; then all get what they got before, by the same communicators, of which MPI has some thousand.
    """
    program = """
        from staticgraph.compiler.graph.world import MEMBERSHIP
        dist = sg.distribute
        dist.init(timeout=20)
        n, rank = dist.size(), dist.rank()
        x, bad = sg.placeholder("float32", [12, 3]), sg.placeholder("int32", [])
        def turn(k, total):
            total += sg.gather(total, sg.where(sg.equal(k, bad), 99, 0))
            return k + 1, total + dist.broadcast(total, 0) + dist.all_reduce(total, "mean")
        made = [
            dist.all_reduce(x, "max"), dist.all_gather(x), dist.reduce_scatter(x), dist.broadcast(x, n - 1),
            dist.all_to_all(x), sg.while_loop(lambda k, _: k < 3, turn, [0, x])[1],
        ]
        channels = MEMBERSHIP.world._channels
        def communicators():
            return [channel.comm.handle for channel in (channels.outside, *channels.steps)]
        sess = sg.Session()
        fed = np.random.RandomState(rank).uniform(-4, 4, (12, 3)).astype(np.float32)
        wanted = sess.run(made, {x: fed, bad: -1})
        first, failed = communicators(), 0
        for k in range(12):
            at_fault = k % n == rank
            early = at_fault and k % 8 < 4
            try:
                sess.run(made, {x: fed[:2] if early else fed, bad: k % 3 if at_fault else -1})
            except Exception:
                failed += 1
            got = sess.run(made, {x: fed, bad: -1})
            assert all((a == b).all() for a, b in zip(got, wanted)), k
        say("SERVE AGAIN", failed, communicators() == first, len(channels._left))
    """
    said = launched(3, program)
    assert said.count("SERVE AGAIN 12 True 0") == 3, said


def test_another_communicator_if_nobody_knows_what_a_process_lacks():
    """Broadcasts are complete in the process that sends, which forgets them; it makes others, if it was that
    from which they are made.
    """
    program = """
        from staticgraph.compiler.graph.world import MEMBERSHIP
        from staticgraph.runtime.processes import channels
        channels._KNOWN = 2
        dist = sg.distribute
        dist.init(timeout=20)
        rank, world = dist.rank(), MEMBERSHIP.world
        x, sess = sg.placeholder("float32", [2]), sg.Session()
        turn = lambda k, total: (k + 1, total + dist.broadcast(total, 0))
        step = dist.all_reduce(sg.while_loop(lambda k, _: k < 5, turn, [0, x])[1])
        fed = np.ones(2, np.float32)
        def run(late=0):
            assert sess.run(step, {x: fed[late:]}).tolist() == [64.0, 64.0]
        def outside(late=0):
            for _ in range(0 if late else 5):
                world.exchange("broadcast", fed, root=0)
            run(late)
        for call in (run, outside):
            for _ in range(3):
                call()
            before = [world._channels.outside.comm.handle, world._channels.steps[0].comm.handle]
            try:
                call(rank)
            except Exception as error:
                say("CAUGHT", type(error).__name__)
            call()
            after = [world._channels.outside.comm.handle, world._channels.steps[0].comm.handle]
            say("OTHERS", *(a != b for a, b in zip(before, after)))
    """
    said = launched(2, program)
    assert said.count("CAUGHT FeedError") == said.count("CAUGHT PeerError") == 2, said
    assert said.count("OTHERS False True") == said.count("OTHERS True True") == 2, said
