"""Element types of other packages are those of the same name."""

import numpy as np
import pytest

import staticgraph as sg


def test_bfloat16_of_ml_dtypes_is_bfloat16():
    kind = pytest.importorskip("ml_dtypes").bfloat16
    values = np.array([1.0, 1.5, -3.0], kind)
    assert sg.as_dtype(kind) is sg.as_dtype(values.dtype) is sg.bfloat16
    x, w = sg.placeholder(kind, [3]), sg.Variable(values)
    total = x + w + sg.constant(values) + sg.zeros([3], kind)
    assert total.dtype is sg.bfloat16
    with sg.Session() as session:
        session.run(w.initializer)
        assert session.run(total, {x: values}).tolist() == [3.0, 4.5, -9.0]


def test_another_type_that_numpy_knows_is_none():
    kind = pytest.importorskip("ml_dtypes").float8_e4m3b11fnuz
    with pytest.raises(TypeError, match="is not an element type"):
        sg.as_dtype(kind)
