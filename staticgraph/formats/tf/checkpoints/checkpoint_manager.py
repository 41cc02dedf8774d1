"""`CheckpointManager`: numbers the checkpoints of a folder, and removes old ones."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.checkpoints.checkpoint_state import (
    get_checkpoint_state,
    remove_checkpoint,
    update_checkpoint_state,
)
from staticgraph.formats.tf.checkpoints.object_checkpoint import Checkpoint
from staticgraph.formats.tf.checkpoints.object_status import session_of


class CheckpointManager:
    """The checkpoints of a `Checkpoint` in one folder, of which the last few are kept.

    A manager of a folder that has checkpoints already goes on with them: the file `checkpoint` there says
    which they are.

    Args:
        checkpoint: The `Checkpoint` to save.
        directory: The folder; it is made if it does not exist.
        max_to_keep: The number of checkpoints that are kept, at least 1; None keeps all.
        keep_checkpoint_every_n_hours: A checkpoint that would be removed stays, if it was written at least so
            many hours after the last one that stayed. None, the default: none stays.
        checkpoint_name: The name of the files without the number, "ckpt" by default.

    Raises:
        ValueError: If `max_to_keep` is not positive.

    >>> import staticgraph as sg, tempfile
    >>> step = sg.Variable(0, name="step")
    >>> manager = sg.train.CheckpointManager(sg.train.Checkpoint(step=step), tempfile.mkdtemp(), 2)
    >>> with sg.Session() as sess:
    ...     sess.run(step.initializer)
    ...     paths = [manager.save() for _ in range(3)]
    >>> manager.checkpoints == paths[1:]
    True
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise misuse(ValueError, f"max_to_keep={max_to_keep}: give a positive integer, or None for all")
        self._checkpoint = checkpoint
        self._directory = path_of(directory, "directory")
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._max_to_keep = max_to_keep
        self._every = (
            None if keep_checkpoint_every_n_hours is None else keep_checkpoint_every_n_hours * 3600.0
        )
        self._latest: str | None = None
        self._times: dict[str, float] = {}  # when each checkpoint that may be removed was written
        self._preserved = time.time() - 1.0  # when the last one that stays was written
        self._recover()

    def _recover(self) -> None:
        """Go on with the checkpoints that the folder has."""
        state = get_checkpoint_state(self._directory)
        if state is None:
            return
        now = time.time()
        self._latest = state.model_checkpoint_path
        self._preserved = min(state.last_preserved_timestamp, now)  # a clock may have been set back
        paths = list(state.all_model_checkpoint_paths)
        times = list(state.all_model_checkpoint_timestamps) or [self._preserved] * len(paths)
        written = {path: min(each, now) for path, each in zip(paths, times, strict=True)}
        self._times = {path: each for path, each in written.items() if each > self._preserved}

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the newest checkpoint, for `restore`; None if there is none."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints, the oldest first; not of those that stay for good."""
        return list(self._times)

    def save(self, checkpoint_number: Any = None) -> str:
        """Write a checkpoint in the default session, and remove old ones.

        Args:
            checkpoint_number: Its number: an int, or an integer variable or tensor. By default that of
                `checkpoint.save_counter`, which counts one more in any case.

        Returns:
            The path of the checkpoint.
        """
        session = session_of(None)
        number = self._checkpoint.count(session)
        if checkpoint_number is not None:
            given = isinstance(checkpoint_number, int | np.integer)
            number = int(checkpoint_number if given else session.run(checkpoint_number))
        path = self._checkpoint.write(f"{self._prefix}-{number}", session)
        self._times.pop(path, None)
        self._times[path] = time.time()
        self._latest = path
        self._record()  # before the old ones go: whenever we stop, the newest one is known
        if self._sweep():
            self._record()
        return path

    def _sweep(self) -> bool:
        """Remove the oldest checkpoints, and return True if there were too many."""
        too_many = 0 if self._max_to_keep is None else max(0, len(self._times) - self._max_to_keep)
        for path in list(self._times)[:too_many]:
            written = self._times.pop(path)
            if self._every is not None and written - self._every >= self._preserved:
                self._preserved = written
                continue
            with suppress(OSError):  # what becomes of an old checkpoint must not stop training
                remove_checkpoint(path)
        return bool(too_many)

    def _record(self) -> None:
        """Write the file `checkpoint`, with paths as seen from the folder, so that it can be moved."""
        assert self._latest is not None
        folder = self._directory
        paths = [os.path.relpath(path, folder) for path in self._times]
        latest = os.path.relpath(self._latest, folder)
        update_checkpoint_state(folder, latest, paths, None, list(self._times.values()), self._preserved)
