"""Refusals to compile ahead come at once, with the operation or the input at fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError, NotFoundError, UnimplementedError
from tests.ahead.native import built, saved


def vector() -> sg.Tensor:
    return sg.placeholder(sg.float32, [5], name="x")


# What is asked for, and how the message begins and goes on.
PYTHON: dict[str, tuple[Callable[[], Any], str]] = {
    "a print": (lambda: sg.Print(vector(), [1.0]), "print_values has no machine code"),
    "an assertion": (lambda: sg.Assert(vector()[0] > 0.0, [1.0]), "assert_true has no machine code"),
    "sizes that are data": (
        lambda: sg.dynamic_stitch([sg.cast(vector(), sg.int32)], [vector()]),
        "stitch_sources is done in Python",
    ),
    "strings": (
        lambda: sg.strings.length(sg.strings.as_string(vector())),
        "as_string, string_length is done in Python",
    ),
    "a shape of shapes": (
        lambda: sg.broadcast_dynamic_shape(sg.cast(vector(), sg.int32), [3, 1]),
        "broadcast_args of int32 has no machine code",
    ),
    "a shape of more than 16 numbers that is fed": (
        lambda: sg.reshape(vector(), sg.placeholder(sg.int32, [17], name="dims")),
        "a shape in it depends on the value of dims:0",
    ),
}


@pytest.mark.parametrize("make, message", PYTHON.values(), ids=PYTHON)
def test_the_operation_is_named(make: Callable[[], Any], message: str, tmp_path: Path):
    made = make()
    made = sg.Signature({"y": made}) if isinstance(made, sg.Tensor) else sg.Signature(step=made)
    net = saved(tmp_path / "net.sg", {"predict": made})
    with pytest.raises(UnimplementedError, match=f"^predict cannot be compiled ahead: {message}") as error:
        built(net)
    assert "test_refused.py" in str(error.value)


def test_another_function_of_the_file_can_be_compiled(tmp_path: Path):
    x = vector()
    functions = {"bad": sg.Signature({"y": sg.strings.as_string(x)}), "good": sg.Signature({"y": x})}
    net = saved(tmp_path / "net.sg", functions)
    assert [f.label for f in built(net, functions=["good"]).interface.functions] == ["good"]
    with pytest.raises(NotFoundError, match=r"net.sg has no function 'predict'\n.*it has bad, good"):
        built(net, functions=["predict"])


def test_shapes_must_be_known_and_fit(tmp_path: Path):
    x = sg.placeholder(sg.float32, [None, None, 2], name="x")
    y = sg.placeholder(sg.float32, [None], name="y")
    net = saved(tmp_path / "net.sg", {"predict": sg.Signature({"z": sg.reduce_sum(x) + y})})
    anything = sg.placeholder(sg.float32, name="anything")
    unknown = saved(tmp_path / "unknown.sg", {"predict": sg.Signature({"z": anything * 2.0})})
    with pytest.raises(InvalidArgumentError, match=r"the shape of the input anything \(.*\) is not known"):
        built(unknown, batch=3)
    assert built(unknown, given={"anything": (2, 3)}).interface.functions[0].inputs[0].type.shape == (2, 3)
    with pytest.raises(InvalidArgumentError, match=r"--shape x=\[1, 3\] does not fit float32\[\?, \?, 2\]"):
        built(net, batch=3, given={"x": (1, 3)})
    with pytest.raises(NotFoundError, match=r"net.sg has no input 'w'\n.*it takes x, y"):
        built(net, batch=3, given={"w": (1,)})
    arrays = built(net, batch=3, given={"x": (4, 5, 2)}).interface.functions[0].inputs
    assert {a.name: a.type.shape for a in arrays} == {"x": (4, 5, 2), "y": (3,)}


def test_a_second_name_is_not_a_second_input(tmp_path: Path):
    x = vector()
    net = saved(tmp_path / "net.sg", {"predict": sg.Signature({"y": x + 1.0, "z": x}, {"a": x, "b": x})})
    function = built(net).interface.functions[0]
    assert [a.name for a in function.arrays] == ["a", "y", "z"]


def test_a_variable_has_one_shape(tmp_path: Path):
    v = sg.Variable(np.zeros(2, np.float32), validate_shape=False, name="v")
    longer = sg.assign(v, sg.concat([v, v], 0), validate_shape=False)
    net = saved(tmp_path / "net.sg", {"grow": sg.Signature(step=longer.op)})
    message = r"it makes a float32\[2\] a float32\[4\](.|\n)*v was made here"
    with pytest.raises(UnimplementedError, match=message):
        built(net)


@pytest.mark.parametrize("name", ["my net", "2d", "int", "a-b", "über", ""])
def test_names_that_are_none_of_c(name: str, tmp_path: Path):
    net = saved(tmp_path / "net.sg", {"predict": sg.Signature({"y": vector()})})
    with pytest.raises(InvalidArgumentError, match="cannot be the name of a C type"):
        built(net, name)


def test_impossible_numbers_of_threads(tmp_path: Path):
    net = saved(tmp_path / "net.sg", {"predict": sg.Signature({"y": vector()})})
    for threads in (0, -1, 1000):
        with pytest.raises(InvalidArgumentError, match=f"^{threads} threads"):
            built(net, threads=threads)
