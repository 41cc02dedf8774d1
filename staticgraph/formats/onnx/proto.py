"""The messages of an ONNX file: model, graph, node, attribute, tensor and type, as onnx.proto declares them.

ONNX has names that TensorFlow has too, so these types belong to a package of their own, `onnx`.
"""

from staticgraph.formats.tf.messages.message import Message
from staticgraph.formats.tf.messages.schema import declare


class _OnnxMessage(Message):
    """A message of the package `onnx`."""

    package = "onnx"


# Type checkers read `proto.pyi`.
declare(__name__, _OnnxMessage)
