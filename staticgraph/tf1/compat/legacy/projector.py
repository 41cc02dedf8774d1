"""`tf.contrib.tensorboard.plugins.projector`: which variables TensorBoard shows as points in space."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.messages.projector import EmbeddingInfo, ProjectorConfig, SpriteMetadata
from staticgraph.formats.tf.messages.text_format import MessageToString
from staticgraph.runtime.disk.atomic import write_file

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]

_FILE = "projector_config.pbtxt"  # the name that TensorBoard looks for


def visualize_embeddings(summary_writer: Any, config: ProjectorConfig) -> None:
    """Write `config` into the folder of a `FileWriter`, for TensorBoard's projector.

    ValueError for a writer that has no folder.
    """
    logdir = summary_writer.get_logdir()
    if logdir is None:
        raise misuse(ValueError, "the summary writer has no folder")
    write_file(Path(logdir) / _FILE, [MessageToString(config).encode()])
