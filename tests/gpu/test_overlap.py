"""Captured steps wait only where they have to: as few waits as can be, and none too few."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Product
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.runtime.gpu.cuda.driver import Direction
from staticgraph.runtime.gpu.graphs import recorder
from staticgraph.runtime.gpu.graphs.merging import apart
from staticgraph.runtime.gpu.graphs.order import Overlap, depth
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.simulator.queue import CaptureError, SimulatedGraph
from tests.gpu.sessions import draws, on, played
from tests.gpu.test_train_steps import two_layer_net

pytestmark = pytest.mark.takes_long

ORDERS = (1, 2, 4, 6)  # the latest first, and by dice


class Keeping(Simulator):
    """A stand-in that keeps what it captured."""

    def __init__(self, schedule: int = 0) -> None:
        Simulator.__init__(self, schedule)
        self.graphs: list[SimulatedGraph] = []

    def end_capture(self) -> SimulatedGraph:
        self.graphs.append(Simulator.end_capture(self))
        return self.graphs[-1]


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pieces are not merged, which would leave little to be done side by side."""
    monkeypatch.setattr(recorder, "plan", lambda pieces, machine: apart(pieces))


@pytest.fixture
def keeping(host: str) -> Keeping:
    return Keeping()


def is_chain(graph: SimulatedGraph) -> bool:
    return graph.waits == [(n - 1,) if n else () for n in range(len(graph.work))]


def bits(found: object) -> list[bytes]:
    return [np.asarray(value).tobytes() for run in found for value in run if value is not None]


def test_a_step_of_adam_is_no_chain(keeping):
    played(two_layer_net, keeping, 3)
    for graph in keeping.graphs:
        assert depth(graph.waits) <= 0.75 * len(graph.work)


@pytest.fixture
def adam(keeping: Keeping) -> Iterator[tuple[Keeping, Callable[[], list[bytes]]]]:
    """A captured step, and a function that trains some steps from the beginning."""
    with sg.Graph().as_default(), on(keeping):
        sg.set_random_seed(5)
        fetches, feeds = two_layer_net()
        variables = sg.global_variables()
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            start = session.run(variables)

            def train() -> list[bytes]:
                for variable, value in zip(variables, start, strict=True):
                    variable.load(value, session)
                return bits(session.run(fetches, feeds(n)) for n in range(5))

            train()
            train()
            yield keeping, train


def test_without_any_one_wait_the_result_is_another(adam):
    keeping, train = adam
    right = train()
    largest = max(len(graph.work) for graph in keeping.graphs)
    graphs = [graph for graph in keeping.graphs if len(graph.work) == largest]  # of the step, for both slots
    waits = [list(graph.waits) for graph in graphs]
    assert len(graphs) == 2 and waits[0] == waits[1]
    for node, each in enumerate(waits[0]):
        for dropped in each:
            for graph in graphs:
                graph.waits[node] = tuple(n for n in each if n != dropped)
            noticed = False
            for keeping.schedule in (*ORDERS, *range(8, 80, 2)):  # until one has the two the other way round
                noticed = noticed or train() != right
            assert noticed, f"{graphs[0].work[node].name} does not have to wait for node {dropped}"
            for graph, kept in zip(graphs, waits, strict=True):
                graph.waits[:] = kept
    for keeping.schedule in ORDERS:
        assert train() == right


def test_the_rounds_of_a_known_loop_do_what_they_can_at_once(host):
    """Work of a round on its own row need not wait for what is carried."""

    def model() -> tuple[object, object]:
        rows, start = sg.placeholder(sg.float32, [6, 5, 8]), sg.placeholder(sg.float32, [5, 8])
        w = sg.Variable(np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32) / 4)

        def turn(state: sg.Tensor, row: sg.Tensor) -> sg.Tensor:
            return sg.tanh(state + sg.sort(sg.exp(row), axis=1)) + sg.reduce_sum(sg.cumsum(row, 1), 1, True)

        states = sg.scan(turn, rows, start)
        loss = sg.reduce_mean(sg.square(sg.matmul(states[-1], w)))
        return [loss, states], lambda n: {rows: draws(2, 6, 5, 8)[n], start: draws(3, 5, 8)[n]}

    drivers = [Keeping(schedule) for schedule in (0, *ORDERS)]
    first, *others = [bits(played(model, driver, 4)) for driver in drivers]
    assert all(other == first for other in others)
    graph = drivers[0].graphs[-1]
    assert depth(graph.waits) < len(graph.work)


@pytest.mark.parametrize("how", ["switched off", "while times are taken", "no way to tell the driver"])
def test_where_nothing_is_done_side_by_side(how, keeping):
    keeping.overlaps = how != "no way to tell the driver"
    with sg.Graph().as_default(), on(keeping), sg.options(overlap=how != "switched off"):
        fetches, feeds = two_layer_net()
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            if how == "while times are taken":
                with session.profile():
                    for n in range(3):
                        session.run(fetches, feeds(n))
            else:
                for n in range(3):
                    session.run(fetches, feeds(n))
    assert len(keeping.graphs) == 2 and all(map(is_chain, keeping.graphs))


def test_launches_have_scratch_memory_of_their_own_where_there_is_room(host):
    """Sums of two functions each, with memory between them."""
    with sg.Graph().as_default():
        feeds = [sg.placeholder(sg.float32, [4096, n]) for n in (32, 48, 56)]
        sums = [sg.reduce_sum(x, 0) for x in feeds]
    values = {x: np.ones(x.shape, np.float32) for x in feeds}

    def ran(limit: int | None) -> tuple[GpuCompiled, int]:
        driver = Keeping()
        with on(driver), sg.Session(graph=feeds[0].graph, memory_limit=limit) as session:
            for _ in range(3):
                assert all((total == 4096).all() for total in session.run(sums, values))
            made = session.executable(sums, values).compiled
        (found,) = {(len(graph.work), depth(graph.waits)) for graph in driver.graphs}
        assert found[0] == 2 * len(sums) + 1  # sums, fetches; large feeds are sent before
        return made, found[1]

    roomy, found = ran(None)
    needs = [sum(padded(size) for _, size in work.scratch) for work in roomy.works.values()]
    assert found == 3 and len(needs) == len(sums) and roomy.scratch == sum(needs)
    narrow, found = ran(roomy.memory.peak - 1)
    assert found > 3 and narrow.scratch == max(needs) and narrow.program.arena == roomy.program.arena


def copied(driver: Simulator, overlap: Overlap, target: int, source: int) -> None:
    with overlap.work([(source, source + 64)], [(target, target + 64)]):
        driver.copy(target, source, 64, Direction.ON_DEVICE)


def test_work_that_asks_for_nothing_is_waited_for_as_what_it_waits_for(keeping):
    a, b, c, d = (keeping.allocate(64) for _ in range(4))
    keeping.begin_capture()
    overlap = Overlap(keeping)
    copied(keeping, overlap, b, a)
    with overlap.work([(b, b + 64)], [(c, c + 64)]):
        pass
    copied(keeping, overlap, d, c)
    assert keeping.end_capture().waits == [(), (0,)]


SQUARE = Product(float32, 16, 16, 16, 1, *(Matrix(name, 16) for name in ("a", "b", "out")))


def products(driver: Simulator, count: int) -> tuple[SimulatedGraph, Callable[[], bytes]]:
    """A graph of so many products of different matrices, and a function that replays it: the results."""
    multiplication = driver.multiplication(SQUARE)
    numbers = np.random.default_rng(1).standard_normal((count, 256)).astype(np.float32)
    matrices, results = driver.allocate(numbers.nbytes), driver.allocate(numbers.nbytes)
    driver.copy(matrices, numbers.ctypes.data, numbers.nbytes, Direction.TO_DEVICE)
    driver.begin_capture()
    overlap = Overlap(driver)
    for n in range(count):
        a, out = matrices + n * 1024, results + n * 1024
        which = n % len(multiplication.workspaces)
        with overlap.work([(a, a + 1024)], [(out, out + 1024), multiplication.workspaces[which]]):
            multiplication(a, a, out, workspace=which)
    graph = driver.end_capture()

    def replayed() -> bytes:
        graph.replay()
        driver.synchronize()
        return driver.memory.view(results, numbers.nbytes).tobytes()

    return graph, replayed


def test_a_product_waits_for_the_one_that_had_its_workspace_before(keeping):
    graph, replayed = products(keeping, 5)
    assert graph.waits == [(), (0,), (), (2,), (1,), (4,), (3,), (6,), (5,), (8,)], "two nodes for each"
    right = replayed()
    for keeping.schedule in range(20):
        assert replayed() == right
    graph.waits[6] = ()
    assert any(replayed() != right for keeping.schedule in range(20))


def test_what_a_capture_does_not_let_one_wait_for(keeping):
    a, b = keeping.allocate(64), keeping.allocate(64)
    with pytest.raises(CaptureError, match="nothing is being captured"):
        keeping.wait_for([])
    with pytest.raises(CaptureError, match="nothing is being captured"):
        keeping.waits()
    keeping.begin_capture()
    keeping.copy(a, b, 64, Direction.ON_DEVICE)
    (earlier,) = keeping.waits()
    keeping.end_capture()
    keeping.begin_capture()
    with pytest.raises(CaptureError, match="another graph"):
        keeping.wait_for([earlier])
    keeping.abandon_capture()
    keeping.begin_capture()
    keeping.copy(a, b, 64, Direction.ON_DEVICE)
    with pytest.raises(CaptureError, match="twice for the same node"):
        keeping.wait_for(keeping.waits() * 2)
    with pytest.raises(CaptureError, match="spoiled before"):
        keeping.end_capture()
    keeping.abandon_capture()
