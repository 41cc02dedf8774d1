"""Cells of recurrent networks, with TensorFlow 1's names: `sg.nn.rnn_cell`."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.nn.rnn_cell.base": "RNNCell",
        "staticgraph.nn.rnn_cell.basic": "BasicRNNCell GRUCell",
        "staticgraph.nn.rnn_cell.lstm": "BasicLSTMCell LSTMCell LSTMStateTuple",
        "staticgraph.nn.rnn_cell.stacked": "MultiRNNCell",
        "staticgraph.nn.rnn_cell.wrappers": "DeviceWrapper DropoutWrapper ResidualWrapper",
    },
)
