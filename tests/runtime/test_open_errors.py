"""Wrong sizes are refused in the same words by programs with open sizes and by those for each size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError, ResourceExhaustedError

SIZES = (0, 1, 2, 3, 5, 40)


def fed(*shapes, dtype=sg.float32):
    return [sg.placeholder(dtype, shape, name=f"x{n}") for n, shape in enumerate(shapes)]


def added():
    x, y = fed([None, 2], [None, 2])
    return x * 2 + sg.tanh(y), [x, y]


def multiplied():
    x, y = fed([None, None], [None, 3])
    return sg.matmul(x, y), [x, y]


def joined():
    x, y = fed([None, 2], [2, None])
    return sg.concat([x, y], 0), [x, y]


def stacked():
    x, y = fed([None, 2], [None, 2])
    return sg.stack([x, y]), [x, y]


def cut():
    (x,) = fed([None, 2])
    return sg.slice(x, [1, 0], [2, 2]), [x]


def narrowed():
    x, y = fed([None, 2], [None])
    return sg.zeros([sg.shape(x)[0] - sg.shape(y)[0], 2]) + 1.0, [x, y]


def reshaped():
    (x,) = fed([None, 2])
    return sg.reshape(x, [-1, 5]), [x]


def split():
    (x,) = fed([None, 2])
    return sg.split(x, 2)[0], [x]


def labelled():
    x, y = fed([None, 4], [None])
    labels = sg.cast(y, sg.int32)
    return sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x), [x, y]


def trained():
    x, y = fed([None, 3], [None, 1])
    w = sg.get_variable("w", initializer=np.ones([3, 1], np.float32))
    loss = sg.reduce_mean(sg.square(sg.matmul(x, w) - y))
    return [loss, sg.gradients(loss, w)[0]], [x, y]


def chosen():
    x, y = fed([None], [None])
    return sg.where(x > 0, x, y), [x, y]


def padded():
    x, y = fed([None, 2], [None, 2])
    return sg.pad(x, [[1, 0], [0, 0]]) + y, [x, y]


def attended():
    x, y = fed([None, 3, 4], [None, 3, 4])
    return sg.matmul(x, y, transpose_b=True), [x, y]


def segmented():
    x, y = fed([None, 2], [None])
    return sg.unsorted_segment_sum(x, sg.cast(y, sg.int32), 3), [x, y]


def tops():
    (x,) = fed([2, None])
    return sg.nn.top_k(x, 3).values, [x]


def convolved():
    (x,) = fed([None, None, 2])
    return sg.nn.conv1d(x, sg.ones([3, 2, 2]), 1, "VALID"), [x]


GRAPHS = {
    f.__name__: f
    for f in (
        added, multiplied, joined, stacked, cut, narrowed, reshaped, split, labelled, trained, chosen, padded,
        attended, segmented, tops, convolved,
    )
}  # fmt: skip


def answer(session, fetches, feeds):
    """Return the results of a run as arrays, or the class and the text of its error."""
    try:
        made = session.run(fetches, feeds)
    except Exception as error:
        return type(error), str(error)
    return [np.asarray(each) for each in (made if isinstance(made, list) else [made])]


@pytest.mark.takes_long
@pytest.mark.filterwarnings("ignore::staticgraph.compiler.graph.errors.RecompileWarning")
@pytest.mark.parametrize("name", GRAPHS)
def test_errors_are_the_same(name):
    graph = sg.Graph()
    with graph.as_default():
        fetches, feeds = GRAPHS[name]()
        initialize = sg.global_variables_initializer()
    axes = [(t, axis) for t in feeds for axis, n in enumerate(t.shape.as_list()) if n is None]
    combinations = [*itertools.product(SIZES, repeat=len(axes))]
    rng = np.random.default_rng(0)
    rng.shuffle(combinations)
    refused = 0
    with (
        sg.Session(graph=graph, device="cpu", open_sizes=True) as opened,
        sg.Session(graph=graph, device="cpu", open_sizes=False) as closed,
    ):
        opened.run(initialize)
        closed.run(initialize)
        for sizes in combinations[:36]:
            by = dict(zip(axes, sizes, strict=True))
            shapes = [[by.get((t, a), n) for a, n in enumerate(t.shape.as_list())] for t in feeds]
            given = {t: np.ones(shape, np.float32) for t, shape in zip(feeds, shapes, strict=True)}
            one, two = answer(opened, fetches, given), answer(closed, fetches, given)
            if isinstance(two, tuple):
                assert one == two, shapes
                refused += 1
            else:
                assert isinstance(one, list), (shapes, one)
                for a, b in zip(one, two, strict=True):
                    assert (a.shape, a.dtype) == (b.shape, b.dtype), shapes
                    np.testing.assert_allclose(a, b, 1e-5, 1e-6)
    assert refused or name in ("attended", "segmented")  # whose graph alone refuses


def test_a_result_of_python_of_another_rank_than_the_graph_says():
    x = sg.placeholder(sg.float32, [None], name="x")
    y = sg.py_func(lambda a: a, [x], sg.float32)
    y.set_shape([None, None])
    with sg.Session() as session:
        np.testing.assert_array_equal(session.run(y * 2.0, {x: [1.0, 2.0]}), [2.0, 4.0])
        np.testing.assert_array_equal(session.run(y * 2.0, {x: [1.0, 2.0, 3.0]}), [2.0, 4.0, 6.0])


@pytest.mark.parametrize("open_sizes", [True, False])
@pytest.mark.parametrize("shapes", [(3, 1), (1, 0), (2, 3)])
def test_summands_whose_sizes_a_run_tells_do_not_broadcast(shapes, open_sizes):
    """A sum is captured as additions, which broadcast; TensorFlow 1.15 refuses these, too."""
    x, y = (sg.placeholder(sg.float32, [None]) for _ in shapes)
    total = sg.add_n([x, y])
    inside = sg.while_loop(lambda n, _: n < 2, lambda n, s: (n + 1, s + sg.reduce_sum(total)), [0, 0.0])[1]
    with sg.Session(open_sizes=open_sizes) as session:
        np.testing.assert_array_equal(session.run(total, {x: [1, 2], y: [3, 4]}), [4, 6])
        for fetched in (total, inside):
            with pytest.raises(InvalidArgumentError, match="shapes of the summands must be equal"):
                session.run(fetched, dict(zip((x, y), map(np.ones, shapes), strict=True)))


def test_results_without_elements_whose_other_axes_are_too_long():
    """NumPy has no such array, and the program for other sizes must not be asked for one."""
    n, m = (sg.placeholder(sg.int32, []) for _ in range(2))
    made = sg.fill([n, m, m], 1.0)
    total = sg.reduce_sum(made)
    with sg.Session() as session:
        for fetched in (made, total):
            assert np.sum(session.run(fetched, {n: 3, m: 4})) == 48
            for rows, columns in ((0, 2**31 - 1), (2**30, 2**31 - 1)):
                if rows or fetched is made:
                    with pytest.raises(ResourceExhaustedError, match="more memory than there are addresses"):
                        session.run(fetched, {n: rows, m: columns}, timeout=30.0)
            assert session.run(made, {n: 0, m: 5}).shape == (0, 5, 5)
