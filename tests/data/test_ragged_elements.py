"""Rows of a ragged tensor as elements, which TensorFlow 1.15.5 cannot hand out; the rest is golden."""

import numpy as np
import pytest

import staticgraph as sg

ROWS = [[1, 2], [3], [], [4, 5, 6]]
Dataset = sg.data.Dataset


def listed(dataset):
    element, found = dataset.make_one_shot_iterator().get_next(), []
    with sg.Session() as sess:
        while True:
            try:
                found.append(sess.run(element))
            except sg.errors.OutOfRangeError:
                return found


@pytest.mark.parametrize("value", [False, True])
def test_rows_are_vectors(value):
    rows = sg.ragged.constant_value(ROWS) if value else sg.ragged.constant(ROWS)
    dataset = Dataset.from_tensor_slices((rows, np.arange(4)))
    assert [(row.tolist(), int(n)) for row, n in listed(dataset)] == list(zip(ROWS, range(4), strict=True))


def test_rows_are_padded():
    padded = Dataset.from_tensor_slices(sg.ragged.constant(ROWS)).padded_batch(2, [None])
    assert [batch.tolist() for batch in listed(padded)] == [[[1, 2], [3, 0]], [[0, 0, 0], [4, 5, 6]]]


def test_functions_get_rows_as_tensors():
    sums = Dataset.from_tensors(sg.ragged.constant(ROWS)).unbatch().map(sg.reduce_sum)
    assert [int(total) for total in listed(sums)] == [3, 3, 0, 15]


def test_classes_of_elements():
    rows = Dataset.from_tensors((sg.ragged.constant(ROWS), sg.ragged.constant([["a"], []])))
    assert rows.output_classes == (sg.RaggedTensor, sg.RaggedTensor)
    arrays = Dataset.range(1).map(lambda n: sg.TensorArray(sg.int64, 1).write(0, n))
    assert arrays.output_classes is sg.TensorArray
    with pytest.raises(TypeError, match="stack"):
        arrays.batch(2)
