"""Cells of recurrent networks, with TensorFlow 1's names: `sg.nn.rnn_cell`. Made by tools/type_stubs.py."""

from staticgraph.nn.rnn_cell.base import (
    RNNCell as RNNCell,
)
from staticgraph.nn.rnn_cell.basic import (
    BasicRNNCell as BasicRNNCell,
    GRUCell as GRUCell,
)
from staticgraph.nn.rnn_cell.lstm import (
    BasicLSTMCell as BasicLSTMCell,
    LSTMCell as LSTMCell,
    LSTMStateTuple as LSTMStateTuple,
)
from staticgraph.nn.rnn_cell.stacked import (
    MultiRNNCell as MultiRNNCell,
)
from staticgraph.nn.rnn_cell.wrappers import (
    DeviceWrapper as DeviceWrapper,
    DropoutWrapper as DropoutWrapper,
    ResidualWrapper as ResidualWrapper,
)
