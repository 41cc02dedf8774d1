"""Training examples as they lie in TFRecord files: named lists of bytes, floats or integers. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class BytesList(Message):
    """Strings of bytes."""
    value: typing.Any
class FloatList(Message):
    """Numbers of 32 bits."""
    value: typing.Any
class Int64List(Message):
    """Whole numbers."""
    value: typing.Any
class Feature(Message):
    """One list, of one of three kinds."""
    bytes_list: typing.Any
    float_list: typing.Any
    int64_list: typing.Any
class Features(Message):
    """Lists by name."""
    feature: typing.Any
class Example(Message):
    """One training example."""
    features: typing.Any
class FeatureList(Message):
    """The features of one name at successive steps."""
    feature: typing.Any
class FeatureLists(Message):
    """Sequences of features by name."""
    feature_list: typing.Any
class SequenceExample(Message):
    """A training example with sequences; `context` holds what does not change along them."""
    context: typing.Any
    feature_lists: typing.Any
