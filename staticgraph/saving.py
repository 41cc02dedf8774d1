"""Saved graphs: one file that runs without the script that built it."""

from __future__ import annotations

import os
from typing import Any

from staticgraph.runtime.saving import graph_file, loaded
from staticgraph.runtime.saving.loaded import LoadedGraph
from staticgraph.runtime.saving.signature import signature_of

__all__ = ["LoadedGraph", "load", "save"]


def save(
    path: str | os.PathLike[str], outputs: Any, inputs: Any = None, session: Any = None, step: Any = None
) -> None:
    """Write a file that computes `outputs`: the operations that they need, and the values of the variables.

    `outputs`: a dict of names and tensors; or a list of tensors, or one, which are then called after their
    operations. `inputs`: the same for what a caller gives; by default all placeholders that `outputs` and
    `step` need, under their own names. `session`: holds the variables; by default the default session.
    `step`: an operation that trains, saved with all that it needs, such as an optimizer's own variables.

    The file is replaced as a whole or not at all. `SaveError` where the path cannot be written, an output is
    not a tensor, a needed placeholder is not among `inputs`, or an operation holds what a file cannot (a
    Python function); `UninitializedError` where a variable has no value.

    >>> import numpy as np, os, staticgraph as sg, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "line.sg")
    >>> x = sg.placeholder(sg.float32, [None], name="x")
    >>> w = sg.Variable(3.0, name="w")
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.global_variables_initializer())
    ...     sg.save(path, outputs={"y": w * x}, session=sess)
    >>> sg.load(path)(x=[1, 2])
    {'y': array([3., 6.], dtype=float32)}
    """
    graph_file.write(path, signature_of(outputs, inputs, session, step), session)


def load(path: str | os.PathLike[str]) -> LoadedGraph:
    """The graph in a file that `save` wrote: a function of its inputs, in a graph and a session of its own.

    A call returns what `outputs` was: a dict, a list or one array. `inputs` and `outputs` are its tensors by
    name, `variables` its values by name, `step(...)` trains where a step was saved, and `save` writes it
    again. Sizes that were unknown stay unknown. A file is data: reading it runs no code from it.

    `InvalidFileError` for a file that is cut short, edited,
    or of another kind; `NotFoundError` where there is none.

    >>> import os, staticgraph as sg, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "sum.sg")
    >>> x = sg.placeholder(sg.float32, [None, 2], name="x")
    >>> sg.save(path, outputs=x + 1.0)
    >>> net = sg.load(path)
    >>> net
    <sg.LoadedGraph sum.sg
      inputs     x: float32[?, 2]
      outputs    add: float32[?, 2]
      variables  0 with 0 elements
      operations 3>
    >>> net(x=[[1, 2]])
    array([[2., 3.]], dtype=float32)
    """
    return loaded.load(path)
