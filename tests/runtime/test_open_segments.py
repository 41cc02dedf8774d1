"""Segments whose sorted ids are fed or computed: one program for all ids and any number of segments."""

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.ops.reductions import sorted_segments
from staticgraph.runtime.files import graph_json
from tests.everywhere import check_everywhere
from tests.interpreted import interpreting

pytestmark = pytest.mark.takes_long

NAMES = ("sum", "prod", "max", "min", "mean")
IDS = ([0, 0, 1, 3], [2], [0, 1, 2, 3, 4, 5, 5], [0, 0], [1, 1, 9])


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)


def meant(name: str, data: np.ndarray, ids: Any) -> np.ndarray:
    """The segments one by one: an independent meaning."""
    empty = float(name == "prod")
    out = np.full((max(ids) + 1, *data.shape[1:]), empty, data.dtype)
    for segment in set(ids):
        out[segment] = getattr(data[np.equal(ids, segment)], name)(axis=0)
    return out


@pytest.mark.parametrize("name", NAMES)
def test_one_program_serves_all_ids(name):
    data, ids = sg.placeholder(sg.float32, [None, 3]), sg.placeholder(sg.int32, [None])
    made = getattr(sg, f"segment_{name}")(data, ids)
    assert made.shape.as_list() == [None, 3]
    with sg.Session() as session:
        for given in IDS:
            found = session.run(made, {data: rows(len(given)), ids: given})
            np.testing.assert_allclose(found, meant(name, rows(len(given)), given), rtol=1e-5)
        assert len(session.compiles) == 2  # one counts the segments
        assert "segment_count" in session.compiles[1].symbols
        session.no_compile = True
        assert session.run(made, {data: rows(2), ids: [0, 700]}).shape == (701, 3)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_a_given_number_of_segments(name):
    """The unsorted operations, whose derivatives TensorFlow has checked, take the number as an argument."""
    data, ids = sg.placeholder(sg.float64, [None, 3]), sg.placeholder(sg.int64, [None])
    count = sg.placeholder(sg.int64, [])

    def derivatives(made):
        (first,) = sg.gradients(sg.reduce_sum(made**3), data)
        return [first, *sg.gradients(sg.reduce_sum(first**2), data)]

    ours = derivatives(getattr(sg, f"segment_{name}")(data, ids))
    theirs = derivatives(getattr(sg, f"unsorted_segment_{name}")(data, ids, count))
    with sg.Session() as session:
        for given in ([0, 0, 1, 2], [0, 1, 1, 2, 2, 3]):  # without an empty segment, which differ
            fed = {data: rows(len(given)), ids: given, count: given[-1] + 1}
            for found, wanted in zip(*session.run([ours, theirs], fed), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "told"),
    [([1, 0, 2], r"segment_ids\[1\] = 0 comes after 1"), ([-1, 0, 0], r"segment_ids\[0\] = -1 is negative"),
     ([0, 0, -5], r"segment_ids\[2\] = -5 is negative"), ([0, 9, 3], r"segment_ids\[2\] = 3 comes after 9")],
)  # fmt: skip
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_ids_out_of_order_are_an_error_of_the_run(name, given, told):
    data, ids = sg.placeholder(sg.float32, [None, 3]), sg.placeholder(sg.int32, [None])
    made = getattr(sg, f"segment_{name}")(data, ids)
    with sg.Session() as session:
        session.run(made, {data: rows(3), ids: [0, 0, 1]})
        with pytest.raises(sg.errors.InvalidArgumentError, match=told):
            session.run(made, {data: rows(3), ids: given})


def test_no_ids_make_no_segments():
    data, ids = sg.placeholder(sg.float32, [None, 3]), sg.placeholder(sg.int32, [None])
    made = [getattr(sg, f"segment_{name}")(data, ids) for name in NAMES]
    with sg.Session() as session:
        for found in session.run(made, {data: rows(0), ids: []}):
            assert found.shape == (0, 3)


def test_one_stage_counts_the_segments_of_all_operations():
    data = sg.placeholder(sg.float32, [None, 3])
    ids = [sg.placeholder(sg.int32, [None]) for _ in range(6)]
    made = [sg.segment_sum(data, each) for each in ids] + [sg.segment_max(data, ids[0])]
    with sg.Session() as session:
        for number in (4, 2, 7):
            each = np.arange(number)
            found = session.run(made, {data: rows(number)} | {t: each // (i + 1) for i, t in enumerate(ids)})
            assert [len(f) for f in found[:6]] == [(number - 1) // (i + 1) + 1 for i in range(6)]
        assert len(session.compiles) == 2


def test_chains_of_operations_share_stages():
    """Each chain has two operations whose results have as many elements as the data say."""
    data = [sg.placeholder(sg.float32, [None]) for _ in range(4)]
    positive = [sg.boolean_mask(x, x > 0) for x in data]
    found = [sg.boolean_mask(x, x > sg.reduce_mean(x)) * 2 for x in positive]
    with sg.Session() as session:
        for count in (5, 9):
            given = [np.arange(-i, count, dtype=np.float32) for i in range(4)]
            made = session.run(found, dict(zip(data, given, strict=True)))
            for x, y in zip(given, made, strict=True):
                np.testing.assert_array_equal(y, 2 * x[x > x[x > 0].mean()])
        assert len(session.compiles) == 3


def test_known_ids_need_no_stage():
    data = sg.placeholder(sg.float32, [None, 3])
    made = sg.segment_sum(data, [0, 0, 4])
    assert made.shape.as_list() == [5, 3]
    with sg.Session() as session:
        session.run(made, {data: rows(3)})
        assert len(session.compiles) == 1


def test_sparse_rows_and_embeddings_have_one_program():
    table = sg.get_variable("table", [30, 4], initializer=sg.random_normal_initializer(seed=1))
    ids = sg.sparse_placeholder(sg.int64, [None, None])
    made = sg.nn.embedding_lookup_sparse(table, ids, None, combiner="sqrtn")
    safe = sg.nn.safe_embedding_lookup_sparse(table, ids, None, combiner="mean")
    sums = sg.sparse_segment_mean(table, ids.values, ids.indices[:, 0])
    step = sg.train.GradientDescentOptimizer(0.1).minimize(sg.reduce_sum(made) + sg.reduce_sum(safe**2))
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        counts = []
        for size in (5, 2, 11, 1, 8):
            at = np.stack([np.arange(size), np.zeros(size, int)], 1)
            fed = {ids: sg.SparseTensorValue(at, np.arange(size) * 3 % 30, [size, 4])}
            before = session.run(table)
            a, b, c, _ = session.run([made, safe, sums, step], fed)
            for found in (a, b, c):
                np.testing.assert_allclose(found, before[np.arange(size) * 3 % 30], rtol=1e-6)
            counts.append(len(session.compiles))
        assert counts[-1] == counts[0]


def test_ids_of_each_round_of_a_loop():
    data = sg.placeholder(sg.float32, [None])

    def body(i, total):
        ids = sg.range(sg.size(data)) // (i + 1)
        return i + 1, total + sg.reduce_sum(sg.segment_sum(data, ids) ** 2)

    _, total = sg.while_loop(lambda i, _: i < 3, body, [0, 0.0])
    with sg.Session() as session:
        for x in (np.arange(6.0), np.arange(4.0)):
            wanted = sum((np.add.reduceat(x, np.arange(0, len(x), n)) ** 2).sum() for n in (1, 2, 3))
            np.testing.assert_allclose(session.run(total, {data: x}), wanted, rtol=1e-6)


def test_segments_in_every_place():
    def build():
        data = sg.placeholder(sg.float32, [None, 3], name="data")
        ids = sg.placeholder(sg.int32, [None], name="ids")
        made = {name: getattr(sg, f"segment_{name}")(data, ids) for name in NAMES}
        return made | {"slope": sg.gradients(made["mean"] ** 2, data)[0]}

    fed = [{"data": rows(len(ids)), "ids": ids} for ids in (*IDS, [1, 0])]
    expected = [{name: meant(name, rows(len(ids)), ids) for name in NAMES} for ids in IDS]
    found = check_everywhere(build, *fed, expected=[*expected, None])
    assert {"session", "interpreter", "file", "graph_def"} <= {*found}


def test_a_file_of_a_version_whose_ids_were_operands():
    data, ids = sg.placeholder(sg.float32, [None], name="data"), sg.placeholder(sg.int32, [None], name="ids")
    sg.segment_sum(data, ids, name="sums")
    graph = sg.get_default_graph()
    text, _ = graph_json.write(graph.get_operations(), [])
    new = b'"op":"segment_sum","inputs":["data:0","ids:0"],"attrs":{"num_segments":null}'
    assert new in text
    old = b'"op":"segment_sum","inputs":["data:0"],"operands":{"segment_ids":"ids:0"}'
    read, _ = graph_json.read(memoryview(text.replace(new, old)), lambda key: None)
    with interpreting(), sg.Session(graph=read) as session:
        assert session.run("sums:0", {"data:0": [1, 2, 3], "ids:0": [0, 0, 1]}).tolist() == [3, 3]


def test_the_number_may_be_given_to_the_operation():
    """The compiler's records take it: rows of ids beyond it are left out."""
    data = sg.placeholder(sg.float32, [None])
    made = sorted_segments.segment_sum(data, [0, 1, 4], num_segments=3)
    with sg.Session() as session:
        assert session.run(made, {data: [1, 2, 3]}).tolist() == [1, 2, 0]
