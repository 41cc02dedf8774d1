"""A checkpoint in TensorFlow's first format: its tensors, and the parts that they are saved in. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class SavedSliceMeta(Message):
    """One tensor, and which parts of it are saved."""
    name: typing.Any
    shape: typing.Any
    type: typing.Any
    slice: typing.Any
class SavedTensorSliceMeta(Message):
    """All tensors of a file."""
    tensor: typing.Any
    versions: typing.Any
class SavedSlice(Message):
    """The values of a part."""
    name: typing.Any
    slice: typing.Any
    data: typing.Any
class SavedTensorSlices(Message):
    """An entry of the file: what is in it, or one part."""
    meta: typing.Any
    data: typing.Any
