"""Arrays of strings and their form in constants."""

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import as_strings, join_strings, split_strings, string
from staticgraph.compiler.graph.function import Literal


@pytest.mark.parametrize(
    "value",
    ["a\0", b"\xff", ["a", b"b"], [], [[], []], [["a", "é"], ["", "long" * 100]], np.array("x")],
    ids=range(7),
)
def test_any_strings_are_kept(value):
    array = as_strings(value)
    literal = Literal.of(array, string)
    assert all(type(v) is bytes for v in array.flat)
    assert literal.array.shape == np.shape(np.asarray(value, object))
    np.testing.assert_array_equal(literal.array, array)


def test_equal_strings_are_equal_constants():
    assert Literal.of(np.array(["a", "b"]), string) == Literal.of(np.array([b"a", "b"], object), string)
    assert Literal.of(np.array(["ab", ""]), string) != Literal.of(np.array(["a", "b"]), string)


@pytest.mark.parametrize("value", [1, [None], ["a", 2.0]], ids=str)
def test_what_is_no_string_is_refused(value):
    with pytest.raises(TypeError, match="is not a string"):
        as_strings(value)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2**40,)], ids=str)
def test_data_of_another_size_are_refused(shape):
    """Before memory is taken for as many elements as the shape claims."""
    data = join_strings(as_strings(["a", "bc"]))
    assert split_strings(data, (2,)).tolist() == [b"a", b"bc"]
    with pytest.raises(ValueError, match="are not an array of strings"):
        split_strings(data, shape)
