"""The file `checkpoint` beside checkpoints: which is the latest, and which others are there.

It has TensorFlow's text form, one line per path:

    model_checkpoint_path: "model-200"
    all_model_checkpoint_paths: "model-100"
    all_model_checkpoint_paths: "model-200"
"""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.messages import text_format
from staticgraph.formats.tf.messages.checkpoint import CheckpointState
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files.checkpoint import checkpoint_file

_log = logging.getLogger("staticgraph")


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> CheckpointState | None:
    """Return the contents of the file `checkpoint` in a folder, or None if there is no readable one.

    Args:
        checkpoint_dir: The folder.
        latest_filename: The name of the file; "checkpoint" by default.

    Returns:
        A CheckpointState message, or None. Relative paths in the file are joined to `checkpoint_dir`.

    Raises:
        ValueError: If the file names no checkpoint.

    >>> import staticgraph as sg
    >>> sg.train.get_checkpoint_state("/no/such/folder") is None
    True
    """
    from staticgraph.runtime.files.plain_file import read_plain  # only for reading

    path = Path(path_of(checkpoint_dir, "checkpoint_dir"), latest_filename or "checkpoint")
    if not path.is_file():
        return None
    try:
        state: CheckpointState = text_format.Merge(read_plain(path, "checkpoint"), CheckpointState())
    except (OSError, ValueError) as error:
        _log.warning("%s is ignored: %s", path, error)
        return None
    if not state.model_checkpoint_path:
        raise misuse(ValueError, f"Invalid checkpoint state loaded from {checkpoint_dir}")
    state.model_checkpoint_path = os.path.join(checkpoint_dir, state.model_checkpoint_path)
    paths = state.all_model_checkpoint_paths
    paths[:] = [os.path.join(checkpoint_dir, path) for path in paths]
    return state


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the file `checkpoint` in a folder. RuntimeError if a checkpoint has that very name.

    Paths below a relative `save_dir` are written as seen from there, so that the folder can be moved.
    """
    state = generate_checkpoint_state_proto(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    file, latest = os.path.join(save_dir, latest_filename or "checkpoint"), state.model_checkpoint_path
    if file == latest:
        raise misuse(
            RuntimeError,
            f"the save path {latest!r} conflicts with the checkpoint state: use another save path",
        )
    write_file(file, [str(state).encode()])


def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """Return the message that the file `checkpoint` of a folder holds.

    Args:
        save_dir: The folder. Paths below a relative one are as seen from there.
        model_checkpoint_path: The newest checkpoint.
        all_model_checkpoint_paths: All that are there, the newest last.
        all_model_checkpoint_timestamps: When each was made, in seconds.
        last_preserved_timestamp: When the last one was made that is kept for good.

    Raises:
        ValueError: The numbers of paths and of times differ.

    >>> import staticgraph as sg
    >>> sg.train.generate_checkpoint_state_proto("run", "run/m-2", ["run/m-1"]).all_model_checkpoint_paths
    ['m-1', 'm-2']
    """
    listed = list(all_model_checkpoint_paths or ())
    if listed[-1:] != [model_checkpoint_path]:
        listed.append(model_checkpoint_path)
    times = list(all_model_checkpoint_timestamps or ())
    if times and len(times) != len(listed):
        raise misuse(ValueError, f"{len(times)} timestamps are given for the checkpoint paths {listed}")
    latest, *listed = (_seen_from(save_dir, p) for p in (model_checkpoint_path, *listed))
    return CheckpointState(
        model_checkpoint_path=latest,
        all_model_checkpoint_paths=listed,
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The prefix of the newest checkpoint in a folder, for `Saver.restore`; None if there is none.

    >>> import staticgraph as sg
    >>> sg.train.latest_checkpoint("/no/such/folder") is None
    True
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    if not checkpoint_exists(state.model_checkpoint_path):
        _log.error("there is no checkpoint %s, which is said to be the latest", state.model_checkpoint_path)
        return None
    return state.model_checkpoint_path


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Return True if there is a checkpoint with this prefix or, in TensorFlow's first format, of this name.

    Args:
        checkpoint_prefix: The prefix of the checkpoint's files with their folder, or that name.
    """
    if os.path.isfile(checkpoint_file(checkpoint_prefix)):
        return True
    from staticgraph.formats.tf.tensor_bundle.first_format import is_slice_file  # for old files

    return is_slice_file(checkpoint_prefix)


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """Return when checkpoints were written, in seconds since 1970; those that do not exist are left out."""
    files = [[checkpoint_file(p), *sorted(glob.glob(p))] for p in checkpoint_prefixes if checkpoint_exists(p)]
    return [os.path.getmtime(next(filter(os.path.isfile, paths))) for paths in files]


def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Remove a checkpoint, in whichever format it is, and the graph beside it."""
    data = glob.glob(f"{glob.escape(checkpoint_prefix)}.data-*-of-*")
    for path in (checkpoint_file(checkpoint_prefix), f"{checkpoint_prefix}.{meta_graph_suffix}", *data):
        Path(path).unlink(missing_ok=True)


def _seen_from(folder: str, path: str) -> str:
    return (
        path if os.path.isabs(folder) or os.path.isabs(path) else os.path.relpath(path, folder or os.curdir)
    )
