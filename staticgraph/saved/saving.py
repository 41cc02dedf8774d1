"""Saved graphs: one file that runs without the script that built it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.support.lazy_names import EXTENSIONS
from staticgraph.runtime.files import graph_file, loaded
from staticgraph.runtime.files.loaded import LoadedGraph
from staticgraph.runtime.files.signature import PREDICT, TRAIN, InputShapes, Signature, bind

if TYPE_CHECKING:
    from staticgraph.runtime.debug.crash_file import Failure
    from staticgraph.runtime.files.summary import Summary


def save(
    path: str | os.PathLike[str],
    outputs: Any = None,
    inputs: Any = None,
    session: Any = None,
    step: Any = None,
    *,
    signatures: Mapping[str, Signature] | None = None,
    resume: bool = False,
    kernels: Sequence[str] = (),
    shapes: InputShapes | Sequence[InputShapes] = (),
) -> None:
    """Write a file that computes `outputs`: the operations that they need, and the values of the variables.

    `outputs`: a dict of names and tensors; or a list of tensors, or one, which are then called after their
    operations. `inputs`: the same for what a caller gives; by default all placeholders that are needed, under
    their own names. `session`: holds the variables; by default the default session. `step`: an operation that
    trains, saved with all that it needs, such as an optimizer's own variables, so that training goes on where
    it was.

    `signatures`: further functions of the file by name, each a `Signature`, beside those that `outputs` and
    `step` make: "predict" and "train". Variables that one of them initializes need not have a value yet.
    `resume`: also save where random operations without a seed are, which otherwise differ from process to
    process, so that training goes on bit for bit as it would have without the file.

    `kernels`: processors that machine code is saved for, "native" for this one, or as in
    "x86_64-linux-gnu:haswell" and "aarch64-linux-gnu", and GPUs by architecture, as in "sm_90"; see `load`.
    That code is for all sizes that the graph leaves open. `shapes`: by input, those for which it is to be
    compiled instead, in which None leaves a size open; or a list of several. `SaveError` where an operation
    asks for the value of a size that is open: it names the operation and its line.

    The file is replaced as a whole or not at all. `SaveError` where the path cannot be written, an output is
    not a tensor, a needed placeholder is not among `inputs`, or an operation holds what a file cannot (a
    Python function); `UninitializedError` where a variable has no value.

    >>> import numpy as np, os, staticgraph as sg, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "line.sg")
    >>> x = sg.placeholder(sg.float32, [None], name="x")
    >>> w = sg.Variable(3.0, name="w")
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.global_variables_initializer())
    ...     reset = sg.Signature(step=w.initializer)
    ...     sg.save(path, outputs={"y": w * x}, session=sess, signatures={"reset": reset})
    >>> net = sg.load(path)
    >>> net(x=[1, 2])
    {'y': array([3., 6.], dtype=float32)}
    >>> net.variables["w"] = 5.0
    >>> net.signatures["reset"]()
    >>> net.variables["w"]
    array(3., dtype=float32)
    """
    asked = {}
    if outputs is not None or (step is None and not signatures):
        asked[PREDICT] = Signature(outputs, inputs)
    if step is not None:
        asked[TRAIN] = Signature(outputs, inputs, step)
    bound = bind({**asked, **(signatures or {})}, session)
    session = session or graph_file.session_of(bound)
    graph_file.write(path, bound, session, resume, kernels, shapes)


def load(path: str | os.PathLike[str], *, mapped: bool = False, trusted: bool = False) -> LoadedGraph:
    """The graph in a file that `save` wrote: a function of its inputs, in a graph and a session of its own.

    A call returns what `outputs` was: a dict, a list or one array. `inputs` and `outputs` are its tensors by
    name, `variables` its values by name, `step(...)` trains where a step was saved, and `save` writes it
    again. `signatures` are all its functions by name. Sizes that were unknown stay unknown. A file is data:
    reading it runs no code from it.

    `mapped`: large values stay in the file and are read from there as they are needed, so that processes
    which load the same file share one copy in memory; what a process assigns is its own and does not reach
    the file. The file may be replaced or removed meanwhile, as `save` does, but not written to or cut short.

    `trusted`: also take the machine code that the file has for this processor, so that the first call needs
    no compiler. Machine code can do anything: only for files that are trusted like a program.

    `InvalidFileError` for a file that is cut short, edited, or of another kind; `NotFoundError` if there
    is none.

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
    return loaded.load(path, mapped, trusted)


def load_failure(path: str | os.PathLike[str]) -> Failure:
    """A run that failed, from a file that the switch `failures` had written: its feeds, and a session with
    its graph and its variables as they were before it. `InvalidFileError`, `NotFoundError`.
    """
    # Programs that load a graph are to begin at once.
    from staticgraph.runtime.debug import crash_file as failure_file

    return failure_file.read(path)


def inspect(path: str | os.PathLike[str]) -> Summary:
    """Return a summary of a file of a graph or of arrays: to print, or as data.

    Our files are checked as in `load`. No graph is built, no value is computed, and nothing in a file is run.

    Args:
        path: A graph that `save` wrote, or a run that failed; a checkpoint, ours or TensorFlow's, by its
            prefix or `.index` file; an `.npz` or `.safetensors` file; a model in ONNX format; a `.pb`,
            `.pbtxt` or `.meta` file of TensorFlow; the folder of a SavedModel; or a folder with checkpoints,
            of which the latest is summarised.

    Returns:
        The summary.

    Raises:
        InvalidFileError: If the file is damaged, or of another kind.
        NotFoundError: If there is no such file.

    >>> import os, staticgraph as sg, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "sum.sg")
    >>> x = sg.placeholder(sg.float32, [None, 2], name="x")
    >>> sg.save(path, outputs={"y": x + 1.0})
    >>> found = sg.inspect(path)
    >>> found.signatures["predict"].inputs, found.operations
    ({'x': 'float32[?, 2]'}, {'add': 1, 'constant': 1, 'placeholder': 1})
    """
    summary: Summary = EXTENSIONS["contents"](path)
    return summary
