"""Cells of recurrent networks, with TensorFlow 1's names: `sg.nn.rnn_cell`."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.nn.rnn_cell.base import *
from staticgraph.nn.rnn_cell.basic import *
from staticgraph.nn.rnn_cell.lstm import *
from staticgraph.nn.rnn_cell.stacked import *
from staticgraph.nn.rnn_cell.wrappers import *

export_names(__name__)
