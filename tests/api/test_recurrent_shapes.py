"""Static shapes of recurrent networks where a batch is known from the state alone."""

import pytest

import staticgraph as sg


@pytest.mark.parametrize("name", ["BasicRNNCell", "BasicLSTMCell", "LSTMCell", "GRUCell"])
def test_a_state_of_one_batch_with_inputs_of_any(name):
    cell = getattr(sg.nn.rnn_cell, name)(4)
    inputs = sg.placeholder(sg.float32, [None, 3, 2])
    outputs, state = sg.nn.dynamic_rnn(cell, inputs, initial_state=cell.zero_state(1, sg.float32))
    assert [part.shape.as_list() for part in sg.nest.flatten(state)] == [[1, 4]] * len(sg.nest.flatten(state))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        assert sess.run(outputs, {inputs: [[[1.0, 2.0]] * 3]}).shape == (1, 3, 4)


def test_a_batch_is_a_number_or_a_shape():
    for batch in (3, [3], (3,), sg.TensorShape([3])):
        assert sg.nn.rnn_cell.GRUCell(4).zero_state(batch, sg.float32).shape.as_list() == [3, 4]
