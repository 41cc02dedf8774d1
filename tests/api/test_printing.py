"""Output of `Print` and `print`, character for character as in TensorFlow 1.15."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg


def written(capfd: Any, op: Any, feeds: Any = None) -> str:
    """Return what a run writes to the error stream."""
    with sg.Session() as sess:
        sess.run(op, feeds)
    return str(capfd.readouterr().err)


CUBE = np.arange(24).reshape(2, 3, 4)


class TestPrintTensors:
    @pytest.mark.parametrize(
        ("value", "summarize", "wanted"),
        [
            (np.arange(5), None, "[0 1 2...]"),
            (np.arange(5), -1, "[0 1 2 3 4]"),
            (np.arange(5), 0, "[...]"),
            (np.arange(12).reshape(3, 4), None, "[[0 1 2...]...]"),
            (np.arange(12).reshape(3, 4), 5, "[[0 1 2 3][4...]...]"),
            (np.zeros((2, 2, 2), np.int32), 1, "[[[0...]]...]"),
            (np.zeros((2, 2, 2), np.int32), 4, "[[[0 0][0 0]]...]"),
            (np.array([True, False]), None, "[1 0]"),
            (np.float32([0.1, 1e-10, 1e20, 1 / 3]), -1, "[0.1 1e-10 1e+20 0.333333343]"),
            (np.array([0.1, 1 / 3, 1e300]), None, "[0.1 0.33333333333333331 1e+300]"),
            (np.float32([np.nan, np.inf, -np.inf]), None, "[nan inf -inf]"),
            (np.array(["a", "b c"]), None, "[a b c]"),
            (np.array(3), None, "[3]"),
            (np.zeros((2, 0)), None, "[]"),
            (np.array([[1.5]]), None, "[[1.5]]"),
        ],
    )
    def test_of_one_tensor(self, capfd: Any, value: Any, summarize: int | None, wanted: str):
        y = sg.Print(sg.constant(0), [sg.constant(value)], "m: ", summarize=summarize)
        assert written(capfd, y) == f"m: {wanted}\n"

    def test_of_several(self, capfd: Any):
        x = sg.placeholder(sg.float32, [2])
        y = sg.Print(x, ["x =", x, sg.shape(x)])
        assert written(capfd, y, {x: [1.5, 2]}) == "[x =][1.5 2][2]\n"

    def test_of_strings_that_are_fed(self, capfd: Any):
        word = sg.placeholder(sg.string, [None])
        assert written(capfd, sg.Print(0, [word]), {word: ["a", "b"]}) == "[a b]\n"

    def test_only_the_first_lines(self, capfd: Any):
        y = sg.Print(sg.constant(1), [7], first_n=2)
        assert "".join(written(capfd, y) for _ in range(4)) == "[7]\n[7]\n"

    def test_gives_what_it_takes(self):
        x = sg.placeholder(sg.float32, [None, 2])
        y = sg.Print(x, [])
        assert (y.shape.as_list(), y.dtype, y.name) == ([None, 2], sg.float32, "Print:0")

    def test_is_not_done_where_it_is_not_used(self, capfd: Any):
        x = sg.constant(1)
        sg.Print(x, [x])
        assert written(capfd, x + 1) == ""


class TestPrintLines:
    @pytest.mark.parametrize(
        ("inputs", "options", "wanted"),
        [
            ([range(10)], {}, "[0 1 2 ... 7 8 9]\n"),
            ([range(10)], {"summarize": 1}, "[0 ... 9]\n"),
            ([range(7)], {"summarize": -1}, "[0 1 2 3 4 5 6]\n"),
            ([range(2), range(2)], {"sep": ","}, "[0 1],[0 1]\n"),
            ([range(2)], {"end": "|"}, "[0 1]|"),
            ([CUBE[:, :1, :2]], {}, "[[[0 1]]\n\n [[12 13]]]\n"),
            ([np.arange(8).reshape(8, 1)], {"summarize": 1}, "[[0]\n ...\n [7]]\n"),
        ],
    )
    def test_of_arrays(self, capfd: Any, inputs: Any, options: Any, wanted: str):
        assert written(capfd, sg.print(*(sg.constant(list(x)) for x in inputs), **options)) == wanted

    def test_of_python_values_and_structures(self, capfd: Any):
        x = sg.placeholder(sg.int32, [2])
        line = sg.print("t", 1, 2.5, None, [1, x], {2: x, 1: "a"}, (x[0], "q"))
        assert written(capfd, line, {x: [3, 4]}) == "t 1 2.5 None [1, [3 4]] {1: 'a', 2: [3 4]} (3, 'q')\n"

    def test_of_strings(self, capfd: Any):
        word = sg.placeholder(sg.string, [])
        feeds = {word: "w"}
        assert written(capfd, sg.print(word), feeds) == "w\n"
        assert written(capfd, sg.print("a", word), feeds) == 'a "w"\n'
        assert written(capfd, sg.print(sg.constant("s"))) == "s\n"
        assert written(capfd, sg.print(sg.constant(["s", "t"]), "{}")) == '["s" "t"] {}\n'

    def test_of_nothing(self, capfd: Any):
        assert written(capfd, sg.print()) == "\n"

    def test_of_a_sparse_tensor_and_a_variable(self, capfd: Any):
        v = sg.get_variable("v", initializer=[1.0, 2.0])
        with sg.control_dependencies([v.initializer]):
            line = sg.print(sg.SparseTensor([[0]], [1], [3]), v.initial_value)
        assert written(capfd, line) == "SparseTensor(indices=[[0]], values=[1], shape=[3]) [1 2]\n"

    def test_it_is_an_operation(self):
        line = sg.print("a")
        assert isinstance(line, sg.Operation)
        assert (line.name, line.type, list(line.outputs)) == ("PrintV2", "PrintV2", [])


class TestStreams:
    def test_the_standard_ones(self, capfd: Any):
        with sg.Session() as sess:
            sess.run([sg.print("out", output_stream=sys.stdout), sg.print("err", output_stream=sys.stderr)])
        assert tuple(capfd.readouterr()) == ("out\n", "err\n")

    def test_a_file_becomes_longer(self, tmp_path: Path):
        path = tmp_path / "lines.txt"
        line = sg.print("x", sg.constant([1]), output_stream=f"file://{path}")
        with sg.Session() as sess:
            sess.run(line)
            sess.run(line)
        assert path.read_text() == "x [1]\nx [1]\n"

    def test_logging(self, caplog: Any):
        with sg.Session() as sess, caplog.at_level(logging.INFO):
            sess.run(sg.print("a level", output_stream=logging.INFO))
            sess.run(sg.print("a function", output_stream=logging.warning))
        found = [(r.levelname, r.message) for r in caplog.records]
        assert found == [("INFO", "a level"), ("WARNING", "a function")]

    def test_what_is_no_stream(self):
        with pytest.raises(ValueError, match="'nowhere' is no stream"):
            sg.print("a", output_stream="nowhere")
