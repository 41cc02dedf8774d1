"""`Saver`: checkpoints of several processes, which hold whole variables and are written by the first one."""

from __future__ import annotations

import os
import socket
from typing import Any

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.errors import NotFoundError, SaveError, misuse
from staticgraph.distribute import sharded_state
from staticgraph.distribute.collectives import SHARDED
from staticgraph.distribute.world import rank, size
from staticgraph.formats.tf.checkpoints.checkpoint_reader import load_checkpoint
from staticgraph.formats.tf.checkpoints.checkpoint_state import checkpoint_exists
from staticgraph.formats.tf.checkpoints.saver import Saver as OneProcessSaver
from staticgraph.runtime.processes.texts import texts_of_all
from staticgraph.state.variable_lists import global_variables


class Saver(OneProcessSaver):
    """Saves and restores variables in several processes: all call `save` and `restore`, the first writes.

    Sharded state of an optimizer, `Optimizer(..., shard_state=True)`, is whole in a checkpoint, which any
    number of processes restores, and so does `sg.train.Saver` without sharded state.

    Args:
        var_list: As for `sg.train.Saver`: a list or dict of variables, all by default.
        **kwargs: What else `sg.train.Saver` takes.

    >>> import staticgraph as sg, tempfile
    >>> w = sg.Variable(3.0, name="w")
    >>> saver = sg.distribute.Saver()
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     path = saver.save(sess, tempfile.mkdtemp() + "/model")
    ...     saver.restore(sess, path)
    ...     sess.run(w).item()
    3.0
    """

    def __init__(self, var_list: Any = None, **kwargs: Any) -> None:
        self._graph = get_default_graph()
        self._gathered: Any = None
        self._is_whole = var_list is None
        if var_list is None:
            parts = {v.op for v in self._graph.get_collection(SHARDED)}
            var_list = [v for v in global_variables() if v.op not in parts]
            self._gathered = sharded_state.gathered(self._graph)
        super().__init__(var_list, **kwargs)

    def save(
        self, sess: Any, save_path: Any, global_step: Any = None, *args: Any, **kwargs: Any
    ) -> str | None:
        """Write a checkpoint, in the first process. All processes call this, and go on once it is there.

        See `sg.train.Saver.save`.

        Raises:
            SaveError: The first process cannot write it.
        """
        found = sess.run(self._gathered) if self._gathered else {}
        self._more = {name: (self._gathered[name].dtype, value) for name, value in found.items()}
        failure: Exception | None = None
        prefix: str | None = None
        try:
            if rank() == 0:
                prefix = super().save(sess, save_path, global_step, *args, **kwargs)
            else:
                prefix = self._prefix(sess, os.fspath(save_path), global_step)
        except Exception as error:
            failure = error
        finally:
            self._more = {}
        told = texts_of_all("" if failure is None else f"{type(failure).__name__}: {failure}")
        if failure is not None:
            raise failure
        if wrong := next(filter(None, told), ""):
            raise misuse(SaveError, f"process {told.index(wrong)} could not write the checkpoint: {wrong}")
        return prefix

    def restore(self, sess: Any, save_path: Any) -> None:
        """Set the variables from a checkpoint, in all processes. See `sg.train.Saver.restore`.

        Raises:
            NotFoundError: Some processes do not see the checkpoint.
        """
        _check_seen(os.fspath(save_path))
        super().restore(sess, save_path)
        if self._is_whole:
            read = load_checkpoint(os.fspath(save_path)).get_tensor
            sharded_state.load(self._graph, sess, read)


def _check_seen(path: str) -> None:
    """Raise an error in all processes if some of them do not see a checkpoint that others see."""
    if size() == 1:
        return
    every = texts_of_all("" if checkpoint_exists(path) else socket.gethostname() or "its machine")
    blind = [f"process {worker} on {host}" for worker, host in enumerate(every) if host]
    if blind and len(blind) < len(every):
        text = f"{path}: {', '.join(blind)} does not see this checkpoint, and others do"
        raise misuse(NotFoundError, text, "save to a file system that all machines share, or copy it to all")
