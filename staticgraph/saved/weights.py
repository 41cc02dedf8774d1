"""Files of weights that other programs read and write too: `.safetensors`, and NumPy's `.npz`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.arguments import list_of
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.runtime.files.arrays import weights as files
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.files.values import collect
from staticgraph.runtime.session import Session, default_session
from staticgraph.state.variable_lists import global_variables

Path = str | os.PathLike[str]


def save_weights(path: Path, weights: Any = None, session: Any = None) -> None:
    """Write variables or arrays to a file, whose name ends in `.safetensors` or `.npz`.

    `weights`: a list of variables, which keep their names, or a dict from the names in the file to variables
    and NumPy arrays; by default all global variables. `session`: holds the values of variables; by default
    the default session. NumPy has no bfloat16: in an `.npz` file such numbers are float32.

    The file is replaced as a whole or not at all. `SaveError` where the path cannot be written, or for
    strings, which neither format has; `UninitializedError` for a variable without a value.

    >>> import os, staticgraph as sg, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net.safetensors")
    >>> w = sg.Variable([1.0, 2.0], name="w")
    >>> with sg.Session() as sess:
    ...     _ = sess.run(w.initializer)
    ...     sg.save_weights(path)
    >>> sg.read_weights(path)
    {'w': array([1., 2.], dtype=float32)}
    """
    operations: dict[str, Operation] = {}
    arrays: dict[str, Stored] = {}
    for name, value in _named(weights).items():
        if isinstance(value, np.ndarray | np.generic | float | int):
            array = np.asarray(value)
            arrays[name] = as_dtype(array.dtype), array
        else:
            operations[name] = _operation(value)
    if operations:
        with _session(session).held() as store:
            files.write(path, collect(operations, store) | arrays)
    else:
        files.write(path, arrays)


def load_weights(path: Path, variables: Any = None, session: Any = None) -> None:
    """Set variables from a file that `save_weights` or another program wrote: all of them or none.

    `variables`: a list of variables, or a dict from the names in the file to variables; by default all global
    variables. They need not have been initialised. What else is in the file is passed over.

    `NotFoundError` if there is no file, or no array for a variable; `InvalidArgumentError` for one of
    another shape or dtype, except that bfloat16 is made from float32; `InvalidFileError` for a damaged file.

    >>> import numpy as np, os, staticgraph as sg, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net.npz")
    >>> np.savez(path, kernel=np.float32([1, 2]))
    >>> w = sg.Variable([0.0, 0.0], name="w")
    >>> with sg.Session() as sess:
    ...     sg.load_weights(path, {"kernel": w})
    ...     sess.run(w)
    array([1., 2.], dtype=float32)
    """
    operations = {name: _operation(variable) for name, variable in _named(variables).items()}
    files.restore(path, operations, _session(session))


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a `.safetensors` or `.npz` file by name; those of bfloat16 as float32.

    Nothing in a file is run: arrays of Python objects are refused, and compressed ones that would take more
    than four times the size of the file and 64 MB. `NotFoundError` if there is no file,
    `InvalidFileError` for a damaged one.

    >>> import numpy as np, os, staticgraph as sg, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net.npz")
    >>> sg.save_weights(path, {"w": np.arange(3)})
    >>> sg.read_weights(path)
    {'w': array([0, 1, 2])}
    """
    return files.read(path)


def _named(given: Any) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return given
    named: dict[str, Any] = {}
    for variable in global_variables() if given is None else list_of(given, "variables"):
        if named.setdefault(_operation(variable).name, variable) is not variable:
            raise misuse(ValueError, f"two variables have the name {_operation(variable).name}")
    if not named:
        raise misuse(ValueError, "there are no variables: make them before, or pass them")
    return named


def _operation(variable: Any) -> Operation:
    handle = getattr(variable, "handle", variable)
    op = variable_of(handle) if isinstance(handle, Tensor) else None
    if op is None:
        raise misuse(TypeError, f"weights are variables, not {variable!r}")
    return op


def _session(given: Any) -> Session:
    session = default_session() if given is None else given
    if isinstance(session, Session):
        return session
    text = "the values of variables are in a session, and none is open"
    raise misuse(ValueError, text, "pass session=, or open one: `with sg.Session():`")
