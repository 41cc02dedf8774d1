"""`Checkpoint`: saves the variables of objects under the paths by which the objects hold them."""

from __future__ import annotations

import os
from typing import Any

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.formats.tf.checkpoints.checkpoint_state import (
    checkpoint_exists,
    update_checkpoint_state,
)
from staticgraph.formats.tf.checkpoints.object_graph import (
    OBJECT_GRAPH_KEY,
    ObjectGraph,
    check_trackable,
    object_graph_of,
    stored,
)
from staticgraph.formats.tf.checkpoints.object_status import (
    InitializationOnlyStatus,
    LoadStatus,
    NamedStatus,
    ObjectStatus,
    session_of,
)
from staticgraph.formats.tf.checkpoints.saver import Saver
from staticgraph.formats.tf.tensor_bundle import tensors_of, write_bundle
from staticgraph.runtime.files.values import collect
from staticgraph.state.variables import Variable

_PRIVATE = {"_save_counter", "_counted"}  # attributes of a Checkpoint that its user did not set


class Checkpoint:
    """Objects whose variables are saved and restored together, in TensorFlow's object-based format.

    A variable is known by the way that leads to it, such as `model/layer_with_weights-0/kernel`, and not by
    its name in the graph. So a value finds its variable although scopes were renamed, as long as the objects
    hold each other under the same names. The files are TensorFlow's: both programs read them.

    Args:
        **kwargs: Variables, layers, models, optimizers, other Checkpoints, and lists and dicts of them; the
            names are the first parts of the paths. Objects that are attributes later belong to it too.

    Raises:
        ValueError: If an argument is nothing that can be saved so.

    >>> import os, staticgraph as sg, tempfile
    >>> weights = sg.Variable([1.0, 2.0], name="w")
    >>> checkpoint = sg.train.Checkpoint(weights=weights)
    >>> with sg.Session() as sess:
    ...     sess.run(weights.initializer)
    ...     path = checkpoint.save(os.path.join(tempfile.mkdtemp(), "ckpt"))
    ...     sess.run(weights.assign([0.0, 0.0]))
    ...     checkpoint.restore(path).assert_consumed().run_restore_ops()
    ...     print(os.path.basename(path), sess.run(weights))
    array([0., 0.], dtype=float32)
    ckpt-1 [1. 2.]
    """

    def __init__(self, **kwargs: Any) -> None:
        self._save_counter: Variable | None = None
        self._counted: Any = None
        for name, value in sorted(kwargs.items()):
            check_trackable(name, value)
            setattr(self, name, value)

    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        own = [pair for pair in vars(self).items() if pair[0] not in _PRIVATE]
        return own if self._save_counter is None else [*own, ("save_counter", self._save_counter)]

    @property
    def save_counter(self) -> Variable:
        """The number of calls of `save`, in a variable that is made when it is first asked for."""
        if self._save_counter is None:
            self._save_counter = Variable(0, trainable=False, name="save_counter", dtype=int64)
        return self._save_counter

    def write(self, file_prefix: Any, session: Any = None) -> str:
        """Write a checkpoint of exactly this name, which `latest_checkpoint` is not told of.

        Args:
            file_prefix: The path of the checkpoint.
            session: The session whose values are saved; the default session, or else that of Keras.

        Returns:
            The path, for `restore`.

        Raises:
            SaveError: If the files cannot be written.
            UninitializedError: For a variable without a value.
        """
        return write_objects(self, file_prefix, session)

    def save(self, file_prefix: Any, session: Any = None) -> str:
        """Count one more in `save_counter`, and write a checkpoint with that number behind its name.

        Args:
            file_prefix: The path of the checkpoint without the number; `latest_checkpoint` of its folder
                finds it.
            session: As for `write`.

        Returns:
            The path with the number, for `restore`.
        """
        session = session_of(session)
        prefix = os.fspath(file_prefix)
        path = self.write(f"{prefix}-{self.count(session)}", session)
        folder = os.path.dirname(prefix)
        update_checkpoint_state(folder, path, [path])
        return path

    def count(self, session: Any) -> int:
        """Add one to `save_counter` in a session, which begins at zero there, and return it."""
        counter = self.save_counter
        if self._counted is None:
            with counter.graph.as_default(), counter.graph.control_dependencies(None):
                self._counted = counter.assign_add(1)
        with session.held() as store:
            begun = counter.op in store
        if not begun:
            session.run(counter.initializer)
        return int(session.run(self._counted))

    def restore(self, save_path: Any) -> LoadStatus:
        """Find a checkpoint, whose values are set by the methods of what this returns.

        Args:
            save_path: What `save`, `write` or `latest_checkpoint` gave. None stands for no checkpoint yet:
                then `initialize_or_restore` initialises. A checkpoint of a Saver serves too, in any format:
                its values are found by the names of the variables.

        Returns:
            A status with `run_restore_ops(session)`, `initialize_or_restore(session)`, and the checks
            `assert_consumed()`, `assert_existing_objects_matched()` and `assert_nontrivial_match()`. Objects
            are matched when one of them is called, so that those made after `restore` take part.

        Raises:
            NotFoundError: If there is no such checkpoint.
            InvalidFileError: If its files are damaged.
        """
        _ = self.save_counter  # so that it is initialised or restored with the others
        if save_path is None:
            return InitializationOnlyStatus(self)
        return found_objects(self, save_path) or NamedStatus(self, os.fspath(save_path))


def write_objects(root: Any, file_prefix: Any, session: Any = None) -> str:
    """Write the variables of an object and of those that it holds, and return the path.

    Args:
        root: The object: a `Checkpoint`, or a model.
        file_prefix: The path of the checkpoint.
        session: The session whose values are saved; the default session, or else that of Keras.
    """
    prefix = os.fspath(file_prefix)
    found = ObjectGraph(root)
    variables = Saver(found.variables, allow_empty=True).variables
    with session_of(session).held() as store:
        values = collect(variables, store)
    os.makedirs(os.path.dirname(prefix) or os.curdir, exist_ok=True)
    write_bundle(prefix, {**values, OBJECT_GRAPH_KEY: stored(found.message())})
    return prefix


def found_objects(root: Any, save_path: Any) -> ObjectStatus | None:
    """Return an object-based checkpoint for an object as its root; None if there is none at this path."""
    prefix = os.fspath(save_path)
    tensors = tensors_of(prefix) if checkpoint_exists(prefix) else None
    described = None if tensors is None else object_graph_of(prefix, tensors)
    return None if tensors is None or described is None else ObjectStatus(root, prefix, tensors, described)
