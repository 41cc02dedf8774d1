"""`AutoTrackable`: the base of classes of a program whose attributes a `Checkpoint` saves."""

from __future__ import annotations

from typing import Any


class AutoTrackable:
    """An object whose variables, layers and other such attributes belong to the `Checkpoint` that it is in.

    >>> import staticgraph.compat.tf1 as tf
    >>> class State(tf.contrib.checkpoint.Checkpointable):
    ...     def __init__(self):
    ...         self.step = tf.Variable(0)
    >>> checkpoint = tf.train.Checkpoint(state=State())
    """

    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        return list(vars(self).items())


Checkpointable = AutoTrackable
