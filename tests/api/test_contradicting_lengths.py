"""Lengths that contradict each other are refused, as in TensorFlow 1.15.5; nothing is repeated or left out.

Each of these runs had a result once. TensorFlow fails in all but in `map_fn` and `foldl` of a second tensor
that is shorter, which it fills up with zeros.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError, ShapeError

Fed = tuple[Any, dict[Any, Any]]


def vectors(*lengths: int) -> dict[sg.Tensor, np.ndarray]:
    return {sg.placeholder(sg.float32, [None]): np.arange(1.0, n + 1, dtype=np.float32) for n in lengths}


def of_rows(function: Callable[..., Any]) -> Callable[..., Fed]:
    def built(*lengths: int) -> Fed:
        fed = vectors(*lengths)
        return function(tuple(fed)), fed

    return built


ROWS = {
    "map_fn": of_rows(lambda rows: sg.map_fn(lambda row: row[0] + row[1], rows, sg.float32)),
    "scan": of_rows(lambda rows: sg.scan(lambda state, row: state + row[0] + row[1], rows, 0.0)),
    "foldl": of_rows(lambda rows: sg.foldl(lambda state, row: state + row[0] + row[1], rows, 0.0)),
    "foldr": of_rows(lambda rows: sg.foldr(lambda state, row: state + row[0] + row[1], rows, 0.0)),
}
MEANT = {"map_fn": [2, 4, 6], "scan": [2, 6, 12], "foldl": 12, "foldr": 12}


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_two_tensors(name: str):
    result, fed = ROWS[name](3, 3)
    a, b = fed
    with sg.Session() as session:
        assert np.array_equal(session.run(result, fed), MEANT[name])
        for other in (2, 4):
            with pytest.raises(InvalidArgumentError, match=f"elems: {b.name} must be as long"):
                session.run(result, {a: fed[a], b: np.ones(other)})


def test_rows_of_known_numbers_are_refused_when_the_graph_is_built():
    with pytest.raises(ShapeError, match=r"elems: .* along axis 0: 2 and 3"):
        sg.map_fn(lambda row: row[0] + row[1], (sg.zeros([3]), sg.zeros([2])), sg.float32)


@pytest.mark.parametrize(
    "cell", [sg.nn.rnn_cell.BasicRNNCell, sg.nn.rnn_cell.GRUCell, sg.nn.rnn_cell.LSTMCell]
)
def test_one_state_is_not_the_state_of_all_sequences(cell: Any):
    x = sg.placeholder(sg.float32, [None, None, 4])
    made = cell(4)
    state = sg.nest.map_structure(lambda n: sg.placeholder(sg.float32, [None, n]), made.state_size)
    outputs, _ = sg.nn.dynamic_rnn(made, x, initial_state=state)

    def fed(batch: int) -> dict[Any, Any]:
        return {x: np.ones((3, 2, 4))} | {part: np.ones((batch, 4)) for part in sg.nest.flatten(state)}

    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        assert session.run(outputs, fed(3)).shape == (3, 2, 4)
        with pytest.raises(InvalidArgumentError, match=r"dynamic_rnn\(initial_state\): .* must be as long"):
            session.run(outputs, fed(1))


def test_ctc_loss_wants_a_length_of_each_sequence():
    lengths = sg.placeholder(sg.int32, [None])
    labels = sg.SparseTensor(np.zeros((1, 2), np.int64), np.zeros(1, np.int32), [2, 1])
    loss = sg.nn.ctc_loss(labels, sg.placeholder_with_default(np.zeros((4, 2, 3), "f4"), [None] * 3), lengths)
    with sg.Session() as session:
        assert session.run(loss, {lengths: [4, 4]}).shape == (2,)
        with pytest.raises(InvalidArgumentError, match=r"ctc_loss\(sequence_length\).* must be as long"):
            session.run(loss, {lengths: [4]})


@pytest.mark.parametrize("columns", [2, 4])
@pytest.mark.parametrize("adjoint", [False, True])
def test_of_a_product_with_a_sparse_matrix(columns: int, adjoint: bool):
    a = sg.sparse_placeholder(sg.float32)
    b = sg.placeholder(sg.float32, [None, None])
    product = sg.sparse_tensor_dense_matmul(a, b, adjoint_b=adjoint)
    matrix = sg.SparseTensorValue([[0, 1]], [1.0], [2, 3])
    with sg.Session() as session:
        meant = [[1.0, 1.0], [0.0, 0.0]]
        assert session.run(product, {a: matrix, b: np.ones((2, 3) if adjoint else (3, 2))}).tolist() == meant
        with pytest.raises(InvalidArgumentError, match="must be as long as columns of b"):
            session.run(product, {a: matrix, b: np.ones((2, columns) if adjoint else (columns, 2))})


@pytest.mark.parametrize("column", [7, -1])
def test_places_outside_of_a_sparse_tensor_are_not_those_of_others(column: int):
    a = sg.sparse_placeholder(sg.float32, [None, None])
    fed = {a: sg.SparseTensorValue([[0, column], [1, 1]], [1.0, 2.0], [2, 3])}
    summed, filled = sg.sparse_add(a, a), sg.sparse_fill_empty_rows(a, 0.0)[0]
    with sg.Session() as session:
        for kept, values in ((summed, [2.0, 4.0]), (filled, [1.0, 2.0])):
            made = session.run(kept, fed)
            assert (made.indices.tolist(), made.values.tolist()) == ([[0, column], [1, 1]], values)
        assert session.run(sg.sparse_reduce_sum(a, 1), fed).tolist() == [1.0, 2.0]
        assert session.run(sg.sparse_reduce_sum_sparse(a, 0), fed).indices.tolist() == sorted([[1], [column]])
        with pytest.raises(InvalidArgumentError, match=r"is not in \[0, 3\)"):
            session.run(sg.sparse_reduce_sum(a, [0]), fed)


def test_an_array_takes_no_more_rows_than_it_has():
    x = sg.placeholder(sg.float32, [None])
    fixed = sg.TensorArray(sg.float32, size=2).unstack(x).stack()
    growing = sg.TensorArray(sg.float32, size=2, dynamic_size=True).unstack(x).stack()
    with sg.Session() as session:
        assert session.run(fixed, {x: [5, 6]}).tolist() == [5, 6]
        assert session.run(fixed, {x: [5]}).tolist() == [5, 0]
        assert session.run(growing, {x: [5]}).tolist() == [5, 0]
        assert session.run(growing, {x: [5, 6, 7]}).tolist() == [5, 6, 7]
        with pytest.raises(InvalidArgumentError, match="more rows than the array has"):
            session.run(fixed, {x: [5, 6, 7]})
    with pytest.raises(ShapeError, match="more rows than the array has: 3, and it has 2"):
        sg.TensorArray(sg.float32, size=2).unstack([1.0, 2.0, 3.0])


def test_an_array_is_split_into_as_many_equal_parts_as_it_has_rows():
    x = sg.placeholder(sg.float32, [None])
    lengths = sg.placeholder(sg.int32, [None])
    row = sg.TensorArray(sg.float32, size=2, infer_shape=False).split(x, lengths).read(1)
    numbers = np.arange(4.0, dtype=np.float32)
    with sg.Session() as session:
        assert session.run(row, {x: numbers, lengths: [2, 2]}).tolist() == [2.0, 3.0]
        for wrong, text in (([1, 3], "one shape"), ([1, 1], "add up"), ([4], "a length for each")):
            with pytest.raises(InvalidArgumentError, match=text):
                session.run(row, {x: numbers, lengths: wrong})
    with pytest.raises(ShapeError, match="are no parts"):
        sg.TensorArray(sg.float32, size=2).split(numbers, [1, 1])


@pytest.mark.parametrize("decoder", [sg.nn.ctc_greedy_decoder, sg.nn.ctc_beam_search_decoder])
def test_decoders_want_a_length_of_each_sequence_that_is_there(decoder: Any):
    logits = sg.placeholder(sg.float32, [None, None, 5])
    lengths = sg.placeholder(sg.int32, [None])
    (decoded,), _ = decoder(logits, lengths)
    fed = np.random.default_rng(0).normal(size=[4, 2, 5])
    with sg.Session() as session:
        whole = session.run(decoded, {logits: fed, lengths: [0, 4]})
        none = session.run(decoded, {logits: fed, lengths: [-1, 4]})  # as TensorFlow: no steps
        assert none.indices.tolist() == whole.indices.tolist()
        assert none.values.tolist() == whole.values.tolist()
        for wrong in ([4], [4, 4, 4], [5, 4]):
            with pytest.raises((InvalidArgumentError, ShapeError), match="length"):
                session.run(decoded, {logits: fed, lengths: wrong})
    with pytest.raises(ShapeError, match="sequence length"):
        decoder(sg.zeros([4, 2, 5]), [4])


PARTS = {
    "indices": [[0, 0], [1, 2]],
    "values": [1.0, 2.0],
    "dense_shape": [2, 3],
}
USES = {
    "to_dense": lambda x: sg.sparse.to_dense(x),
    "reorder": lambda x: sg.sparse.reorder(x).values,
    "slice": lambda x: sg.sparse.slice(x, [0, 0], [1, 2]).values,
    "concat": lambda x: sg.sparse.concat(1, [x, x]).values,
    "reduce_sum": lambda x: sg.sparse.reduce_sum(x),
    "softmax": lambda x: sg.sparse.softmax(x).values,
    "matmul": lambda x: sg.sparse_tensor_dense_matmul(x, sg.ones([3, 2])),
    "product": lambda x: (x * sg.ones([2, 3])).values,
    "quotient": lambda x: (x / sg.ones([3])).values,
}


@pytest.mark.parametrize("use", USES)
def test_parts_of_a_sparse_tensor_fit_together(use: str):
    """One value was repeated for all places, and values without a place were left out."""
    fed = [
        sg.placeholder(sg.int64, [None, None]),
        sg.placeholder(sg.float32, [None]),
        sg.placeholder(sg.int64, [None]),
    ]
    result = USES[use](sg.SparseTensor(*fed))
    wrong = ({"values": [1.0]}, {"values": [1.0, 2.0, 3.0]}, {"dense_shape": [2, 3, 1]}, {"dense_shape": [6]})
    with sg.Session() as session:
        session.run(result, dict(zip(fed, PARTS.values(), strict=True)))
        for other in wrong:
            with pytest.raises((InvalidArgumentError, ShapeError)):
                session.run(result, dict(zip(fed, (PARTS | other).values(), strict=True)))


def test_known_parts_of_a_sparse_tensor_fit_together():
    with pytest.raises(ShapeError, match="2 axes, and dense_shape 3"):
        sg.SparseTensor(PARTS["indices"], PARTS["values"], [2, 3, 1])


def test_a_sparse_and_a_dense_tensor_of_other_sizes_are_not_added():
    x = sg.sparse_placeholder(sg.float32)
    total = sg.sparse_add(x, sg.ones([2, 3]))
    with sg.Session() as session:
        found = session.run(total, {x: tuple(PARTS.values())})
        assert found.tolist() == [[2.0, 1.0, 1.0], [1.0, 1.0, 3.0]]
        with pytest.raises(InvalidArgumentError, match="the same shape"):
            session.run(total, {x: tuple((PARTS | {"dense_shape": [3, 3]}).values())})
