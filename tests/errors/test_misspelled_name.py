"""A name that the library has not: Python tells the nearest one, since it is told where to look."""

import pytest

import staticgraph as sg


def test_message():
    with pytest.raises(AttributeError, match="module 'staticgraph' has no attribute 'reduce_summ'") as caught:
        sg.reduce_summ
    assert (caught.value.name, caught.value.obj) == ("reduce_summ", sg)
    assert "reduce_sum" in dir(sg)
