"""Layout of messages, and the lines of users that they tell."""

import contextlib
import threading

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import OpError, headline, hint, layout, misuse, shown
from staticgraph.compiler.graph.provenance import Provenance, user_frame


def place(line: int) -> Provenance:
    return Provenance("program.py", "main", line_number=line)


class TestLayout:
    def test_a_long_call_has_lines_of_its_own(self):
        call = f"concat({', '.join(f'part{i}: float32[2, 3]' for i in range(5))})"
        *lines, last = layout(f"{call}: the ranks differ").split("\n")
        assert last == "the ranks differ"
        assert " ".join(lines) == f"{call}:"
        assert all(len(line) <= 100 for line in lines)
        assert all(line.startswith(("concat(", "part")) for line in lines), "broken between arguments"

    def test_long_sentences_are_broken_between_clauses(self):
        clauses = [
            "the first of the clauses " * 3 + "ends:",
            "the second ends;",
            "the third is" + " long" * 16,
        ]
        assert layout(" ".join(clauses)).split("\n") == [" ".join(clauses[:2]), clauses[2]]

    def test_lists_keep_their_lines(self):
        assert layout("they differ:\n  first: 1\n  second: 2") == "they differ:\n  first: 1\n  second: 2"

    def test_a_path_stays_whole_and_searchable(self):
        text = f"cannot save to /home/{'long/' * 30}model.sg: the disk is full"
        assert layout(text) == text

    def test_operands_of_one_line_are_told_together(self):
        made = [("a", place(1)), ("b", place(1)), ("c", place(2))]
        told = layout("wrong", place(9), made)
        assert "  a and b were made here:\n  program.py:1, in main\n  c was made here:\n" in told

    def test_many_operands_are_cut(self):
        told = layout("wrong", place(99), [(f"x[{i}]", place(i // 5)) for i in range(100)])
        assert told.count("made here") == 4
        assert "  x[0], x[1] and 3 more were made here:" in told
        assert told.endswith("\n  and so on, in 16 more places")

    def test_an_error_that_is_due_to_another_keeps_its_lines(self):
        inner = layout("inner", place(3), (), "inner hint")
        told = layout(f"outer: {inner}", place(4))
        assert told.startswith("outer: inner\n\n  program.py:3, in main\n")


def test_parts_of_a_message():
    text = "a part of this program is not what it should be: " * 3
    error = misuse(ValueError, text, "look for what is wrong " * 6)
    assert headline(error) == text.strip()
    assert hint(error) == ("look for what is wrong " * 6).strip()
    assert hint(ValueError("plain")) is None
    assert headline(KeyError("plain")) == "plain"


@pytest.mark.parametrize(
    "value, text",
    [
        (3.5, "3.5"),
        ([1, 2], "[1, 2]"),
        (list(range(10**6)), "[0, 1, 2, 3, 4, 5, 6, 7, ...]"),
        (np.zeros((100, 100)), "an array of float64[100, 100]"),
        (np.array([[1, 2], [3, 4]]), "array([[1, 2], [3, 4]])"),
        ("x" * 100, "'" + "x" * 59 + "..."),
    ],
)
def test_values_are_short(value, text):
    assert shown(value) == text


def test_what_calls_a_function_is_not_the_users_line():
    found = []

    @contextlib.contextmanager
    def scope():
        with sg.name_scope("not valid"):
            yield

    with pytest.raises(ValueError, match=r"test_errors.py:\d+, in scope"), scope():
        pass
    thread = threading.Thread(target=lambda: found.append(user_frame()))
    thread.start()
    thread.join()
    assert found[0].function == "<lambda>"
    with pytest.raises(NotImplementedError, match=r"test_errors.py:\d+, in test_what"):
        np.size([sg.constant(1.0)])


def test_every_error_of_a_run_has_what_tensorflow_gives_one():
    """Whatever else it is: another base must not make it in place of `OpError`."""
    classes, found = [OpError], []
    while classes:
        found.append(classes.pop())
        classes += found[-1].__subclasses__()
    assert len(found) > 20
    for error in (each("why") for each in found):
        assert (error.op, error.node_def, error.message) == (None, None, "why"), type(error)
