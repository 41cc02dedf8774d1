"""Sessions on a card whose graphs leave sizes open: functions once, a graph for each size, the same bits."""

import itertools

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.gpu import step_open as gpu_step_open
from staticgraph.runtime.gpu import backend
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import check_alike, on

pytestmark = pytest.mark.takes_long

SIZES = (0, 1, 2, 3, 7, 33)


def numbers(*shape: int) -> np.ndarray:
    """Numbers that depend on the shape alone."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def elements():
    """Vectors with a rest, operands that are spread, results of several dtypes and parts of one array."""
    x, y = sg.placeholder(sg.float32, [None, 3]), sg.placeholder(sg.float32, [None, 1])
    z = sg.exp(x) * y + 1.0
    parts = sg.concat([x, y, z], 1)
    return [z, parts, z > 1.0, sg.cast(x * 4, sg.int32)], lambda n: {x: numbers(n, 3), y: numbers(n, 1)}


def inner():
    """The open axis is not the outermost."""
    x = sg.placeholder(sg.float32, [3, None, 2])
    y = sg.reshape(sg.transpose(x, [1, 0, 2]), [-1, 6])
    return [sg.tanh(x) + 1, y, sg.tile(y, [2, 1]), sg.reverse(x, [1])], lambda n: {x: numbers(3, n, 2)}


def rows():
    """Rows that a thread, a warp or a block does, with sums over all of them."""
    x = sg.placeholder(sg.float32, [None, 1300])
    short, long = sg.nn.softmax(x[:, :40]), sg.nn.l2_normalize(x, 1)
    g = sg.gradients(sg.reduce_sum(sg.nn.log_softmax(x)[:, 0] ** 2), x)[0]
    return [short, long, sg.reduce_max(x[:, :5], 1), g], lambda n: {x: numbers(n, 1300)}


def sums():
    """Sums along the open axis and along others, whole and in parts."""
    x = sg.placeholder(sg.float32, [None, 70])
    y = sg.placeholder(sg.float32, [None, 40, 8])
    found = [sg.reduce_sum(x, 0), sg.reduce_sum(x), sg.reduce_max(y, [0, 2]), sg.reduce_sum(y, 1)]
    return found, lambda n: {x: numbers(n, 70), y: numbers(n, 40, 8)}


def layers(width: int, out: int):
    """Products by tiles, by single threads and by the library, their epilogues and their gradients."""
    x, y = sg.placeholder(sg.float32, [None, width]), sg.placeholder(sg.int32, [None])
    w = [sg.constant(numbers(width, 30) / 9), sg.constant(numbers(30, out) / 5)]
    logits = sg.matmul(sg.nn.relu(sg.matmul(x, w[0]) + 0.1), w[1])
    loss = sg.reduce_sum(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    fetches = [loss, logits, sg.gradients(loss, [*w, x])]
    return fetches, lambda n: {x: numbers(n, width), y: np.arange(n, dtype=np.int32) % out}


def convolutions():
    """The gradient by the filter adds up in slices, and those by pictures have edges."""
    x = sg.placeholder(sg.float32, [None, 7, 7, 4])
    w = sg.constant(numbers(3, 3, 4, 8))
    y = sg.nn.conv2d(sg.nn.conv2d(x, w, 1, "SAME"), sg.constant(numbers(3, 3, 8, 5)), 2, "VALID")
    return [y, sg.gradients(sg.reduce_sum(y * y), [w, x])], lambda n: {x: numbers(n, 7, 7, 4)}


def fed():
    """The batch is the value of a feed."""
    batch, x = sg.placeholder(sg.int32, []), sg.placeholder(sg.float32, [None, 4])
    y = sg.reshape(sg.zeros([batch, 4]) + x, [batch, 2, 2])
    return [y, sg.range(batch), sg.reduce_sum(y, 0)], lambda n: {x: numbers(n, 4), batch: n}


MODELS = {
    "elements": elements,
    "inner": inner,
    "rows": rows,
    "sums": sums,
    "small layers": lambda: layers(20, 5),
    "large layers": lambda: layers(256, 64),
    "convolutions": convolutions,
}


@pytest.mark.parametrize("model", [*MODELS.values(), fed], ids=[*MODELS, "fed"])
def test_functions_are_loaded_once_and_bits_are_those_of_a_fresh_session(host, model):
    with sg.Graph().as_default():
        fetches, feeds = model()
        expected, alone = {}, {}
        with on(None), sg.Session() as session:
            for size in SIZES:
                expected[size] = session.run(fetches, feeds(size))
        for size in SIZES:
            with on(Simulator()), sg.Session() as session:
                alone[size] = session.run(fetches, feeds(size))
                check_alike(alone[size], expected[size], 1e-5)
        for order in ((33, 0, *SIZES, 33, 7), (1, 0, 2, 33, 7, 3, 1, 2)):
            with on(Simulator(3)), sg.Session() as session:
                found = {}
                for size in (*order[:2], *order[:2]):  # captured runs may have functions of their own
                    found[size] = session.run(fetches, feeds(size))
                assert session.device is not None
                loaded, compiles = session.device.functions, len(session.compiles)
                for size in order[2:]:
                    found[size] = session.run(fetches, feeds(size))
                    check_bits(found[size], alone[size])
                assert (session.device.functions, len(session.compiles)) == (loaded, compiles)
                for size, made in found.items():
                    check_bits(made, alone[size])


def check_bits(one, other):
    if isinstance(one, list):
        for a, b in zip(one, other, strict=True):
            check_bits(a, b)
    else:
        assert np.shape(one) == np.shape(other) and np.asarray(one).tobytes() == np.asarray(other).tobytes()


def guarded():
    x, y = sg.placeholder(sg.float32, [None, 3], name="x"), sg.placeholder(sg.float32, [None, 3], name="y")
    return x, y, sg.reduce_mean(x + y, 0)


def test_compiles_guards_and_refusals_are_those_of_the_processor(host):
    told = []
    for driver in (None, Simulator()):
        with sg.Graph().as_default(), on(driver), sg.Session() as session:
            x, y, mean = guarded()
            for n, m in ((4, 4), (7, 7), (1, 5), (5, 1), (0, 0)):
                session.run(mean, {x: np.ones((n, 3)), y: np.ones((m, 3))})
            session.no_compile = True
            session.run(mean, {x: np.ones((9, 3)), y: np.ones((9, 3))})
            z = sg.placeholder(sg.float32, [None, 3], name="z")
            with pytest.raises(sg.errors.NoCompileError) as caught:
                session.run(mean * z, {x: np.ones((9, 3)), y: np.ones((9, 3)), z: np.ones((9, 3))})
            kinds = [(each.symbols, each.guards, each.failed, each.why) for each in session.compiles]
            told.append((kinds, str(caught.value)))
    assert told[0] == told[1] and any(failed for _, _, failed, _ in told[0][0])


def test_a_fifth_program_is_warned_of_and_a_fifth_size_is_not(one_driver):
    with sg.Graph().as_default(), on(one_driver), sg.Session() as session:
        x = sg.placeholder(sg.float32, [None, 3])
        for n in range(12):
            session.run(x * 2, {x: np.ones((n, 3))})
        z = sg.placeholder(sg.int32, [2, None], name="z")
        found = sg.gather_nd(sg.ones([2, 2, 2, 2, 2]), z)  # of another rank for each size
        with pytest.warns(sg.errors.RecompileWarning, match="for the 5th time: z is"):
            for n in range(1, 6):
                session.run(found, {z: np.ones((2, n))})


def test_few_sizes_keep_graphs_and_memory_is_bounded(host, monkeypatch):
    monkeypatch.setattr(backend, "CAPTURED_LIMIT", 2)
    driver = Simulator()
    with sg.Graph().as_default(), on(driver), sg.Session() as session:
        x = sg.placeholder(sg.float32, [None, 100])
        total = sg.Variable(np.zeros(100, np.float32))
        # What is fed, a constant, and a new value beside the old one.
        step = sg.assign(total, sg.reverse(total, [0]) + sg.reduce_sum(x * sg.constant(numbers(1, 100)), 0))
        session.run(total.initializer)
        expected, used = np.zeros(100), []
        for size in itertools.chain(*([n] * 3 for n in (64, 63, 62, 61, 64, 60, 63, 59, 58))):
            expected = expected[::-1] + (numbers(size, 100) * numbers(1, 100)).sum(0, dtype=np.float64)
            np.testing.assert_allclose(
                session.run(step, {x: numbers(size, 100)}), expected, rtol=1e-4, atol=1e-4
            )
            used.append(driver.memory.used)
        assert max(used[6:]) <= used[3]  # those of two sizes


def test_a_function_whose_positions_are_no_int_is_compiled_for_its_size(one_driver, monkeypatch):
    monkeypatch.setattr(gpu_step_open, "MOST_POSITIONS", 50)
    with sg.Graph().as_default(), on(one_driver), sg.Session() as session:
        x = sg.placeholder(sg.float32, [None, 10])
        calls = {}
        for n in (5, 6):
            feeds = {x: numbers(n, 10)}
            np.testing.assert_allclose(session.run(x * 2, feeds), numbers(n, 10) * 2)
            (work,) = session.executable(x * 2, feeds).compiled.works.values()
            (calls[n],) = work.calls
        assert calls[5].sizes and not calls[6].sizes


@pytest.mark.parametrize("build", [lambda x: sg.nn.top_k(x, 9)[0], lambda x: sg.cumsum(x, 1)])
def test_what_is_done_in_a_way_of_its_own_is_done_so_for_each_size(host, build):
    kinds = []
    for opens in (True, False):
        with sg.Graph().as_default(), on(Simulator()), sg.Session(open_sizes=opens) as session:
            x = sg.placeholder(sg.float32, [None, 3000])
            compiled = session.executable(build(x), {x: numbers(4, 3000)}).compiled
            kinds.append({f.text for f in compiled.functions if f.kind != "pointwise"})
    assert kinds[0] == kinds[1] != set()


def test_loops_over_an_open_length(host):
    made = []
    for driver in (None, Simulator()):
        with sg.Graph().as_default(), on(driver), sg.Session() as session:
            sg.set_random_seed(3)
            x, lengths = sg.placeholder(sg.float32, [None, None, 5]), sg.placeholder(sg.int32, [None])
            cell = sg.nn.rnn_cell.GRUCell(6)
            out, state = sg.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=sg.float32)
            loss = sg.reduce_sum(out * out) + sg.reduce_sum(state)
            session.run(sg.global_variables_initializer())
            fetches = [out, loss, sg.gradients(loss, x)[0]]
            for batch, length in ((3, 4), (2, 6), (5, 1), (3, 4)):
                feeds = {x: numbers(batch, length, 5), lengths: np.arange(batch) % length + 1}
                made.append(session.run(fetches, feeds))
            compiles = len(session.compiles)
            session.no_compile = True
            made.append(session.run(fetches, {x: numbers(7, 9, 5), lengths: np.full(7, 9)}))
            assert len(session.compiles) == compiles
    check_alike(made[:5], made[5:], 1e-5)


def test_attention_is_one_function_for_each_size(one_driver):
    with sg.Graph().as_default(), on(one_driver), sg.Session() as session:
        q, k, v = (sg.placeholder(sg.float32, [None, None, 64]) for _ in range(3))
        y = sg.matmul(sg.nn.softmax(sg.matmul(q, k, transpose_b=True) * 0.125), v)
        for batch, length, pays in ((2, 64, False), (64, 64, True)):
            values = [numbers(batch, length, 64) + n for n in range(3)]
            feeds = dict(zip((q, k, v), values, strict=True))
            scores = np.exp(np.einsum("bik,bjk->bij", *values[:2], dtype=np.float64) * 0.125)
            expected = scores / scores.sum(-1, keepdims=True) @ values[2]
            np.testing.assert_allclose(session.run(y, feeds), expected, rtol=1e-4, atol=1e-5)
            functions = session.executable(y, feeds).compiled.functions
            assert any("attention" in f.kind for f in functions) == pays
