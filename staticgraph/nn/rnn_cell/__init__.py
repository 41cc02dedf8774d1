"""Cells of recurrent networks, with TensorFlow 1's names: `sg.nn.rnn_cell`."""

from staticgraph.nn.rnn_cell.base import RNNCell
from staticgraph.nn.rnn_cell.basic import BasicRNNCell, GRUCell
from staticgraph.nn.rnn_cell.lstm import BasicLSTMCell, LSTMCell, LSTMStateTuple
from staticgraph.nn.rnn_cell.stacked import MultiRNNCell
from staticgraph.nn.rnn_cell.wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]
