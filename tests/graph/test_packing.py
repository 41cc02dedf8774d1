"""Lists of tensors and numbers, where a tensor is needed."""

import pytest

import staticgraph as sg


@pytest.mark.parametrize("dtype", [sg.int64, sg.int32])
def test_numbers_beside_a_tensor_are_of_its_type(dtype):
    with sg.Graph().as_default(), sg.Session() as sess:
        n = sg.constant(3, dtype)
        assert sess.run(sg.fill([n, 2], 1.0)).shape == (3, 2)
        assert sess.run(sg.reshape(sg.range(6), [2, n])).shape == (2, 3)
        assert sg.convert_to_tensor([[1, 2], [n, 4]]).dtype is dtype
