"""Message of the checkpoints of a folder. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class CheckpointState(Message):
    """The latest checkpoint, all that are kept, and when they were written."""
    model_checkpoint_path: typing.Any
    all_model_checkpoint_paths: typing.Any
    all_model_checkpoint_timestamps: typing.Any
    last_preserved_timestamp: typing.Any
