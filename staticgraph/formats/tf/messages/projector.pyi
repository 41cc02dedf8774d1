"""Messages for TensorBoard's projector: embeddings, and the labels and pictures of their rows. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class SpriteMetadata(Message):
    """One picture that holds those of all rows, and the height and width of each."""
    image_path: typing.Any
    single_image_dim: typing.Any
class EmbeddingInfo(Message):
    """A matrix with a row for each point: a variable of the checkpoint, or a file."""
    tensor_name: typing.Any
    metadata_path: typing.Any
    bookmarks_path: typing.Any
    tensor_shape: typing.Any
    sprite: typing.Any
    tensor_path: typing.Any
class ProjectorConfig(Message):
    """All embeddings of a folder, and the checkpoint that has their values."""
    model_checkpoint_path: typing.Any
    embeddings: typing.Any
    model_checkpoint_dir: typing.Any
