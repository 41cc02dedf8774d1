"""The compile log: what was compiled and why, and sessions that may not compile."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime import program_cache
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.reports.recompile_reason import Cause


@pytest.fixture
def per_size():
    with sg.Session(open_sizes=False) as session:
        yield session


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """No code from anywhere: neither this process nor the disk has seen a kernel. Returns what forgets those
    in memory again.
    """
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path))

    def forget():
        for name in ("_OBJECTS", "_MADE"):
            monkeypatch.setattr(cpu_jit, name, {})
        monkeypatch.setattr(cpu_jit, "_LOADED", type(cpu_jit._LOADED)())

    forget()
    return forget


def causes(session):
    return [(each.cause, each.why) for each in session.compiles]


def test_first_runs_and_new_shapes(per_size):
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    y = sg.reduce_sum(x * x, name="y")
    for rows in (3, 3, 4, 3, 5):
        per_size.run(y, {x: np.ones((rows, 2))})
    assert causes(per_size) == [
        (Cause.FIRST, "first run of these fetches with these feeds"),
        (Cause.SHAPE, "x is float32[4, 2], was float32[3, 2]"),
        (Cause.SHAPE, "x is float32[5, 2], was float32[4, 2]"),
    ]
    assert [each.what for each in per_size.compiles] == ["y"] * 3
    assert all(each.where.short.startswith("test_ledger.py:") for each in per_size.compiles)
    assert per_size.compiles.seconds == pytest.approx(sum(each.seconds for each in per_size.compiles))


def test_the_nearest_program_tells_the_cause(per_size):
    a, b = (sg.placeholder(sg.float32, [None], name=name) for name in "ab")
    y = sg.reduce_sum(a) + sg.reduce_sum(b)
    for sizes in ((1, 1), (2, 2), (1, 2)):
        per_size.run(y, {a: np.ones(sizes[0]), b: np.ones(sizes[1])})
    assert [each.why for each in per_size.compiles][1:] == [
        "a is float32[2], was float32[1]; b is float32[2], was float32[1]",
        "a is float32[1], was float32[2]",
    ]


def test_values_that_shapes_depend_on(per_size):
    n = sg.placeholder(sg.int32, [], name="n")
    y = sg.fill([n], 1.0)
    for size in (3, 4):
        per_size.run(y, {n: size})
    assert causes(per_size)[1:] == [(Cause.VALUE, "n is 4, was 3")]


def test_values_that_are_no_sizes(sess):
    x, axis = sg.placeholder(sg.float32, [2, 2, 2], name="x"), sg.placeholder(sg.int32, [], name="axis")
    y = sg.reduce_sum(x, axis)
    for number in (0, 1):
        sess.run(y, {x: np.ones((2, 2, 2)), axis: number})
    (cause, why), *_ = causes(sess)[1:]
    assert cause is Cause.GUARD
    assert why == "axis is 1, was 0 (the step depends on the value of axis)"


def test_variables_whose_type_the_graph_does_not_tell(sess):
    start = sg.placeholder(sg.float32, [None])
    v = sg.Variable(start, validate_shape=False, name="v")
    doubled = sg.multiply(v, 2.0, name="doubled")
    for size in (2, 3):
        sess.run(v.initializer, {start: np.ones(size)})
        sess.run(doubled)
    assert [(each.cause, each.why) for each in sess.compiles if each.what == "doubled"] == [
        (Cause.FIRST, "first run of these fetches with these feeds"),
        (Cause.VARIABLE, "the variable v is float32[3], was float32[2]"),
    ]


def test_programs_that_were_dropped_are_compiled_again(per_size, monkeypatch):
    monkeypatch.setattr(program_cache, "PROGRAM_LIMIT", 1)
    x = sg.placeholder(sg.float32, [None])
    y = sg.exp(x)
    for size in (1, 2, 2, 1):
        per_size.run(y, {x: np.ones(size)})
    assert [each.cause for each in per_size.compiles] == [Cause.FIRST, Cause.SHAPE, Cause.SHAPE]


def test_where_the_code_comes_from(fresh):
    x = sg.placeholder(sg.float32, [7])
    y = sg.sin(x) * sg.reduce_sum(x)
    made = []
    for forget in (False, False, True):
        if forget:
            fresh()
        with sg.Session() as sess:
            sess.run(y, {x: np.ones(7)})
            made.append(sess.compiles[0])
            count = len(sess.executable(y, {x: np.ones(7)}).compiled.codes)
    assert all(each.functions == count >= 2 for each in made)
    assert [(e.compiled, e.from_memory, e.from_disk) for e in made] == [
        (count, 0, 0),
        (0, count, 0),
        (0, 0, count),
    ]


def test_stages_are_listed_each(sess):
    x = sg.placeholder(sg.float32, [2])
    doubled = sg.py_func(lambda a: a * 2, [x + 1.0], sg.float32)
    doubled.set_shape([2])
    total = sg.reduce_sum(doubled)
    for _ in range(3):
        sess.run(total, {x: [1, 2]})
    assert [each.cause for each in sess.compiles] == [Cause.FIRST] * 2


def test_the_table(sess):
    assert str(sess.compiles) == "0 compiles"
    sess.run(sg.placeholder_with_default(1.0, []) + 1.0)
    title, head, row = str(sess.compiles).splitlines()
    assert title.startswith("1 compiles in ")
    assert head.split() == ["time", "functions", "compiled", "memory", "disk", "what", "why"]
    assert row.startswith("1 ") and row.endswith("add   first run of these fetches with these feeds")


def test_a_session_that_may_not_compile():
    x = sg.placeholder(sg.float32, [None], name="x")
    y = sg.multiply(x, 2.0, name="y")
    with sg.Session(open_sizes=False) as sess:
        run = sess.make_callable(y, [x])
        for _ in range(4):
            assert run(np.ones(3, np.float32)).tolist() == [2.0] * 3
        sess.no_compile = True
        assert run(np.ones(3, np.float32)).tolist() == [2.0] * 3
        assert sess.run(y, {x: [1, 2, 3]}).tolist() == [2.0, 4.0, 6.0]
        for call in (lambda: run(np.ones(4, np.float32)), lambda: sess.run(y, {x: np.ones(4)})):
            with pytest.raises(sg.errors.NoCompileError) as caught:
                call()
            lines = str(caught.value).splitlines()
            what = "this session may not compile, and y would have to be: x is float32[4], was float32[3]"
            assert lines[0] == what
            assert "test_ledger.py:" in lines[2]
            assert lines[-1].startswith("  hint: run it so once before you set no_compile")
        assert len(sess.compiles) == 1
        sess.no_compile = False
        assert sess.run(y, {x: np.ones(4)}).shape == (4,)


def test_a_session_that_never_may_compile():
    with (
        sg.Session(no_compile=True) as sess,
        pytest.raises(sg.errors.FailedPreconditionError, match="first run of these fetches"),
    ):
        sess.run(sg.placeholder_with_default(1.0, []) * 2.0)


def test_known_stages_run_without_compiling(sess):
    x = sg.placeholder(sg.float32, [2], name="x")
    size = sg.Variable(3)
    y = sg.fill([size], 2.0) * sg.reduce_sum(x)
    sess.run(sg.global_variables_initializer())
    assert sess.run(y, {x: [1, 2]}).tolist() == [6.0] * 3
    sess.no_compile = True
    assert sess.run(y, {x: [1, 2]}).tolist() == [6.0] * 3
    assert sess.make_callable(y, [x])([2, 1]).tolist() == [6.0] * 3
