"""Variables, random numbers, prints and fetches inside of loops and branches."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest

import staticgraph as sg


@pytest.fixture
def session() -> Any:
    with sg.Session() as sess:
        yield sess


class TestVariables:
    def test_read_and_assigned_in_every_round(self, session: Any):
        v = sg.get_variable("v", initializer=1.0)

        def body(i: Any, seen: Any) -> Any:
            old = v * 1.0
            with sg.control_dependencies([v.assign(old * 2.0)]):
                return i + 1, seen + old

        made = sg.while_loop(lambda i, s: i < 4, body, [0, 0.0])
        session.run(v.initializer)
        assert session.run(made) == (4, 15.0)
        assert session.run(v) == 16.0
        assert session.run(made) == (4, 240.0)

    def test_assigned_before_and_read_inside(self, session: Any):
        v = sg.get_variable("v", initializer=1.0)
        with sg.control_dependencies([v.assign(5.0)]):
            _, y = sg.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y + v), [0, 0.0])
        session.run(v.initializer)
        assert session.run(y) == 10.0

    def test_assigned_inside_and_read_after(self, session: Any):
        v = sg.get_variable("v", initializer=1.0)

        def body(i: Any) -> Any:
            with sg.control_dependencies([v.assign_add(1.0)]):
                return i + 1

        made = sg.while_loop(lambda i: i < 3, body, [0])
        with sg.control_dependencies([made]):
            after = v * 10.0
        session.run(v.initializer)
        assert session.run(after) == 40.0

    def test_read_by_the_condition(self, session: Any):
        v = sg.get_variable("v", initializer=0)

        def body(i: Any) -> Any:
            with sg.control_dependencies([v.assign_add(2)]):
                return i + 1

        made = sg.while_loop(lambda i: v < 7, body, [0])
        session.run(v.initializer)
        assert session.run([made, v]) == [4, 8]

    def test_two_that_change_by_turns(self, session: Any):
        a, b = sg.get_variable("a", initializer=1.0), sg.get_variable("b", initializer=10.0)

        def body(i: Any) -> Any:
            first = a.assign(a + b)
            with sg.control_dependencies([first]):
                second = b.assign(b + a)
            with sg.control_dependencies([second]):
                return i + 1

        made = sg.while_loop(lambda i: i < 3, body, [0])
        session.run(sg.global_variables_initializer())
        session.run(made)
        x, y = 1.0, 10.0
        for _ in range(3):
            x += y
            y += x
        assert session.run([a, b]) == [x, y]

    def test_only_the_branch_that_is_taken_assigns(self, session: Any):
        p = sg.placeholder(sg.bool, [])
        a, b = sg.get_variable("a", initializer=0.0), sg.get_variable("b", initializer=0.0)
        made = sg.cond(p, lambda: a.assign_add(1.0), lambda: b.assign_add(10.0))
        session.run(sg.global_variables_initializer())
        for taken in (True, False, True):
            session.run(made, {p: taken})
        assert session.run([a, b]) == [2.0, 10.0]

    def test_assigned_in_a_branch_in_a_loop(self, session: Any):
        v = sg.get_variable("v", initializer=0)

        def body(i: Any) -> Any:
            done = sg.cond(sg.equal(i % 3, 0), lambda: v.assign_add(i), lambda: v + 0)
            with sg.control_dependencies([done]):
                return i + 1

        made = sg.while_loop(lambda i: i < 10, body, [0])
        session.run(v.initializer)
        session.run(made)
        assert session.run(v) == 0 + 3 + 6 + 9

    def test_rows_are_scattered_into_one(self, session: Any):
        v = sg.get_variable("v", initializer=np.zeros((4, 2), np.float32))

        def body(i: Any) -> Any:
            row = sg.to_float(sg.fill([1, 2], i))
            with sg.control_dependencies([sg.scatter_update(v, [i], row)]):
                return i + 1

        session.run(v.initializer)
        session.run(sg.while_loop(lambda i: i < 4, body, [0]))
        np.testing.assert_array_equal(session.run(v), [[0, 0], [1, 1], [2, 2], [3, 3]])

    def test_nothing_changes_where_a_run_fails(self, session: Any):
        v = sg.get_variable("v", initializer=1.0)

        def body(i: Any) -> Any:
            with sg.control_dependencies([v.assign_add(1.0), sg.Assert(i < 3, ["too far", i])]):
                return i + 1

        made = sg.while_loop(lambda i: i < 10, body, [0])
        session.run(v.initializer)
        with pytest.raises(sg.errors.InvalidArgumentError, match="too far"):
            session.run(made)
        assert session.run(v) == 1.0


class TestRandom:
    def test_new_numbers_in_every_round_and_run(self, session: Any):
        array = sg.TensorArray(sg.float32, 4)
        _, array = sg.while_loop(
            lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, sg.random_uniform([3], seed=7))), [0, array]
        )
        first, second = session.run(array.stack()), session.run(array.stack())
        assert len(np.unique(np.concatenate([first, second]))) == 24
        assert ((first >= 0) & (first < 1)).all()

    def test_a_seed_gives_the_same_numbers_in_every_session(self):
        _, y = sg.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y + sg.random_normal([2], seed=3)), [0, sg.zeros([2])]
        )
        runs = []
        for _ in range(2):
            with sg.Session() as sess:
                runs.append([sess.run(y), sess.run(y)])
        np.testing.assert_array_equal(runs[0], runs[1])
        assert not np.array_equal(runs[0][0], runs[0][1])

    def test_in_a_branch(self, session: Any):
        p = sg.placeholder(sg.bool, [])
        y = sg.cond(p, lambda: sg.random_uniform([2], seed=1), lambda: sg.zeros([2]))
        one, _, two = (session.run(y, {p: taken}) for taken in (True, False, True))
        assert not np.array_equal(one, two)

    def test_a_derivative_sees_the_same_numbers(self, session: Any):
        x = sg.placeholder(sg.float32, [2])
        _, y = sg.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * sg.random_uniform([2], seed=3)), [0, x]
        )
        (grad,) = sg.gradients(y, [x])
        value, found = session.run([y, grad], {x: [1, 2]})
        np.testing.assert_allclose(value, found * [1, 2], rtol=1e-6)


class TestFetches:
    def test_the_last_value_of_a_tensor_inside(self, session: Any):
        kept = []

        def body(i: Any, y: Any) -> Any:
            kept.append(i * 10)
            return i + 1, y + 1.0

        n = sg.placeholder(sg.int32, [])
        i, _ = sg.while_loop(lambda i, y: i < n, body, [0, 0.0])
        assert session.run([i, kept[0]], {n: 4}) == [4, 30]
        assert session.run(kept[0], {n: 2}) == 10

    def test_zeros_where_there_was_no_round_or_the_branch_was_not_taken(self, session: Any):
        kept = []

        def keep(value: Any) -> Any:
            kept.append(value)
            return value

        n, p = sg.placeholder(sg.int32, []), sg.placeholder(sg.bool, [])
        sg.while_loop(lambda i: i < n, lambda i: keep(i + 1), [0])
        x = sg.placeholder(sg.float32, [2])
        sg.cond(p, lambda: keep(x * 2.0), lambda: keep(x * 3.0))
        assert session.run(kept[0], {n: 0}) == 0
        for taken, wanted in ((True, ([2, 4], [0, 0])), (False, ([0, 0], [3, 6]))):
            found = session.run(kept[1:], {p: taken, x: [1, 2]})
            np.testing.assert_array_equal(found, wanted)


class TestEffects:
    def test_a_line_for_every_round_in_order(self, session: Any, capfd: Any):
        def body(i: Any) -> Any:
            with sg.control_dependencies([sg.print("round", i)]):
                j = sg.Print(i, [i * i], "square ")
            return j + 1

        assert session.run(sg.while_loop(lambda i: i < 3, body, [0])) == 3
        lines = "round 0\nsquare [0]\nround 1\nsquare [1]\nround 2\nsquare [4]\n"
        assert capfd.readouterr().err == lines

    def test_nothing_is_said_by_the_branch_that_is_not_taken(self, session: Any, capfd: Any):
        p = sg.placeholder(sg.bool, [])
        y = sg.cond(p, lambda: sg.Print(1, [], "yes"), lambda: sg.Print(2, [], "no"))
        assert [session.run(y, {p: taken}) for taken in (True, False)] == [1, 2]
        assert capfd.readouterr().err == "yes\nno\n"

    def test_numerics_are_checked_in_every_round(self, session: Any):
        n = sg.placeholder(sg.int32, [])

        def body(i: Any, x: Any) -> Any:
            return i + 1, sg.check_numerics(x * 1e30, "grown")

        y = sg.while_loop(lambda i, x: i < n, body, [0, 1.0])[1]
        assert session.run(y, {n: 1}) == np.float32(1e30)
        with pytest.raises(sg.errors.InvalidArgumentError, match="grown : Tensor had Inf"):
            session.run(y, {n: 2})

    def test_the_derivative_of_what_is_printed_and_checked(self, session: Any, capfd: Any):
        x = sg.placeholder(sg.float32, [])
        _, y = sg.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, sg.check_numerics(sg.Print(y * x, [y], first_n=1), "y")),
            [0, x],
        )
        assert session.run(sg.gradients(y, [x])[0], {x: 2.0}) == 32.0
        assert capfd.readouterr().err == "[2]\n"

    def test_a_function_of_python(self, session: Any):
        seen = []

        def look(i: Any) -> Any:
            seen.append(int(i))
            return np.int32(i + 2)

        made = sg.while_loop(
            lambda i: i < 7,
            lambda i: sg.py_func(look, [i], sg.int32),
            [0],
            shape_invariants=[sg.TensorShape(None)],
        )
        assert session.run(made) == 8
        assert seen == [0, 2, 4, 6]


@pytest.mark.compiled  # the interpreter looks at no deadline
class TestLoopsWithoutEnd:
    def endless(self, begun: Any) -> tuple[Any, Any]:
        """A variable, and a loop that counts in it, and calls `begun` in its first round."""
        v = sg.get_variable("v", initializer=1)

        def body(i: Any) -> Any:
            first = sg.cond(
                sg.equal(i, 0), lambda: sg.print("begun", output_stream=begun), lambda: sg.no_op()
            )
            with sg.control_dependencies([first, v.assign_add(1)]):
                return (i + 1) % 1000 + 1

        return v, sg.while_loop(lambda i: i > -1, body, [0])

    def test_a_deadline_stops_them(self, session: Any):
        v, made = self.endless(lambda text: None)
        session.run(v.initializer)
        with pytest.raises(sg.errors.DeadlineExceededError, match="the time that the run was given is over"):
            session.run(made, timeout=0.05)
        assert session.run(v) == 1

    def test_a_deadline_stops_those_of_convolutions(self, session: Any):
        """Which are loops too, that nothing stops."""
        v = sg.get_variable("v", initializer=1.0)
        w = sg.ones([3, 3, 32, 32])

        def body(x: Any) -> Any:
            with sg.control_dependencies([v.assign_add(1.0)]):
                return sg.tanh(sg.nn.conv2d(x, w, 1, "SAME"))

        made = sg.while_loop(lambda x: x[0, 0, 0, 0] < 2.0, body, [sg.ones([16, 16, 16, 32])])
        session.run(v.initializer)
        with pytest.raises(sg.errors.DeadlineExceededError, match="the time that the run was given is over"):
            session.run(made, timeout=0.05)
        assert session.run(v) == 1

    def test_an_interrupt_stops_them(self, session: Any):
        begun = threading.Event()
        v, made = self.endless(lambda text: begun.set())
        session.run(v.initializer)

        def interrupt() -> None:
            begun.wait(30)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(made)
        thread.join()
        assert session.run(v) == 1
