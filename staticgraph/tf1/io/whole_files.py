"""Operations on whole files: read, write, find by pattern."""

from __future__ import annotations

import os
from typing import Any

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops import kinds
from staticgraph.runtime.disk import atomic
from staticgraph.tf1.io.file_records import matching, open_bytes

_STRING = frozenset({string})


@kinds.host(
    tf="ReadFile",
    type=lambda filename: TensorType(string, ()),
    stateful=True,
    dtypes=_STRING,
    name="read_file",
)
def _read_file(filename: Any) -> Any:
    """The contents of a file."""
    with open_bytes(filename[()].decode(errors="surrogateescape")) as file:
        return file.read()


@kinds.host(tf="WriteFile", type=lambda f, c: (), stateful=True, dtypes=_STRING, name="write_file")
def _write_file(filename: Any, contents: Any) -> Any:
    """Writes a file."""
    path = filename[()].decode(errors="surrogateescape")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    atomic.write_file(path, [contents[()]])
    return ()


@kinds.host(
    tf="MatchingFiles",
    type=lambda pattern: TensorType(string, (None,)),
    stateful=True,
    dtypes=_STRING,
    name="matching_files",
)
def _matching_files(pattern: Any) -> Any:
    """The names of files."""
    return matching(p.decode(errors="surrogateescape") for p in pattern.flat)


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The contents of a file, as a string scalar. NotFoundError, while running, if there is none.

    >>> import os, tempfile
    >>> import staticgraph as sg
    >>> path = os.path.join(tempfile.mkdtemp(), "greeting")
    >>> with sg.Session() as sess:
    ...     sess.run(sg.io.write_file(path, "hello"))
    ...     sess.run(sg.io.read_file(path))
    b'hello'
    """
    made: Tensor = _read_file(filename, name=name)
    return made


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """The operation that makes a file of a string, and the folders above it."""
    made: Operation = _write_file(filename, contents, name=name)
    return made


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of the files that match a pattern such as `data/*.csv`, or one of several, sorted."""
    made: Tensor = _matching_files(pattern, name=name)
    return made
