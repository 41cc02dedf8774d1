"""Messages in the format of protocol buffers: TensorFlow 1.15's, by its names, without that library.

>>> from staticgraph import messages
>>> config = messages.ConfigProto(gpu_options=messages.GPUOptions(allow_growth=True))
>>> print(config, end="")
gpu_options {
  allow_growth: true
}
"""

from typing import TYPE_CHECKING

from staticgraph.compiler.support.lazy_names import lazy_names
from staticgraph.formats.tf.messages.index import FUNCTIONS, SCHEMAS

# For type checkers. A program imports what it uses, by the tables of `index`.
if TYPE_CHECKING:
    from staticgraph.formats.tf.messages.checkpoint import *
    from staticgraph.formats.tf.messages.config import *
    from staticgraph.formats.tf.messages.event import *
    from staticgraph.formats.tf.messages.example import *
    from staticgraph.formats.tf.messages.graph import *
    from staticgraph.formats.tf.messages.message import Message as Message
    from staticgraph.formats.tf.messages.message import UnknownFieldError as UnknownFieldError
    from staticgraph.formats.tf.messages.meta_graph import *
    from staticgraph.formats.tf.messages.projector import *
    from staticgraph.formats.tf.messages.saved_slices import *
    from staticgraph.formats.tf.messages.step_stats import *
    from staticgraph.formats.tf.messages.summary import *
    from staticgraph.formats.tf.messages.tensor import *
    from staticgraph.formats.tf.messages.tensor_bundle import *
    from staticgraph.formats.tf.messages.tensors import make_ndarray as make_ndarray
    from staticgraph.formats.tf.messages.tensors import make_tensor_proto as make_tensor_proto
    from staticgraph.formats.tf.messages.types import DataType as DataType
    from staticgraph.formats.tf.messages.types import data_type as data_type
    from staticgraph.formats.tf.messages.types import dtype_of as dtype_of
    from staticgraph.formats.tf.messages.variable import *
    from staticgraph.formats.tf.messages.wire import DecodeError as DecodeError

_FILES = SCHEMAS | FUNCTIONS

lazy_names(
    __name__,
    {f"{__name__}.{file}": names for file, names in _FILES.items()},
    modules={file: f"{__name__}.{file}" for file in (*_FILES, "text_format")},
)
