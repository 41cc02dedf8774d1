"""Messages in the format of protocol buffers: TensorFlow 1.15's, by its names, without that library.

>>> from staticgraph import messages
>>> config = messages.ConfigProto(gpu_options=messages.GPUOptions(allow_growth=True))
>>> print(config, end="")
gpu_options {
  allow_growth: true
}
"""

from staticgraph.compiler.support.lazy_names import lazy_names
from staticgraph.formats.tf.messages.index import FUNCTIONS, SCHEMAS

_FILES = SCHEMAS | FUNCTIONS

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {f"{__name__}.{file}": names for file, names in _FILES.items()},
    modules={file: f"{__name__}.{file}" for file in (*_FILES, "text_format")},
)

__all__ = [name for listed in _FILES.values() for name in listed.split()]
