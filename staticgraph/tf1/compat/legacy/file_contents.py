"""`tensorflow.python.lib.io.file_io`: whole files at once."""

from __future__ import annotations

from typing import Any

from staticgraph.runtime.disk.atomic import write_file
from staticgraph.tf1.compat.legacy.gfile import GFile


def read_file_to_string(filename: Any, binary_mode: bool = False) -> str | bytes:
    """The contents of a file; bytes with `binary_mode`."""
    with GFile(filename, "rb" if binary_mode else "r") as file:
        contents: str | bytes = file.read()
    return contents


def write_string_to_file(filename: Any, file_content: str | bytes) -> None:
    """Replace a file by one with these contents."""
    contents = file_content.encode() if isinstance(file_content, str) else file_content
    write_file(filename, [contents])
