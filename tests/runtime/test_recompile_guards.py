"""Which guard made a second program, and the warning of a step that needs many."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import NoCompileError, RecompileWarning
from staticgraph.runtime.open_programs import PROGRAM_LIMIT, OpenPrograms
from staticgraph.runtime.reports.recompile_reason import Cause
from staticgraph.runtime.step_compiler import StepCompiler


def ones(rows):
    return np.ones((rows, 2), np.float32)


def test_a_second_program_names_the_guard():
    x, y = (sg.placeholder(sg.float32, [None, 2], name=name) for name in "xy")
    total = x + y
    with sg.Session(open_sizes=True, device="cpu") as session:
        for rows in (4, 7):
            session.run(total, {x: ones(rows), y: ones(rows)})
        session.run(total, {x: ones(1), y: ones(2)})
        first, second = session.compiles
    assert (first.symbols, first.guards, first.failed) == ("n0: axis 0 of x", (), "")
    assert second.cause is Cause.GUARD
    assert second.failed == "the guard that axis 0 of y goes with axis 0 of x"
    assert second.symbols == "n1: axis 0 of y" and second.guards == ("n1 != 1",)
    assert f"{second.failed} fails" in second.why
    assert "open sizes n1: axis 0 of y with guards n1 != 1" in str(second)


def test_guards_are_about_whole_sizes_and_the_strongest_alone_is_told():
    x = sg.placeholder(sg.float32, [None], name="x")
    total = sum(sg.reduce_sum(sg.slice(x, [0], [n])) for n in (2, 6, 4))
    window = sg.reshape(x[: sg.shape(x)[0] // 4 * 4], [-1, 4])
    with sg.Session(device="cpu") as session:
        session.run([total, window], {x: np.ones(9, np.float32)})
        session.run([total, window], {x: np.ones(7, np.float32)})
        (made,) = session.compiles
        assert made.symbols == "n0: axis 0 of x" and made.guards == ("n0 >= 6",)
        session.no_compile = True
        with pytest.raises(NoCompileError, match=r"the guard n0 >= 6 \(n0: axis 0 of x\) fails\n"):
            session.run([total, window], {x: np.ones(5, np.float32)})


def test_an_error_of_another_run_is_no_reason():
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    part = sg.slice(x, [0, 0], [3, 2])
    with sg.Session(device="cpu") as session:
        with pytest.raises(sg.errors.InvalidArgumentError, match="no elements 0 to 2"):
            session.run(part, {x: ones(2)})
        session.run(part, {x: ones(5)})
        session.no_compile = True
        with pytest.raises(NoCompileError, match=r"the guard n0 >= 3 \(n0: axis 0 of x\) fails\n") as told:
            session.run(part, {x: ones(2)})
        assert "no elements" not in str(told.value)


def test_a_condition_on_one_size_is_named():
    x, y = (sg.placeholder(sg.float32, [None, 2], name=name) for name in "xy")
    total = x + y
    with sg.Session(open_sizes=True, device="cpu") as session:
        session.run(total, {x: ones(1), y: ones(3)})
        session.run(total, {x: ones(1), y: ones(0)})
        assert len(session.compiles) == 1
        session.run(total, {x: ones(1), y: ones(1)})
        assert session.compiles[-1].failed == "the guard n1 != 1 (n1: axis 0 of y)"


def test_a_session_that_may_not_compile_refuses_a_failed_guard_and_nothing_else():
    x, y = (sg.placeholder(sg.float32, [None, 2], name=name) for name in "xy")
    total = x + y
    with sg.Session(open_sizes=True, device="cpu") as session:
        session.run(total, {x: ones(4), y: ones(4)})
        session.no_compile = True
        for rows in (0, 1, 2, 3, 100, 1000):
            session.run(total, {x: ones(rows), y: ones(rows)})
        with pytest.raises(NoCompileError, match="the guard that axis 0 of y goes with axis 0 of x fails"):
            session.run(total, {x: ones(1), y: ones(3)})


def several():
    """A step that needs a program for each size, since an operation asks for its value."""
    z = sg.placeholder(sg.float32, [2, None], name="z")
    return z, sg.nn.dilation2d(sg.ones([1, 9, 9, 1]), z[:, :, None], [1] * 4, [1] * 4, "SAME")


def test_a_step_that_needs_many_programs_is_warned_of_once():
    z, patches = several()
    with sg.Session(open_sizes=True, device="cpu") as session:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RecompileWarning)
            for size in (3, 4, 5, 6):
                session.run(patches, {z: np.ones((2, size))})
        with pytest.warns(RecompileWarning, match=r"for the 5th time: z is .*the step depends on") as told:
            session.run(patches, {z: np.ones((2, 7))})
        with warnings.catch_warnings():
            warnings.simplefilter("error", RecompileWarning)
            for size in (8, 9, 10, 11, 12):
                session.run(patches, {z: np.ones((2, size))})
    assert told[0].filename == __file__
    assert "hint: pad what is fed to a few sizes" in str(told[0].message)


def test_sessions_that_compile_for_each_size_are_not_warned_of():
    z, patches = several()
    with sg.Session(open_sizes=False, device="cpu") as session, warnings.catch_warnings():
        warnings.simplefilter("error", RecompileWarning)
        for size in range(3, 10):
            session.run(patches, {z: np.ones((2, size))})
        assert {each.cause for each in session.compiles} == {Cause.FIRST, Cause.SHAPE}


def test_an_error_of_the_compiler_is_told_once(monkeypatch):
    """A step is compiled for each of its sizes then; that the user cannot see otherwise."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("by a size\nand more")

    x = sg.placeholder(sg.float32, [None], name="x")
    y = x * 2.0
    monkeypatch.setattr(StepCompiler, "compile_open", broken)
    with sg.Session(open_sizes=True, device="cpu") as session:
        with pytest.warns(
            RecompileWarning, match="all of them failed with ZeroDivisionError: by a size\n"
        ) as told:
            np.testing.assert_array_equal(session.run(y, {x: ones(2)[:, 0]}), [2.0, 2.0])
        assert told[0].filename == __file__ and "fault of the compiler" in str(told[0].message)
        session.run(y, {x: ones(3)[:, 0]})  # warnings are errors here


def test_an_error_of_a_user_is_no_fault_of_the_compiler():
    x, y = (sg.placeholder(sg.float32, [None, None], name=name) for name in "xy")
    with sg.Session(open_sizes=True, device="cpu") as session:
        with pytest.raises(sg.errors.InvalidArgumentError):
            session.run(x + y, {x: np.ones((2, 3)), y: np.ones((4, 5))})
        assert session.run(x + y, {x: ones(4), y: ones(4)}).shape == (4, 2)


@pytest.mark.parametrize("first", [0, 4])
def test_a_loop_over_rows_is_one_program_for_no_rows_too(first: int):
    """A body only runs if there is a row: that it reads row 0 asks nothing."""
    x = sg.placeholder(sg.float32, [None, 3])
    y = sg.map_fn(lambda row: row * 2 + sg.reduce_sum(row), x)
    with sg.Session(device="cpu") as sess:
        for rows in (first, 4, 0, 1, 7):
            fed = np.arange(3.0 * rows).reshape(rows, 3)
            found = sess.run(y, {x: fed})
            np.testing.assert_allclose(found, fed * 2 + fed.sum(1, keepdims=True))
        assert len(sess.compiles) == 1


def test_loops_of_one_body_know_each_its_own_number_of_rounds():
    """A row of x is there in a loop over x, not in one over another tensor."""
    x, other = (sg.placeholder(sg.float32, [None, 3]) for _ in range(2))

    def total(rounds):
        def body(i, s):
            return i + 1, s + sg.reduce_sum(sg.gather(x, i))

        return sg.while_loop(lambda i, s: i < rounds, body, (0, 0.0))[1]

    y = [total(sg.shape(x)[0]), total(sg.shape(other)[0])]
    with sg.Session(device="cpu") as sess:
        for rows, others in ((3, 2), (0, 0), (5, 0), (1, 1)):
            found = sess.run(y, {x: np.ones((rows, 3)), other: np.ones((others, 3))})
            assert found == [3 * rows, 3 * others]
        with pytest.raises(sg.errors.InvalidArgumentError):
            sess.run(y, {x: np.ones((0, 3)), other: np.ones((2, 3))})


def test_questions_about_many_fed_values_are_forgotten_in_turn():
    """A service that is fed another value each time keeps what it knows of the last ones."""
    among = OpenPrograms((), None, None, None)  # type: ignore[arg-type]
    made = [among.specializer(((), ((0, n),), ())) for n in range(2 * PROGRAM_LIMIT)]
    last = [among.specializer(((), ((0, n),), ())) for n in range(PROGRAM_LIMIT, 2 * PROGRAM_LIMIT)]
    assert all(one is other for one, other in zip(made[PROGRAM_LIMIT:], last, strict=True))
    assert among.specializer(((), ((0, 0),), ())) is not made[0]
