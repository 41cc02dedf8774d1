"""Messages for TensorBoard's projector: embeddings, and the labels and pictures of their rows."""

from staticgraph.formats.tf.messages.message import Message


class SpriteMetadata(Message):
    """One picture that holds those of all rows, and the height and width of each."""

    schema = """
        string image_path = 1
        repeated uint32 single_image_dim = 2
    """


class EmbeddingInfo(Message):
    """A matrix with a row for each point: a variable of the checkpoint, or a file."""

    schema = """
        string tensor_name = 1
        string metadata_path = 2
        string bookmarks_path = 3
        repeated uint32 tensor_shape = 4
        SpriteMetadata sprite = 5
        string tensor_path = 6
    """


class ProjectorConfig(Message):
    """All embeddings of a folder, and the checkpoint that has their values."""

    schema = """
        string model_checkpoint_path = 1
        repeated EmbeddingInfo embeddings = 2
        string model_checkpoint_dir = 3
    """
