"""Which checkpoints a folder has."""

from staticgraph.formats.tf.messages.message import Message


class CheckpointState(Message):
    """The latest checkpoint, all that are kept, and when they were written."""

    schema = """
        string model_checkpoint_path = 1
        repeated string all_model_checkpoint_paths = 2
        repeated double all_model_checkpoint_timestamps = 3
        double last_preserved_timestamp = 4
    """
