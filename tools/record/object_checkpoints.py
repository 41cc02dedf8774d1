"""Records the keys and one file of object-based checkpoints of TensorFlow 1.15.5, in tests/saving/objects.

tf115/bin/python -m tools.record.object_checkpoints
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

from tests.saving.object_programs import programs
from tools.record import TESTS

FOLDER = TESTS / "saving" / "objects"
WHOLE = "adam"  # the program whose checkpoint is kept


def names(path: str) -> dict[str, str]:
    """Return the names that a Saver would use, by the keys of a checkpoint."""
    described = TrackableObjectGraph()
    described.ParseFromString(tf.train.load_checkpoint(path).get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH"))
    return {value.checkpoint_key: value.full_name for node in described.nodes for value in node.attributes}


def main() -> None:
    """Record all programs."""
    FOLDER.mkdir(exist_ok=True)
    recorded = {}
    for name, make in programs(tf).items():
        tf.compat.v1.reset_default_graph()
        tf.keras.backend.clear_session()
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            checkpoint = tf.compat.v1.train.Checkpoint(**make())
            session.run(tf.compat.v1.global_variables_initializer())
            folder = FOLDER if name == WHOLE else Path(tempfile.mkdtemp())
            recorded[name] = names(checkpoint.save(str(folder / name)))
    (FOLDER / "checkpoint").unlink()
    (FOLDER / "keys.json").write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
