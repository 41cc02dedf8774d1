"""The index of a checkpoint in TensorFlow's second format: where each tensor lies. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class TensorSliceProto(Message):
    """A part of a tensor: where it begins and ends along each axis."""
    class Extent(Message):
        """One axis; all of it if there is no length."""
        start: typing.Any
        length: typing.Any
    extent: typing.Any
class BundleHeaderProto(Message):
    """Properties that all tensors share: the number of shards, the byte order and the version."""
    Endianness: typing.Any
    num_shards: typing.Any
    endianness: typing.Any
    version: typing.Any
    LITTLE: typing.Any
    BIG: typing.Any
class BundleEntryProto(Message):
    """One tensor: its bytes in one of the data files, and their checksum."""
    dtype: typing.Any
    shape: typing.Any
    shard_id: typing.Any
    offset: typing.Any
    size: typing.Any
    crc32c: typing.Any
    slices: typing.Any
