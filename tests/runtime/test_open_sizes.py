"""Programs that are compiled once for all sizes that a graph leaves open."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError, NoCompileError, ResourceExhaustedError

pytestmark = pytest.mark.takes_long

SIZES = (3, 32, 0, 7, 1, 64, 33, 5, 17, 100, 2, 31)


def perceptron():
    x = sg.placeholder(sg.float32, [None, 20], name="x")
    y = sg.placeholder(sg.float32, [None, 4], name="y")
    hidden = sg.layers.dense(x, 17, activation=sg.nn.relu)
    logits = sg.layers.dense(hidden, 4)
    loss = sg.reduce_sum(sg.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    hits = sg.equal(sg.argmax(logits, 1), sg.argmax(y, 1))
    step = sg.train.AdamOptimizer(1e-3).minimize(loss)
    return [loss, sg.reduce_sum(sg.cast(hits, sg.float32)), logits], [step], [x, y]


def convolutions():
    x = sg.placeholder(sg.float32, [None, 9, 9, 2], name="x")
    y = sg.placeholder(sg.int32, [None], name="y")
    net = sg.layers.conv2d(x, 5, 3, padding="same", activation=sg.nn.relu)
    net = sg.layers.max_pooling2d(net, 2, 2)
    net = sg.layers.batch_normalization(net)
    net = sg.layers.conv2d(net, 3, 2, strides=2, activation=sg.tanh)
    logits = sg.layers.dense(sg.layers.flatten(net), 3)
    losses = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = sg.reduce_sum(losses)
    step = sg.train.MomentumOptimizer(1e-3, 0.9).minimize(loss)
    return [loss, losses], [step], [x, y]


def embeddings():
    words = sg.placeholder(sg.int32, [None, 6], name="words")
    y = sg.placeholder(sg.float32, [None], name="y")
    table = sg.get_variable("table", [30, 8])
    mean = sg.reduce_mean(sg.nn.embedding_lookup(table, words), 1)
    scores = sg.reshape(sg.layers.dense(mean, 1), [-1])
    loss = sg.reduce_sum(sg.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=scores))
    return [loss, scores], [sg.train.GradientDescentOptimizer(1e-2).minimize(loss)], [words, y]


def attention():
    x = sg.placeholder(sg.float32, [None, 5, 8], name="x")
    q, k, v = (sg.layers.dense(x, 8) for _ in range(3))
    weights = sg.nn.softmax(sg.matmul(q, k, transpose_b=True) / np.sqrt(8).astype("f4"))
    out = x + sg.matmul(weights, v)
    loss = sg.reduce_sum(sg.square(out))
    return [loss, out], [sg.train.GradientDescentOptimizer(1e-3).minimize(loss)], [x]


def arrays():
    """Shapes that are computed in the graph."""
    x = sg.placeholder(sg.float32, [None, 6], name="x")
    rows = sg.shape(x)[0]
    wide = sg.concat([x, sg.zeros([rows, 4])], 1)
    flat = sg.reshape(wide, [rows, -1, 5])
    count = sg.cast(rows, sg.float32)
    ones = sg.ones_like(x) * count
    return [flat, sg.tile(x, [1, 2]), ones, x[:, 1:5:2], sg.reduce_sum(x, 0), sg.range(rows)], [], [x]


def draws():
    x = sg.placeholder(sg.float32, [None, 6], name="x")
    return [sg.nn.dropout(x, 0.5), x + sg.random_uniform(sg.shape(x))], [], [x]


GRAPHS = {f.__name__: f for f in (perceptron, convolutions, embeddings, attention, arrays, draws)}


def batch(tensor, rows, rng):
    shape = [rows if n is None else n for n in tensor.shape.as_list()]
    if tensor.dtype.is_integer:
        return rng.integers(0, 3, shape).astype(tensor.dtype.as_numpy_dtype)
    return rng.uniform(-1, 1, shape).astype(tensor.dtype.as_numpy_dtype)


def trained(name, sizes, **options):
    """Return what each run gave, the variables at the end, and the session's compiles."""
    graph = sg.Graph()
    with graph.as_default():
        sg.set_random_seed(5)
        fetches, targets, feeds = GRAPHS[name]()
        initialize, variables = sg.global_variables_initializer(), sg.global_variables()
    rng = np.random.default_rng(1)
    with sg.Session(graph=graph, device="cpu", **options) as session:
        session.run(initialize)
        before = len(session.compiles)
        found = []
        for rows in sizes:
            given = {t: batch(t, rows, rng) for t in feeds}
            found.append(session.run([fetches, targets], given)[0])
        compiled = len(session.compiles) - before
        return found, session.run(variables), compiled


@pytest.mark.parametrize("name", GRAPHS)
def test_one_program_computes_what_those_for_each_size_do(name):
    # `reshape(x, [0, -1])` of nothing tells no last size: only the program for all sizes knows it.
    sizes = [n for n in (3, 0, 1, 33) if n or name not in ("convolutions", "arrays")]
    closed, weights, compiles = trained(name, sizes, open_sizes=False)
    opened, same_weights, once = trained(name, sizes, open_sizes=True)
    assert (compiles, once) == (len(sizes), 1)
    wanted = (*itertools.chain(*closed), *weights)
    made = (*itertools.chain(*opened), *same_weights)
    for a, b in zip(wanted, made, strict=True):
        np.testing.assert_allclose(b, a, 2e-4, 2e-5)


def test_a_batch_that_is_cut_into_parts_of_an_open_length():
    """The first size is what is left beside another open one: 6*n0*n1 elements by 48*n1."""
    x = sg.placeholder(sg.float32, [None, None, 6])
    parts = sg.reshape(x, sg.concat([[-1, 8], sg.shape(x)[1:]], 0))
    with sg.Session(device="cpu") as session:
        for rows, length in ((16, 3), (8, 7), (24, 5)):
            given = np.arange(rows * length * 6, dtype=np.float32).reshape(rows, length, 6)
            assert np.array_equal(session.run(parts, {x: given}), given.reshape(-1, 8, length, 6))
        with pytest.raises(ValueError, match="must be evenly divisible by 240"):
            session.run(parts, {x: np.zeros((15, 5, 6))})
        assert len(session.compiles) == 1


@pytest.mark.parametrize("name", ["perceptron", "convolutions", "arrays"])
def test_bits_do_not_depend_on_the_sizes_that_came_before(name):
    """The results of one size, after runs of others in any order, with the variables set back."""
    graph = sg.Graph()
    with graph.as_default():
        sg.set_random_seed(5)
        fetches, targets, feeds = GRAPHS[name]()
        variables = sg.global_variables()
    rng = np.random.default_rng(2)
    values = [rng.uniform(-1, 1, v.shape.as_list()).astype("f4") for v in variables]
    given = {rows: {t: batch(t, rows, rng) for t in feeds} for rows in SIZES}
    wanted: dict[int, list[bytes]] = {}
    for order in range(5):
        with sg.Session(graph=graph, device="cpu", open_sizes=True) as session:
            for rows in rng.permutation(SIZES).tolist():
                for variable, value in zip(variables, values, strict=True):
                    variable.load(np.abs(value), session)
                made = session.run([fetches, targets], given[rows])[0]
                bits = [np.asarray(a).tobytes() for a in made]
                assert wanted.setdefault(rows, bits) == bits, (order, rows)


def test_feeds_that_must_agree_share_a_size():
    x, y = (sg.placeholder(sg.float32, [None, 2], name=n) for n in "xy")
    total = x + y
    with sg.Session(open_sizes=True) as session:
        for rows in (3, 5, 1):
            session.run(total, {x: np.ones((rows, 2)), y: np.ones((rows, 2))})
        assert len(session.compiles) == 1
        assert session.run(total, {x: np.ones((1, 2)), y: np.ones((4, 2))}).shape == (4, 2)
        assert len(session.compiles) == 2
        with pytest.raises(InvalidArgumentError, match="broadcast"):
            session.run(total, {x: np.ones((3, 2)), y: np.ones((4, 2))})


def test_what_depends_on_a_size_is_compiled_for_it():
    """Here, the value of the first one: the other may have any."""
    x, y = sg.placeholder(sg.float32, [None, 2]), sg.placeholder(sg.float32, [None])
    ones = [1] * 4
    dilated = sg.nn.dilation2d(sg.ones([1, 7, 9, 2]), x[:, None, :], ones, ones, "SAME")[0]
    with sg.Session(open_sizes=True) as session:
        for rows, more in ((3, 5), (3, 6), (4, 6), (3, 7), (4, 8)):
            found = session.run([dilated, y], {x: np.ones((rows, 2)), y: np.ones(more)})
            assert [*map(len, found)] == [7, more]
        assert len(session.compiles) == 2


@pytest.mark.parametrize("first", [2, 2**31 - 1])
def test_more_elements_than_addresses_are_the_same_error(first):
    """Feeds without elements may have any size; a tensor of their sizes may be too large for any computer."""
    feeds = [sg.placeholder(sg.float32, [None, 0]) for _ in range(3)]
    total = sg.reduce_sum(sg.ones([sg.shape(x)[0] for x in feeds]))
    with sg.Session(open_sizes=True) as session:
        for rows in (first, 2, 2**31 - 1, 3):
            given = {x: np.zeros((rows, 0)) for x in feeds}
            if rows > 3:
                with pytest.raises(ResourceExhaustedError, match="more memory than there are addresses"):
                    session.run(total, given)
            else:
                assert session.run(total, given) == rows**3


def test_a_new_size_finds_what_became_of_variables():
    """Programs for other sizes fitted them as they were before."""
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    late = sg.Variable(np.ones(3, np.float32), name="late")
    any_shape = sg.Variable(np.ones((1, 3), np.float32), validate_shape=False, name="any_shape")
    total = sg.reduce_sum(x * late + any_shape, 1)
    longer = sg.assign(any_shape, np.full((2, 3), 2, np.float32), validate_shape=False)
    with sg.Session(device="cpu") as sess:
        sess.run(sg.global_variables_initializer())
        for rows in (4, 5, 6):
            assert sess.run(total, {x: np.ones((rows, 3))}).tolist() == [6.0] * rows
        sess.run(longer)
        assert sess.run(total, {x: np.ones((2, 3))}).tolist() == [9.0] * 2
        with pytest.raises(InvalidArgumentError):
            sess.run(total, {x: np.ones((7, 3))})


def test_new_sizes_compile_nothing():
    x = sg.placeholder(sg.float32, [None, 2])
    double, triple = x * 2, x * 3
    with sg.Session(open_sizes=True) as session:
        session.run(double, {x: np.ones((3, 2))})
        session.no_compile = True
        assert session.run(double, {x: np.ones((9, 2))}).shape == (9, 2)
        with pytest.raises(NoCompileError):
            session.run(triple, {x: np.ones((9, 2))})


def test_steps_of_more_segments_than_a_function_has():
    """The functions that a long step is divided into read sizes where the step does."""
    x = sg.placeholder(sg.float32, [None, 3])
    loops = [
        sg.while_loop(lambda i, h: i < 2, lambda i, h, k=k: (i + 1, h * float(k)), (0, x))[1]
        for k in range(70)
    ]
    with sg.Session(open_sizes=True) as session:
        for rows in (3, 100):
            for k, found in enumerate(session.run(loops, {x: np.ones((rows, 3))})):
                np.testing.assert_array_equal(found, np.full((rows, 3), k * k, "f4"))
        assert len(session.compiles) == 1


def test_indices_are_tested_at_every_size():
    table = sg.get_variable("table", [4, 2])
    at = sg.placeholder(sg.int32, [None])
    rows = sg.gather(table, at)
    with sg.Session(open_sizes=True) as session:
        session.run(table.initializer)
        assert session.run(rows, {at: [0, 3]}).shape == (2, 2)
        with pytest.raises(InvalidArgumentError, match=r"indices\[4\] = 7 is not in \[0, 4\)"):
            session.run(rows, {at: [0, 1, 2, 3, 7]})
        assert len(session.compiles) == 2  # one of them set the variable


def _both(make, feeds):
    """Run a step with open sizes, and one for each of the sizes of `feeds`: the results must agree."""
    with sg.Graph().as_default():
        inputs, outputs = make()
        with sg.Session(open_sizes=True) as session, sg.Session(open_sizes=False) as closed:
            for each in (session, closed):
                each.run(sg.global_variables_initializer())
            before = len(session.compiles)
            for arrays in feeds:
                given = dict(zip(inputs, arrays, strict=True))
                for found, wanted in zip(
                    session.run(outputs, given), closed.run(outputs, given), strict=True
                ):
                    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)
            return len(session.compiles) - before


def _normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("time_major", [False, True])
def test_a_recurrent_net_takes_any_batch_and_length(time_major):
    def make():
        x = sg.placeholder(sg.float32, [None, None, 6])
        cell = sg.nn.rnn_cell.LSTMCell(8, initializer=sg.constant_initializer(0.1))
        y, _ = sg.nn.dynamic_rnn(cell, x, dtype=sg.float32, time_major=time_major)
        gradients = sg.gradients(sg.reduce_sum(y * y), [x, *sg.trainable_variables()])
        return [x], [y, *gradients]

    sizes = ((2, 5), (1, 1), (3, 17), (40, 2), (2, 5))
    assert _both(make, [(_normal(n, t, 6),) for n, t in sizes]) == 1


def test_attention_takes_any_batch_and_length():
    def make():
        x = sg.placeholder(sg.float32, [None, None, 32])

        def heads(weights):
            y = sg.matmul(sg.reshape(x, [-1, 32]), sg.constant(weights * 0.2))
            shape = sg.shape(x)
            return sg.transpose(sg.reshape(y, [shape[0], shape[1], 4, 8]), [0, 2, 1, 3])

        q, k, v = (heads(_normal(32, 32, n)[..., 0]) for n in (1, 2, 3))
        y = sg.matmul(sg.nn.softmax(sg.matmul(q, k, transpose_b=True) / 3), v)
        return [x], [y, *sg.gradients(sg.reduce_sum(y * y), x)]

    sizes = ((2, 5), (1, 1), (3, 17), (4, 40), (0, 3), (2, 0))
    assert _both(make, [(_normal(n, t, 32),) for n, t in sizes]) == 1


def test_a_context_may_grow():
    """Keys and values of positions so far, as in sampling."""

    def make():
        keys, query = sg.placeholder(sg.float32, [None, 4, 8]), sg.placeholder(sg.float32, [1, 4, 8])
        grown = sg.concat([keys, query], 0)
        weights = sg.nn.softmax(sg.einsum("qhd,khd->hqk", query, grown))
        return [keys, query], [grown, sg.einsum("hqk,khd->qhd", weights, grown)]

    assert _both(make, [(_normal(n, 4, 8), _normal(1, 4, 8)) for n in range(40)]) == 1


@pytest.mark.parametrize("name", ["map_fn", "scan", "while_loop"])
def test_loops_run_as_often_as_there_are_rows(name):
    def make():
        x = sg.placeholder(sg.float32, [None, 3])
        match name:
            case "map_fn":
                y = sg.map_fn(lambda row: row * 2 + 1, x)
            case "scan":
                y = sg.scan(lambda total, row: total * 0.5 + row, x, initializer=sg.zeros([3]))
            case _:
                n = sg.shape(x)[0]
                _, y = sg.while_loop(
                    lambda i, _: i < n, lambda i, a: (i + 1, a * 0.9 + x[i]), [0, sg.zeros([3])]
                )
        return [x], [y, *sg.gradients(sg.reduce_sum(y * y), x)]

    assert _both(make, [(_normal(n, 3),) for n in (4, 1, 9, 70, 4)]) == 1


@pytest.mark.parametrize("fold", [sg.foldl, sg.foldr, sg.scan])
@pytest.mark.parametrize("shape", [[None], [None, 3], [None, None]])
def test_a_loop_asks_for_a_size_that_no_value_has(fold, shape):
    """The rows that it counts are not read."""
    x = sg.placeholder(sg.float32, shape)
    found = fold(lambda old, row: old + 1.0, x, sg.constant(0.5))
    with sg.Session(open_sizes=True, device="cpu") as session:
        for rows in (4, 0, 1, 100):
            given = np.ones([rows, 2, 3][: len(shape)] if shape[-1] is None else [rows, 3])
            last = np.ravel(session.run(found, {x: given}))[-1:]
            assert last.tolist() == ([rows + 0.5] if rows or fold is not sg.scan else [])


def test_a_branch_asks_for_a_size_that_no_value_has():
    x, on = sg.placeholder(sg.float32, [None]), sg.placeholder(sg.bool, [])
    found = sg.cond(on, lambda: sg.cast(sg.shape(x)[0], sg.float32) * 2.0, lambda: 1.0)
    with sg.Session(open_sizes=True, device="cpu") as session:
        for rows in (4, 0, 100):
            assert session.run(found, {x: np.ones(rows), on: True}) == 2 * rows
            assert session.run(found, {x: np.ones(rows), on: False}) == 1


def test_a_tagger_takes_any_length():
    """Labels and logits of all words in one have equally many rows."""

    def make():
        words, tags = (sg.placeholder(sg.int32, [None, None]) for _ in range(2))
        table = sg.constant(_normal(20, 6))
        cell = sg.nn.rnn_cell.LSTMCell(6, initializer=sg.constant_initializer(0.1))
        y, _ = sg.nn.dynamic_rnn(cell, sg.gather(table, words), dtype=sg.float32, time_major=True)
        losses = sg.nn.sparse_softmax_cross_entropy_with_logits(
            labels=sg.reshape(tags, [-1]), logits=sg.reshape(y, [-1, 6])
        )
        return [words, tags], [losses, *sg.gradients(sg.reduce_mean(losses), sg.trainable_variables())]

    feeds = [(np.full((t, n), 7), np.full((t, n), 2)) for t, n in ((5, 3), (9, 3), (2, 8), (17, 4))]
    assert _both(make, feeds) == 1


def test_questions_belong_to_the_values_that_a_step_is_compiled_for():
    """x has n elements, or one of the two is 1, whichever came first."""
    x, n = sg.placeholder(sg.float32, [None], name="x"), sg.placeholder(sg.int32, [], name="n")
    total = x * 2.0 + sg.zeros([n])
    with sg.Session() as session:
        for rows, size in ((5, 5), (1, 5), (1, 6), (1, 7)):
            assert session.run(total, {x: np.ones(size), n: rows}).tolist() == [2.0] * size
        assert [each.symbols for each in session.compiles] == ["n0: axis 0 of x", "n0: axis 0 of x"]
        assert session.compiles[1].failed == "the guard that the value of n goes with axis 0 of x"
        plan = session.plan(total, {x: np.ones(5), n: 5})
        assert plan.recompiled_for[0] == "sizes that differ along axis 0 of x, the value of n"


def test_a_long_step_runs_with_no_rows_at_all():
    """Its region is shared out at any size, and takes no time with this one."""
    x, w = sg.placeholder(sg.float32, [None, 96]), sg.constant(np.eye(96, dtype=np.float32) / 2)
    y = x
    for number in range(150):
        y = sg.matmul(sg.tanh(y) + float(number % 7), w)
    with sg.Session() as session:
        few = session.run(y, {x: np.ones((3, 96))})
        assert session.run(y, {x: np.ones((0, 96))}).shape == (0, 96)
        many = session.run(y, {x: np.ones((64, 96))})
        assert len(session.compiles) == 1
    np.testing.assert_array_equal(many[:3], few)
