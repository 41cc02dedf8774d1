"""Messages in the format of protocol buffers: TensorFlow 1.15's, by its names, without that library.

>>> from staticgraph import messages
>>> config = messages.ConfigProto(gpu_options=messages.GPUOptions(allow_growth=True))
>>> print(config, end="")
gpu_options {
  allow_growth: true
}
"""

from staticgraph.messages.checkpoint import *
from staticgraph.messages.config import *
from staticgraph.messages.event import *
from staticgraph.messages.example import *
from staticgraph.messages.graph import *
from staticgraph.messages.message import Message, UnknownFieldError
from staticgraph.messages.meta_graph import *
from staticgraph.messages.projector import *
from staticgraph.messages.saved_slices import *
from staticgraph.messages.step_stats import *
from staticgraph.messages.summary import *
from staticgraph.messages.tensor import *
from staticgraph.messages.tensor_bundle import *
from staticgraph.messages.tensors import make_ndarray, make_tensor_proto
from staticgraph.messages.types import DataType, data_type, dtype_of
from staticgraph.messages.variable import *
from staticgraph.messages.wire import DecodeError
