"""Runs give the same whichever way they take: through machine code alone, the same without Python's lock, or
through Python. A plan's first runs always go through Python, so everything here is run several times.
"""

from __future__ import annotations

import gc
import inspect
import sys
import weakref
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import ClosedSessionError, FeedError, FetchError
from staticgraph.runtime import program_cache
from staticgraph.runtime.cpu.fast_path import dispatch
from staticgraph.runtime.cpu.fast_path import inline_cache as chain
from tests.sessions import initialized

RUNS = 5
Pair = namedtuple("Pair", "left right")

WHY = "objects are laid out in another way here"
native_only = pytest.mark.skipif(dispatch.unsupported() is not None, reason=WHY)


@pytest.fixture
def through_python(monkeypatch: pytest.MonkeyPatch) -> list:
    """The runs that went through Python."""
    seen: list = []
    run = program_cache.ProgramCache.run
    monkeypatch.setattr(
        program_cache.ProgramCache, "run", lambda self, *args: seen.append(self) or run(self, *args)
    )
    return seen


def repeated(call: Callable[[], Any]) -> list:
    return [call() for _ in range(RUNS)]


def scaled(session) -> tuple:
    """A placeholder of any length, and a fetch that needs a variable too."""
    x = sg.placeholder(sg.float32, [None])
    w = sg.Variable(2.0)
    initialized(session)
    return x, x * w


# Which way


@native_only
def test_only_the_first_runs_go_through_python(sess, through_python):
    x, y = scaled(sess)
    through_python.clear()
    value = np.ones(3, np.float32)
    repeated(lambda: sess.run(y, {x: value}))
    assert len(through_python) == chain.WARM
    call = sess.make_callable([y], [x])
    repeated(lambda: call(value))
    assert len(through_python) == 2 * chain.WARM


@native_only
def test_what_is_converted_goes_on_without_python(sess, through_python):
    x, y = scaled(sess)
    through_python.clear()
    for value in ([1, 2, 3], np.arange(3.0), np.arange(6, dtype=np.float32)[::2]):
        for made in repeated(lambda value=value: sess.run(y, {x: value})):
            np.testing.assert_array_equal(made, np.asarray(value) * 2)
    assert len(through_python) == chain.WARM


def test_where_objects_are_laid_out_differently(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dispatch.at, "WRITEABLE", 1 << 20)
    assert dispatch.unsupported()
    monkeypatch.undo()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert dispatch.unsupported()


def test_calls_are_counted(sess, way):
    x, y = scaled(sess)
    value = np.ones(3, np.float32)
    executable = sess.executable(y, {x: value})
    repeated(lambda: sess.run(y, {x: value}))
    assert executable.calls == RUNS


# Feeds


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("float32", [1.5, 2, True, np.float32(1.1), np.float64(1.1), np.array(1.1), 1e300, -(2**24) - 1]),
        ("float32", [np.int64(3), np.uint8(3), np.float16(1.5), np.bool_(True)]),
        ("float64", [1.1, 2, np.float32(1.1), np.float64(1.1), 2**63, 2**53 + 1]),
        ("int32", [7, -1, 2**31 - 1, -(2**31), 3.0, np.int32(4), np.int64(5), np.uint8(200)]),
        ("int64", [7, -(2**63), 2**63 - 1, 3.0, np.int64(5), True]),
        ("uint8", [7, np.uint8(255), np.int64(3)]),
        ("bool", [True, False, np.True_, np.array(False)]),
        ("float16", [1.5, 2, np.float16(3), np.float64(1.1)]),
        ("bfloat16", [1.5, 2, np.float32(1.1)]),
        ("complex64", [1.5, 2j, np.complex64(1 + 2j)]),
    ],
)
def test_single_values(dtype: str, values: list, sess, way):
    """Every kind of number is what NumPy makes of it."""
    x = sg.placeholder(dtype, [])
    y = sg.identity(x)
    repeated(lambda: sess.run(y, {x: np.zeros((), x.dtype.numpy)}))
    for value in values:
        with np.errstate(over="ignore"):
            wanted = x.dtype.round(np.asarray(value).astype(x.dtype.numpy))
        made = sess.run(y, {x: value})
        assert type(made) is x.dtype.as_numpy_dtype
        assert made.tobytes() == wanted.tobytes(), value


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("int32", 2**31, "outside of what int32 can hold"),
        ("int32", 2**63, "outside of what int32 can hold"),
        ("int64", 2**63, "outside of what int64 can hold"),
        ("int64", -(2**63) - 1, "outside of what int64 can hold"),
        ("int32", 1.5, "is float64"),
        ("int32", np.float64(1.5), "is float64"),
        ("bool", 2, "is int64"),
        ("float32", None, "is not an array of numbers"),
        ("float32", 2**1100, "is not an array of numbers"),
        ("float32", "1", "is <U1"),
        ("float32", np.zeros(1, np.float32), r"has shape \[1\]"),
        ("float32", np.complex64(1), "is complex64"),
    ],
)
def test_refused_after_many_runs_too(dtype: str, value: object, message: str, sess, way):
    x = sg.placeholder(dtype, [])
    y = sg.identity(x)
    repeated(lambda: sess.run(y, {x: np.zeros((), x.dtype.numpy)}))
    with pytest.raises(FeedError, match=message) as caught:
        sess.run(y, {x: value})
    assert caught.value.op is x.op
    assert "test_dispatch.py" in str(caught.value)


def test_a_value_that_decides_the_program_is_compared_in_each_run(sess, way):
    """Also if another feed has the bytes of the value that the last program is good for."""
    order, x = sg.placeholder(sg.int32, [2]), sg.placeholder(sg.int32, [2, 2])
    y = sg.transpose(x, order)
    data, same, other = np.int32([[0, 1], [2, 3]]), np.int32([0, 1]), np.int32([1, 0])
    for chosen in (same, other, other, same, same, other):
        for _ in range(RUNS):
            made = sess.run(y, {order: chosen, x: data})
            np.testing.assert_array_equal(made, data.transpose(chosen))


def test_strings_stay_in_python(sess, way):
    names = sg.placeholder(sg.string, [])
    for _ in range(RUNS):
        assert sess.run([names, sg.constant(2.0)], {names: "a"}) == [b"a", 2.0]


@pytest.mark.takes_long
@pytest.mark.parametrize("shape", [(0,), (1,), (2, 3), (3, 0, 2), (2, 1, 3, 1, 2)], ids=str)
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "uint8", "bool", "float16", "bfloat16", "complex128"]
)
def test_arrays(dtype: str, shape: tuple, rng: np.random.Generator, sess, way):
    x = sg.placeholder(dtype, None)
    value = x.dtype.round(rng.integers(0, 2, shape).astype(x.dtype.numpy))
    for made in repeated(lambda: sess.run([x, sg.identity(x)], {x: value})):
        for each in made:
            np.testing.assert_array_equal(each, value)
            assert each.dtype == x.dtype.numpy


def test_layouts_of_arrays(sess, way):
    """None of these may be read as if it lay in rows, in the machine's order of bytes."""
    x = sg.placeholder(sg.float32, [3, 2])
    y = x * 2.0
    plain = np.arange(6, dtype=np.float32).reshape(3, 2)
    repeated(lambda: sess.run(y, {x: plain}))
    unaligned = np.frombuffer(b"x" + plain.tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 2)
    matrix = plain.view(type("Matrix", (np.ndarray,), {}))
    for value in (
        plain.T.copy().T,
        plain.astype(">f4"),
        unaligned,
        plain[::-1],
        matrix,
        plain.astype(np.int64),
    ):
        np.testing.assert_array_equal(sess.run(y, {x: value}), np.asarray(value) * 2)


def test_shapes_in_turn(sess, way):
    x, y = scaled(sess)
    values = [np.arange(n, dtype=np.float32) for n in range(11)]
    for _ in range(RUNS):
        for value in values:
            np.testing.assert_array_equal(sess.run(y, {x: value}), value * 2)


def test_feeds_in_any_order(sess, way):
    a, b = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
    y = a - b
    one, two = np.float32(1), np.float32(2)
    assert repeated(lambda: sess.run(y, {a: one, b: two})) == [-1] * RUNS
    assert repeated(lambda: sess.run(y, {b: two, a: one})) == [-1] * RUNS
    assert repeated(lambda: sess.make_callable(y, [b, a])(two, one)) == [-1] * RUNS


def test_other_keys(sess, way):
    """Names, variables, computed tensors, and several tensors fed together."""
    a, b = sg.placeholder(sg.float32, [], name="a"), sg.placeholder(sg.float32, [], name="b")
    w = sg.Variable(5.0)
    h = a * 3.0
    y = h + b + w
    initialized(sess)
    one = np.float32(1)
    for feeds in ({"a:0": one, b: one}, {a: one, "b:0": one}, {(a, b): (one, one)}):
        assert repeated(lambda feeds=feeds: sess.run(y, feeds)) == [9] * RUNS
    assert repeated(lambda: sess.run(y, {h: one, b: one, w: one})) == [3] * RUNS
    assert sess.run(w) == 5
    for wrong in ([a, b], 3, {"nothing:0": one}):
        with pytest.raises(FeedError):
            sess.run(y, wrong)


def test_values_that_shapes_depend_on(sess, way):
    n = sg.placeholder(sg.int32, [])
    y = sg.fill([n], 2.0)
    for count in (2, 3) * RUNS:
        assert sess.run(y, {n: np.int32(count)}).tolist() == [2.0] * count


def test_fed_arrays_are_not_changed_and_not_given_back(sess, way):
    x = sg.placeholder(sg.float32, [2])
    for fed in (np.array([1, 2], np.float32), np.array([1.0, 2.0])):
        for _ in range(RUNS):
            got = sess.run(x, {x: fed})
            got[:] = 9
            assert fed.tolist() == [1, 2]


# Fetches


def test_structures(sess, way):
    x = sg.placeholder(sg.float32, [])
    y = x + 1.0
    one = np.float32(1)
    for fetches, wanted in [
        (x, 1),
        ([x, y], [1, 2]),
        ((x, y), (1, 2)),
        ([y, y.op, y], [2, None, 2]),
        (y.op, None),
        ([], []),
        ((), ()),
        ([x, [y, (x,)]], [1, [2, (1,)]]),
        ({"a": x, "b": {"c": [y]}}, {"a": 1, "b": {"c": [2]}}),
        (Pair(x, y), Pair(1, 2)),
        ([Pair(x, y)], [Pair(1, 2)]),
        ([(x, y)], [(1, 2)]),
        ([[x, y]], [[1, 2]]),
    ]:
        call = sess.make_callable(fetches, [x])
        for made in repeated(lambda fetches=fetches: sess.run(fetches, {x: one})) + repeated(
            lambda call=call: call(one)
        ):
            assert made == wanted
            assert type(made) in (type(wanted), np.float32)
            if isinstance(wanted, list) and wanted:
                assert type(made[0]) in (type(wanted[0]), np.float32)


def test_a_list_that_changes(sess, way):
    a, b = sg.constant(1.0), sg.constant(2.0)
    fetches = [a]
    assert repeated(lambda: sess.run(fetches)) == [[1]] * RUNS
    fetches.append(b)
    assert repeated(lambda: sess.run(fetches)) == [[1, 2]] * RUNS
    fetches[0] = b
    assert sess.run(fetches) == [2, 2]


def test_what_cannot_be_fetched_after_many_runs(sess, way):
    x = sg.constant(1.0)
    repeated(lambda: sess.run([x]))
    for wrong in ([x, None], [np.zeros(2)], [[3.0]]):
        with pytest.raises(FetchError):
            sess.run(wrong)


# Variables


def test_updates(sess, way):
    """In place and not, alone and with a fetch, each seen by the next run of any plan."""
    a, b = sg.Variable(np.array([[1, 2], [3, 4]], np.float32)), sg.Variable(1.0)
    turned, raised = a.assign(sg.transpose(a.value())), b.assign_add(1.0)
    initialized(sess)
    value = np.array([[1, 2], [3, 4]])
    for count in range(2, 2 + 3 * RUNS):
        value = value.T
        got, _, number = sess.run([turned, raised.op, raised])
        np.testing.assert_array_equal(got, value)
        assert number == count
        np.testing.assert_array_equal(sess.run(a), value)
        np.testing.assert_array_equal(sess.variables.read(a.op), value)
    initialized(sess)
    np.testing.assert_array_equal(sess.run(a), [[1, 2], [3, 4]])


def test_a_value_of_another_shape(sess, way):
    v = sg.Variable(np.arange(3.0, dtype=np.float32))
    double, shorter = v * 2.0, sg.assign(v, [7.0], validate_shape=False)
    for _ in range(3):
        repeated(lambda: sess.run(v.initializer))
        assert repeated(lambda: sess.run(double).tolist()) == [[0, 2, 4]] * RUNS
        assert repeated(lambda: sess.run(shorter).tolist()) == [[7]] * RUNS
        assert repeated(lambda: sess.run(double).tolist()) == [[14]] * RUNS
        assert repeated(lambda: sess.run([double, v])[0].tolist()) == [[14]] * RUNS


def test_a_value_from_outside(sess, way):
    v = sg.Variable([1.0, 2.0])
    double, turned = v * 2.0, v.assign(sg.reverse(v.value(), [0]))
    initialized(sess)
    repeated(lambda: sess.run([double, turned]))
    for _ in range(RUNS):
        sess.variables.write(v.op, [5, 6])
        assert sess.run(double).tolist() == [10, 12]
        assert sess.run(turned).tolist() == [6, 5]
        assert sess.run(double).tolist() == [12, 10]


def test_a_step_that_may_fail(sess, way):
    a = sg.Variable([1.0, 2.0])
    x = sg.placeholder(sg.float32, [2, 2])
    step = [sg.cholesky(x), a.assign(sg.reverse(a.value(), [0]))]
    initialized(sess)
    repeated(lambda: sess.run(step, {x: np.eye(2, dtype=np.float32)}))
    before = sess.run(a).tolist()
    for _ in range(RUNS):
        with pytest.raises(sg.errors.InvalidArgumentError):
            sess.run(step, {x: -np.eye(2, dtype=np.float32)})
    assert sess.run(a).tolist() == before


def test_a_failed_run_between_others(sess, way):
    """It shares variables and random numbers with runs that go another way."""
    a = sg.Variable([1.0, 2.0])
    x = sg.placeholder(sg.float32, [2, 2])
    noise = sg.random_uniform([2], seed=3)
    turned, failing = a.assign(sg.reverse(a.value(), [0])), sg.cholesky(x)
    initialized(sess)
    wanted = draws(noise, 3 * RUNS)
    for count in range(3 * RUNS):
        with pytest.raises(sg.errors.InvalidArgumentError):
            sess.run([failing, turned, noise], {x: -np.eye(2)})
        made, drawn = sess.run([turned, noise])
        assert made.tolist() == ([2, 1] if count % 2 == 0 else [1, 2])
        np.testing.assert_array_equal(drawn, wanted[count])


def draws(noise, count: int) -> list:
    """Return the draws of a fresh session, through Python."""
    with sg.Session(graph=noise.graph) as other, pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "native", lambda: None)
        return [other.run(noise) for _ in range(count)]


def test_random_numbers(way):
    noise = sg.random_normal([3], seed=7)
    with sg.Session() as one:
        np.testing.assert_array_equal([one.run(noise) for _ in range(2 * RUNS)], draws(noise, 2 * RUNS))


# Callables


@native_only
def test_a_callable_looks_like_a_function(sess):
    x = sg.placeholder(sg.float32, [])
    call = sess.make_callable(x * 2.0, [x])
    assert str(inspect.signature(call)) == "(*values)"
    assert "Run a step" in call.__doc__


def test_arguments_of_a_callable(sess, way):
    x = sg.placeholder(sg.float32, [])
    call = sess.make_callable(x * 2.0, [x], accept_options=True)
    repeated(lambda: call(np.float32(1)))
    assert call(np.float32(1), options=None, run_metadata=None) == 2
    for wrong in ((), (1.0, 2.0)):
        with pytest.raises(TypeError, match=f"takes 1 values, {len(wrong)} were given"):
            call(*wrong)


def test_a_closed_session(way):
    x = sg.placeholder(sg.float32, [])
    y = x * sg.Variable(2.0)
    session = sg.Session()
    initialized(session)
    call = session.make_callable(y, [x])
    one = np.float32(1)
    repeated(lambda: call(one))
    repeated(lambda: session.run(y, {x: one}))
    session.close()
    for use in (lambda: call(one), lambda: session.run(y, {x: one})):
        with pytest.raises(ClosedSessionError, match="the session is closed"):
            use()


def test_a_callable_outlives_its_session(way):
    x = sg.placeholder(sg.float32, [])
    call = sg.Session().make_callable(x * 2.0, [x])
    gc.collect()
    assert repeated(lambda: call(np.float32(1))) == [2] * RUNS


def test_a_dropped_session_frees_its_memory_at_once(way):
    """The memory of variables must not wait for the garbage collector."""
    x = sg.placeholder(sg.float32, [])
    w = sg.Variable([2.0, 3.0])

    def used() -> weakref.ref:
        session = sg.Session()
        initialized(session)
        call = session.make_callable(w * x, [x])
        repeated(lambda: call(np.float32(1)))
        repeated(lambda: session.run([w * 2.0]))
        return weakref.ref(session.variables.stored(w.op))

    gc.disable()
    try:
        assert used()() is None
    finally:
        gc.enable()


@native_only
def test_references_are_neither_lost_nor_kept(sess):
    x = sg.placeholder(sg.float32, [3])
    w = sg.Variable(np.zeros([3], np.float32))
    fetches = [x * 2.0, sg.reduce_sum(x), w.assign(x).op, sg.fill([128, 256], sg.reduce_sum(x))]
    initialized(sess)
    value = np.ones(3, np.float32)
    watched = [value, value.dtype, None, np.float32, np.ndarray, NotImplemented]
    calls = [sess.make_callable(f, [x]) for f in (*fetches, fetches, tuple(fetches), {"a": fetches})]

    def counts() -> list[int]:
        for call in calls:
            for _ in range(100):
                call(value)
            with pytest.raises(FeedError):
                call("wrong")
        gc.collect()
        return [sys.getrefcount(each) for each in watched]

    counts()
    before, after = counts(), counts()
    assert all(abs(a - b) < 20 for a, b in zip(before, after, strict=True)), (before, after)


@native_only
@pytest.mark.parametrize(("layers", "how"), [(40, "begin_after"), (100, "begin")])
def test_the_code_that_dispatches_is_begun_when_threads_have_time(layers, how, monkeypatch):
    begun: list = []
    monkeypatch.setattr(dispatch, how, begun.append)
    dispatch.native.cache_clear()
    x = sg.placeholder("float32", [3])
    with sg.Session() as sess:
        y = sg.exp(x)
        for n in range(layers):  # a small step is compiled before it would be worth it
            y = sg.sin(y) * (n + 41.5)
        sess.run(y, {x: np.ones(3)})
    assert len({code.name for code in begun}) == 2
    loaded = dispatch.native()
    assert loaded is not None
    begun.clear()
    dispatch.expect(at_once=True)
    dispatch.expect(at_once=False)
    assert not begun
