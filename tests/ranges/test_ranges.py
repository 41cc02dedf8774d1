"""Numbers out of range are errors where they are in TensorFlow 1.15, on every back end; others are not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.compiler.graph.errors import InvalidArgumentError, ResourceExhaustedError
from tests.ranges.cases import CASES

# Where TensorFlow gives the place of another number, and NumPy an error as we do.
REFUSED = ("unravel_index 1",)
RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())


def found(fetch: Any, feeds: dict[Any, Any], session: Any) -> Any:
    try:
        return session.run(fetch, feeds)
    except InvalidArgumentError as error:
        return error


def check(name: str, made: Any) -> None:
    wanted = RECORDED[name]
    if "error" in wanted or name in REFUSED:
        assert isinstance(made, InvalidArgumentError), (made, wanted)
        return
    assert not isinstance(made, Exception), made
    value = np.asarray(made)
    if value.dtype == object:
        assert [text.decode() for text in value] == wanted["value"]
    elif value.dtype.kind == "c":
        np.testing.assert_allclose(np.stack([value.real, value.imag], -1), wanted["value"])
    else:
        np.testing.assert_allclose(value, np.array(wanted["value"]).reshape(value.shape), rtol=1e-6)


@pytest.mark.takes_long
@pytest.mark.parametrize("name", CASES)
def test_is_an_error_where_it_is_one_in_tensorflow(name):
    build, values = CASES[name]
    fed = [tf.placeholder(v.dtype, v.shape) for v in values]
    fetch = build(tf, *fed)
    with sg.Session() as session:
        for _ in range(3):  # through Python, and without
            check(name, found(fetch, dict(zip(fed, values, strict=True)), session))


def test_numbers_are_counted_up_to_a_length_whatever_they_are():
    """Also the greatest one, where the length for all is no int32; a negative one is named."""
    x = sg.placeholder(sg.int32, [None])
    most = np.iinfo(np.int32).max
    lengths = [{"maxlength": 3}, {"minlength": 2, "maxlength": 3}, {"minlength": 5, "maxlength": 3}]
    for lengths_of in lengths:
        counts = sg.bincount(x, **lengths_of)
        with sg.Session() as session:
            for numbers in ([most, 1], [1, most, most], [most - 1, 1]):
                assert session.run(counts, {x: numbers}).tolist() == [0, 1, 0], (numbers, lengths_of)
            with pytest.raises(InvalidArgumentError, match=r"arr\[1\] = -5 is negative"):
                session.run(counts, {x: [1, -5]})
    assert sg.bincount([most], minlength=3).shape.as_list() == [most + 1]


def _fed_range(dtype: Any, session: Any) -> Any:
    numbers = [sg.placeholder(dtype, []) for _ in range(3)]
    made = sg.range(*numbers)
    return lambda *values: session.run(made, dict(zip(numbers, values, strict=True)))


@pytest.mark.parametrize("dtype", [sg.int32, sg.int64], ids=str)
def test_ranges_between_the_ends_of_a_dtype(dtype, sess):
    """The distance of the ends is no number of the dtype."""
    least, most = dtype.min, dtype.max
    run = _fed_range(dtype, sess)
    for numbers in (
        (least, most, most), (most, least, least), (0, most, most), (least, 0, most), (most - 1, most, 5),
        (5, 0, least), (least, least + 3, 1), (most, most - 7, -2),
    ):  # fmt: skip
        assert run(*numbers).tolist() == list(range(*numbers)), numbers


@pytest.mark.parametrize(
    "dtype, numbers",
    [(sg.int64, (-(2**63), 2**63 - 1, 1)), (sg.float32, (-3e38, 3e38, 3e38)), (sg.float64, (0, 1e30, 1e-30))],
    ids=str,
)
def test_a_range_that_no_memory_holds(dtype, numbers, sess):
    """It is never cut short, whatever memory there is."""
    with pytest.raises(ResourceExhaustedError, match="memory"):
        _fed_range(dtype, sess)(*numbers)
